"""The characterisation paper: its tables, the same study on this machine, and equation 5 fitted to real message times.

The paper fits its equation to messages of 100 to 20000 bytes over 1 to 10 nodes of a Parsytec SuperCluster and prints
neither times nor parameters. Here a chain of eleven processes takes the place of the nodes: each hop is one process
that passes packets on. Ping-pongs between two processes over each medium, one hop, go with it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from advisor.reproduce import characterisation_simulated, characterisation_study, parallel_study
from simulator import files, plots, units
from simulator.calibration import CalibratedNetwork, fit_network_table, read_shipped_table
from simulator.models import error_statistics

TITLE = "Characterisation (Papaefstathiou et al.)"
COMMUNICATION = "section 4.2, communication: equation 5"
PARALLEL = "kernels under their templates on this machine, beside the paper's errors due to the resource models"
CHAIN = "chain"

# The characterisation paper's tables: statistics of table 7 from its errors, and the node times that can be inferred.
#
# The paper prints two tables 6: execution times of single nodes, and errors due to the resource models. Table 7 sums
# the second one up. Of the first, a time can be computed again only where the text tells what the node does and table 4
# or the text what that costs.


METHODS = ("ICC", "HLLC", "POC")
STATISTICS = ("mean", "standard_deviation", "min", "max", "ci90_low", "ci90_high")
STATED_MFLOPS = 1.5
"""R of equation 6 as section 4.2.1 states it, in flops per microsecond."""
FLOPS = {
    ("sorting", "vinit"): (0, "no floating point operation"),
    ("sorting", "merge"): (1, "one comparison of floating point numbers (table 1: 1 flop)"),
    ("sorting", "tail"): (0, "numbers are moved only"),
    ("sorting", "copy"): (0, "numbers are moved only"),
    ("integration", "power"): (0, "whole-number work, by its printed 0.0"),
    ("matmul", "dtpr"): (2, "one multiplication and one addition (section 5.2)"),
}
"""Nodes whose flops follow from the text: weighted flops, and from what."""
LACKING = {
    "ICC": "equation 7 needs cycles, memory references and overlap per node, from assembly code that is not printed",
    "HLLC": "table 4 holds arithmetic only: 7 operations of the 28 constructs; loops, tests, calls and memory "
    "references have no printed cost, and no node's source is printed",
    "CT": "a measurement on the Parsytec",
    "POC": "flops of edge, vinit, srf and result (degree 5 polynomial over 0 to 100) are not printed",
}
COPY_SLIP = (
    "as printed: at 128 processors sorting repeats the three errors of integration, probably a slip; "
    "table 7 has them in"
)
ROUNDING = 0.05
"""Half of the last digit of a node time, in microseconds."""
DOMINANT = {"integration": "srf", "sorting": "merge", "matmul": "dtpr"}
"""The node that most of a kernel's time goes to."""


def paper_tables() -> dict[str, Any]:
    """Table 7 with what was printed, node times as far as they can be had, and what cannot be, with the reason."""
    return {
        "table_7": table_7(),
        "node_times": node_times(),
        "flop_rate": flop_rate(),
        "single_nodes": single_nodes(),
        "not_reproduced": dict(LACKING),
    }


def table_7() -> list[dict[str, Any]]:
    """Statistics of each method's 21 errors, beside the printed ones."""
    errors, printed = read_shipped_table("papers/warwick_errors.csv"), read_shipped_table("papers/warwick_stats.csv")
    values = errors.numbers("error_percent")
    keys = zip(printed.text("method"), printed.text("statistic"), strict=True)
    told = dict(zip(keys, printed.numbers("value_percent"), strict=True))
    rows = []
    for method in METHODS:
        found = error_statistics(values[np.array(errors.text("method")) == method]).to_dict()
        for name in STATISTICS:
            paper = float(told[method, name])
            row = {"method": method, "statistic": name, "n": found["n"], "computed": found[name], "printed": paper}
            rows.append(row | {"agrees": abs(found[name] - paper) <= 0.01})
    return rows


def node_times() -> list[dict[str, Any]]:
    """POC of the nodes whose flops follow from the text, by equation 6; HLLC's arithmetic part of the dot product."""
    rows = []
    for (kernel, node), (flops, reason) in FLOPS.items():
        computed, printed = flops / STATED_MFLOPS, _printed(kernel, node, "POC")
        entry = {"kernel": kernel, "node": node, "method": "POC", "flops": flops, "from": reason}
        entry |= {"computed_us": computed, "printed_us": printed, "agrees": abs(computed - printed) <= ROUNDING + 1e-9}
        rows.append(entry)
    costs = read_shipped_table("papers/warwick_arith_costs.csv")
    cost = dict(zip(zip(costs.text("type"), costs.text("operation"), strict=True), costs.text("cost_us"), strict=True))
    for kind in ("float32", "float64"):
        part = float(cost[kind, "multiply"]) + float(cost[kind, "add"])
        printed = _printed("matmul", "dtpr", "HLLC")
        reason = f"table 4, {kind} multiply and add; the rest, loop and memory references, is not printed"
        rows.append(
            {"kernel": "matmul", "node": "dtpr", "method": "HLLC", "flops": None, "from": reason}
            | {"computed_us": part, "printed_us": printed, "agrees": None}
        )
    return rows


def flop_rate() -> dict[str, Any]:
    """The rate R at which the printed POC times are whole numbers of flops, within their rounding."""
    nodes = [(k, n) for k, n in _nodes() if _printed(k, n, "POC") > 0]
    times = np.array([_printed(*node, "POC") for node in nodes])
    rates = np.round(np.arange(1.0, 2.0, 0.005), 3)
    low, high = (np.multiply.outer(rates, times + away) for away in (-ROUNDING, ROUNDING))
    whole = np.ceil(low - 1e-9) <= high + 1e-9
    best = int(np.argmax(whole.sum(axis=1)))
    flops = {
        f"{kernel} {node}": int(np.ceil(low[best, i] - 1e-9))
        for i, (kernel, node) in enumerate(nodes)
        if whole[best, i]
    }
    stated = int(np.argmin(np.abs(rates - STATED_MFLOPS)))
    return {
        "stated_mflops": STATED_MFLOPS,
        "implied_mflops": float(rates[best]),
        "nodes": len(nodes),
        "whole_at_stated": int(whole[stated].sum()),
        "whole_at_implied": int(whole[best].sum()),
        "flops_at_implied": flops,
    }


def single_nodes() -> list[dict[str, Any]]:
    """Errors of each kernel's dominant node against its component timing, beside those printed for 2 processors."""
    errors = read_shipped_table("papers/warwick_errors.csv")
    keys = zip(errors.text("processors"), errors.text("kernel"), errors.text("method"), strict=True)
    told = dict(zip(keys, errors.numbers("error_percent"), strict=True))
    rows = []
    for kernel, node in DOMINANT.items():
        timed = _printed(kernel, node, "CT")
        for method in METHODS:
            error = 100 * (_printed(kernel, node, method) - timed) / timed
            rows.append(
                {"kernel": kernel, "node": node, "method": method, "error_percent": error}
                | {"printed_percent_at_2": float(told["2", kernel, method])}
            )
    return rows


def table_lines(found: dict[str, Any]) -> list[str]:
    """The tables as text."""
    agreed = sum(row["agrees"] for row in found["table_7"])
    out = [f"table 7, from the {found['table_7'][0]['n']} errors per method: {agreed} of 18 entries to 0.01"]
    out.append(f"  {'method':<8}" + "".join(f"{name.replace('_', ' '):>20}" for name in STATISTICS))
    for method in METHODS:
        rows = [row for row in found["table_7"] if row["method"] == method]
        shown = "".join(f"{row['computed']:11.2f} ({row['printed']:.2f})".rjust(20) for row in rows)
        out.append(f"  {method:<8}{shown}")
    out.append(f"  {COPY_SLIP}")
    out += ["", "node times (first table 6) that can be inferred: computed, (printed), in microseconds"]
    out += [_node_line(row) for row in found["node_times"]]
    rate = found["flop_rate"]
    out.append(
        f"  with R = {rate['stated_mflops']} Mflop/s as stated {rate['whole_at_stated']} of {rate['nodes']} POC times "
        f"are whole numbers of flops, with {rate['implied_mflops']:g} {rate['whole_at_implied']}: the printed times "
        f"seem to be made with that rate"
    )
    out += ["", "error of the dominant node alone, (printed for the whole kernel on 2 processors), in percent"]
    out += _by_kernel(found["single_nodes"])
    out += ["", "not reproduced:"]
    return out + [f"  {method}: {reason}" for method, reason in found["not_reproduced"].items()]


def _node_line(row: dict[str, Any]) -> str:
    verdict = {True: "agrees", False: "differs", None: "a part only"}[row["agrees"]]
    return (
        f"  {row['kernel']:<12}{row['node']:<8}{row['method']:<6}{row['computed_us']:6.2f} ({row['printed_us']:.1f})  "
        f"{verdict}: {row['from']}"
    )


def _by_kernel(rows: Sequence[dict[str, Any]]) -> list[str]:
    found = []
    for kernel, node in DOMINANT.items():
        mine = [row for row in rows if row["kernel"] == kernel]
        shown = ", ".join(
            f"{row['method']} {row['error_percent']:+.1f} ({row['printed_percent_at_2']:.1f})" for row in mine
        )
        found.append(f"  {kernel:<12}{node:<8}{shown}")
    return found


def _nodes() -> list[tuple[str, str]]:
    table = read_shipped_table("papers/warwick_node_times.csv")
    return list(dict.fromkeys(zip(table.text("kernel"), table.text("node"), strict=True)))


def _printed(kernel: str, node: str, method: str) -> float:
    """A node time as printed, in microseconds."""
    table = read_shipped_table("papers/warwick_node_times.csv")
    keys = zip(table.text("kernel"), table.text("node"), table.text("method"), strict=True)
    return float(dict(zip(keys, table.numbers("time_us"), strict=True))[kernel, node, method])


SHIPPED = {
    CHAIN: "papers/characterisation_chain.csv",
    "unix": "papers/characterisation_unix.csv",
    "pipe": "papers/characterisation_pipe.csv",
    "tcp": "papers/characterisation_tcp.csv",
}
WHAT = {
    CHAIN: "packets of 4096 bytes passed on by a chain of processes, 1 to 10 hops",
    "unix": "Unix sockets between two processes",
    "pipe": "pipes between two processes",
    "tcp": "TCP over loopback between two processes",
    "mpi": "MPI between two processes",
}
EXPLAINED = (
    "equation 5: alpha + d*(beta + tau*(l + h)) up to l = p, beyond it",
    "alpha + d*(beta + tau*p) + (l/p - 1)*(alpha2 + beta + tau*p), for l bytes over d hops",
    "held out: relative errors at sizes that the form was not fitted to, a tenth of them left out at a time",
)


def reproduce(
    tables: Mapping[str, Path] | None = None,
    warnings: Sequence[str] = (),
    figures: Path | None = None,
    study: Path | None = None,
    parallel: Mapping[str, Any] | None = None,
    *,
    simulate: bool = False,
) -> dict[str, Any]:
    """Compute the paper's tables, judge a study of the methods, and fit all forms of message times to each table.

    Parameters
    ----------
    tables
        Medium -> its message times, `bytes,hops,one_way_s`; by default shipped recordings.
    warnings
        What to know of how they were measured.
    figures
        Folder for a figure of each medium and the result as JSON; None for none.
    study
        Rows of a study of the methods, see `characterisation_study`; by default a shipped recording.
    parallel
        Kernels under their templates, see `parallel_study.study`; None if they were not run.
    simulate
        Whether the second table 6 is simulated, see `characterisation_simulated`.

    Returns
    -------
    dict
        `tables`: table 7 and the node times; `simulated`: the second table 6, None without `simulate`;
        `study`: errors of every method here; `parallel`: kernels under their
        templates, None if they were not run; `communication`: per medium `models` with parameters and errors, `chosen`,
        `jump` of equation 5 at l = p, and errors `by_hops`.
    """
    found = tables or {name: files.shipped("scenarios", path) for name, path in SHIPPED.items()}
    fits = {name: fit_network_table(path) for name, path in found.items()}
    result = {
        "paper": "characterisation",
        "title": TITLE,
        "recorded": tables is None,
        "tables": paper_tables(),
        "simulated": characterisation_simulated.errors() if simulate else None,
        "study": characterisation_study.judge(characterisation_study.read_rows(study)) | {"recorded": study is None},
        "parallel": None if parallel is None else dict(parallel),
        "communication": {name: _fitted(name, calibrated) for name, calibrated in fits.items()},
        "warnings": list(warnings),
    }
    if figures is not None:
        for name, calibrated in fits.items():
            files.write_text(figures / f"{name}.svg", plots.network_fit_svg(calibrated.to_dict(), name=name) + "\n")
        files.write_json(figures / "characterisation.json", result)
    return result


def _fitted(name: str, calibrated: CalibratedNetwork) -> dict[str, Any]:
    document = calibrated.to_dict()
    points = calibrated.fit.points
    sizes = points.rows_size_bytes
    return {
        "what": WHAT[name],
        "points": int(sizes.size),
        "bytes": [float(sizes.min()), float(sizes.max())],
        "hops": [float(points.distances[0]), float(points.distances[-1])],
        **{key: document[key] for key in ("chosen", "criterion", "models", "jump", "breakpoints", "warnings")},
        "by_hops": _by_hops(calibrated),
    }


def _by_hops(calibrated: CalibratedNetwork) -> list[dict[str, float]]:
    """Held-out errors of equation 5 and of the chosen form at each distance."""
    fit = calibrated.fit
    rows = []
    for hops in fit.points.distances:
        mine = fit.points.rows_hops == hops
        row = {"hops": float(hops)}
        for label, name in (("equation_5", "packetised"), ("chosen", fit.chosen)):
            errors = fit.form(name).held_out
            if errors is not None:
                row[label] = float(np.mean(errors[mine]))
        rows.append(row)
    return rows


def text(result: dict[str, Any]) -> str:
    """The tables, the study, and errors of all forms per medium, parameters and jump of equation 5."""
    origin = "shipped recordings of a two-core virtual machine" if result["recorded"] else "measured on this machine"
    lines = [result["title"], "", *table_lines(result["tables"]), ""]
    if result["simulated"] is not None:
        lines += [*characterisation_simulated.lines(result["simulated"]), ""]
    lines += characterisation_study.lines(result["study"], recorded=result["study"]["recorded"])
    if result["parallel"] is not None:
        lines += ["", PARALLEL, *parallel_study.lines(result["parallel"])]
    lines += ["", f"{COMMUNICATION}; {origin}", *EXPLAINED]
    for entry in result["communication"].values():
        lines += ["", *_medium_lines(entry)]
    return "\n".join([*lines, *(f"warning: {line}" for line in result["warnings"])])


def _medium_lines(entry: dict[str, Any]) -> list[str]:
    low, high = entry["bytes"]
    lines = [f"{entry['what']}: {entry['points']} points, {units.show_size(low)} to {units.show_size(high)}"]
    lines.append(f"  {'model':<12}{'numbers':>8}{'mean':>8}{'max':>8}{'held out':>10}{'max':>8}")
    for form in entry["models"]:
        if form["fitted_numbers"] is None:
            lines.append(f"  {form['name']:<12}not fitted: {'; '.join(form['faults'])}")
            continue
        errors = (form["mean_relative_error"], form["max_relative_error"], *form["held_out"].values())
        shown = "".join(f"{_percent(error):>{width}}" for error, width in zip(errors, (8, 8, 10, 8), strict=True))
        mark = " *" if form["name"] == entry["chosen"] else ""
        faults = f"  not physical: {'; '.join(form['faults'])}" if form["faults"] else ""
        lines.append(f"  {form['name'] + mark:<12}{form['fitted_numbers']:>8}{shown}{faults}")
    packetised = next(form for form in entry["models"] if form["name"] == "packetised")
    values = [_parameter(parameter) for parameter in packetised["parameters"]]
    lines.append(f"  equation 5: {', '.join(values)}")
    jumps = [f"{units.show_duration(jump['jump_s'])} over {jump['hops']:g} hops" for jump in entry["jump"] or ()]
    if jumps:
        shown = ", ".join(dict.fromkeys((jumps[0], jumps[-1])))
        lines.append(f"  its jump -d*tau*h at l = p = {entry['jump'][0]['bytes']:.4g} B: {shown}")
    if len(entry["by_hops"]) > 1:
        lines.append(f"  {'hops':<12}" + "".join(f"{row['hops']:>8g}" for row in entry["by_hops"]))
        for label, key in (("equation 5", "equation_5"), ("chosen *", "chosen")):
            lines.append(f"  {label:<12}" + "".join(f"{_percent(row.get(key)):>8}" for row in entry["by_hops"]))
    return [*lines, *(f"  warning: {line}" for line in entry["warnings"])]


def _parameter(parameter: dict[str, Any]) -> str:
    if parameter["value"] is None:
        return f"{parameter['name']} not known"
    return f"{parameter['name']} {parameter['value']:.3g} {parameter['unit']}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"

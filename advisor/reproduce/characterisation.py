"""The characterisation paper: its tables, the study of its methods here, and equation 5 fitted to real message times.

It prints two tables 6: execution times of single nodes, and errors due to the resource models. Table 7 sums the second
one up. Of the first, a time can be computed again only where the text says what the node does and table 4 or the text
what that costs. The second is simulated on 2 to 128 transputers: messages and templates are ours and stand in two
scenarios; the sort's local part, whose time is not printed, is chosen so that the flops' error on two processors comes
out, and every other cell is predicted. The paper fits its equation to messages of 100 to 20000 bytes over 1 to 10 nodes
of a Parsytec SuperCluster and prints neither times nor parameters. Here a chain of eleven processes takes the place of
the nodes: each hop is one process that passes packets on. Ping-pongs between two processes over each medium go with it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from advisor.report.papers import PERCENT, REPEATED, Cell, Compared
from advisor.report.text import aligned
from advisor.reproduce import characterisation_study
from advisor.reproduce.comparison import defined, given, judged, lost, published, shipped_rows
from simulator import files, load_scenario, load_seg, plots, run, units
from simulator.calibration import CalibratedNetwork, fit_network_table
from simulator.characterisation import total_ruv
from simulator.models import CostVector, error_statistics

TITLE = "Characterisation (Papaefstathiou et al.)"
COMMUNICATION = "section 4.2, communication: equation 5"
CHAIN = "chain"
NODE_TIMES = "papers/warwick_node_times.csv"

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
ERROR_KEYS = ("kernel", "processors", "method")
ROUNDING = 0.05
"""Half of the last digit of a node time, in microseconds."""
DOMINANT = {"integration": "srf", "sorting": "merge", "matmul": "dtpr"}
"""The node that most of a kernel's time goes to."""
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
}
EXPLAINED = (
    "equation 5: alpha + d*(beta + tau*(l + h)) up to l = p, beyond it",
    "alpha + d*(beta + tau*p) + (l/p - 1)*(alpha2 + beta + tau*p), for l bytes over d hops",
    "held out: relative errors at sizes that the form was not fitted to, a tenth of them left out at a time",
)
SCENARIOS = {"matmul": "papers/warwick-matmul.yaml", "sorting": "papers/warwick-sort.yaml"}
TIMED = "ct"
GRID_ROWS = {2: 1, 4: 2, 8: 2, 16: 4, 32: 4, 64: 8, 128: 8}
"""Processors of the paper -> rows of the grid that the matrix product runs on."""
CHOSEN = ("sorting", 2, "POC")
"""The one cell that a parameter was chosen for."""
CITATION = (
    "E. Papaefstathiou, D. J. Kerbyson, G. R. Nudd and T. J. Atherton: An analysis of processor resource models for "
    "use in performance prediction (University of Warwick)"
)
MISPRINTS = (
    "There are two tables 6 and no table 5: node times, and errors due to the resource models.",
    "At 128 processors sorting repeats the errors of integration, probably a slip; table 7 is computed with them.",
    "With the stated rate of 1.5 Mflop/s one of six POC times is a whole number of flops, with 1.3 Mflop/s five are.",
)
ROUNDED_US = 0.05
ROUNDED_STATISTIC = 0.005
ROUNDED_POINTS = 0.05
NO_FIGURES = "A drawing without figures; the machine is gone. "

Document = dict[str, Any]
Rows = list[Document]


def paper_tables() -> Document:
    """Table 7 with what was printed, node times as far as they can be had, and what cannot be, with the reason."""
    printed = published(NODE_TIMES, ("kernel", "node", "method"), "time_us")
    return {
        "table_7": table_7(),
        "node_times": node_times(printed),
        "flop_rate": flop_rate(printed),
        "single_nodes": single_nodes(printed),
        "not_reproduced": dict(LACKING),
    }


def table_7() -> Rows:
    """Statistics of each method's 21 errors, with the printed ones."""
    errors = published("papers/warwick_errors.csv", ERROR_KEYS, "error_percent")
    printed = published("papers/warwick_stats.csv", ("method", "statistic"), "value_percent")
    rows = []
    for method in METHODS:
        own = [error for (*_, name), error in errors.items() if name == method]
        found = error_statistics(own).to_dict()
        for name in STATISTICS:
            paper = printed[method, name]
            row = {"method": method, "statistic": name, "n": found["n"], "computed": found[name], "printed": paper}
            rows.append(row | {"agrees": abs(found[name] - paper) <= 0.01})
    return rows


def node_times(times_us: Mapping[tuple[str, ...], float]) -> Rows:
    """POC of the nodes whose flops follow from the text, by equation 6; HLLC's arithmetic part of the dot product."""
    rows = []
    for (kernel, node), (flops, reason) in FLOPS.items():
        computed, printed = flops / STATED_MFLOPS, times_us[kernel, node, "POC"]
        entry = {"kernel": kernel, "node": node, "method": "POC", "flops": flops, "from": reason}
        entry |= {"computed_us": computed, "printed_us": printed, "agrees": abs(computed - printed) <= ROUNDING + 1e-9}
        rows.append(entry)
    cost = published("papers/warwick_arith_costs.csv", ("type", "operation"), "cost_us")
    for kind in ("float32", "float64"):
        part, printed = cost[kind, "multiply"] + cost[kind, "add"], times_us["matmul", "dtpr", "HLLC"]
        reason = f"table 4, {kind} multiply and add; the rest, loop and memory references, is not printed"
        rows.append(
            {"kernel": "matmul", "node": "dtpr", "method": "HLLC", "flops": None, "from": reason}
            | {"computed_us": part, "printed_us": printed, "agrees": None}
        )
    return rows


def flop_rate(times_us: Mapping[tuple[str, ...], float]) -> Document:
    """The rate R at which the printed POC times are whole numbers of flops, within their rounding."""
    own = {where[:2]: time for where, time in times_us.items() if where[2] == "POC" and time > 0}
    nodes, times = list(own), np.array(list(own.values()))
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


def single_nodes(times_us: Mapping[tuple[str, ...], float]) -> Rows:
    """Errors of each kernel's dominant node against its component timing, with those printed for 2 processors."""
    printed = published("papers/warwick_errors.csv", ERROR_KEYS, "error_percent")
    rows = []
    for kernel, node in DOMINANT.items():
        timed = times_us[kernel, node, "CT"]
        for method in METHODS:
            error = 100 * (times_us[kernel, node, method] - timed) / timed
            rows.append(
                {"kernel": kernel, "node": node, "method": method, "error_percent": error}
                | {"printed_percent_at_2": printed[kernel, "2", method]}
            )
    return rows


def table_lines(found: Document) -> list[str]:
    """The tables as text."""
    agreed = sum(row["agrees"] for row in found["table_7"])
    rate = found["flop_rate"]
    statistics = [
        [
            method,
            *(f"{row['computed']:.2f} ({row['printed']:.2f})" for row in found["table_7"] if row["method"] == method),
        ]
        for method in METHODS
    ]
    verdicts = {True: "agrees", False: "differs", None: "a part only"}
    nodes = [
        [
            *(row[name] for name in ("kernel", "node", "method")),
            f"{row['computed_us']:.2f} ({row['printed_us']:.1f})",
            f"{verdicts[row['agrees']]}: {row['from']}",
        ]
        for row in found["node_times"]
    ]
    dominant = [
        [kernel, node]
        + [
            f"{row['error_percent']:+.1f} ({row['printed_percent_at_2']:.1f})"
            for row in found["single_nodes"]
            if row["kernel"] == kernel
        ]
        for kernel, node in DOMINANT.items()
    ]
    return [
        f"table 7, from the {found['table_7'][0]['n']} errors per method: {agreed} of 18 entries to 0.01",
        *aligned(["method", *(name.replace("_", " ") for name in STATISTICS)], statistics),
        f"  {COPY_SLIP}",
        "",
        "node times (first table 6) that can be inferred: computed, (printed), in microseconds",
        *aligned(["kernel", "node", "method", "time", "verdict"], nodes, left=5),
        (
            f"  with R = {rate['stated_mflops']} Mflop/s as stated {rate['whole_at_stated']} of {rate['nodes']} POC "
            f"times are whole numbers of flops, with {rate['implied_mflops']:g} {rate['whole_at_implied']}: the "
            "printed times seem to be made with that rate"
        ),
        "",
        "error of the dominant node alone, (printed for the whole kernel on 2 processors), in percent",
        *aligned(["kernel", "node", *METHODS], dominant, left=2),
        "",
        "not reproduced:",
        *(f"  {method}: {reason}" for method, reason in found["not_reproduced"].items()),
    ]


def reproduce(folder: Path | None = None) -> Document:
    """Compute the paper's tables, judge the recorded study of the methods, and fit all forms of message times.

    `folder`: where a figure of each medium goes; None for nowhere.

    Returns
    -------
    dict
        `tables`: table 7 and the node times; `simulated`: the second table 6, see `simulated_errors`; `study`: errors
        of every method; `communication`: per medium `models` with parameters and errors, `chosen`, `jump` of equation 5
        at l = p, and errors `by_hops`.
    """
    fits = {name: fit_network_table(files.shipped("scenarios", path)) for name, path in SHIPPED.items()}
    if folder is not None:
        for name, calibrated in fits.items():
            drawn = plots.network(calibrated.file, every=True)
            files.write_text(folder / f"{name}.svg", drawn.svg(name) + "\n")
    return {
        "paper": "characterisation",
        "title": TITLE,
        "tables": paper_tables(),
        "simulated": simulated_errors(),
        "study": characterisation_study.judge(characterisation_study.read_rows()),
        "communication": {name: fitted(WHAT[name], calibrated) for name, calibrated in fits.items()},
    }


def fitted(what: str, calibrated: CalibratedNetwork) -> Document:
    """All forms of message times fitted to a table of a medium, with their errors."""
    document = calibrated.to_dict()
    points = calibrated.fit.points
    sizes = points.rows_size_bytes
    return {
        "what": what,
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


def text(result: Document) -> str:
    """The tables, the study, and errors of all forms per medium, parameters and jump of equation 5."""
    lines = [result["title"], "", *table_lines(result["tables"]), "", *_simulated_lines(result["simulated"]), ""]
    lines += characterisation_study.lines(result["study"])
    lines += ["", f"{COMMUNICATION}; shipped recordings of a two-core virtual machine", *EXPLAINED]
    for entry in result["communication"].values():
        lines += ["", *medium_lines(entry)]
    return "\n".join(lines)


def medium_lines(entry: Document) -> list[str]:
    """Errors of all forms, parameters and jump of equation 5."""
    low, high = entry["bytes"]
    rows, faults = [], []
    for form in entry["models"]:
        if form["fitted_numbers"] is None:
            faults.append(f"  {form['name']} not fitted: {'; '.join(form['faults'])}")
            continue
        errors = (form["mean_relative_error"], form["max_relative_error"], *form["held_out"].values())
        name = form["name"] + (" *" if form["name"] == entry["chosen"] else "")
        rows.append([name, f"{form['fitted_numbers']}", *map(_percent, errors)])
        faults += [f"  {form['name']} is not physical: {'; '.join(form['faults'])}"] if form["faults"] else []
    packetised = next(form for form in entry["models"] if form["name"] == "packetised")
    values = [
        f"{one['name']} not known" if one["value"] is None else f"{one['name']} {one['value']:.3g} {one['unit']}"
        for one in packetised["parameters"]
    ]
    lines = [
        f"{entry['what']}: {entry['points']} points, {units.show_size(low)} to {units.show_size(high)}",
        *aligned(["model", "numbers", "mean", "max", "held out", "max"], rows),
        *faults,
        f"  equation 5: {', '.join(values)}",
    ]
    jumps = [f"{units.show_duration(jump['jump_s'])} over {jump['hops']:g} hops" for jump in entry["jump"] or ()]
    if jumps:
        shown = ", ".join(dict.fromkeys((jumps[0], jumps[-1])))
        lines.append(f"  its jump -d*tau*h at l = p = {entry['jump'][0]['bytes']:.4g} B: {shown}")
    if len(entry["by_hops"]) > 1:
        rows = [
            [label, *(_percent(row.get(key)) for row in entry["by_hops"])]
            for label, key in (("equation 5", "equation_5"), ("chosen", "chosen"))
        ]
        lines += aligned(["hops", *(f"{row['hops']:g}" for row in entry["by_hops"])], rows)
    return [*lines, *(f"  warning: {line}" for line in entry["warnings"])]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def simulated_errors(processors: tuple[int, ...] = tuple(GRID_ROWS)) -> Rows:
    """Errors due to the resource models: one row per kernel, number of processors and method.

    Returns
    -------
    list of dict
        `kernel`, `processors`, `method`, `makespan_s`, `timed_s` (by component timing), `error_percent` (size of the
        difference in makespan from component timing's) and `printed_percent`.
    """
    printed = published("papers/warwick_errors.csv", ERROR_KEYS, "error_percent")
    rows = []
    for kernel in SCENARIOS:
        for count in processors:
            timed_s = makespan_s(kernel, count, TIMED)
            for method in METHODS:
                own_s = makespan_s(kernel, count, method.lower())
                rows.append(
                    {"kernel": kernel, "processors": count, "method": method, "makespan_s": own_s, "timed_s": timed_s}
                    | {
                        "error_percent": 100 * abs(own_s / timed_s - 1),
                        "printed_percent": printed[kernel, str(count), method],
                    }
                )
    return rows


def changes(kernel: str, processors: int, method: str) -> list[str]:
    """What `--set` changes in the kernel's scenario."""
    found = [f"platform.nodes.parsytec.pes.0.count={processors}"]
    if kernel == "matmul":
        rows = GRID_ROWS[processors]
        found += [f"application.grid_rows={rows}", f"application.parameters.R={rows}"]
        return [*found, f"application.steps.step.graph=product_{method}"]
    return [*found, f"application.steps.merge.graph=merge_{method}"]


def makespan_s(kernel: str, processors: int, method: str) -> float:
    """Of the kernel's scenario on so many transputers, with the node times of a method."""
    path = files.shipped("scenarios", SCENARIOS[kernel])
    return float(run(load_scenario(path, changes=changes(kernel, processors, method))).makespan_s[0, 0])


def _simulated_lines(rows: Rows) -> list[str]:
    """The errors as text, each with the (printed) one."""
    cells: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        shown = f"{row['error_percent']:.1f} ({row['printed_percent']:.1f})"
        cells.setdefault((row["kernel"], str(row["processors"])), []).append(shown)
    off = [abs(row["error_percent"] - row["printed_percent"]) for row in rows]
    return [
        "errors due to the resource models (second table 6), simulated from the node times, (printed), in percent",
        *aligned(["kernel", "processors", *METHODS], [[*where, *own] for where, own in cells.items()]),
        f"  {sum(off) / len(off):.1f} points off on average, {max(off):.1f} at most; messages are ours",
    ]


def inventory(result: Document) -> list[Compared]:
    """All tables and figures in the paper's order; equation 5 too."""
    found = result["tables"]
    return [
        defined("figures 1 to 5", "Layers, resource models, graphs of the kernels"),
        judged(
            "table 1", "Flops that an operation counts for", "The same weights are those of `poc` here.", _weights()
        ),
        defined("table 2", "Methods compared", "Stars for effort and portability, no figures."),
        judged(
            "table 3",
            "Timing formulas of the kernels",
            "The shipped graphs evaluated, against the formulas with the node times of component timing.",
            _formulas(),
            tolerance=1e-6,
        ),
        given("table 4", "Costs of arithmetic in C on a T800", "Measured on a machine that is gone."),
        _compared_node_times(found),
        lost("figures 6 to 8", "Measured and predicted times of the kernels", NO_FIGURES),
        lost("figures 9 to 11", "Errors of the predictions in all", f"{NO_FIGURES}They contain the errors of table 6."),
        _simulated(result),
        _statistics(found),
        defined("figure 12", "Bounds of the errors", "The least and greatest errors of table 7."),
        _messages(result),
    ]


def _weights() -> Iterator[Cell]:
    printed = {"add": 1, "subtract": 1, "multiply": 1, "divide": 4, "sqrt": 4, "exp": 8, "sin": 8, "comparison": 1}
    ours = CostVector.principal(1.0).costs
    for operation, flops in printed.items():
        yield Cell(operation, "flops", float(flops), ours[operation].seconds)


def _formulas() -> Iterator[Cell]:
    """Each kernel's formula at some values of its parameters, in seconds."""
    printed = published(NODE_TIMES, ("method", "kernel", "node"), "time_us")
    t = {(kernel, node): 1e-6 * time for (method, kernel, node), time in printed.items() if method == "CT"}
    values = {
        "integration": {"P_edge": 0.25, "N_power": 5.0, "N_ivals": 100.0},
        "merge-sort": {"N_merge": 3000.0, "N_tail": 1000.0, "N_copy": 4000.0},
        "matmul": {"N_rows": 256.0, "N_cols": 128.0},
    }
    i, s, m = values.values()
    inner = i["N_power"] * t["integration", "power"] + t["integration", "vinit"]
    inner += i["N_ivals"] * t["integration", "srf"] + t["integration", "result"]
    merging = s["N_merge"] * t["sorting", "merge"] + s["N_tail"] * t["sorting", "tail"]
    formulas = {
        "integration": i["P_edge"] * t["integration", "edge"] + (1 - i["P_edge"]) * inner,
        "merge-sort": t["sorting", "vinit"] + merging + s["N_copy"] * t["sorting", "copy"],
        "matmul": m["N_rows"] * m["N_cols"] * t["matmul", "dtpr"],
    }
    for name, seconds in formulas.items():
        seg = load_seg(files.shipped("scenarios", f"tutorial/segs/{name}.seg.yaml"))
        ours = float(np.sum(total_ruv(seg, "ct", values[name]).amounts))
        where = ", ".join(f"{key} = {value:g}" for key, value in values[name].items())
        yield Cell(f"{name}, {where}", "time", seconds, ours, 0.0, "s")


def _compared_node_times(found: Document) -> Compared:
    cells = [
        Cell(f"{row['kernel']}, {row['node']}", row["method"], row["printed_us"], row["computed_us"], ROUNDED_US, "us")
        for row in found["node_times"]
        if row["flops"] is not None
    ]
    known = {(row["kernel"], row["node"]) for row in found["node_times"] if row["flops"] is not None}
    cells += [
        Cell(f"{row['kernel']}, {row['node']}", row["method"], float(row["time_us"]), None, ROUNDED_US, "us")
        for row in shipped_rows(NODE_TIMES)
        if row["method"] != "POC" or (row["kernel"], row["node"]) not in known
    ]
    because = "Of 40 cells only flops that the text states can be computed. " + " ".join(
        f"{method}: {reason}." for method, reason in found["not_reproduced"].items()
    )
    return judged("table 6 (first)", "Node times", because, cells)


def _simulated(result: Document) -> Compared:
    """Errors due to the resource models, simulated from the node times; those of integration cannot be."""
    cells = [
        Cell(
            f"{row['kernel']}, {row['processors']} processors",
            row["method"],
            row["printed_percent"],
            row["error_percent"],
            ROUNDED_POINTS,
            PERCENT,
        )
        for row in result["simulated"]
    ]
    cells += [
        Cell(
            f"integration, {row['processors']} processors",
            row["method"],
            float(row["error_percent"]),
            None,
            ROUNDED_POINTS,
            PERCENT,
        )
        for row in shipped_rows("papers/warwick_errors.csv")
        if row["kernel"] == "integration"
    ]
    title = "Errors due to the resource models"
    off = [abs(cell.ours - cell.printed) for cell in cells if cell.ours is not None]
    kernel, processors, method = CHOSEN
    because = (
        f"Simulated from the node times on 2 to 128 transputers; ours are {np.mean(off):.1f} points off on average, "
        f"{max(off):.1f} at most. Messages and templates are not printed, so they are ours; the sort's local part was "
        f"chosen by the cell {kernel}, {processors} processors, {method}. Integration: numbers of intervals and phases "
        "are not printed."
    )
    return Compared("table 6 (second)", title, REPEATED, because, tuple(cells))


def _statistics(found: Document) -> Compared:
    cells = [
        # A figure that ends in 5 may have been rounded either way.
        Cell(row["method"], row["statistic"], row["printed"], row["computed"], ROUNDED_STATISTIC + 0.005, PERCENT)
        for row in found["table_7"]
    ]
    return judged("table 7", "Statistics of the errors", "Computed from the 63 errors of the second table 6.", cells)


def _messages(result: Document) -> Compared:
    """Equation 5, whose parameters are not printed."""
    errors = []
    for name, entry in result["communication"].items():
        form = next(form for form in entry["models"] if form["name"] == "packetised")
        if form["fitted_numbers"] is not None:
            errors.append(f"{name} {100 * form['held_out']['mean_relative_error']:.0f} %")
    because = (
        "The paper prints neither message times nor parameters. Fitted to messages between processes (recorded), it is "
        f"off at sizes held out by {', '.join(errors)} on average."
    )
    return Compared("equation 5", "Message times", REPEATED, because)

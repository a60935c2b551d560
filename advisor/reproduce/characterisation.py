"""The characterisation paper: its tables, the same study on this machine, and equation 5 fitted to real message times.

The paper fits its equation to messages of 100 to 20000 bytes over 1 to 10 nodes of a Parsytec SuperCluster and prints
neither times nor parameters. Here a chain of eleven processes takes the place of the nodes: each hop is one process
that passes packets on. Ping-pongs between two processes over each medium, one hop, go with it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from advisor.reproduce import (
    characterisation_simulated,
    characterisation_study,
    characterisation_tables,
    parallel_study,
)
from simulator import files, plots, units
from simulator.calibration import CalibratedNetwork, fit_network_table

TITLE = "Characterisation (Papaefstathiou et al.)"
COMMUNICATION = "section 4.2, communication: equation 5"
PARALLEL = "kernels under their templates on this machine, beside the paper's errors due to the resource models"
CHAIN = "chain"
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
        "tables": characterisation_tables.tables(),
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
    lines = [result["title"], "", *characterisation_tables.lines(result["tables"]), ""]
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

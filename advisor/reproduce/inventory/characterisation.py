"""Tables and figures of the paper on processor resource models (characterisation), beside ours."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from advisor.reproduce.characterisation_simulated import CHOSEN
from advisor.reproduce.comparison import (
    NOT_REPRODUCED,
    PERCENT,
    REPEATED,
    Cell,
    Compared,
    defined,
    given,
    judged,
    lost,
    shipped_rows,
)
from simulator import files, load_seg
from simulator.characterisation import total_ruv
from simulator.models import CostVector

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


def tables(result: Document) -> list[Compared]:
    """All tables and figures in the paper's order; equation 5 too."""
    found = result["tables"]
    return [
        defined("figures 1 to 5", "Layers, resource models, graphs of the kernels"),
        judged(
            "table 1", "Flops that an operation counts for", "The same weights are those of `poc` here.", _weights()
        ),
        defined("table 2", "Methods beside each other", "Stars for effort and portability, no figures."),
        judged(
            "table 3",
            "Timing formulas of the kernels",
            "The shipped graphs evaluated, beside the formulas with the node times of component timing.",
            _formulas(),
            tolerance=1e-6,
        ),
        given("table 4", "Costs of arithmetic in C on a T800", "Measured on a machine that is gone."),
        _node_times(found),
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
    rows = shipped_rows("papers/warwick_node_times.csv")
    t = {(row["kernel"], row["node"]): 1e-6 * float(row["time_us"]) for row in rows if row["method"] == "CT"}
    values = {
        "integration": {"P_edge": 0.25, "N_power": 5.0, "N_ivals": 100.0},
        "merge-sort": {"N_merge": 3000.0, "N_tail": 1000.0, "N_copy": 4000.0},
        "matmul": {"N_rows": 256.0, "N_cols": 128.0},
    }
    i, s, m = values.values()
    inner = i["N_power"] * t["integration", "power"] + t["integration", "vinit"]
    inner += i["N_ivals"] * t["integration", "srf"] + t["integration", "result"]
    merging = s["N_merge"] * t["sorting", "merge"] + s["N_tail"] * t["sorting", "tail"]
    told = {
        "integration": i["P_edge"] * t["integration", "edge"] + (1 - i["P_edge"]) * inner,
        "merge-sort": t["sorting", "vinit"] + merging + s["N_copy"] * t["sorting", "copy"],
        "matmul": m["N_rows"] * m["N_cols"] * t["matmul", "dtpr"],
    }
    for name, seconds in told.items():
        seg = load_seg(files.shipped("scenarios", f"tutorial/segs/{name}.seg.yaml"))
        ours = float(np.sum(total_ruv(seg, "ct", values[name]).amounts))
        where = ", ".join(f"{key} = {value:g}" for key, value in values[name].items())
        yield Cell(f"{name}, {where}", "time", seconds, ours, 0.0, "s")


def _node_times(found: Document) -> Compared:
    cells = [
        Cell(f"{row['kernel']}, {row['node']}", row["method"], row["printed_us"], row["computed_us"], ROUNDED_US, "us")
        for row in found["node_times"]
        if row["flops"] is not None
    ]
    known = {(row["kernel"], row["node"]) for row in found["node_times"] if row["flops"] is not None}
    cells += [
        Cell(f"{row['kernel']}, {row['node']}", row["method"], float(row["time_us"]), None, ROUNDED_US, "us")
        for row in shipped_rows("papers/warwick_node_times.csv")
        if row["method"] != "POC" or (row["kernel"], row["node"]) not in known
    ]
    because = "Of 40 cells only flops that the text tells can be computed. " + " ".join(
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
        for row in result["simulated"] or ()
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
    if not off:
        return Compared("table 6 (second)", title, NOT_REPRODUCED, "Its kernels were not simulated.", tuple(cells))
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
    fitted = []
    for name, entry in result["communication"].items():
        form = next(form for form in entry["models"] if form["name"] == "packetised")
        if form["fitted_numbers"] is not None:
            fitted.append(f"{name} {100 * form['held_out']['mean_relative_error']:.0f} %")
    because = (
        "The paper prints neither message times nor parameters. Fitted to messages between processes "
        f"({'recorded' if result['recorded'] else 'measured here'}), it is off at sizes held out by "
        f"{', '.join(fitted)} on average."
    )
    return Compared("equation 5", "Message times", REPEATED, because)

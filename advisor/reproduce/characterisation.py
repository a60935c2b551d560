"""The characterisation paper: its tables, the study of its methods here, and equation 5 fitted to real message times.

It prints two tables 6: execution times of single nodes, and errors due to the resource models. Table 7 sums the second
one up. Of the first, a time can be computed again only where the text says what the node does and table 4 or the text
what that costs. The second is simulated on 2 to 128 transputers: messages and templates are ours and stand in two
scenarios; the sort's local part, whose time is not printed, is chosen so that the flops' error on two processors comes
out, and every other cell is predicted. The paper fits its equation to messages of 100 to 20000 bytes over 1 to 10 nodes
of a Parsytec SuperCluster and prints neither times nor parameters. Here a chain of eleven processes takes the place of
the nodes: each hop is one process that passes packets on. Ping-pongs between two processes over each medium go with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from advisor.report.papers import PERCENT, REPEATED, Cell, Compared
from advisor.reproduce import characterisation_study
from advisor.reproduce.comparison import defined, given, judged, lost, published, shipped_rows
from simulator import files, load_scenario, load_seg, plots, provenance, run
from simulator.calibration import NetworkFile, read_network_table
from simulator.characterisation import total_ruv
from simulator.models import CostVector, error_statistics, fit_network

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
ERROR_KEYS = ("kernel", "processors", "method")
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


@dataclass(frozen=True)
class FlopRate:
    """At which rates the printed POC times are whole numbers of flops, within their rounding."""

    stated_mflops: float
    implied_mflops: float
    nodes: int
    whole_at_stated: int
    whole_at_implied: int
    flops_at_implied: Mapping[str, int]


@dataclass(frozen=True)
class ByHops:
    """Mean errors at one distance, held out: of equation 5 and of the chosen form."""

    hops: float
    equation_5: float | None
    chosen: float | None


@dataclass(frozen=True)
class Medium:
    """All forms of message times fitted to the table of a medium, with their errors."""

    what: str
    fits: NetworkFile
    by_hops: tuple[ByHops, ...]


@dataclass(frozen=True)
class Reproduced:
    """Tables as cells, the recorded study of the methods, and message times by medium."""

    statistics: tuple[Cell, ...]
    """Table 7."""
    node_times: tuple[Cell, ...]
    """Of the first table 6, what can be computed."""
    flop_rate: FlopRate
    simulated: tuple[Cell, ...]
    """Of the second table 6."""
    study: characterisation_study.Study
    communication: Mapping[str, Medium]


def table_7() -> Iterator[Cell]:
    """Statistics of each method's 21 errors, with the printed ones."""
    errors = published("papers/warwick_errors.csv", ERROR_KEYS, "error_percent")
    printed = published("papers/warwick_stats.csv", ("method", "statistic"), "value_percent")
    for method in METHODS:
        found = error_statistics([error for (*_, name), error in errors.items() if name == method])
        for name in STATISTICS:
            # A figure that ends in 5 may have been rounded either way.
            slack = ROUNDED_STATISTIC + 0.005
            yield Cell(method, name, printed[method, name], getattr(found, name), slack, PERCENT)


def node_times(times_us: Mapping[tuple[str, ...], float]) -> Iterator[Cell]:
    """POC of the nodes whose flops follow from the text, by equation 6."""
    for (kernel, node), (flops, _) in FLOPS.items():
        yield Cell(f"{kernel}, {node}", "POC", times_us[kernel, node, "POC"], flops / STATED_MFLOPS, ROUNDED_US, "us")


def flop_rate(times_us: Mapping[tuple[str, ...], float]) -> FlopRate:
    """The rate R at which the printed POC times are whole numbers of flops, within their rounding."""
    own = {where[:2]: time for where, time in times_us.items() if where[2] == "POC" and time > 0}
    nodes, times = list(own), np.array(list(own.values()))
    rates = np.round(np.arange(1.0, 2.0, 0.005), 3)
    low, high = (np.multiply.outer(rates, times + away) for away in (-ROUNDED_US, ROUNDED_US))
    whole = np.ceil(low - 1e-9) <= high + 1e-9
    best = int(np.argmax(whole.sum(axis=1)))
    flops = {
        f"{kernel} {node}": int(np.ceil(low[best, i] - 1e-9))
        for i, (kernel, node) in enumerate(nodes)
        if whole[best, i]
    }
    stated = int(np.argmin(np.abs(rates - STATED_MFLOPS)))
    counts = int(whole[stated].sum()), int(whole[best].sum())
    return FlopRate(STATED_MFLOPS, float(rates[best]), len(nodes), *counts, flops)


def reproduce(folder: Path | None = None) -> Reproduced:
    """Compute the paper's tables, judge the recorded study of the methods, and fit all forms of message times.

    `folder`: where a figure of each medium goes; None for nowhere.
    """
    media = {name: fitted(WHAT[name], files.shipped("scenarios", path)) for name, path in SHIPPED.items()}
    if folder is not None:
        for name, medium in media.items():
            files.write_text(folder / f"{name}.svg", plots.network(medium.fits, every=True).svg(name) + "\n")
    printed = published(NODE_TIMES, ("kernel", "node", "method"), "time_us")
    return Reproduced(
        tuple(table_7()),
        tuple(node_times(printed)),
        flop_rate(printed),
        tuple(simulated_errors()),
        characterisation_study.judge(characterisation_study.read_rows()),
        media,
    )


def fitted(what: str, path: Path) -> Medium:
    """Fits to a table, with held-out errors of equation 5 and of the chosen form at each distance."""
    points, notes = read_network_table(path)
    fit, made = fit_network(points), provenance.provenance(inputs={str(path): files.digest(files.read_bytes(path))})
    forms = [fit.form(name).held_out for name in ("packetised", fit.chosen)]
    rows = []
    for hops in fit.points.distances:
        mine = fit.points.rows_hops == hops
        means = (None if errors is None else float(np.mean(errors[mine])) for errors in forms)
        rows.append(ByHops(float(hops), *means))
    return Medium(what, NetworkFile.of_fit(fit, made, notes), tuple(rows))


def simulated_errors(processors: tuple[int, ...] = tuple(GRID_ROWS)) -> Iterator[Cell]:
    """Errors due to the resource models, by kernel, number of processors and method.

    An error is the size of the difference in makespan from component timing's, in percent.
    """
    printed = published("papers/warwick_errors.csv", ERROR_KEYS, "error_percent")
    for kernel in SCENARIOS:
        for count in processors:
            timed_s = makespan_s(kernel, count, TIMED)
            for method in METHODS:
                error = 100 * abs(makespan_s(kernel, count, method.lower()) / timed_s - 1)
                where, paper = f"{kernel}, {count} processors", printed[kernel, str(count), method]
                yield Cell(where, method, paper, error, ROUNDED_POINTS, PERCENT)


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


def inventory(result: Reproduced) -> list[Compared]:
    """All tables and figures in the paper's order; equation 5 too."""
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
        _compared_node_times(result.node_times),
        lost("figures 6 to 8", "Measured and predicted times of the kernels", NO_FIGURES),
        lost("figures 9 to 11", "Errors of the predictions in all", f"{NO_FIGURES}They contain the errors of table 6."),
        _simulated(result.simulated),
        judged(
            "table 7",
            "Statistics of the errors",
            "Computed from the 63 errors of the second table 6.",
            result.statistics,
        ),
        defined("figure 12", "Bounds of the errors", "The least and greatest errors of table 7."),
        _messages(result.communication),
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


def _compared_node_times(computed: Sequence[Cell]) -> Compared:
    others = [
        Cell(f"{row['kernel']}, {row['node']}", row["method"], float(row["time_us"]), None, ROUNDED_US, "us")
        for row in shipped_rows(NODE_TIMES)
        if row["method"] != "POC" or (row["kernel"], row["node"]) not in FLOPS
    ]
    because = "Of 40 cells only flops that the text states can be computed. " + " ".join(
        f"{method}: {reason}." for method, reason in LACKING.items()
    )
    return judged("table 6 (first)", "Node times", because, (*computed, *others))


def _simulated(computed: Sequence[Cell]) -> Compared:
    """Errors due to the resource models, simulated from the node times; those of integration cannot be."""
    off = [abs(cell.difference or 0.0) for cell in computed]
    others = [
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
    kernel, processors, method = CHOSEN
    because = (
        f"Simulated from the node times on 2 to 128 transputers; ours are {np.mean(off):.1f} points off on average, "
        f"{max(off):.1f} at most. Messages and templates are not printed, so they are ours; the sort's local part was "
        f"chosen by the cell {kernel}, {processors} processors, {method}. Integration: numbers of intervals and phases "
        "are not printed."
    )
    return Compared("table 6 (second)", title, REPEATED, because, (*computed, *others))


def _messages(communication: Mapping[str, Medium]) -> Compared:
    """Equation 5, whose parameters are not printed."""
    errors = []
    for name, entry in communication.items():
        form = next(form for form in entry.fits.models if form.name == "packetised")
        if form.fitted_numbers is not None:
            errors.append(f"{name} {100 * (form.held_out.mean_relative_error or 0.0):.0f} %")
    because = (
        "The paper prints neither message times nor parameters. Fitted to messages between processes (recorded), it is "
        f"off at sizes held out by {', '.join(errors)} on average."
    )
    return Compared("equation 5", "Message times", REPEATED, because)

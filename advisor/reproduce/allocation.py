"""The allocation paper (Kishimoto and Ichikawa): the arithmetic of its tables, its runs, its choices on a surrogate.

Tables 4, 7 and 9 print the configuration that each construction set (Basic, NL, NS) chose, its estimated and measured
time and the best measured one. The original cluster is gone: the experiment was repeated on a surrogate fitted to the
printed points, by the paper's model and by ours, and what came out is recorded.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from advisor.report.papers import PERCENT, REPEATED, Cell, Compared
from advisor.reproduce.comparison import defined, given, half_of_last_digit, judged, lost, shipped_rows
from simulator import files

RECORDED = "papers/allocation_study.json"
"""Choices on a surrogate cluster as they once came out for 100 seeds, which takes minutes."""
SIZES = {
    "Basic": (400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400),
    "NL": (1600, 3200, 4800, 6400),
    "NS": (400, 800, 1200, 1600),
}
"""Problem sizes of the construction sets (tables 2, 5 and 8)."""
PES = {"Basic": (1, 8), "NL": (1, 4), "NS": (1, 4)}
"""How many numbers of PEs a set takes of the fast kind and of the slow one: 1 to 8 of these, or 1, 2, 4 and 8."""
PROCESSES = 6
"""Most processes on each PE in construction runs, and on the fast one in the configurations to choose from."""
TABLES = {"4": "Basic", "7": "NL", "9": "NS"}
"""Table of choices -> construction set."""
PRINTED_RUNS = {"Basic": 486, "NL": 120, "NS": 120}
PRINTED_COST_S = {"Basic": 22869.3, "NL": 12335.4, "NS": 571.7}
"""The sums of Tables 3 and 6; the text gives 12235 s for NL."""
PRINTED_CANDIDATES = 62
CITATION = "Y. Kishimoto and S. Ichikawa: An execution-time estimation model for heterogeneous clusters"
MISPRINTS = (
    "The last constant of the P-T equation for communication is printed k12; it is k11.",
    (
        "Both P-T equations print the N-T curve at the same P, which would enter 1 / P twice; here it is the curve of "
        "the smallest measured P above M."
    ),
    "The NL runs took 12235 s by the text, 12335.4 s by table 6.",
    "Section 4.1 leaves out N = 8000, which tables 2 and 4 have.",
    (
        "An Athlon is 5 times as fast as a Pentium-II in section 2, 4 times in section 4, and 1 / 0.27 = 3.7 times in "
        "its model."
    ),
)
GONE = "Measured on a cluster that is gone"
NO_POINTS = "A drawing whose points are not printed, from runs on a cluster that is gone."
TEXT_NL_S = 12235.0
STUDY = (
    "The cluster is gone and its construction runs are not printed, so its models cannot be fitted again. The same "
    "experiment on a surrogate cluster that was fitted to the 16 printed points (worst 9 %, mixed ones within 3.3 %), "
    "by the paper's method; ours is the mean over {seeds} seeds."
)

Document = dict[str, Any]
Rows = list[dict[str, str]]


def reproduce(_folder: Path | None = None) -> Document:
    """Compute the tables again; the experiment on the surrogate is recorded.

    Returns
    -------
    dict
        `tables`: each printed choice with its errors as printed and computed again; `orderings`: configurations
        measured at the same size, fastest first; `construction`: runs and measuring time of each set, printed and ours;
        `candidates`; `surrogate`: regret, cost and error of every cluster, truth, construction set and method.
    """
    rows = [row for number in TABLES for row in _rows(f"table{number}")]
    recorded = files.read_json(files.shipped("scenarios", RECORDED))
    return {
        "paper": "allocation",
        "tables": [_choice(row) for row in rows],
        "orderings": _orderings(_rows("measured_points"), rows),
        "construction": [_construction(name) for name in PRINTED_RUNS],
        "candidates": {"paper": PRINTED_CANDIDATES, "found": (PROCESSES + 1) * (PES["Basic"][1] + 1) - 1},
        "seeds": recorded["seeds"],
        "surrogate": list(recorded["surrogate"]),
    }


def _choice(row: dict[str, str]) -> Document:
    """One printed choice, with its errors computed from the printed times."""
    estimated, own, best = (
        float(row[name]) for name in ("estimated_time_s", "measured_time_of_estimated_s", "best_time_s")
    )
    return {
        "table": int(row["table"]),
        "set": TABLES[row["table"]],
        "size": int(row["n"]),
        "chosen": _configuration(row, "est_"),
        "best": _configuration(row, "best_"),
        "estimated_s": estimated,
        "measured_s": own,
        "best_s": best,
        "paper": {"estimate": float(row["estimation_error"]), "regret": float(row["regret"])},
        "computed": {"estimate": estimated / best - 1, "regret": own / best - 1},
        "agrees": all(cell.within_rounding for cell in _error_cells(row)),
    }


def _orderings(points: Rows, choices: Rows) -> list[Document]:
    """Measured configurations by size, fastest first, and whether the fastest is the one that the tables call best."""
    found = []
    for size in sorted({int(point["n"]) for point in points}):
        own = sorted(
            (float(point["measured_time_s"]), _configuration(point)) for point in points if point["n"] == str(size)
        )
        best = {tuple(_configuration(row, "best_")) for row in choices if row["n"] == str(size)}
        found.append(
            {
                "size": size,
                "configurations": [configuration for _, configuration in own],
                "measured_s": [seconds for seconds, _ in own],
                "agrees": best == {tuple(own[0][1])},
            }
        )
    return found


def _construction(name: str) -> Document:
    """Runs and measuring time of a construction set: the sums of the printed tables at its sizes."""
    return {
        "set": name,
        "runs": len(SIZES[name]) * sum(PES[name]) * PROCESSES,
        "paper_runs": PRINTED_RUNS[name],
        "cost_s": _total(_rows("table3" if name == "Basic" else "table6"), sizes=SIZES[name]),
        "paper_cost_s": PRINTED_COST_S[name],
    }


def _configuration(row: dict[str, str], prefix: str = "") -> list[int]:
    return [int(row[f"{prefix}{name}"]) for name in ("p1", "m1", "p2", "m2")]


def _rows(name: str) -> Rows:
    return shipped_rows(f"papers/kishimoto_{name}.csv")


def inventory(result: Document) -> list[Compared]:
    """All tables and figures in the paper's order, then the experiment on the surrogate."""
    return [
        lost("figures 1 to 3", "HPL with two versions of MPICH, message throughput, HPL on parts of it", NO_POINTS),
        defined("figures 4 and 5", "Phases of HPL; which model for which number of processes"),
        defined("table 1", "The cluster", "Processors and software; the surrogate has its PEs."),
        _counts(result),
        _sums(),
        _errors("4"),
        _chosen("4", result),
        lost("figures 6 to 15", "Estimates against measurements, before and after the adjustment", NO_POINTS),
        defined("tables 5 and 8", "Sizes and processes of NL and NS", "Counted with table 2."),
        given("table 6", "What NL and NS took", f"{GONE}; summed up with table 3."),
        _errors("7"),
        _chosen("7", result),
        _errors("9"),
        _chosen("9", result),
        lost(
            "text",
            "0.69 ms to build 54 models, 35 ms for 62 estimates, 0.52 ms and 26.4 ms for NL",
            "Times of an AthlonXP 2600+ under Windows XP. Ours are in the benchmark of process-count models.",
        ),
    ]


def _counts(result: Document) -> Compared:
    cells = [
        Cell(row["set"], "construction runs", float(row["paper_runs"]), float(row["runs"]))
        for row in result["construction"]
    ]
    found = result["candidates"]
    cells.append(Cell("all", "configurations to choose from", float(found["paper"]), float(found["found"])))
    return judged("table 2", "Runs of each construction set, configurations to choose from", "", cells)


def _sums() -> Compared:
    """Totals of table 3, and of both tables the seconds that the text names."""
    basic, small = (_rows(f"table{number}") for number in "36")
    cells = [
        Cell(
            row["processor_kind"],
            "total",
            float(row["measurement_time_s"]),
            _total(basic, kind=row["processor_kind"]),
            0.05,
            "s",
        )
        for row in basic
        if row["row"] == "total"
    ]
    cells.append(Cell("Basic", "text", 22869.0, _total(basic), 0.5, "s"))
    cells.append(Cell("NL", "text", TEXT_NL_S, _total(small, sizes=SIZES["NL"]), 0.5, "s"))
    cells.append(Cell("NS", "text", 571.7, _total(small, sizes=SIZES["NS"]), 0.05, "s"))
    because = f"{GONE}; compared are the sums. The text's 12235 s for NL are 12335.4 s by its table."
    return judged("table 3", "What the construction runs took", because, cells)


def _total(rows: list[dict[str, str]], *, kind: str | None = None, sizes: Sequence[int] = ()) -> float:
    """Seconds of all sizes or some, of all kinds of PEs or one."""
    return sum(
        float(row["measurement_time_s"])
        for row in rows
        if row["row"] == "size" and kind in {None, row["processor_kind"]} and (not sizes or int(row["n"]) in sizes)
    )


def _errors(number: str) -> Compared:
    title = f"Errors of the configurations chosen by {TABLES[number]}"
    cells = (cell for row in _rows(f"table{number}") for cell in _error_cells(row))
    return judged(f"table {number}", title, "Computed from the printed times.", cells)


def _error_cells(row: dict[str, str]) -> Iterator[Cell]:
    """Both errors of a choice: as far off as the rounding of all printed times and errors allows is no difference."""
    best = float(row["best_time_s"])
    for what, column, error in (
        ("estimate", "estimated_time_s", "estimation_error"),
        ("regret", "measured_time_of_estimated_s", "regret"),
    ):
        seconds, printed = float(row[column]), float(row[error])
        half, half_best = half_of_last_digit(row[column]), half_of_last_digit(row["best_time_s"])
        slack = 0.0005 + (half + half_best * seconds / best) / (best - half_best)
        values = (100 * printed, 100 * (seconds / best - 1), 100 * slack)
        yield Cell(f"N = {row['n']}", what, *values, PERCENT)


def _chosen(number: str, result: Document) -> Compared:
    """Regret of the paper's method on the surrogate, compared with the printed regret."""
    title = f"Regret of what {TABLES[number]} chooses, on a surrogate"
    wanted = {"kinds": 2, "truth": "as fitted", "set": TABLES[number], "method": "paper"}
    case = next(case for case in result["surrogate"] if wanted.items() <= case.items())
    cells = tuple(
        Cell(
            f"N = {row['n']}",
            "regret",
            100 * float(row["regret"]),
            case["regret_percent"].get(row["n"], {}).get("mean"),
            0.05,
            PERCENT,
        )
        for row in _rows(f"table{number}")
        if row["n"] in case["regret_percent"]
    )
    return Compared(f"table {number}, choices", title, REPEATED, STUDY.format(seeds=case["seeds"]), cells)

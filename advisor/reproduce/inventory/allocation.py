"""Tables and figures of the paper on process allocation for unmodified programs, beside ours."""

from collections.abc import Iterator, Sequence
from typing import Any

from advisor.reproduce.allocation_surrogate import SIZES
from advisor.reproduce.comparison import (
    NOT_REPRODUCED,
    PERCENT,
    REPEATED,
    Cell,
    Compared,
    defined,
    given,
    half_of_last_digit,
    judged,
    lost,
    shipped_rows,
)

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
CHOICES = {"4": "Basic", "7": "NL", "9": "NS"}
GONE = "Measured on a cluster that is gone"
NO_POINTS = "A drawing whose points are not printed, from runs on a cluster that is gone."
TEXT_NL_S = 12235.0
STUDY = (
    "The cluster is gone and its construction runs are not printed, so its models cannot be fitted again. The same "
    "experiment on a surrogate cluster that was fitted to the 16 printed points (worst 9 %, mixed ones within 3.3 %), "
    "by the paper's method; ours is the mean over {seeds} seeds."
)

Document = dict[str, Any]


def tables(result: Document) -> list[Compared]:
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
    basic, small = (shipped_rows(f"papers/kishimoto_table{number}.csv") for number in "36")
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
    title = f"Errors of the configurations chosen by {CHOICES[number]}"
    return judged(f"table {number}", title, "Computed from the printed times.", _error_cells(number))


def _error_cells(number: str) -> Iterator[Cell]:
    for row in shipped_rows(f"papers/kishimoto_table{number}.csv"):
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
    """Regret of the paper's method on the surrogate, beside the printed regret."""
    title = f"Regret of what {CHOICES[number]} chooses, on a surrogate"
    case = next(
        (
            case
            for case in result["surrogate"]
            if (case["kinds"], case["truth"], case["set"], case["method"]) == (2, "as fitted", CHOICES[number], "paper")
        ),
        None,
    )
    if case is None:
        return Compared(f"table {number}, choices", title, NOT_REPRODUCED, "The study on the surrogate was not run.")
    cells = tuple(
        Cell(
            f"N = {row['n']}",
            "regret",
            100 * float(row["regret"]),
            case["regret_percent"].get(row["n"], {}).get("mean"),
            0.05,
            PERCENT,
        )
        for row in shipped_rows(f"papers/kishimoto_table{number}.csv")
        if row["n"] in case["regret_percent"]
    )
    return Compared(f"table {number}, choices", title, REPEATED, STUDY.format(seeds=case["seeds"]), cells)

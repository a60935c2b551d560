"""The allocation paper (Kishimoto and Ichikawa): the arithmetic of its tables, its runs, its choices on a surrogate.

Tables 4, 7 and 9 print the configuration that each construction set (Basic, NL, NS) chose, its estimated and measured
time and the best measured one. The original cluster is gone: `study` repeats the experiment on a surrogate fitted to
the printed points, by the paper's model and by ours.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from advisor.report.text import aligned
from advisor.reproduce import allocation_surrogate as surrogate
from advisor.reproduce.allocation_surrogate import SIZES, Cluster, Floats, Ints
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
from simulator import files
from simulator.models import AllocationRuns, Composed, ProcessCountModel, fit_process_counts

# Choices on the surrogate cluster: what the construction sets cost, and how much slower what they choose is.


Document = dict[str, Any]
Rows = list[dict[str, str]]

WHOLE = "pooled, whole times"
UNADJUSTED = "paper, unadjusted"
METHODS = ("paper", "pooled", WHOLE)
"""`paper` also uses four mixed runs for its adjustment; `whole times`, on NS, does not know communication apart.

`UNADJUSTED`, not among them, is `paper` without those runs.
"""


def study(
    *,
    seeds: int,
    kinds: Sequence[int] = (2, 3),
    sets: Sequence[str] = tuple(surrogate.SIZES),
    methods: Sequence[str] = METHODS,
) -> list[Document]:
    """Regret, cost and error of every cluster, truth, construction set and method.

    Returns
    -------
    list of dict
        `kinds`, `truth` (`as fitted` or `misspecified`), `set`, `method`, `seeds` (a tenth for `pooled` on Basic and
        NL, to save time), `runs`, `cost_s` (mean over the seeds),
        `regret_percent` (by size: `mean`, `worst`), `mean_regret_percent`, `worst_regret_percent`, `estimate_percent`
        (of the chosen configuration against its true time: `mean`, `low`, `high` over seeds and sizes) and
        `not_positive` (share of all estimates).
    """
    return [
        _case(
            surrogate.cluster(count),
            misspecified,
            name,
            method=method,
            seeds=seeds if name == "NS" or method.startswith("paper") else max(1, seeds // 10),
        )
        for count in kinds
        for misspecified in (False, True)
        for name in sets
        for method in methods
        if method != WHOLE or name == "NS"
    ]


def point_estimates(model: ProcessCountModel, size: float, allocations: Ints) -> Floats:
    """Makespans of allocations (n, kind, 2) by the model's tables, without intervals; (n,)."""
    m = allocations[..., 1]
    processes = (allocations[..., 0] * m).sum(axis=1)
    tables = model.tables(size, m.max(axis=0).tolist(), int(processes.max()))
    kind = np.arange(m.shape[1])
    pe_s = tables.pe_s[kind, np.maximum(m, 1) - 1, processes[:, np.newaxis]]
    makespan = np.where(m > 0, pe_s, -np.inf).max(axis=1) + tables.comm_s[processes]
    factors = {row.tobytes(): factor for row, factor in zip(tables.measured, tables.factor, strict=True)}
    return np.asarray(makespan * [factors.get(row.tobytes(), 1.0) for row in allocations])


def fitted(
    of: Cluster, name: str, *, method: str, seed: int, misspecified: bool = False
) -> tuple[ProcessCountModel, AllocationRuns]:
    """The model of one construction set measured with the noise of one seed, and its runs."""
    sizes, allocations = surrogate.construction(of, name)
    if method == "paper":
        more_sizes, more = surrogate.adjustment(of, name)
        sizes, allocations = np.append(sizes, more_sizes), np.concatenate((allocations, more))
    runs = surrogate.measured(
        of,
        sizes,
        allocations,
        seed=seed,
        phases=method != WHOLE,
        misspecified=seed if misspecified else None,
    )
    if method.startswith("pooled"):
        return fit_process_counts(runs), runs
    return fit_process_counts(runs, method="paper", compose={"fast": Composed("slow")}), runs


def study_lines(cases: Sequence[Document], *, seeds: int) -> list[str]:
    """Regret by size, mean / worst in percent, and what the runs cost."""
    sizes = list(cases[0]["regret_percent"]) if cases else []
    found = [
        f"surrogate cluster, {seeds} seed{'s' if seeds > 1 else ''}: regret in %, mean / worst;",
        "estimate: of the chosen configuration against its true time in %, mean (least to most)",
        "goal for pooled on NS: mean 2, worst 12 with two kinds, mean 7.4 with three",
        "published: Basic 0 to 3.6, NL 0 to 4.3, NS 28 to 82 from N = 3200 on; with three kinds 13.6 to 31.5",
    ]
    for count, truth in dict.fromkeys((case["kinds"], case["truth"]) for case in cases):
        rows = []
        for case in cases:
            if (case["kinds"], case["truth"]) == (count, truth):
                pairs = [f"{one['mean']:.1f} / {one['worst']:.1f}" for one in case["regret_percent"].values()]
                pairs.append(f"{case['mean_regret_percent']:.1f} / {case['worst_regret_percent']:.1f}")
                error = case["estimate_percent"]
                shown = f"{error['mean']:+.0f} ({error['low']:+.0f} to {error['high']:+.0f})"
                numbers = [f"{case['seeds']}", f"{case['runs']}", f"{case['cost_s']:.0f}"]
                rows.append([case["set"], case["method"], *numbers, *pairs, shown])
        head = ["set", "method", "seeds", "runs", "cost s", *sizes, "all", "estimate"]
        found += ["", f"{count} kinds, truth {truth}", *aligned(head, rows, left=2)]
    return found


def _case(of: Cluster, misspecified: bool, name: str, *, method: str, seeds: int) -> Document:  # noqa: FBT001
    candidates = surrogate.candidates(of)
    shape = (seeds, len(surrogate.JUDGED))
    regret, error, not_positive, cost_s = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(seeds)
    count = 0
    for seed in range(seeds):
        model, runs = fitted(of, name, method=method, seed=seed, misspecified=misspecified)
        cost_s[seed], count = runs.time_s.sum(), len(runs.size)
        for at, size in enumerate(surrogate.JUDGED):
            true_s = surrogate.truth(of, size, candidates, misspecified=seed if misspecified else None)
            estimated_s = point_estimates(model, size, candidates)
            chosen = int(estimated_s.argmin())
            regret[seed, at] = true_s[chosen] / true_s.min() - 1
            error[seed, at] = estimated_s[chosen] / true_s[chosen] - 1
            not_positive[seed, at] = np.mean(estimated_s <= 0)
    return {
        "kinds": len(of.kinds),
        "truth": "misspecified" if misspecified else "as fitted",
        "set": name,
        "method": method,
        "seeds": seeds,
        "runs": count,
        "cost_s": float(cost_s.mean()),
        "regret_percent": {
            str(size): {"mean": 100 * float(regret[:, at].mean()), "worst": 100 * float(regret[:, at].max())}
            for at, size in enumerate(surrogate.JUDGED)
        },
        "mean_regret_percent": 100 * float(regret.mean()),
        "worst_regret_percent": 100 * float(regret.max()),
        "estimate_percent": {
            "mean": 100 * float(error.mean()),
            "low": 100 * float(error.min()),
            "high": 100 * float(error.max()),
        },
        "not_positive": float(not_positive.mean()),
    }


TITLE = "Process allocation for unmodified programs (Kishimoto and Ichikawa)"
SEEDS = 100
RECORDED = "papers/allocation_study.json"
"""The study of the surrogate as it once came out for `SEEDS` seeds, which takes minutes."""
TABLES = {"4": "Basic", "7": "NL", "9": "NS"}
"""Table of choices -> construction set."""
PRINTED_RUNS = {"Basic": 486, "NL": 120, "NS": 120}
PRINTED_COST_S = {"Basic": 22869.3, "NL": 12335.4, "NS": 571.7}
"""The sums of Tables 3 and 6; the text gives 12235 s for NL."""
PRINTED_CANDIDATES = 62


def reproduce(seeds: int = SEEDS, *, methods: Sequence[str] = METHODS, recorded: bool = False) -> Document:
    """Compute the tables again, and the experiment on the surrogate.

    Parameters
    ----------
    seeds
        How often the surrogate's construction runs are measured again, each with noise of its own.
    methods
        Of `allocation_study.METHODS`.
    recorded
        Take the study of the surrogate from the shipped recording, which is of `SEEDS` seeds and all methods.

    Returns
    -------
    dict
        `tables`: each printed choice with its errors as printed and computed again; `orderings`: configurations
        measured at the same size, fastest first; `construction`: runs and measuring time of each set, printed and ours;
        `candidates`; `surrogate`: the entries of `allocation_study.study`.
    """
    rows = [row for number in TABLES for row in _rows(f"table{number}")]
    return {
        "paper": "allocation",
        "title": TITLE,
        "tables": [_choice(row) for row in rows],
        "orderings": _orderings(_rows("measured_points"), rows),
        "construction": [_construction(name) for name in PRINTED_RUNS],
        "candidates": {
            "paper": PRINTED_CANDIDATES,
            "found": len(surrogate.candidates(surrogate.cluster())),
        },
        "seeds": SEEDS if recorded else seeds,
        "recorded": recorded,
        "surrogate": list(files.read_json(files.shipped("scenarios", RECORDED))["surrogate"])
        if recorded
        else study(seeds=seeds, methods=methods),
    }


def text(result: Document) -> str:
    """The tables, then regret and cost on the surrogate."""
    choices = [
        [
            f"{row['table']} {row['set']}",
            *(",".join(map(str, row[name])) for name in ("chosen", "best")),
            f"{row['size']}",
            *(f"{row[by][name]:.3f}" for name in ("estimate", "regret") for by in ("computed", "paper")),
            "" if row["agrees"] else "differs",
        ]
        for row in result["tables"]
    ]
    runs = [
        [
            row["set"],
            f"{row['runs']}",
            f"{row['paper_runs']}",
            f"{row['cost_s']:.1f}",
            f"{row['paper_cost_s']:.1f}",
        ]
        for row in result["construction"]
    ]
    found, paper = result["candidates"]["found"], result["candidates"]["paper"]
    head = ["table", "chosen", "best", "N", "estimate", "printed", "regret", "printed", ""]
    lines = [
        result["title"],
        "",
        "errors against the best measured time, printed and from the printed times (P1,M1,P2,M2)",
        *aligned(head, choices, left=3),
        "",
        *_ordering_lines(result["orderings"]),
        "",
        *aligned(["construction", "runs", "paper", "measured s", "paper"], runs),
        f"configurations to choose from: {found} (paper {paper})",
    ]
    return "\n".join([*lines, "", *study_lines(result["surrogate"], seeds=result["seeds"])])


def _choice(row: dict[str, str]) -> Document:
    """One printed choice, with its errors computed from the printed times."""
    estimated, own, best = (
        float(row[name]) for name in ("estimated_time_s", "measured_time_of_estimated_s", "best_time_s")
    )
    errors = {"estimate": estimated / best - 1, "regret": own / best - 1}
    printed = {"estimate": float(row["estimation_error"]), "regret": float(row["regret"])}
    return {
        "table": int(row["table"]),
        "set": TABLES[row["table"]],
        "size": int(row["n"]),
        "chosen": _configuration(row, "est_"),
        "best": _configuration(row, "best_"),
        "estimated_s": estimated,
        "measured_s": own,
        "best_s": best,
        "paper": printed,
        "computed": errors,
        "agrees": all(
            _could_be(row[name], row["best_time_s"], row[error])
            for name, error in (
                ("estimated_time_s", "estimation_error"),
                ("measured_time_of_estimated_s", "regret"),
            )
        ),
    }


def _could_be(seconds: str, best: str, error: str) -> bool:
    """Whether times that round to the printed ones have an error that rounds to the printed one."""
    (low, high), (best_low, best_high), (error_low, error_high) = (
        (float(text) - half_of_last_digit(text), float(text) + half_of_last_digit(text))
        for text in (seconds, best, error)
    )
    slack = 1e-9
    return low / best_high - 1 <= error_high + slack and high / best_low - 1 >= error_low - slack


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
    sizes, _ = surrogate.construction(surrogate.cluster(), name)
    return {
        "set": name,
        "runs": len(sizes),
        "paper_runs": PRINTED_RUNS[name],
        "cost_s": _total(_rows("table3" if name == "Basic" else "table6"), sizes=SIZES[name]),
        "paper_cost_s": PRINTED_COST_S[name],
    }


def _configuration(row: dict[str, str], prefix: str = "") -> list[int]:
    return [int(row[f"{prefix}{name}"]) for name in ("p1", "m1", "p2", "m2")]


def _ordering_lines(orderings: list[Document]) -> list[str]:
    lines = ["measured, fastest first"]
    for row in orderings:
        shown = " < ".join(
            f"{','.join(map(str, configuration))}: {seconds:g} s"
            for configuration, seconds in zip(row["configurations"], row["measured_s"], strict=True)
        )
        lines.append(f"{row['size']:>6}  {shown}{'' if row['agrees'] else '  (the tables name another best)'}")
    return lines


def _rows(name: str) -> Rows:
    return shipped_rows(f"papers/kishimoto_{name}.csv")


# Tables and figures compared with ours


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
    return judged(f"table {number}", title, "Computed from the printed times.", _error_cells(number))


def _error_cells(number: str) -> Iterator[Cell]:
    for row in _rows(f"table{number}"):
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
    case = next(
        (
            case
            for case in result["surrogate"]
            if (case["kinds"], case["truth"], case["set"], case["method"]) == (2, "as fitted", TABLES[number], "paper")
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
        for row in _rows(f"table{number}")
        if row["n"] in case["regret_percent"]
    )
    return Compared(f"table {number}, choices", title, REPEATED, STUDY.format(seeds=case["seeds"]), cells)

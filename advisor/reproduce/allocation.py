"""The allocation paper (Kishimoto and Ichikawa): its tables' arithmetic, its runs, its choices on a surrogate cluster.

Tables 4, 7 and 9 print the configuration that each construction set (Basic, NL, NS) chose, its estimated and measured
time and the best measured one. The original cluster is gone: `allocation_study` repeats the experiment on a surrogate
fitted to the printed points, by the paper's model and by ours.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from advisor.reproduce import allocation_surrogate
from advisor.reproduce import allocation_surrogate as surrogate
from advisor.reproduce.allocation_surrogate import Cluster, Floats, Ints
from simulator import files
from simulator.calibration import read_shipped_table
from simulator.models import AllocationRuns, Composed, ProcessCountModel, fit_process_counts

# Choices on the surrogate cluster: what the construction sets cost, and how much slower what they choose is.


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
) -> list[dict[str, Any]]:
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
        _case(surrogate.cluster(count), misspecified, name, method=method, seeds=_seeds(seeds, name, method))
        for count in kinds
        for misspecified in (False, True)
        for name in sets
        for method in methods
        if method != WHOLE or name == "NS"
    ]


def _seeds(seeds: int, name: str, method: str) -> int:
    return max(1, seeds // 10) if name != "NS" and not method.startswith("paper") else seeds


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


def study_lines(cases: Sequence[dict[str, Any]], *, seeds: int) -> list[str]:
    """Regret by size, mean / worst in percent, and what the runs cost."""
    sizes = list(cases[0]["regret_percent"]) if cases else []
    found = [
        f"surrogate cluster, {seeds} seed{'s' if seeds > 1 else ''}: regret in %, mean / worst;",
        "estimate: of the chosen configuration against its true time in %, mean (least to most)",
        "goal for pooled on NS: mean 2, worst 12 with two kinds, mean 7.4 with three",
        "published: Basic 0 to 3.6, NL 0 to 4.3, NS 28 to 82 from N = 3200 on; with three kinds 13.6 to 31.5",
    ]
    for count, truth in dict.fromkeys((case["kinds"], case["truth"]) for case in cases):
        columns = "".join(f"{size:>15}" for size in sizes)
        found += ["", f"{count} kinds, truth {truth}"]
        found.append(f"{'set':6}{'method':22}{'seeds':>6}{'runs':>5}{'cost s':>8}{columns}{'all':>15}   estimate")
        found += [_line(case, sizes) for case in cases if (case["kinds"], case["truth"]) == (count, truth)]
    return found


def _line(case: dict[str, Any], sizes: Sequence[str]) -> str:
    by_size = "".join(f"{_pair(case['regret_percent'][size]):>15}" for size in sizes)
    overall = _pair({"mean": case["mean_regret_percent"], "worst": case["worst_regret_percent"]})
    error = case["estimate_percent"]
    start = f"{case['set']:6}{case['method']:22}{case['seeds']:>6}{case['runs']:>5}{case['cost_s']:>8.0f}"
    return f"{start}{by_size}{overall:>15}   {error['mean']:+.0f} ({error['low']:+.0f} to {error['high']:+.0f})"


def _pair(regret: dict[str, float]) -> str:
    return f"{regret['mean']:.1f} / {regret['worst']:.1f}"


def _case(of: Cluster, misspecified: bool, name: str, *, method: str, seeds: int) -> dict[str, Any]:  # noqa: FBT001
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
TABLES = {"4": "Basic", "7": "NL", "9": "NS"}
"""Table of choices -> construction set."""
PRINTED_RUNS = {"Basic": 486, "NL": 120, "NS": 120}
PRINTED_COST_S = {"Basic": 22869.3, "NL": 12335.4, "NS": 571.7}
"""The sums of Tables 3 and 6; the text gives 12235 s for NL."""
PRINTED_CANDIDATES = 62

Rows = list[dict[str, str]]


def reproduce(seeds: int = SEEDS, *, methods: Sequence[str] = METHODS, recorded: bool = False) -> dict[str, Any]:
    """Compute the tables again, and the experiment on the surrogate.

    Parameters
    ----------
    seeds
        How often the surrogate's construction runs are measured anew, each with noise of its own.
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
    rows = [row for number in TABLES for row in _rows(f"kishimoto_table{number}")]
    return {
        "paper": "allocation",
        "title": TITLE,
        "tables": [_choice(row) for row in rows],
        "orderings": _orderings(_rows("kishimoto_measured_points"), rows),
        "construction": [_construction(name) for name in PRINTED_RUNS],
        "candidates": {
            "paper": PRINTED_CANDIDATES,
            "found": len(allocation_surrogate.candidates(allocation_surrogate.cluster())),
        },
        "seeds": SEEDS if recorded else seeds,
        "recorded": recorded,
        "surrogate": recorded_study() if recorded else study(seeds=seeds, methods=methods),
    }


def recorded_study() -> list[dict[str, Any]]:
    """Entries of `allocation_study.study`, as they once came out for `SEEDS` seeds, which takes minutes."""
    return list(files.read_json(files.shipped("scenarios", RECORDED))["surrogate"])


def text(result: dict[str, Any]) -> str:
    """The tables, then regret and cost on the surrogate."""
    lines = [result["title"], "", *_table_lines(result["tables"]), "", *_ordering_lines(result["orderings"]), ""]
    lines += _construction_lines(result["construction"])
    found, paper = result["candidates"]["found"], result["candidates"]["paper"]
    lines.append(f"configurations to choose from: {found} (paper {paper})")
    return "\n".join([*lines, "", *study_lines(result["surrogate"], seeds=result["seeds"])])


def _choice(row: dict[str, str]) -> dict[str, Any]:
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
    (low, high), (best_low, best_high), (error_low, error_high) = map(_before_rounding, (seconds, best, error))
    slack = 1e-9
    return low / best_high - 1 <= error_high + slack and high / best_low - 1 >= error_low - slack


def _before_rounding(text: str) -> tuple[float, float]:
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return float(text) - half, float(text) + half


def _orderings(points: Rows, choices: Rows) -> list[dict[str, Any]]:
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


def _construction(name: str) -> dict[str, Any]:
    """Runs and measuring time of a construction set: the sums of the printed tables at its sizes."""
    sizes, _ = allocation_surrogate.construction(allocation_surrogate.cluster(), name)
    rows = _rows("kishimoto_table3" if name == "Basic" else "kishimoto_table6")
    wanted = {str(size) for size in allocation_surrogate.SIZES[name]}
    own = [float(row["measurement_time_s"]) for row in rows if row["row"] == "size" and row["n"] in wanted]
    return {
        "set": name,
        "runs": len(sizes),
        "paper_runs": PRINTED_RUNS[name],
        "cost_s": sum(own),
        "paper_cost_s": PRINTED_COST_S[name],
    }


def _configuration(row: dict[str, str], prefix: str = "") -> list[int]:
    return [int(row[f"{prefix}{name}"]) for name in ("p1", "m1", "p2", "m2")]


def _table_lines(choices: list[dict[str, Any]]) -> list[str]:
    lines = [
        "errors against the best measured time, printed and from the printed times (P1,M1,P2,M2)",
        f"{'table':14}{'N':>6}{'chosen':>10}{'best':>10}{'estimate':>10}{'printed':>9}{'regret':>9}{'printed':>9}",
    ]
    for row in choices:
        where = f"{row['table']} {row['set']}"
        chosen, best = (",".join(map(str, row[name])) for name in ("chosen", "best"))
        errors = "".join(
            f"{row['computed'][name]:>{width}.3f}{row['paper'][name]:>9.3f}"
            for name, width in (("estimate", 10), ("regret", 9))
        )
        lines.append(f"{where:14}{row['size']:>6}{chosen:>10}{best:>10}{errors}{'' if row['agrees'] else '  differs'}")
    return lines


def _ordering_lines(orderings: list[dict[str, Any]]) -> list[str]:
    lines = ["measured, fastest first"]
    for row in orderings:
        shown = " < ".join(
            f"{','.join(map(str, configuration))}: {seconds:g} s"
            for configuration, seconds in zip(row["configurations"], row["measured_s"], strict=True)
        )
        lines.append(f"{row['size']:>6}  {shown}{'' if row['agrees'] else '  (the tables name another best)'}")
    return lines


def _construction_lines(rows: list[dict[str, Any]]) -> list[str]:
    head = f"{'construction':14}{'runs':>6}{'paper':>7}{'measured s':>12}{'paper':>10}"
    return [
        head,
        *(
            f"{row['set']:14}{row['runs']:>6}{row['paper_runs']:>7}{row['cost_s']:>12.1f}{row['paper_cost_s']:>10.1f}"
            for row in rows
        ),
    ]


def _rows(name: str) -> Rows:
    table = read_shipped_table(f"papers/{name}.csv")
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]

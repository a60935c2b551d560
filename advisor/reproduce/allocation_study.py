"""Choices on the surrogate cluster: what the construction sets cost, and how much slower what they choose is."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from advisor.reproduce import allocation_surrogate as surrogate
from advisor.reproduce.allocation_surrogate import Cluster, Floats, Ints
from simulator.models import AllocationRuns, Composed, ProcessCountModel, fit_process_counts

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


def lines(cases: Sequence[dict[str, Any]], *, seeds: int) -> list[str]:
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

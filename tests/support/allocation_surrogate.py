"""The surrogate cluster of the allocation paper: true times of every configuration, and construction runs with noise.

Its constants are fitted to the paper's 16 measured points (`scenarios/papers/kishimoto_surrogate.json`): one fast PE
and eight slow ones. The third kind is ours: four PEs between the two, with 0.545 times the slow kind's time per
operation.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator import files, randomness
from simulator.models import AllocationRuns, ProcessCountModel, fit_process_counts
from tests.support.kishimoto import Kishimoto

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIZES = {
    "Basic": (400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400),
    "NL": (1600, 3200, 4800, 6400),
    "NS": (400, 800, 1200, 1600),
}
"""Problem sizes of the construction sets (Tables 2, 5 and 8)."""
JUDGED = (3200, 4800, 6400, 8000, 9600)
"""Problem sizes at which a choice is judged."""
NOISE, NOISE_S = 0.03, 0.005
"""Standard deviations of a measured time: relative, and in seconds."""
DEVIATION = 0.03
"""Misspecified truth: each configuration's time is off by up to this share, for ever."""
RISE, RISE_SIZE = 0.2, 1500.0
"""Misspecified truth: computation takes `1 + RISE*exp(-N/RISE_SIZE)` times as long, as small blocks are slow."""


@dataclass(frozen=True)
class Cluster:
    """Kinds of PEs and their constants; arrays of shape (kind,)."""

    kinds: tuple[str, ...]
    pes: tuple[int, ...]
    processes: tuple[int, ...]
    """Most processes on each PE in construction runs."""
    judged: tuple[int, ...]
    """Most processes on each PE in the configurations to choose from."""
    a: Floats
    b: Floats
    c: Floats
    network: Floats
    """Factor of the communication between PEs."""
    common: Mapping[str, float]


@cache
def cluster(kinds: int = 2) -> Cluster:
    """The surrogate with two kinds of PEs, or with our third."""
    found = files.read_json(files.shipped("scenarios", "papers/kishimoto_surrogate.json"))["parameters"]
    a, b, c = ([found[f"{name}{kind}"] for kind in (1, 2)] for name in "abc")
    return Cluster(
        kinds=("fast", "slow", "middle")[:kinds],
        pes=(1, 8, 4)[:kinds],
        processes=(6, 6, 3)[:kinds],
        judged=(6, 1, 3)[:kinds],
        a=np.array([*a, 1.2e-9])[:kinds],
        b=np.array([*b, 1e-14])[:kinds],
        c=np.array([*c, 1e-4])[:kinds],
        network=np.array([0.85, 1.0, 0.92])[:kinds],
        common=found,
    )


def parts(of: Cluster, size: ArrayLike, allocations: Ints) -> tuple[Floats, Floats]:
    """Computation and communication of each kind's PEs, seconds of shape (n, kind), 0 for a kind that takes no part.

    Parameters
    ----------
    of
        The cluster.
    size
        Problem size, one or (n,).
    allocations
        PEs and processes on each, (n, kind, 2).
    """
    know = of.common
    pes, m = allocations[..., 0], allocations[..., 1]
    p = np.sum(pes * m, axis=1)[:, np.newaxis]
    n = np.broadcast_to(np.asarray(size, float), len(allocations))[:, np.newaxis]
    comp = m * (of.a * n**3 + of.b * n**2) / p * (1 + know["mu"] * (m - 1)) + 0.5 * of.b * n**2 + of.c * n * m
    between = n**2 * (know["g0"] + know["g1"] * m / p + know["pg"] * p) + know["d"] * n * p + know["e"] * p
    between = between * of.network + (know["h1"] * n**2 + know["h2"] * n) * (m - 1)
    inside = np.where(p == 1, 0.0, know["intra"] * n**2 * (p - 1) / p + know["intra2"] * n * p)
    comm = np.where(pes.sum(axis=1)[:, np.newaxis] > 1, between, inside)
    return np.where(m > 0, comp, 0.0), np.where(m > 0, comm, 0.0)


def truth(of: Cluster, size: ArrayLike, allocations: Ints, *, misspecified: int | None = None) -> Floats:
    """True makespans of allocations (n, kind, 2) at problem sizes of shape () or (n,): the longest of the kinds, (n,).

    With `misspecified`, the seed of the deviations, no polynomial in N and P holds: computation is slower at small
    sizes and each configuration deviates on its own.
    """
    comp, comm = _true_parts(of, size, allocations, misspecified)
    return np.asarray((comp + comm).max(axis=1))


def _true_parts(of: Cluster, size: ArrayLike, allocations: Ints, misspecified: int | None) -> tuple[Floats, Floats]:
    comp, comm = parts(of, size, allocations)
    if misspecified is None:
        return comp, comm
    n = np.broadcast_to(np.asarray(size, float), len(allocations))
    count = math.prod(1 + pes * most for pes, most in zip(of.pes, of.processes, strict=True))
    draw = randomness.stream(misspecified, "allocation", "deviations", len(of.kinds))
    off = draw.uniform(1 - DEVIATION, 1 + DEVIATION, count)[_code(of, allocations)]
    return comp * ((1 + RISE * np.exp(-n / RISE_SIZE)) * off)[:, np.newaxis], comm * off[:, np.newaxis]


def _code(of: Cluster, allocations: Ints) -> Ints:
    """A number of its own for each allocation that the cluster allows."""
    code = np.zeros(len(allocations), np.int64)
    for kind, (pes, most) in enumerate(zip(of.pes, of.processes, strict=True)):
        used, m = allocations[:, kind, 0], allocations[:, kind, 1]
        code = code * (1 + pes * most) + np.where(m > 0, (used - 1) * most + m, 0)
    return code


def candidates(of: Cluster) -> Ints:
    """The configurations to choose from, (n, kind, 2): the paper's 62 with two kinds, 818 with three."""
    own = [
        [(0, 0), *itertools.product(range(1, pes + 1), range(1, most + 1))]
        for pes, most in zip(of.pes, of.judged, strict=True)
    ]
    return np.array(list(itertools.product(*own))[1:], dtype=np.int64)


def construction(of: Cluster, name: str) -> tuple[Floats, Ints]:
    """Runs of one kind at a time that the paper builds its models from: sizes (runs,) and allocations (runs, kind, 2).

    `Basic` takes every PE count (486 runs with two kinds), `NL` and `NS` 1, 2, 4 and 8 (120 runs); of our third kind
    every count in all sets, since from 1, 2 and 4 its P-T model would lack one.
    """
    rows = []
    for kind, (pes, most) in enumerate(zip(of.pes, of.processes, strict=True)):
        counts = [p for p in range(1, pes + 1) if name == "Basic" or pes < 8 or p in (1, 2, 4, 8)]
        for p in counts:
            for m in range(1, most + 1):
                row = np.zeros((len(of.kinds), 2), np.int64)
                row[kind] = p, m
                rows.append(row)
    sizes = np.asarray(SIZES[name], float)
    return np.repeat(sizes, len(rows)), np.tile(np.array(rows), (len(sizes), 1, 1))


def adjustment(of: Cluster, name: str) -> tuple[Floats, Ints]:
    """Mixed runs for the paper's linear adjustment: the largest size of the set, all PEs, 3 to 6 processes on the fast.

    The paper adjusts at N = 6400; NS may not use a size above its own, so here it is adjusted at 1600.
    """
    rows = np.zeros((4, len(of.kinds), 2), np.int64)
    rows[:, :, 0], rows[:, :, 1] = of.pes, 1
    rows[:, 0, 1] = range(3, 7)
    return np.full(4, float(max(SIZES[name]))), rows


def measured(
    of: Cluster, sizes: Floats, allocations: Ints, *, seed: int, phases: bool = True, misspecified: int | None = None
) -> AllocationRuns:
    """Run the surrogate, with noise of 3 % and 5 ms on each time read.

    Parameters
    ----------
    of, sizes, allocations
        As `construction` gives them.
    seed
        Of the noise; the same runs with the same seed give the same bits.
    phases
        Whether the program times computation and communication apart: then each is read with noise of its own, and the
        whole time is the longest of their sums. Otherwise noise is on the whole time.
    misspecified
        As in `truth`.
    """
    comp, comm = _true_parts(of, sizes, allocations, misspecified)
    draw = randomness.stream(seed, "allocation", "noise", len(of.kinds))
    if phases:
        used = allocations[..., 1] > 0
        comp, comm = (np.where(used, _noisy(part, draw), np.nan) for part in (comp, comm))
        time_s = np.nanmax(comp + comm, axis=1)
    else:
        time_s = _noisy((comp + comm).max(axis=1), draw)
        comp = comm = np.full(comp.shape, np.nan)
    return AllocationRuns(of.kinds, np.asarray(sizes, float), allocations, time_s, comp, comm)


def _noisy(seconds: Floats, draw: np.random.Generator) -> Floats:
    """A time is never below 0; no communication is read as none."""
    relative, absolute = draw.standard_normal((2, *seconds.shape))
    noisy = np.maximum(seconds * (1 + NOISE * relative) + NOISE_S * absolute, 0.0)
    return np.where(seconds == 0, 0.0, noisy)


# Choices: what the construction sets cost, and how much slower what they choose is.


WHOLE = "pooled, whole times"
METHODS = ("paper", "pooled", WHOLE)
"""`paper` also uses four mixed runs for its adjustment; `whole times`, on NS, does not know communication apart."""


def study(
    *,
    seeds: int,
    kinds: Sequence[int] = (2, 3),
    sets: Sequence[str] = tuple(SIZES),
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
        _case(
            cluster(count),
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


def point_estimates(model: ProcessCountModel | Kishimoto, size: float, allocations: Ints) -> Floats:
    """Makespans of allocations (n, kind, 2), without intervals; (n,)."""
    found = model.estimate(size, allocations)
    return found if isinstance(model, Kishimoto) else found.mean_s


def fitted(
    of: Cluster, name: str, *, method: str, seed: int, misspecified: bool = False
) -> tuple[ProcessCountModel | Kishimoto, AllocationRuns]:
    """The model of one construction set measured with the noise of one seed, and its runs."""
    sizes, allocations = construction(of, name)
    if method == "paper":
        more_sizes, more = adjustment(of, name)
        sizes, allocations = np.append(sizes, more_sizes), np.concatenate((allocations, more))
    runs = measured(
        of,
        sizes,
        allocations,
        seed=seed,
        phases=method != WHOLE,
        misspecified=seed if misspecified else None,
    )
    if method.startswith("pooled"):
        return fit_process_counts(runs), runs
    return Kishimoto(runs, composed={"fast": "slow"}), runs


def _case(of: Cluster, misspecified: bool, name: str, *, method: str, seeds: int) -> dict[str, Any]:
    every = candidates(of)
    shape = (seeds, len(JUDGED))
    regret, error, not_positive, cost_s = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(seeds)
    count = 0
    for seed in range(seeds):
        model, runs = fitted(of, name, method=method, seed=seed, misspecified=misspecified)
        cost_s[seed], count = runs.time_s.sum(), len(runs.size)
        for at, size in enumerate(JUDGED):
            true_s = truth(of, size, every, misspecified=seed if misspecified else None)
            estimated_s = point_estimates(model, size, every)
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
            for at, size in enumerate(JUDGED)
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

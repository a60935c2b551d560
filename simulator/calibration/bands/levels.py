"""Levels of PEs from runs of all at once: how far apart they are, how long they last, and who shares a core.

That PEs differ is shown where each one's runs are alike and not those of others. A size has the levels that were seen
there and, as much as a few PEs count, those of all sizes: which levels there were while it was measured is chance too.
How long one lasts follows from how much less alike runs of a PE are that lie further apart. Two PEs that share a core
are slow at the same time, and equally so.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.models.levels import MOST, Levels, middles

SURE = 3.0
"""Standard errors by which runs of a PE have to be alike."""
APART = 0.05
"""Standard deviation between PEs from which they are apart, where each ran once: so far do visits of one differ."""
ALL_SIZES = 4.0
"""PEs that the levels of all sizes count as, beside those of a size."""
FAR = 9.0
"""Most that the squared difference of two runs counts, in variances: a spike is no change of level."""
LENGTHS, LONGEST = 60, 100.0
"""Lengths of a stay that are tried, from the shortest distance of two runs to so many times the longest."""
EQUAL = 0.01
"""Times of two PEs that share a core differ by less, as a logarithm."""
SHARING = "seem to share a core"
"""What is said of PEs that do."""
FEW, TOGETHER = 3, 0.6
"""Two PEs that share a core are slow together at least so often, and in more than this share of runs that one is."""
SLOW = 1.15
"""Time over the middle one from which a PE is slow."""


@dataclass(frozen=True)
class AtOnce:
    """Runs of several PEs at the same time, in the order in which each PE made them; (run,)."""

    sizes: Floats
    pes: Ints
    times_s: Floats
    begins_s: Floats | None = None
    """When each run began, on a clock of any origin; None: not known."""
    names: tuple[str, ...] = ()
    """Of the PEs."""

    @property
    def deviations(self) -> Floats:
        """Logarithm of each time over the middle one of its size."""
        found = np.empty(self.times_s.size)
        for size in np.unique(self.sizes):
            here = self.sizes == size
            found[here] = np.log(self.times_s[here] / np.median(self.times_s[here]))
        return found

    @property
    def rounds(self) -> Ints:
        """Which run of its PE at its size each is, from 0 on."""
        found, known = np.empty(self.sizes.size, np.int64), dict[tuple[float, int], int]()
        for run, key in enumerate(zip(self.sizes.tolist(), self.pes.tolist(), strict=True)):
            found[run] = known[key] = known.get(key, -1) + 1
        return found


def fit_levels(runs: AtOnce) -> Levels | None:
    """The levels that runs at once show; None where PEs do not differ by more than each one's runs."""
    sizes, counts = np.unique(runs.sizes, return_counts=True)
    logs, several = runs.deviations, np.unique(runs.pes).size > 1
    alike, apart_s = _alike(runs, logs)
    shown = alike.mean() * np.sqrt(alike.size / 2) > SURE if alike.size else np.std(logs) > APART
    if not (several and shown):
        return None
    places = middles(min(MOST, int(counts.max())))
    whole, rows = _quantiles(logs, places), []
    for size in sizes:
        here = runs.sizes == size
        pes = np.unique(runs.pes[here]).size
        rows.append((pes * _quantiles(logs[here], places) + ALL_SIZES * whole) / (pes + ALL_SIZES))
    return Levels(sizes, np.exp(np.array(rows)), _lasts_s(alike, apart_s))


def _quantiles(logs: Floats, places: Floats) -> Floats:
    return np.interp(places, middles(logs.size), np.sort(logs))


def _alike(runs: AtOnce, logs: Floats) -> tuple[Floats, Floats]:
    """How alike a PE's runs are that follow each other, 1 if equal and 0 in the mean if independent; how far apart."""
    rounds, scaled = runs.rounds, np.zeros(logs.size)
    for size in np.unique(runs.sizes):
        here = runs.sizes == size
        for number in range(int(rounds[here].max()) + 1):
            now = here & (rounds == number)
            scaled[now] = logs[now] - np.median(logs[now])
        scaled[here] /= max(float(np.sqrt(np.mean(scaled[here] ** 2))), 1e-12)
    clock = np.arange(logs.size) if runs.begins_s is None else runs.begins_s
    keys = (clock, runs.pes) if runs.begins_s is not None else (rounds, runs.sizes, runs.pes)
    order = np.lexsort(keys)
    before, after = order[:-1], order[1:]
    both = runs.pes[before] == runs.pes[after]
    if runs.begins_s is None:
        both &= runs.sizes[before] == runs.sizes[after]
    before, after = before[both], after[both]
    apart_s = runs.times_s[before] if runs.begins_s is None else clock[after] - clock[before]
    return 1 - np.minimum(FAR, (scaled[before] - scaled[after]) ** 2) / 2, apart_s


def _lasts_s(alike: Floats, apart_s: Floats) -> float | None:
    """Seconds that a level lasts, so that likeness falls as `c exp(-t / lasts_s)`; None where no fall is shown."""
    apart_s = np.maximum(apart_s, 1e-9)
    if alike.size < 2:
        return None
    lengths = np.geomspace(apart_s.min(), LONGEST * apart_s.max(), LENGTHS)
    kept = np.exp(-apart_s / lengths[:, np.newaxis])
    parts = np.clip(kept @ alike / np.sum(kept**2, axis=1), 0.0, 1.0)
    misfits = np.sum((alike - parts[:, np.newaxis] * kept) ** 2, axis=1)
    constant = float(np.sum((alike - np.clip(alike.mean(), 0.0, 1.0)) ** 2))
    best = int(np.argmin(misfits))
    shown = (constant - misfits[best]) * alike.size > 2 * np.log(alike.size) * misfits[best]
    return float(lengths[best]) if shown else None


def who_share(runs: AtOnce) -> tuple[str, ...]:
    """Which PEs seem to share a core, as a line: two that become slow at the same time, and are equally slow then."""
    logs, rounds = runs.deviations, runs.rounds
    names = runs.names or tuple(map(str, range(int(runs.pes.max()) + 1)))
    every = {key: row for row, key in enumerate(dict.fromkeys(zip(runs.sizes, rounds, strict=True)))}
    times = np.full((len(every), len(names)), np.nan)
    times[[every[key] for key in zip(runs.sizes, rounds, strict=True)], runs.pes] = logs
    slow, found = times > np.log(SLOW), list[tuple[int, int, int]]()
    often = np.flatnonzero(np.sum(slow, axis=0) >= FEW).tolist()
    for one, other in itertools.combinations(often, 2):
        both, either = slow[:, one] & slow[:, other], slow[:, one] | slow[:, other]
        alike = both & (np.abs(times[:, one] - times[:, other]) < EQUAL)
        same, changed = np.diff(both.astype(int)) != 0, np.diff(either.astype(int)) != 0
        together = both.sum() > TOGETHER * either.sum() and alike.sum() > TOGETHER * both.sum()
        if both.sum() >= FEW and together and 3 * np.sum(same & changed) >= max(1, np.sum(same | changed)):
            found.append((int(both.sum()), one, other))
    pairs, free = list[str](), set(range(len(names)))
    for count, one, other in sorted(found, key=lambda pair: -pair[0]):
        if {one, other} <= free:
            free -= {one, other}
            pairs.append(f"{names[one]} and {names[other]} ({count})")
    said = f"in so many of {len(every)} runs at once they were slow together, and equally so"
    return (f"PEs {', '.join(pairs)} {SHARING}: {said}",) if pairs else ()

"""Random small problems with ties, flat steps, set-up costs and memory limits, and what trying everything finds."""

from dataclasses import dataclass

import numpy as np

from advisor.advise.partition.speed_kinds import SpeedKinds
from simulator.base.randomness import stream

NO_LIMIT = 10**12


@dataclass(frozen=True)
class Case:
    units: int
    sizes: list
    speeds: list
    limits: list
    setups: list
    counts: list

    @property
    def pes(self):
        return SpeedKinds.of(
            self.sizes, self.speeds, limits=self.limits, setups=self.setups, counts=self.counts, names=self.names
        )

    @property
    def names(self):
        return [f"pe{kind}" for kind in range(len(self.sizes))]

    @property
    def room(self):
        return sum(min(limit, self.units) * count for limit, count in zip(self.limits, self.counts, strict=True))

    @property
    def feasible(self):
        return self.room >= self.units

    @property
    def pe_limits(self):
        return np.repeat(self.limits, self.counts)


def random_case(rng, *, growing):
    """Speeds from few values make ties; speeds in proportion to sizes, times that stay the same."""
    units = int(rng.integers(1, 13))
    sizes, speeds = [], []
    kinds = int(rng.integers(1, 5))
    for _ in range(kinds):
        knots = int(rng.integers(1, 6))
        whole = rng.random() < 0.5
        x = rng.choice(np.arange(1.0, 16.0), knots, replace=False) if whole else rng.uniform(0.2, 15, knots)
        x = np.sort(x)
        shape = rng.integers(0, 4)
        if shape == 0:
            s = np.full(knots, float(rng.integers(1, 5)))
        elif shape == 1:
            s = x * float(rng.choice([0.1, 0.3, 0.5, 1.0, 2.0]))
        else:
            s = rng.choice([0.5, 0.7, 1.0, 2.0, 3.0], knots)
        sizes.append(x)
        speeds.append(x / np.maximum.accumulate(x / s) if growing else s)
    limits = [int(rng.integers(0, units + 3)) if rng.random() < 0.4 else NO_LIMIT for _ in range(kinds)]
    setups = rng.choice([0.0, 0.0, 0.5, 1.0, 3.0], kinds).tolist()
    counts = [int(rng.integers(1, 4)) if rng.random() < 0.3 else 1 for _ in range(kinds)]
    return Case(units, sizes, speeds, limits, setups, counts)


def random_cases(number, *, growing, seed=0):
    rng = stream(seed, "cases", int(growing))
    return [random_case(rng, growing=growing) for _ in range(number)]


def least_makespan(case):
    """By trying every number of units on one PE after the other; times as `numpy.interp` has the speeds."""
    best = np.array([0.0] + [np.inf] * case.units)
    for x, s, limit, setup, count in zip(case.sizes, case.speeds, case.limits, case.setups, case.counts, strict=True):
        k = np.arange(min(case.units, limit) + 1)
        times_s = np.where(k > 0, setup + k / np.interp(k, x, s), 0.0)
        for _ in range(count):
            after = np.full(case.units + 1, np.inf)
            for units, time_s in enumerate(times_s):
                after[units:] = np.minimum(after[units:], np.maximum(best[: case.units + 1 - units], time_s))
            best = after
    return float(best[case.units])

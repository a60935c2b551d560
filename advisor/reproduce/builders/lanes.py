"""Those who measure side by side: builders with points of their own, the grid, and the held-out sweep."""

from collections.abc import Callable, Sequence

import numpy as np

from advisor.reproduce.builders.stepwise import PointsSoFar, next_step
from simulator import ties
from simulator.calibration import RealSource
from simulator.calibration.bands import BuiltBand, CutRule, PointMeasured, grid_sizes

RULE = CutRule(band=0.05)
"""Cuts are as wide as on recorded speeds: one long run shows no spread, and every method gets the same."""


class BuilderLane:
    """A builder on a subject: its next point is measured for it alone, whatever others know."""

    def __init__(self, method: str, source: RealSource, *, budget_s: float | None = None) -> None:
        self.method, self.source, self._budget_s = method, source, budget_s
        self.band: BuiltBand | None = None
        """The result, once the builder asks for no more."""
        self._next = 0.0
        self.expected = 0
        self._look()

    @property
    def done(self) -> int:
        """Points measured."""
        return len(self.source.kept)

    @property
    def finished(self) -> bool:
        """Whether the band is built."""
        return self.band is not None

    def step(self) -> None:
        """Measure the point that the builder asks for."""
        self.source.measure(self._next)
        self._look()

    def _look(self) -> None:
        """What the builder asks for next, and how many points it may take in all if speed stays as it is."""
        found = self._ask()
        if isinstance(found, BuiltBand):
            self.band = found
            return
        self._next = found
        foretold = self._ask(self._at_known_speed)
        self.expected = len(foretold.points) if isinstance(foretold, BuiltBand) else 0

    def _ask(self, otherwise: Callable[[int], PointMeasured] | None = None) -> float | BuiltBand:
        """What the builder says to the points so far."""
        source = self.source
        so_far = PointsSoFar(
            source.smallest,
            source.largest,
            source.largest_is_memory_limit,
            source.largest_reason,
            {n: point.measured() for n, point in source.kept.items()},
            source.n_of,
            source.cost_s,
            source.level_ends,
            otherwise,
        )
        return next_step(self.method, so_far, rule=RULE, budget_s=self._budget_s)

    def _at_known_speed(self, n: int) -> PointMeasured:
        """A point as it would be at the speed of the nearest one measured."""
        source = self.source
        speed = source.volume_of(source.n_of(source.largest)) / source.effort.time_cap_s
        if source.kept:
            nearest = list(source.kept)[ties.first_least([abs(np.log(known / n)) for known in source.kept])]
            speed = source.kept[nearest].measured().speed
        time_s = source.volume_of(n) / speed
        cost_s = float(source.cost_s(np.array(time_s)))
        return PointMeasured(source.size_of(n), source.volume_of(n), (time_s,), (time_s,), cost_s)


class GridLane(BuilderLane):
    """The naive grid: all its sizes are known, so it takes them in random order."""

    def __init__(self, source: RealSource, generator: np.random.Generator) -> None:
        sizes = grid_sizes(source.smallest, source.largest)
        if source.largest_is_memory_limit:
            sizes.pop()
        self._order = generator.permutation(sizes).tolist()
        super().__init__("grid", source)

    def _look(self) -> None:
        source = self.source
        self.expected = len({source.n_of(size) for size in self._order})
        left = [size for size in self._order if source.n_of(size) not in source.kept]
        if left:
            self._next = left[0]
            return
        found = self._ask()
        self.band = found if isinstance(found, BuiltBand) else None


class HeldOutLane:
    """Sizes that no builder sees, in passes of one fresh sample each, every pass in random order."""

    def __init__(
        self,
        source: RealSource,
        sizes: Sequence[float],
        *,
        passes: int,
        generator: np.random.Generator,
    ) -> None:
        self.source, self.sizes = source, tuple(sizes)
        self.once_is_enough = False
        """Set when the time is up: a size that has a sample gets no other."""
        self._passes, self._generator = passes, generator

    @property
    def counts(self) -> tuple[int, ...]:
        """Samples so far of each size."""
        known = (self.source.known(size) for size in self.sizes)
        return tuple(0 if point is None else len(point.samples) for point in known)

    @property
    def done(self) -> int:
        """Samples so far."""
        return sum(self.counts)

    @property
    def expected(self) -> int:
        """Samples in all."""
        return self._passes * len(self.sizes)

    @property
    def finished(self) -> bool:
        """Whether every size has its samples, or has one and the time is up."""
        least = min(self.counts)
        return least >= self._passes or (least > 0 and self.once_is_enough)

    def step(self) -> None:
        """One sample at a size with fewest so far."""
        counts = np.array(self.counts)
        fewest = np.flatnonzero(counts == counts.min())
        self.source.visit(self.sizes[self._generator.choice(fewest)])


def held_out_sizes(source: RealSource, count: int) -> tuple[float, ...]:
    """Sizes for the sweep: half at equal steps, half at equal steps of the logarithm; none of the grid's, each once.

    Fewer than `count` where there are not so many between the ends.
    """
    a, b, half = source.smallest, source.largest, count // 2
    share = (np.arange(half) + 0.5) / half
    taken = {source.n_of(size) for size in (*grid_sizes(a, b), a, b)}
    chosen: list[float] = []
    for size in np.concatenate([a + (b - a) * share, a * (b / a) ** share]):
        n = next((n for n in _around(source.n_of(float(size))) if _free(source, n, taken)), None)
        if n is not None:
            taken.add(n)
            chosen.append(source.size_of(n))
    return tuple(sorted(chosen))


def _around(n: int) -> list[int]:
    """A parameter and its neighbours, nearest first."""
    return sorted(range(max(1, n - 4), n + 5), key=lambda near: abs(near - n))


def _free(source: RealSource, n: int, taken: set[int]) -> bool:
    size = source.size_of(n)
    return source.smallest < size < source.largest and source.n_of(size) == n and n not in taken

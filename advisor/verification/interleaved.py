"""Real runs of several configurations in turn, so that drift falls on all alike, each on the same stretch of load."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from advisor.verification.applications import RealApplication
from simulator import Configuration, LoadTrace, availability
from simulator.calibration import Budget, Competitor, RealRun, Usage, run_campaign

LEAST_REPETITIONS, MOST_REPETITIONS = 3, 1000
PLACES = 1000
"""Places of a trace that are put in order."""
BASES = (2, 3, 5, 7, 11, 13, 17, 19)
"""Of the sequences of several loads, which are even together; more loads take places by chance."""


@dataclass(frozen=True)
class Verification:
    """What the real runs of some configurations took."""

    measured_s: dict[str, NDArray[np.float64]]
    """Makespan of every repetition, by configuration."""
    usages: tuple[tuple[Usage, ...], ...] = ()
    """What the computation of ranks with a core to themselves cost on each PE, one row per run."""
    pulls_s: tuple[float, ...] = ()
    """What a pull took in each run of a farm, on average."""

    def share_of(self, pe: int) -> float:
        """Share of a PE that a process got while it computed: CPU seconds over wall seconds, all runs together."""
        cpu_s = sum(row[pe].cpu_s for row in self.usages)
        wall_s = sum(row[pe].wall_s for row in self.usages)
        return cpu_s / wall_s if wall_s else 1.0


@dataclass(frozen=True)
class Loads:
    """Real competitors, each on one PE, and where in its trace each starts."""

    competitors: tuple[Competitor, ...]
    starts_s: Callable[[int, int], float]
    """By competitor and repetition: the same for all configurations (paired)."""

    @contextmanager
    def replayed(self, repetition: int) -> Iterator[None]:
        """All loads on while the block runs."""
        with ExitStack() as stack:
            for number, competitor in enumerate(self.competitors):
                stack.enter_context(competitor.replay(self.starts_s(number, repetition)))
            yield


def run_interleaved(
    application: RealApplication,
    loads: Loads,
    configurations: Sequence[Configuration],
    *,
    budget_s: float,
    done: Verification | None = None,
    on_run: Callable[[str, int, RealRun], None] = lambda _name, _repetition, _run: None,
    on_progress: Callable[[Verification, float], None] = lambda _verification, _share: None,
) -> Verification:
    """Run an application under each configuration in turn, several times, with the loads on.

    `configurations`: run interleaved, so that drift falls on all alike.
    `budget_s`: no repetition starts that would end after it, but each configuration runs at least three times.
    `done`: whole repetitions that an earlier call measured; they count.
    `on_run`: called after every run with the configuration's name and the repetition.
    `on_progress`: called after every run with what is known so far and the share of the budget that is spent.
    """
    budget = Budget(budget_s)
    measured: dict[str, list[float]] = {configuration.name: [] for configuration in configurations}
    usages: list[tuple[Usage, ...]] = []
    pulls_s: list[float] = []
    if done is not None:
        measured = {name: done.measured_s[name].tolist() for name in measured}
        usages = list(done.usages)
    first = min(len(times) for times in measured.values())
    application.prepare(configurations)

    def sample(configuration: Configuration, repetition: int) -> None:
        run = application.run(configuration, partial(loads.replayed, repetition))
        measured[configuration.name].append(run.makespan_s)
        usages.append(run.compute)
        pulls_s.extend([] if run.pull_s is None else [run.pull_s])
        on_run(configuration.name, repetition, run)
        on_progress(_verification(measured, usages, pulls_s), budget.share)

    repetitions = budget.passes(least=LEAST_REPETITIONS, most=MOST_REPETITIONS, first=first, ahead=True)
    run_campaign(((repetition, configurations) for repetition in repetitions), sample)
    return _verification(measured, usages, pulls_s)


def _verification(
    measured: dict[str, list[float]], usages: list[tuple[Usage, ...]], pulls_s: list[float]
) -> Verification:
    times = {name: np.array(found) for name, found in measured.items()}
    return Verification(times, tuple(usages), tuple(pulls_s))


def even_starts(
    trace: LoadTrace, *, window_s: float, number: int, generator: np.random.Generator
) -> Callable[[int], float]:
    """Where one load starts in its trace, in seconds, by repetition: so that few runs meet light and heavy stretches.

    Stretches as long as a run are put in order of what they leave to us; repetitions take them at even distances in
    that order (stratified sampling by the sequence of van der Corput), so that every prefix of them is about even.

    `trace`: repeated without end, as real competitors do.
    `window_s`: about how long a run lasts.
    `number`: of this load among all of a scenario.
    `generator`: for the places that are looked at.
    """
    places = generator.random(PLACES) * trace.end_s
    left = mean_left(trace, places, window_s)
    ordered = places[np.argsort(left, kind="stable")]
    chances = generator.random(PLACES)

    def start_s(repetition: int) -> float:
        if number < len(BASES):
            where = _van_der_corput(repetition + 1, BASES[number])
        else:
            where = float(chances[repetition % PLACES])
        return float(ordered[int(where * PLACES)])

    return start_s


def mean_left(trace: LoadTrace, starts_s: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
    """Mean share of a PE that the load leaves to one process over a window from each start; of the starts' shape."""
    edges = np.append(trace.times_s, trace.end_s)
    sums = np.concatenate(([0.0], np.cumsum(np.diff(edges) * availability(trace.values, "fair"))))

    def until(t: NDArray[np.float64]) -> NDArray[np.float64]:
        rounds, inside = np.divmod(t, trace.end_s)
        return np.asarray(rounds * sums[-1] + np.interp(inside, edges, sums))

    return np.asarray((until(starts_s + window_s) - until(starts_s)) / window_s)


def _van_der_corput(k: int, base: int) -> float:
    """The k-th number of the sequence: the digits of k mirrored at the point."""
    value, unit = 0.0, 1.0
    while k:
        k, digit = divmod(k, base)
        unit /= base
        value += digit * unit
    return value

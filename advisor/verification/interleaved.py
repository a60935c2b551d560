"""Real runs of several configurations in turn, so that drift falls on all alike, each on the same stretch of load."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from advisor.verification.applications import RealApplication
from simulator import Configuration
from simulator.calibration import Budget, Competitor, RealRun, Usage, run_campaign

LEAST_REPETITIONS, MOST_REPETITIONS = 3, 1000


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

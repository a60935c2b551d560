"""What jobs that run applications take: predicted by simulating each alone, with each number of processes asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator import (
    Cluster,
    Estimates,
    JobTimes,
    Scenario,
    ScenarioError,
    Stream,
    cluster_of,
    job_scenario,
    places_of,
    run,
    with_equal_parts,
)

__all__ = ["PredictedTimes", "predict_times"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_SIZES = 12
"""Numbers of processes that are looked at of a moldable application: all if there are no more, else even in ratio."""


@dataclass(frozen=True, eq=False)
class PredictedTimes:
    """Run times of a stream's applications by draw, number of processes and class of the slowest PE."""

    stream: Stream
    cluster: Cluster
    processes: tuple[Ints, ...]
    """Of each application: the numbers of processes that were simulated, ascending."""
    seconds: tuple[Floats, ...]
    """Of each application; (draw, number of processes, class)."""
    needs_bytes: tuple[Floats, ...] = ()
    """Memory of the largest process of each application; (number of processes,)."""

    @property
    def draws(self) -> int:
        """How many."""
        return int(self.seconds[0].shape[0])

    def draw(self, number: int) -> JobTimes:
        """The times of one draw; after the last one the first follows."""
        return self._table([seconds[number % self.draws] for seconds in self.seconds])

    def quantile(self, share: float) -> JobTimes:
        """The times that are not passed in so many of the draws."""
        return self._table([np.quantile(seconds, share, axis=0) for seconds in self.seconds])

    @cached_property
    def mean(self) -> JobTimes:
        """Means over all draws."""
        return self._table([seconds.mean(axis=0) for seconds in self.seconds])

    def estimates(self, shares: Sequence[float], *, sizes: str, correction: str = "quantile") -> Estimates:
        """Estimates that plan with one quantile, and with the next ones once it is outlived.

        Parameters
        ----------
        shares
            Quantiles, ascending, each between 0 and 1.
        sizes
            As `Policy.sizes`.
        """
        given = np.stack([self.quantile(share).choices(self.stream, sizes=sizes)[2] for share in shares], axis=-1)
        return Estimates("given", correction, given, f"predicted p{100 * shares[0]:g}")  # type: ignore[arg-type]

    def with_needs(self, stream: Stream) -> Stream:
        """A stream whose jobs need the memory of their programs' largest process, where the stream does not say more.

        Of a moldable job that is the one with the fewest processes.
        """
        if not self.needs_bytes:
            return stream
        needs = [
            self.needs_bytes[row][min(int(np.searchsorted(self.processes[row], least)), self.processes[row].size - 1)]
            for row, least in zip(stream.application.tolist(), stream.least.tolist(), strict=True)
        ]
        return stream.take(np.arange(len(stream)), memory_bytes=np.fmax(stream.memory_bytes, np.array(needs)))

    def _table(self, seconds: Sequence[Floats]) -> JobTimes:
        return JobTimes(self.stream.application, self.processes, tuple(seconds))


def predict_times(
    stream: Stream,
    scenario: Scenario,
    *,
    replications: int | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> PredictedTimes:
    """Simulate each application alone on as many PEs as its jobs may have, the slowest of each class in turn.

    Parameters
    ----------
    scenario
        Its platform, kernel, loads and draws; jobs replace its application and configurations.
    replications, seed
        In place of the scenario's own.

    Raises
    ------
    ScenarioError
        For a stream with durations, and for applications that the scenario's platform cannot run.
    """
    if not stream.applications or np.any(stream.application < 0):
        raise ScenarioError(f"stream {stream.name}: it has durations; only runs of applications can be predicted")
    cluster = cluster_of(scenario)
    count = scenario.replications if replications is None else replications
    base = replace(scenario, replications=count, seed=scenario.seed if seed is None else seed)
    processes, seconds, needs = [], [], []
    for application in range(len(stream.applications)):
        sizes = _sizes(stream, application, cluster.count)
        processes.append(sizes)
        try:
            alone = job_scenario(base, stream, application)
            seconds.append(_seconds(alone, cluster, sizes))
            needs.append(_needs_bytes(alone, sizes))
        except ScenarioError as error:
            name = stream.applications[application].name
            raise ScenarioError([f"stream {stream.name}: {name}: {line}" for line in error.lines]) from None
        progress(application + 1, len(stream.applications))
    return PredictedTimes(stream, cluster, tuple(processes), tuple(seconds), tuple(needs))


def _sizes(stream: Stream, application: int, most: int) -> Ints:
    """The numbers of processes to look at: all that are asked for, and some of each moldable range."""
    mine = stream.application == application
    wanted = set(stream.processors[mine].tolist())
    for least, largest in set(zip(stream.least[mine].tolist(), stream.most[mine].tolist(), strict=True)):
        if largest - least < MOST_SIZES:
            wanted |= set(range(least, largest + 1))
        else:
            wanted |= set(np.rint(np.geomspace(least, largest, MOST_SIZES)).astype(int).tolist())
    return np.array(sorted(size for size in wanted if size <= most) or sorted(wanted), dtype=np.int64)


def _seconds(scenario: Scenario, cluster: Cluster, sizes: Ints) -> Floats:
    """Makespans; (draw, number of processes, class)."""
    kinds, of_place = cluster.classes.size, places_of(scenario.platform)
    if not sizes.size:  # an application whose jobs were all left out
        return np.zeros((scenario.replications, 0, kinds))
    found, cells = dict[tuple[int, ...], str](), dict[tuple[int, int], str]()
    configurations = []
    for row, size in enumerate(sizes.tolist()):
        for kind in range(kinds):
            places = _slowest_first(cluster, kind, size)
            if places not in found:
                found[places] = f"{size} on class {kind}"
                configurations.append(with_equal_parts(scenario, found[places], places, of_place))
            cells[row, kind] = found[places]
    runs = run(replace(scenario, configurations=tuple(configurations)))
    rows = {configuration.name: runs.makespan_s[place] for place, configuration in enumerate(configurations)}
    return np.stack([[rows[cells[row, kind]] for kind in range(kinds)] for row in range(sizes.size)]).transpose(2, 0, 1)


def _needs_bytes(scenario: Scenario, sizes: Ints) -> Floats:
    """Memory of the largest process, with each number of processes."""
    of_place = places_of(scenario.platform)
    parts = [with_equal_parts(scenario, "alone", range(size), of_place) for size in sizes.tolist()]
    return np.array([max(scenario.program(one).footprints_bytes) for one in parts], dtype=np.float64)


def _slowest_first(cluster: Cluster, kind: int, size: int) -> tuple[int, ...]:
    """Places for so many processes of which the slowest is of a class: as many of it as there are, then faster ones.

    What a policy hands out may hold fewer slow PEs, on which programs that balance themselves (`farm`) run faster. A
    mix as the cluster has it was tried: on the tutorial's stream it predicted turnarounds 13 to 20 % shorter than they
    are when simulated together (one draw), this one 5 to 27 % longer (20 draws), most where sets are mixed.
    """
    away = cluster.class_of - kind
    distance = np.where(away <= 0, -away, cluster.count + away)  # of the class, then faster ones, then slower ones
    return tuple(sorted(np.argsort(distance, kind="stable")[:size].tolist()))

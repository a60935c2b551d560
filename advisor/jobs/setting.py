"""What a stream runs on: counted PEs, or a scenario's platform with run times predicted or jobs really simulated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simulator import (
    Cluster,
    Estimates,
    JobNodes,
    JobPrograms,
    JobRuns,
    JobTimes,
    Policy,
    Scenario,
    ScenarioError,
    Stream,
    cluster_of,
    job_metrics,
    job_scenario,
    places_of,
    run,
    run_jobs,
    with_equal_parts,
)

# What jobs that run applications take: predicted by simulating each alone, with each number of processes asked for.

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

    def estimates(self, shares: Sequence[float], *, sizes: str) -> Estimates:
        """Estimates that plan with one quantile, and with the next ones once it is outlived.

        `shares`: quantiles, ascending, each between 0 and 1.
        `sizes`: as `Policy.sizes`.
        """
        given = np.stack([self.quantile(share).choices(self.stream, sizes=sizes)[2] for share in shares], axis=-1)
        return Estimates("given", "quantile", given, f"predicted p{100 * shares[0]:g}")

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
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> PredictedTimes:
    """Simulate each application alone on as many PEs as its jobs may have, the slowest of each class in turn.

    Raises ScenarioError for a stream with durations, and for applications that the scenario's platform cannot run.

    `scenario`: its platform, kernel, loads and draws; jobs replace its application and configurations.
    `replications`: in place of the scenario's own.
    """
    if not stream.applications or np.any(stream.application < 0):
        raise ScenarioError(f"stream {stream.name}: it has durations; only runs of applications can be predicted")
    cluster = cluster_of(scenario)
    base = scenario.with_draws(replications, None)
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


# What a stream runs on: counted PEs, or a scenario's platform with run times predicted or jobs really simulated.

Times = Literal["predicted", "simulated"]
Sizes = Literal["fixed", "fit", "advised"]
QUANTILES = (0.5, 0.75, 0.9, 0.975)
"""Those that follow the one that is planned with, once it is outlived."""
EFFICIENCIES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Least efficiencies that are tried for moldable jobs."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A cluster, and where run times of applications come from."""

    cluster: Cluster | JobNodes | int
    scenario: Scenario | None = None
    predicted: PredictedTimes | None = None
    """Of applications; None for streams of durations."""
    times: Times = "predicted"
    """Whether applications take the times that were predicted for them, or are really simulated together."""
    label: str = ""
    """How comparisons call it, where they have several."""

    @property
    def draws(self) -> int:
        """How many draws of loads differ; 1 where nothing is drawn."""
        if self.predicted is None or self.scenario is None or self.scenario.deterministic:
            return 1
        return self.predicted.draws

    def run(
        self,
        stream: Stream,
        policy: Policy,
        estimates: Estimates,
        *,
        draw: int = 0,
        engine: Literal["auto", "process", "compiled"] = "auto",
    ) -> JobRuns:
        """All jobs of a stream in one draw of the loads.

        Raises ScenarioError for what policy and estimates refuse.
        """
        if self.predicted is None or self.scenario is None:
            return run_jobs(stream, self.cluster, policy, estimates, engine=engine)
        stream = self.predicted.with_needs(stream)
        predicted = replace(self.predicted, stream=stream)
        if self.times == "predicted":
            return run_jobs(stream, self.cluster, policy, estimates, times=predicted.draw(draw), engine=engine)
        if estimates.source == "exact":
            raise ScenarioError("estimates exact: nobody knows how long simulated jobs run; take predicted or limit")
        programs = JobPrograms(self.scenario, stream, draw, engine)
        return run_jobs(stream, self.cluster, policy, estimates, times=predicted.mean, programs=programs)

    @property
    def pes(self) -> int:
        """How many PEs, or places for processes, there are."""
        return self.cluster if isinstance(self.cluster, int) else self.cluster.count

    def delayed(
        self,
        runs: JobRuns,
        *,
        count: int,
        seed: int,
        draw: int = 0,
        engine: Literal["auto", "process", "compiled"] = "auto",
    ) -> job_metrics.Delayed:
        """Which of a sample of jobs later ones delay; see `job_metrics.delayed_jobs`.

        Raises ScenarioError for jobs that are simulated together.
        """
        if self.predicted is not None and self.times == "simulated":
            raise ScenarioError("fairness: a simulation of all jobs for each of the sample takes long; predict times")
        times = None if self.predicted is None else replace(self.predicted, stream=runs.stream).draw(draw)
        return job_metrics.delayed_jobs(runs, self.cluster, count=count, seed=seed, times=times, engine=engine)

    def planned(self, stream: Stream, quantile: float, policy: Policy) -> Estimates:
        """Estimates from the predicted times: one quantile, then the higher ones.

        Raises ScenarioError for a stream of durations.
        """
        if self.predicted is None:
            raise ScenarioError("estimates predicted: durations have no predicted times; take limit, last-two or fit")
        return replace(self.predicted, stream=stream).estimates(_ladder(quantile), sizes=policy.sizes)


def _ladder(quantile: float) -> tuple[float, ...]:
    return (quantile, *(one for one in QUANTILES if one > quantile))


def setting_of(
    stream: Stream,
    *,
    platform: Scenario | JobNodes | None,
    pes: int | None,
    times: Times = "predicted",
    replications: int | None = None,
    seed: int | None = None,
    label: str = "",
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Setting:
    """What a stream runs on.

    Raises ScenarioError without any of these, for applications without a platform, and for durations that are to be
    simulated.

    `platform`: a scenario with the platform, its loads, and the kernel at whose speed applications run; or nodes.
    `pes`: how many equal PEs, without one; the stream's own machine if this is None too.
    `replications`: draws of the loads; the scenario's own if None.
    `label`: how comparisons call it.
    """
    if times == "simulated" and not stream.applications:
        raise ScenarioError(f"stream {stream.name}: it has durations; only runs of applications can be simulated")
    if not isinstance(platform, Scenario):
        count = pes if pes is not None else stream.machine_processors
        if stream.applications:
            raise ScenarioError(f"stream {stream.name}: its jobs run applications; name a scenario by --platform")
        if platform is not None:
            return Setting(platform, label=label)
        if count is None:
            raise ScenarioError(f"stream {stream.name}: it does not say its machine's processors; add --procs NUMBER")
        return Setting(count, label=label)
    base = replace(platform, seed=platform.seed if seed is None else seed)
    if not stream.applications:
        return Setting(cluster_of(base), base, label=label)
    predicted = predict_times(stream, base, replications=replications, progress=progress)
    return Setting(predicted.cluster, base.with_draws(predicted.draws, None), predicted, times, label)


def advised_sizes(
    stream: Stream,
    setting: Setting,
    policy: Policy,
    *,
    quantile: float | None = None,
    judge: Callable[[JobRuns], float] = lambda runs: float(runs.finish_s.sum() - runs.submit_s.sum()),
) -> tuple[Stream, dict[str, float]]:
    """The stream with a fixed number of processes for each moldable job, the best of several rules.

    A rule gives each job the most processes with which it is still so efficient: its time with the fewest, times these,
    over its time times its processes. The rules are tried on all draws of the predicted times, and the one with the
    least mean is taken.

    `quantile`: what is planned with; the limits if None.
    `judge`: what is to be little; the sum of turnarounds.

    Returns
    -------
    tuple
        The stream, and the mean of `judge` by rule.
    """
    if setting.predicted is None:
        raise ScenarioError(
            f"stream {stream.name}: sizes can only be advised for applications, whose times are predicted"
        )
    fixed, quick = replace(policy, sizes="fixed"), replace(setting, times="predicted")
    rules = {f"efficiency {least:g}": _sized(stream, setting.predicted, least) for least in EFFICIENCIES}
    found = {}
    for name, sized in rules.items():
        plan = Estimates() if quantile is None else setting.planned(sized, quantile, fixed)
        ran = [judge(quick.run(sized, fixed, plan, draw=draw)) for draw in range(setting.draws)]
        found[name] = float(np.mean(ran))
    best = min(found, key=lambda name: found[name])
    return rules[best], found


def _sized(stream: Stream, predicted: PredictedTimes, least_efficiency: float) -> Stream:
    """Each job with the most processes that are efficient enough on the fastest PEs."""
    times = predicted.mean
    sizes = stream.processors.copy()
    for job in np.flatnonzero(stream.least < stream.most).tolist():
        row = int(stream.application[job])
        known = (times.processes[row] >= stream.least[job]) & (times.processes[row] <= stream.most[job])
        counts, seconds = times.processes[row][known], times.seconds[row][known, 0]
        efficient = seconds[0] * counts[0] / (seconds * counts) >= least_efficiency
        sizes[job] = counts[np.flatnonzero(efficient)[-1]]
    return stream.take(np.arange(len(stream)), processors=sizes, least=sizes, most=sizes)

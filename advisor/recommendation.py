"""Recommendation: which configuration, what it is predicted to take, and how it compares with the naive strategies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.baselines import baselines
from advisor.partitioners import by_times, refined
from advisor.partitioners.by_times import Times
from advisor.ranking import Gain, gain
from advisor.search import SOUGHT, search_allocation
from simulator import Configuration, RunSet, Scenario, ScenarioError, availability, describe, run

VARIED = ("partition", "allocation")
FEW = 8
"""Up to so many processes each number of them is tried; beyond, each power of two and all PEs."""


@dataclass(frozen=True)
class Recommendation:
    """The configuration with the least mean makespan among all candidates, and how they compare."""

    configuration: Configuration
    runs: RunSet
    """All candidates on the same draws."""
    candidates: tuple[Configuration, ...]

    @property
    def predicted(self) -> dict[str, float]:
        """Mean makespan in seconds with its 95 % interval, median, 5 % and 95 % quantiles."""
        return describe(self.runs.of(self.configuration.name))

    @property
    def baselines(self) -> dict[str, Gain]:
        """By name, how many times longer each other candidate takes."""
        best = self.runs.of(self.configuration.name)
        return {c.name: gain(self.runs.of(c.name), best) for c in self.candidates}

    def to_dict(self) -> list[dict[str, Any]]:
        """One entry per candidate, plain data for JSON and the report."""
        entries = []
        for candidate in self.candidates:
            against = gain(self.runs.of(candidate.name), self.runs.of(self.configuration.name))
            entries.append(
                {
                    "name": candidate.name,
                    "partition": list(candidate.partition),
                    "predicted_makespan_s": describe(self.runs.of(candidate.name)),
                    "gain_of_recommended": {"mean": against.mean, "low": against.low, "high": against.high},
                    "probability_recommended_faster": against.probability,
                }
            )
        return entries

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{entry['name']}</td><td>{entry['partition']}</td>"
            f"<td>{entry['predicted_makespan_s']['mean']:.4g}</td><td>{entry['gain_of_recommended']['mean']:.3f}</td></tr>"
            for entry in self.to_dict()
        )
        head = "<tr><th>name</th><th>partition</th><th>mean makespan (s)</th><th>gain</th></tr>"
        return f"<p>recommended: <b>{self.configuration.name}</b></p><table>{head}{rows}</table>"


def recommend(
    scenario: Scenario,
    *,
    benchmark_speeds: Sequence[float] | None = None,
    replications: int | None = None,
    seed: int | None = None,
    vary: Sequence[str] = ("partition",),
) -> Recommendation:
    """Find a partition for one process per PE and compare it with the baselines, all on the same draws.

    With `allocation` among what varies, equal shares on the best PEs, as many processes on each as is best, are a
    candidate too, and the naive allocations are among the baselines; `search_allocation` tells more of that search.

    Parameters
    ----------
    scenario
        Its own configurations are not looked at.
    benchmark_speeds
        Speed of each PE in one small benchmark, for the constant model; by default the middle of its band at the
        smallest size, as an idle PE would show it.
    replications, seed
        In place of the scenario's own.
    vary
        `partition`, or `partition` and `allocation`.

    Raises
    ------
    ScenarioError
        If there is no such application, or its parameters or its model do not fit it, or something else shall vary.
    """
    for name in vary:
        if name not in VARIED:
            raise ScenarioError(f"vary: {name!r} found, {' and '.join(VARIED)} allowed")
    scenario = replace(
        scenario,
        replications=scenario.replications if replications is None else replications,
        seed=scenario.seed if seed is None else seed,
    )
    candidates = _candidates(scenario, benchmark_speeds)
    if "allocation" in vary:
        candidates += _allocations(scenario, candidates)
    runs = run(scenario.with_configurations(tuple(candidates)))
    best = int(np.argmin(runs.makespan_s.mean(axis=1)))
    return Recommendation(candidates[best], runs, tuple(candidates))


def _candidates(scenario: Scenario, benchmark_speeds: Sequence[float] | None) -> list[Configuration]:
    """The baselines, the functional partition, and what simulation makes of it."""
    work, units = scenario.application.work, scenario.application.work.units
    if benchmark_speeds is None:
        benchmark_speeds = [float(pe.speed_of(scenario.application.kernel).mid[0]) for pe in scenario.platform.pes]
    everything = np.full(len(scenario.platform.pes), units, dtype=np.int64)
    sustained_speeds = 1 / model_times(scenario)(everything)
    candidates = baselines(units, benchmark_speeds=benchmark_speeds, sustained_speeds=sustained_speeds.tolist())
    candidates.append(Configuration.one_each("functional", _functional(scenario, sustained_speeds)))
    candidates = [replace(candidate, partition=work.fitting(candidate.partition)) for candidate in candidates]
    start = candidates[-1].partition
    better = work.fitting(refined(start, lambda partition: _simulate(scenario, work.fitting(partition))))
    if better not in {candidate.partition for candidate in candidates}:
        candidates.append(Configuration.one_each("refined", better))
    return candidates


def _allocations(scenario: Scenario, others: Sequence[Configuration]) -> list[Configuration]:
    """What the search for an allocation finds, and the naive allocations, but for names that are taken."""
    advice = search_allocation(scenario, confirm=0)
    plain = [candidate for candidate in advice.candidates if candidate.name not in SOUGHT]
    best = advice.configuration
    found = [] if best in plain else [replace(best, name="allocation")]
    taken = {other.name for other in others}
    for candidate in plain:
        names = [name for name in candidate.name.split(", ") if name not in taken]
        if candidate == best:
            names = ["allocation", *names]
        if names:
            found.append(replace(candidate, name=", ".join(names)))
    return found


def mean_shares(scenario: Scenario) -> NDArray[np.float64]:
    """Mean share of each PE that its load leaves to one process; (PE,)."""
    return np.array(
        [
            1.0
            if pe.load is None
            else np.average(availability(pe.load.trace.values, pe.load.rule), weights=pe.load.trace.durations_s)
            for pe in scenario.platform.pes
        ]
    )


def model_times(scenario: Scenario, pes: Sequence[int] | None = None) -> Times:
    """Seconds per process for its units under mean load, messages included, as `by_times` wants them.

    A master (process 0) also waits for everyone's messages: a set-up cost, taken at the equal partition.

    Parameters
    ----------
    pes
        The PEs that take part, one process on each; all by default.
    """
    pes = range(len(scenario.platform.pes)) if pes is None else pes
    bands = [scenario.platform.pes[pe].speed_of(scenario.application.kernel) for pe in pes]
    work, platform, shares = scenario.application.work, scenario.platform, mean_shares(scenario)[list(pes)]
    compute = work.compute(len(pes))

    def messages_s(units: int, pe: int) -> float:
        sizes_bytes = work.messages_bytes(units)
        other = pes[0] if work.has_master or pe != pes[0] else pes[-1]  # the first PE's own go to another one
        return float(platform.message_s(other, pe, np.array(sizes_bytes)).sum()) if sizes_bytes else 0.0

    setup_s = sum(messages_s(-(-work.units // len(pes)), pe) for pe in pes[1:])

    def times_s(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        seconds = np.zeros(counts.size)
        for process, count in enumerate(counts.tolist()):
            if count:
                master = work.has_master and pes[process] == 0
                computation = compute(count)
                speed = float(bands[process].speed(computation.size))
                alone_s = computation.volume / speed / shares[process]
                seconds[process] = alone_s + (setup_s if master else messages_s(count, pes[process]))
        return seconds

    return times_s


def _functional(scenario: Scenario, sustained_speeds: NDArray[np.float64]) -> tuple[int, ...]:
    """The functional partition; where more processes cost more in all, over the best number of the fastest PEs."""
    work, count = scenario.application.work, sustained_speeds.size
    fastest = np.argsort(-sustained_speeds, kind="stable").tolist()
    sizes = {2**k for k in range(count.bit_length()) if 2**k > FEW} | {*range(1, min(count, FEW) + 1), count}
    found: list[tuple[float, tuple[int, ...]]] = []
    for size in sorted(sizes) if work.varies_with_processes else [count]:
        pes = sorted(fastest[:size])
        times_s = model_times(scenario, pes)
        part = by_times(work.units, size, times_s)
        whole = np.zeros(count, dtype=np.int64)
        whole[pes] = part
        found.append((float(times_s(whole[pes]).max()), tuple(whole.tolist())))
    return min(found)[1]


def _simulate(scenario: Scenario, partition: tuple[int, ...]) -> tuple[float, NDArray[np.float64]]:
    runs = run(scenario.with_configurations((Configuration.one_each("candidate", partition),)))
    return float(runs.makespan_s.mean()), runs.computed_ticks[0].mean(axis=0) * runs.tick_s

"""Recommendation: which configuration, what it is predicted to take, and how it compares with the naive strategies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.baselines import baselines
from advisor.partitioners import functional, refined
from advisor.ranking import Gain, gain
from simulator import Configuration, RunSet, Scenario, ScenarioError, availability, describe, matmul, run


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


def recommend(scenario: Scenario, *, benchmark_speeds: Sequence[float] | None = None) -> Recommendation:
    """Find a partition for one process per PE and compare it with the baselines, all on the same draws.

    Parameters
    ----------
    scenario
        Its own configurations are not looked at.
    benchmark_speeds
        Speed of each PE in one small benchmark, for the constant model; by default the middle of its band at the
        smallest size, as an idle PE would show it.

    Raises
    ------
    ScenarioError
        If its application is none that can be partitioned.
    """
    if scenario.application.name != "matmul":
        raise ScenarioError(
            f"application: name: {scenario.application.name!r} found, one that can be partitioned allowed"
        )
    units, count = scenario.application.parameters["n"], len(scenario.platform.pes)
    times_s = model_times(scenario)
    kernel = scenario.application.kernel
    if benchmark_speeds is None:
        benchmark_speeds = [float(pe.speed_of(kernel).mid[0]) for pe in scenario.platform.pes]
    everything = np.full(count, units, dtype=np.int64)
    candidates = baselines(
        units, benchmark_speeds=benchmark_speeds, sustained_speeds=(1 / times_s(everything)).tolist()
    )
    candidates.append(Configuration.one_each("functional", functional(units, count, times_s)))
    better = refined(candidates[-1].partition, lambda partition: _simulate(scenario, partition))
    if better not in {candidate.partition for candidate in candidates}:
        candidates.append(Configuration.one_each("refined", better))
    runs = run(scenario.with_configurations(tuple(candidates)))
    best = int(np.argmin(runs.makespan_s.mean(axis=1)))
    return Recommendation(candidates[best], runs, tuple(candidates))


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


def model_times(scenario: Scenario) -> Any:
    """Seconds per process for its rows under mean load, messages included, as `functional` wants them.

    The master (process 0) also waits for everyone's messages: a set-up cost, taken at the equal partition.
    """
    pes, link = scenario.platform.pes, scenario.platform.link
    kernel, n = scenario.application.kernel, scenario.application.parameters["n"]
    shares = mean_shares(scenario)
    even = -(-n // len(pes))
    round_trip = float(link.time_s(matmul.sent_bytes(n, even)) + link.time_s(matmul.collected_bytes(n, even)))
    setup_s = (len(pes) - 1) * round_trip

    def times_s(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        seconds = np.zeros(rows.size)
        for process, count in enumerate(rows.tolist()):
            if count:
                speed = float(pes[process].speed_of(kernel).speed(matmul.problem_size(n, count)))
                messages = link.time_s(matmul.sent_bytes(n, count)) + link.time_s(matmul.collected_bytes(n, count))
                computing = matmul.volume(n, count) / speed / shares[process]
                seconds[process] = computing + (setup_s if process == 0 else float(messages))
        return seconds

    return times_s


def _simulate(scenario: Scenario, partition: tuple[int, ...]) -> tuple[float, NDArray[np.float64]]:
    runs = run(scenario.with_configurations((Configuration.one_each("candidate", partition),)))
    return float(runs.makespan_s.mean()), runs.computed_ticks[0].mean(axis=0) * runs.tick_s

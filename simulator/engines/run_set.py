"""What engines return: makespans and times of every configuration and replication, each metric with its formula."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base import intervals, notebook, units
from simulator.base.arrays import Floats, Ints
from simulator.scenario_file.levels import with_level_traces

if TYPE_CHECKING:
    import pandas as pd

    from simulator.programs.program import Program
    from simulator.scenario_file.scenario import Scenario


TABLES = ("computed_ticks", "busy_ticks", "finish_ticks")
"""Fields of a run set that are (replication, process) for each configuration."""
Described = dict[str, Any]
"""Numbers by name; None for what so few replications do not tell."""


@dataclass(frozen=True, slots=True)
class LoggedOperation:
    """One operation as it happened in a replication."""

    process: int
    pe: str
    operation: str
    """Name of its kind: `compute`, `send`, `recv` ...; waiting for others is part of it."""
    index: int
    """Its place in the process's program."""
    start_ticks: int
    end_ticks: int


@dataclass(frozen=True)
class RunSet:
    """Every run of a scenario; axes are (configuration, replication, process or PE)."""

    configurations: tuple[str, ...]
    tick_s: float
    makespan_ticks: Ints
    """Last finish minus first start; (configuration, replication)."""
    computed_ticks: tuple[Ints, ...]
    """When each process ended its last computation, 0 without any; per configuration (replication, process)."""
    busy_ticks: tuple[Ints, ...]
    """Ticks that each process spent in computations, shared PEs and load included; as `computed_ticks`."""
    finish_ticks: tuple[Ints, ...]
    """When each process ended, 0 without any operation; as `computed_ticks`."""
    engine: str
    seed: int
    logs: dict[tuple[int, int], tuple[LoggedOperation, ...]]
    """Operation logs by (configuration, replication), where asked for."""
    deterministic: bool = False
    """Whether it is known that nothing was drawn: every replication is the same, and one of them tells all."""
    truths: Ints | None = None
    """Number of the truth of each replication, (replication,); None where nothing is doubted."""
    truth_count: int | None = None
    """How many truths were drawn, of which these replications may have some only; None where nothing is doubted."""
    strata: int | None = None
    """Replications that starts of loads are stratified over, of which these may be some only; None: the scenario's."""
    reach_s: Floats | None = None
    """Means that intervals reach to, since loads that are seldom there may be met more often; (configuration,)."""
    partitions: Mapping[str, tuple[tuple[tuple[float, tuple[int, ...]], ...], ...]] = field(default_factory=dict)
    """Of configurations whose units move: per replication, since when (seconds) processes had which units."""
    programs: Mapping[tuple[int, int], "Program"] = field(default_factory=dict)
    """Likewise, of runs that are logged: all that was done, moves among it; by (configuration, replication)."""

    def drawn(self, scenario: "Scenario") -> "Scenario":
        """Their scenario as they were drawn: with the seed, the counts, and traces of levels that change meanwhile."""
        drawn = replace(scenario, seed=self.seed, truths=self.truth_count, strata=self.strata)
        return with_level_traces(drawn)

    def program_of(self, scenario: "Scenario", configuration: int, replication: int) -> "Program":
        """What a logged run did."""
        known = self.programs.get((configuration, replication))
        return scenario.program(scenario.configurations[configuration]) if known is None else known

    def __repr__(self) -> str:
        left = len(self.configurations) - len(fastest := self._fastest(2))
        shown = ", ".join(f"{name} {makespan}" for name, makespan in fastest.items())
        drawn = f"{self.makespan_ticks.shape[1]} replications, seed {self.seed}, engine {self.engine}"
        return f"RunSet({shown}{f', {left} more' if left else ''}; {drawn})"

    def __str__(self) -> str:
        """The makespans of the fastest configurations, a line each, and how they were drawn."""
        replications = self.makespan_ticks.shape[1]
        left = len(self.configurations) - len(fastest := self._fastest(4))
        lines = [f"{name}: {makespan}" for name, makespan in fastest.items()]
        lines[-1] += f", and {left} slower" if left else ""
        drawn = interval_line(replications, self.truth_count, deterministic=self.deterministic)
        return "\n".join([*lines, drawn or self.interval_note or f"{replications} replications"])

    def _fastest(self, most: int) -> dict[str, str]:
        """The mean makespans of the fastest configurations, fastest first, with their intervals."""
        order = np.argsort(self.makespan_ticks.mean(axis=1), kind="stable")[:most]
        stated = self._described(order)
        return {
            self.configurations[place]: units.show_interval(interval["mean"], interval["low"], interval["high"])
            for place, interval in zip(order.tolist(), stated, strict=True)
        }

    @property
    def makespan_s(self) -> Floats:
        """Makespans in seconds; (configuration, replication)."""
        return np.asarray(self.makespan_ticks * self.tick_s, dtype=np.float64)

    def of(self, configuration: str) -> Floats:
        """Makespans of one configuration in seconds; (replication,)."""
        return np.asarray(self.makespan_s[self.configurations.index(configuration)])

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per run: configuration, replication, seed, makespan_s."""
        import pandas as pd

        count, replications = self.makespan_ticks.shape
        return pd.DataFrame(
            {
                "configuration": np.repeat(self.configurations, replications),
                "replication": np.tile(np.arange(replications), count),
                "seed": self.seed,
                "makespan_s": self.makespan_s.ravel(),
            }
        )

    def summary(self, *, level: float = intervals.LEVEL) -> list[dict[str, Any]]:
        """Per configuration: what `describe` says of its makespans."""
        found = self._described(slice(None), level)
        return [{"name": name, **row} for name, row in zip(self.configurations, found, strict=True)]

    def described(self, configuration: str, *, level: float = intervals.LEVEL) -> Described:
        """The same of one configuration."""
        return self._described([self.configurations.index(configuration)], level)[0]

    def _described(self, rows: Any, level: float = intervals.LEVEL) -> list[Described]:
        reach_s = None if self.reach_s is None else self.reach_s[rows]
        return describe_all(self.makespan_s[rows], self.truths, reach_s, level=level, deterministic=self.deterministic)

    def together(self, other: "RunSet") -> "RunSet":
        """The runs of both, the other's configurations last: of the same scenario, replications and ticks; no logs."""
        return replace(
            self,
            configurations=(*self.configurations, *other.configurations),
            makespan_ticks=np.concatenate((self.makespan_ticks, other.makespan_ticks)),
            computed_ticks=(*self.computed_ticks, *other.computed_ticks),
            busy_ticks=(*self.busy_ticks, *other.busy_ticks),
            finish_ticks=(*self.finish_ticks, *other.finish_ticks),
            logs={},
            reach_s=None,
            partitions={**self.partitions, **other.partitions},
        )

    def at(self, replications: Ints) -> "RunSet":
        """Some of its replications in this order, some more than once; no logs, nothing doubted and no units moved."""
        tables: dict[str, Any] = {name: tuple(table[replications] for table in getattr(self, name)) for name in TABLES}
        return replace(self, makespan_ticks=self.makespan_ticks[:, replications], logs={}, reach_s=None, **tables)

    def followed_by(self, other: "RunSet") -> "RunSet":
        """The replications of both, the other's last, at the longer tick; of the same configurations, as `at`.

        The engine is said to be the other's, which has most of them: a process that compiled once goes on with that.
        """
        tick_s = max(self.tick_s, other.tick_s)
        mine, theirs = round(tick_s / self.tick_s), round(tick_s / other.tick_s)
        tables: dict[str, Any] = {
            name: tuple(
                np.concatenate((one // mine, more // theirs))
                for one, more in zip(getattr(self, name), getattr(other, name), strict=True)
            )
            for name in TABLES
        }
        makespans = np.concatenate((self.makespan_ticks // mine, other.makespan_ticks // theirs), axis=1)
        tables |= {"tick_s": tick_s, "makespan_ticks": makespans, "engine": other.engine}
        return replace(self, logs={}, reach_s=None, **tables)

    @property
    def interval_note(self) -> str | None:
        """See `interval_note`."""
        return interval_note(self.makespan_ticks.shape[1], self.truths, deterministic=self.deterministic)

    def breakdown(self, configuration: str) -> list[dict[str, float]]:
        """Where the time of each process goes, as means over replications; the three add up to the mean makespan.

        `busy_s` computing (load and sharing included), `waiting_s` for messages, disks, barriers and times,
        `idle_s` from its end to the makespan.
        """
        row = self.configurations.index(configuration)
        busy, finish = self.busy_ticks[row], self.finish_ticks[row]
        shares = {
            "busy_s": busy,
            "waiting_s": finish - busy,
            "idle_s": self.makespan_ticks[row][:, np.newaxis] - finish,
        }
        means = {name: (ticks.mean(axis=0) * self.tick_s).tolist() for name, ticks in shares.items()}
        return [dict(zip(means, row, strict=True)) for row in zip(*means.values(), strict=True)]

    def timeline(self, configuration: str, *, replication: int = 0) -> list[dict[str, Any]]:
        """The logged operations of one replication in seconds: `process`, `pe`, `operation`, `start_s`, `end_s`.

        Raises KeyError if that replication was not logged.
        """
        return [
            {
                "process": entry.process,
                "pe": entry.pe,
                "operation": entry.operation,
                "start_s": entry.start_ticks * self.tick_s,
                "end_s": entry.end_ticks * self.tick_s,
            }
            for entry in self.logs[self.configurations.index(configuration), replication]
        ]

    def _repr_html_(self) -> str:
        count, replications = self.makespan_ticks.shape
        summary = self._described(slice(notebook.MOST_ROWS))
        named, of_runs = list(zip(self.configurations, summary, strict=False)), f"{100 * intervals.LEVEL:.4g} % of runs"
        rows = [
            {
                "configuration": name,
                "mean": units.show_interval(row["mean"], row["low"], row["high"]),
                of_runs: units.show_range(row["run_low"], row["run_high"]),
            }
            for name, row in named
        ]
        spread = [(name, row["run_low"], row["median"], row["run_high"]) for name, row in named]
        chart = notebook.ranges(spread, unit=f"makespan (s), {of_runs}")
        title = f"Makespans of {replications} replications, seed {self.seed}, engine {self.engine}"
        line = interval_line(replications, self.truth_count, deterministic=self.deterministic)
        notes = [line] if line else [] if self.interval_note is None else [self.interval_note]
        return notebook.page(title, notebook.table(rows, count=count), chart, warnings=notes)


def describe(
    samples: Floats,
    truths: Ints | None = None,
    *,
    level: float = intervals.LEVEL,
    deterministic: bool = False,
) -> Described:
    """What replications tell of one configuration; (replication,).

    `mean` with the interval `low`, `high` of the true mean, `median`, and the interval `run_low`, `run_high` of one
    run; all of them hold with `level`. One replication of what is drawn, or of one truth of what is doubted, has no
    interval, and a few that are equal by chance have none: these are None. Where it is known that nothing is drawn
    (`deterministic`), one replication tells all.

    `truths`: number of the truth of each replication, see `RunSet.truths`; None where nothing is doubted.
    """
    return describe_all(samples[np.newaxis], truths, level=level, deterministic=deterministic)[0]


def describe_all(
    samples: Floats,
    truths: Ints | None = None,
    reach_s: Floats | None = None,
    *,
    level: float = intervals.LEVEL,
    deterministic: bool = False,
) -> list[Described]:
    """The same of many; (many, replication). `reach_s`: means that intervals of means reach to; (many,)."""
    mean = intervals.of_mean(samples, truths, level=level, deterministic=deterministic)
    mean = mean if reach_s is None else mean.reaching(reach_s)
    interval = intervals.of_run(samples, truths, level=level, deterministic=deterministic)
    columns = {"mean": np.mean(samples, axis=1), "low": mean.low, "high": mean.high}
    return rows_of(columns | {"median": np.median(samples, axis=1), "run_low": interval.low, "run_high": interval.high})


def rows_of(columns: Mapping[str, Floats]) -> list[Described]:
    """One entry per row of some columns, (row,) each; None in the place of NaN."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {name: None if math.isnan(value) else value for name, value in zip(columns, row, strict=True)} for row in rows
    ]


def interval_note(replications: int, truths: Ints | None = None, *, deterministic: bool) -> str | None:
    """What to know of intervals: that one replication has none, or that nothing is drawn; None where nothing is."""
    if deterministic:
        return "deterministic: nothing is drawn, so every replication takes the same time"
    if replications > 1 and truths is not None and truths.min() == truths.max():
        return "replications of one truth have no interval: ask for more, such as --replications 200"
    if replications > 1:
        return None
    return "one replication has no interval: what is drawn was drawn once; ask for several, such as --replications 20"


def interval_line(
    replications: int, truths: int | None, *, level: float = intervals.LEVEL, deterministic: bool = False
) -> str:
    """What stated intervals are, for the line under them; empty where there are none.

    `truths`: how many the replications share; None where nothing is doubted.
    """
    if deterministic or replications < 2 or truths == 1:
        return ""
    head = f"{100 * level:.4g} % intervals of the true mean"
    if truths is None:
        return f"{head}: noise included, nothing of the models is said to be unknown; {replications} replications"
    each, rest = divmod(replications, truths)
    drawn = f"{replications} replications of {truths} truths" if rest else f"{truths} truths x {each} replications"
    return f"{head}: noise and what is not known of the models included; {drawn}"

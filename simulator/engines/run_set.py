"""What engines return: makespans and times of every configuration and replication, each metric with its formula."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import notebook, units

if TYPE_CHECKING:
    import pandas as pd


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
    """Seconds per tick."""
    makespan_ticks: NDArray[np.int64]
    """Last finish minus first start; (configuration, replication)."""
    computed_ticks: tuple[NDArray[np.int64], ...]
    """When each process ended its last computation, 0 without any; per configuration (replication, process)."""
    busy_ticks: tuple[NDArray[np.int64], ...]
    """Ticks that each process spent in computations, shared PEs and load included; as `computed_ticks`."""
    finish_ticks: tuple[NDArray[np.int64], ...]
    """When each process ended, 0 without any operation; as `computed_ticks`."""
    engine: str
    seed: int
    logs: dict[tuple[int, int], tuple[LoggedOperation, ...]]
    """Operation logs by (configuration, replication), where asked for."""
    deterministic: bool = False
    """Whether it is known that nothing was drawn: every replication is the same, and one of them tells all."""
    truths: NDArray[np.int64] | None = None
    """Number of the truth of each replication, (replication,); None where nothing is doubted."""
    truth_count: int | None = None
    """How many truths were drawn, of which these replications may have some only; None where nothing is doubted."""

    def __repr__(self) -> str:
        count, replications = self.makespan_ticks.shape
        return f"RunSet({count} configurations, {replications} replications, seed {self.seed}, engine {self.engine})"

    @property
    def makespan_s(self) -> NDArray[np.float64]:
        """Makespans in seconds; (configuration, replication)."""
        return np.asarray(self.makespan_ticks * self.tick_s, dtype=np.float64)

    def of(self, configuration: str) -> NDArray[np.float64]:
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

    def summary(self) -> list[dict[str, Any]]:
        """Per configuration: what `describe` says of its makespans."""
        found = describe_all(self.makespan_s, deterministic=self.deterministic)
        return [{"name": name, **row} for name, row in zip(self.configurations, found, strict=True)]

    def beside(self, other: "RunSet") -> "RunSet":
        """The runs of both, the other's configurations last: of the same scenario, replications and ticks; no logs."""
        return replace(
            self,
            configurations=(*self.configurations, *other.configurations),
            makespan_ticks=np.concatenate((self.makespan_ticks, other.makespan_ticks)),
            computed_ticks=(*self.computed_ticks, *other.computed_ticks),
            busy_ticks=(*self.busy_ticks, *other.busy_ticks),
            finish_ticks=(*self.finish_ticks, *other.finish_ticks),
            logs={},
        )

    @property
    def interval_note(self) -> str | None:
        """See `interval_note`."""
        return interval_note(self.makespan_ticks.shape[1], deterministic=self.deterministic)

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

        Raises
        ------
        KeyError
            If that replication was not logged.
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
        summary = describe_all(self.makespan_s[: notebook.MOST_ROWS], deterministic=self.deterministic)
        named = list(zip(self.configurations, summary, strict=False))
        show = units.show_duration
        rows = [
            {
                "configuration": name,
                "mean": show(one["mean"]),
                "95 % interval": units.show_range(one["low"], one["high"]),
                "5 % to 95 %": units.show_range(one["p05"], one["p95"]),
            }
            for name, one in named
        ]
        chart = notebook.ranges([(name, o["p05"], o["median"], o["p95"]) for name, o in named], unit="makespan (s)")
        title = f"Makespans of {replications} replications, seed {self.seed}, engine {self.engine}"
        notes = [] if self.interval_note is None else [self.interval_note]
        return notebook.page(title, notebook.table(rows, count=count), chart, warnings=notes)


FEWEST_EQUAL = 6
"""From so many equal replications on, equal values are an interval: smallest to largest holds the median with 95 %."""
EQUAL = 1e-12
"""Spread, as a share of the values, below which replications are equal."""
Described = dict[str, Any]
"""Numbers by name; None for what so few replications do not tell."""


def describe(samples: NDArray[np.float64], *, deterministic: bool = False) -> Described:
    """Mean of replications with its 95 % interval `low`, `high` (Student's t), median, 5 % and 95 % quantiles; (R,).

    One replication of what is drawn has neither interval nor quantiles, and a few that are equal by chance have no
    interval: these are None. Where it is known that nothing is drawn (`deterministic`), one replication tells all.
    """
    return describe_all(samples[np.newaxis], deterministic=deterministic)[0]


def describe_all(samples: NDArray[np.float64], *, deterministic: bool = False) -> list[Described]:
    """The same of many; (many, R)."""
    mean = np.mean(samples, axis=1)
    half = half_interval(samples, np.max(np.abs(samples), axis=1), deterministic=deterministic)
    p05, median, p95 = np.quantile(samples, (0.05, 0.5, 0.95), axis=1)
    if samples.shape[1] == 1 and not deterministic:
        p05, p95 = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    columns = {"mean": mean, "low": mean - half, "high": mean + half, "median": median, "p05": p05, "p95": p95}
    return rows_of(columns)


def half_interval(
    samples: NDArray[np.float64], scale: NDArray[np.float64], *, deterministic: bool, comparisons: int = 1
) -> NDArray[np.float64]:
    """Half the 95 % interval of each row's mean (Student's t), 0 where nothing is drawn, NaN where none can be told.

    Parameters
    ----------
    samples
        (row, replication).
    scale
        Of the values that samples are differences of, or of the samples: what is equal is judged by it; (row,).
    comparisons
        How many are made: all of their intervals hold together with 95 % (Bonferroni).
    """
    from scipy.special import stdtrit

    count = samples.shape[1]
    if deterministic:
        return np.zeros(samples.shape[0])
    if count < 2:
        return np.full(samples.shape[0], np.nan)
    quantile = stdtrit(count - 1, 1 - 0.025 / max(1, comparisons))
    half = np.asarray(quantile * np.std(samples, axis=1, ddof=1) / np.sqrt(count))
    return half if count >= FEWEST_EQUAL else np.where(np.ptp(samples, axis=1) <= EQUAL * scale, np.nan, half)


def rows_of(columns: Mapping[str, NDArray[np.float64]]) -> list[Described]:
    """One entry per row of some columns, (row,) each; None in the place of NaN."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {name: None if math.isnan(value) else value for name, value in zip(columns, row, strict=True)} for row in rows
    ]


def interval_note(replications: int, *, deterministic: bool) -> str | None:
    """What to know of intervals: that one replication has none, or that nothing is drawn; None where nothing is."""
    if deterministic:
        return "deterministic: nothing is drawn, so every replication takes the same time"
    if replications > 1:
        return None
    return "one replication has no interval: what is drawn was drawn once; ask for several, such as --replications 20"

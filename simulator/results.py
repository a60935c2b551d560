"""What engines return: makespans and times of every configuration and replication, each metric with its formula."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simulator import notebook, units

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
        """Per configuration: mean makespan with its 95 % interval (Student's t), median, 5 % and 95 % quantiles."""
        return [{"name": name, **describe(row)} for name, row in zip(self.configurations, self.makespan_s, strict=True)]

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
        summary = describe_all(self.makespan_s[: notebook.MOST_ROWS])
        named = list(zip(self.configurations, summary, strict=False))
        show = units.show_duration
        rows = [
            {
                "configuration": name,
                "mean": show(one["mean"]),
                "95 % interval": f"{show(one['low'])} to {show(one['high'])}",
                "5 % to 95 %": f"{show(one['p05'])} to {show(one['p95'])}",
            }
            for name, one in named
        ]
        chart = notebook.ranges([(name, o["p05"], o["median"], o["p95"]) for name, o in named], unit="makespan (s)")
        title = f"Makespans of {replications} replications, seed {self.seed}, engine {self.engine}"
        return notebook.page(title, notebook.table(rows, count=count), chart)


def describe(samples: NDArray[np.float64]) -> dict[str, float]:
    """Mean of replications with its 95 % interval `low`, `high` (Student's t), median, 5 % and 95 % quantiles; (R,)."""
    return describe_all(samples[np.newaxis])[0]


def describe_all(samples: NDArray[np.float64]) -> list[dict[str, float]]:
    """The same of many; (many, R)."""
    from scipy.special import stdtrit

    count = samples.shape[1]
    mean = np.mean(samples, axis=1)
    half = np.zeros_like(mean)
    if count > 1:
        half = stdtrit(count - 1, 0.975) * np.std(samples, axis=1, ddof=1) / np.sqrt(count)
    p05, median, p95 = np.quantile(samples, (0.05, 0.5, 0.95), axis=1)
    columns = {"mean": mean, "low": mean - half, "high": mean + half, "median": median, "p05": p05, "p95": p95}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]

"""The jobs of a stream as a table: who was submitted, started and ended when, on what."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.engines.job_runs import JobRuns
from simulator.results.job_files import intervals

__all__ = ["job_table_lines"]

COLUMNS = (
    *("job", "submit_s", "start_s", "finish_s", "processors"),
    *("wait_s", "estimate_s", "killed", "user"),
)
ALLOCATED = "allocated"
BLOCK = 4096
"""Jobs per piece."""


def job_table_lines(runs: JobRuns) -> Iterator[str]:
    """A row per job in the order of the stream, as pieces of CSV; seconds are exact decimals of whole ticks.

    `killed` is 1 where the limit ended the job, `user` a name or number, empty where nobody knows it. If PEs are named,
    `allocated` has their numbers as Batsim writes them: `0-2 5`.
    """
    named = runs.allocated is not None
    yield files.csv_lines([(*COLUMNS, ALLOCATED) if named else COLUMNS])
    users = runs.stream.names.get("user", ())
    for first in range(0, len(runs.stream), BLOCK):
        part = slice(first, first + BLOCK)
        numbers = runs.stream.user[part].tolist()
        columns: list[list[object]] = [
            runs.stream.ids[part].tolist(),
            *(_seconds(ticks[part], runs.tick_s) for ticks in (runs.submit_ticks, runs.start_ticks, runs.finish_ticks)),
            runs.processors[part].tolist(),
            _seconds((runs.start_ticks - runs.submit_ticks)[part], runs.tick_s),
            _seconds(runs.estimate_ticks[part], runs.tick_s),
            runs.killed[part].astype(np.int64).tolist(),
            ["" if user < 0 else users[user] if user < len(users) else user for user in numbers],
        ]
        if named:
            columns.append([intervals(runs.pes_of(first + k).tolist()) for k in range(len(numbers))])
        yield files.csv_lines(zip(*columns, strict=True))


def _seconds(ticks: NDArray[np.int64], tick_s: float) -> list[object]:
    """Decimals with every digit, whole seconds without a point."""
    per_s = round(1 / tick_s)
    digits = len(str(per_s)) - 1
    return [
        f"{whole}" if not part else f"{whole}.{part:0{digits}d}".rstrip("0")
        for whole, part in zip((ticks // per_s).tolist(), (ticks % per_s).tolist(), strict=True)
    ]

"""Timelines of job streams in the Trace Event Format: a track per PE if PEs are named, else lanes that jobs share.

| event | what it is |
|---|---|
| `M` | one process, the cluster; a thread per PE or lane |
| `X` | a job on a PE that it has, or in its lane: as many lanes as jobs ever run at once, the lowest free one taken |
| `C` | busy PEs, jobs that wait, PEs that these ask for |
"""

import heapq
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.arrays import Ints
from simulator.base.errors import ScenarioError
from simulator.engines.job_queue import JobRuns
from simulator.results.job_metrics import JobSeries, over_stretches, series
from simulator.results.timelines.chrome import counter, document, durations_us, event, moments_us

__all__ = ["JOB_TIMELINES", "write_job_timeline"]

JOB_TIMELINES = (".json", ".json.gz")
"""Names that `write_job_timeline` knows end in one of these."""
MOST_POINTS = 60_000
"""Of a counter; beyond, means over equal steps."""
PID = 1


def write_job_timeline(path: Path, runs: JobRuns, *, about: Mapping[str, Any] | None = None) -> None:
    """Write a timeline that Perfetto opens; packed if the name ends in `.gz`.

    Raises ScenarioError for a name that ends otherwise; ApportionError if the file cannot be written.
    """
    if not path.name.endswith(JOB_TIMELINES):
        raise ScenarioError(f"{path}: a timeline of jobs ends in {' or '.join(JOB_TIMELINES)}; name it so")
    files.write_pieces(path, document(_events(runs), about or {}))


def _events(runs: JobRuns) -> Iterator[str]:
    named = runs.allocated is not None
    tracks = _on_pes(runs) if named else _in_lanes(runs)
    yield event("M", "process_name", PID, args={"name": "cluster" if named else "cluster: jobs in lanes, PEs counted"})
    for track in range(int(tracks[1].max()) + 1 if tracks[1].size else 0):
        yield event("M", "thread_name", PID, tid=track + 1, args={"name": f"{'PE' if named else 'lane'} {track}"})
        yield event("M", "thread_sort_index", PID, tid=track + 1, args={"sort_index": track})
    found = series(runs)
    for name, values in (("busy PEs", found.busy), ("queue", found.queued), ("queued PEs", found.queued_processors)):
        ticks, level = _thinned(found, values)
        yield from counter(PID, name, "jobs" if name == "queue" else "PEs", moments_us(ticks, runs.tick_s), level)
    yield from _slices(runs, *tracks)


def _thinned(found: JobSeries, values: Ints) -> tuple[Ints, NDArray[Any]]:
    if found.ticks.size <= MOST_POINTS:
        return found.ticks, values
    edges = np.unique(np.linspace(int(found.ticks[0]), int(found.ticks[-1]), MOST_POINTS).astype(np.int64))
    return edges, np.append(over_stretches(found, values, edges)[0], 0.0)


def _on_pes(runs: JobRuns) -> tuple[Ints, Ints]:
    """Job and PE of each slice."""
    if runs.first_pe is None or runs.allocated is None:
        raise ValueError("no PEs are named")
    return np.repeat(np.arange(len(runs.stream)), np.diff(runs.first_pe)), runs.allocated


def _in_lanes(runs: JobRuns) -> tuple[Ints, Ints]:
    """Job and lane of each slice: the lowest lane that is free when the job starts."""
    lanes = np.zeros(len(runs.stream), dtype=np.int64)
    ends: list[tuple[int, int]] = []
    free: list[int] = []
    order = np.lexsort((runs.finish_ticks, runs.start_ticks))
    moments = zip(order.tolist(), runs.start_ticks[order].tolist(), runs.finish_ticks[order].tolist(), strict=True)
    for job, start, finish in moments:
        while ends and ends[0][0] <= start:
            heapq.heappush(free, heapq.heappop(ends)[1])
        lanes[job] = heapq.heappop(free) if free else len(ends)
        heapq.heappush(ends, (finish, int(lanes[job])))
    return np.arange(lanes.size), lanes


def _slices(runs: JobRuns, job: Ints, track: Ints) -> Iterator[str]:
    """A line per slice, in the order of the starts."""
    starts = moments_us(runs.start_ticks, runs.tick_s).tolist()
    lasting = durations_us(runs.start_ticks, runs.finish_ticks, runs.tick_s).tolist()
    names = [json.dumps(f"job {one}") for one in runs.stream.ids.tolist()]
    details = [
        f'{{"processors":{size},"wait_s":{wait!r},"user":{user}}}'
        for size, wait, user in zip(
            runs.processors.tolist(), runs.wait_s.tolist(), runs.stream.user.tolist(), strict=True
        )
    ]
    order = np.lexsort((track, runs.start_ticks[job]))
    for row, lane in zip(job[order].tolist(), track[order].tolist(), strict=True):
        head = f'{{"ph":"X","name":{names[row]},"pid":{PID},"tid":{lane + 1}'
        yield f'{head},"ts":{starts[row]!r},"dur":{lasting[row]!r},"args":{details[row]}}}'

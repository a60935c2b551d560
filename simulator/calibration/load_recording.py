"""Recording the load of this machine: a row per interval, flushed as it goes, what each column means in the file."""

import datetime
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from simulator.base import files
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.machine import busy_seconds, require_linux, runnable_now, this_machine
from simulator.load_traces.csv_file import RecordingHead, read_head

LOOK_S = 0.05
"""Longest time between two looks at the run queue."""
MIN_INTERVAL_S = 0.1
"""Shortest interval: the system counts busy time in steps of a hundredth of a second."""


@dataclass(frozen=True)
class Recording:
    """What one call of `record_load` wrote."""

    path: Path
    rows: int
    interval_s: float
    interrupted: bool
    """Whether Ctrl-C or SIGTERM ended it before its time; every whole interval is in the file."""
    mean_load: float
    """Mean runnable competitors over the rows written; NaN without a row."""
    mean_busy: dict[int, float]
    """Mean busy share of each processor over the rows written, by its number."""

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON; a mean of nothing is None."""
        return {
            "path": str(self.path),
            "rows": self.rows,
            "interval_s": self.interval_s,
            "interrupted": self.interrupted,
            "mean_load": self.mean_load if self.rows else None,
            "mean_busy": {str(cpu): share for cpu, share in self.mean_busy.items()},
        }


@dataclass(frozen=True)
class _Sample:
    load: float
    busy: tuple[float, ...]


def record_load(
    path: str | Path,
    *,
    interval_s: float = 1.0,
    duration_s: float = 600.0,
    per_core: bool = False,
    append: bool = False,
    overwrite: bool = False,
) -> Recording:
    """Record the load of the processors that this process may use.

    Each row holds for one interval and is written when it ends; a machine that slept or was too busy to look leaves out
    rows, and the row before them then is the mean over that longer time. Killed, it loses the interval under way.

    `interval_s` is the time between rows; whole intervals are recorded. `per_core` writes a column `busy_cpuN` per
    processor; `append` continues a recording on the same machine with the same interval and columns; traces/README.md
    says what the columns are.
    """
    path = Path(path)
    require_linux()
    if not (MIN_INTERVAL_S <= interval_s <= duration_s < math.inf):
        raise ScenarioError(
            f"record: the interval is {interval_s:g} s and the duration {duration_s:g} s; "
            f"give an interval of {MIN_INTERVAL_S:g} s or more and a duration of one interval or more"
        )
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    head = _head(cpus, interval_s, per_core=per_core)
    files.make_folder(path.parent)
    with files.alone(path):
        first_row = _begin(path, head, append=append, overwrite=overwrite)
        with files.open_append(path) as stream:
            return _write_rows(stream, path, cpus, head, (first_row, round(duration_s / interval_s)))


def _begin(path: Path, head: RecordingHead, *, append: bool, overwrite: bool) -> int:
    """Make the file or the one that is there ready for more rows; how many intervals of it have passed."""
    if append and path.exists():
        passed = _rows_since_start(path, head)
        files.end_with_line(path)
        return passed
    if path.exists() and not overwrite:
        raise ScenarioError(
            f"{path}: this file is there; --append continues a recording, --overwrite replaces the file"
        )
    files.write_text(path, head.text())
    return 0


def _head(cpus: tuple[int, ...], interval_s: float, *, per_core: bool) -> RecordingHead:
    looks = _looks(interval_s)
    meanings = {
        "time_s": "start of the row's interval in seconds since the start; the values hold until the next row",
        "load": f"mean processes running or waiting for a processor, this recorder not counted, over {looks} looks"
        " at the run queue per interval",
        "busy": f"mean busy share of the {len(cpus)} processors, 0 to 1, from the system's CPU seconds",
    }
    if per_core:
        meanings |= {f"busy_cpu{cpu}": f"busy share of processor {cpu}, 0 to 1, stolen time included" for cpu in cpus}
    start = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
    return RecordingHead(start, interval_s, this_machine().to_dict(), meanings)


def _rows_since_start(path: Path, head: RecordingHead) -> int:
    """How many intervals of the recording in the file have passed, after a check that it can be continued."""
    found = read_head(path)
    faults = [f"{path}:1: {fault}" for fault in found.same_machine(head)]
    if found.interval_s != head.interval_s:
        faults.append(
            f"{path}:1: interval_s is {found.interval_s:g} in the file; give that one, not {head.interval_s:g}"
        )
    if tuple(found.meanings) != tuple(head.meanings):
        asked, allowed = ",".join(head.meanings), ",".join(found.meanings)
        faults.append(f"{path}:1: the file has the columns {allowed}; record these, not {asked}")
    if faults:
        raise ScenarioError(faults)
    elapsed_s = (head.start_instant - found.start_instant).total_seconds()
    return math.ceil(elapsed_s / head.interval_s)


def _write_rows(
    stream: IO[str], path: Path, cpus: tuple[int, ...], head: RecordingHead, rows: tuple[int, int]
) -> Recording:
    """Write up to `rows[1]` rows, the first of them at `rows[0]` intervals after the recording's start."""
    load, busy, written, interrupted = 0.0, [0.0] * len(cpus), 0, False
    try:
        for index, sample in _samples(cpus, head.interval_s, rows[1]):
            time_s = (rows[0] + index) * head.interval_s
            cells = [sample.load, sum(sample.busy) / len(cpus), *sample.busy][: len(head.meanings) - 1]
            stream.write(f"{time_s:.12g}," + ",".join(f"{cell:.6g}" for cell in cells) + "\n")
            load, busy, written = load + sample.load, [*map(sum, zip(busy, sample.busy, strict=True))], written + 1
    except KeyboardInterrupt:
        interrupted = True
    means = {cpu: total / written for cpu, total in zip(cpus, busy, strict=True)} if written else {}
    return Recording(path, written, head.interval_s, interrupted, load / written if written else math.nan, means)


def _samples(cpus: tuple[int, ...], interval_s: float, count: int) -> Iterator[tuple[int, _Sample]]:
    """Yield (interval that the sample begins with, sample) when each interval ends; missed ones are left out."""
    looks = _looks(interval_s)
    start_s = time.monotonic()
    index, before_s, before = 0, start_s, busy_seconds()
    while index < count:
        seen = []
        for look in range(1, looks + 1):
            _sleep_until(start_s + (index + look / looks) * interval_s)
            seen.append(runnable_now())
        now_s, now = time.monotonic(), busy_seconds()
        if any(cpu not in now for cpu in cpus):
            raise CalibrationError("record: a processor went offline; record again")
        busy = tuple(_share(now[cpu] - before[cpu], now_s - before_s) for cpu in cpus)
        yield index, _Sample(sum(seen) / looks, busy)
        index, before_s, before = max(index + 1, int((now_s - start_s) / interval_s)), now_s, now


def _share(busy_s: float, elapsed_s: float) -> float:
    """Busy share of an interval; the system counts in hundredths of a second, so it may overshoot by its last digit."""
    return round(min(1.0, max(0.0, busy_s / elapsed_s)), 6)


def _looks(interval_s: float) -> int:
    return max(1, math.ceil(interval_s / LOOK_S))


def _sleep_until(instant_s: float) -> None:
    time.sleep(max(0.0, instant_s - time.monotonic()))

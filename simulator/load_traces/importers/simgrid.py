"""Import of SimGrid speed profiles: `time value` lines and `LOOPAFTER d`; the share of a host's speed that is there."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.base.errors import TraceError
from simulator.load_traces.generate import MOST_VALUES
from simulator.load_traces.importers.source import ImportOptions, Rows, Source, number, read_lines


@dataclass(frozen=True)
class Profile:
    """What a profile file says."""

    times_s: Sequence[float]
    """Ascending; full speed before the first of them."""
    values: Sequence[float]
    pause_s: float | None
    """Seconds after the last line at which it starts again, counted as its time 0; None: never."""


def read(path: Path, options: ImportOptions) -> Source:
    """A profile as SimGrid plays it (checked on 3.32).

    Before the first line the speed is full. With LOOPAFTER d the profile starts again d seconds after its last line;
    then the last value holds until the first line.
    """
    profile = read_profile(path)
    rows = Rows(path, "time", "value", array("d", profile.times_s), array("d", profile.values))
    return _played(path, rows, math.nan if profile.pause_s is None else profile.pause_s, options.duration_s)


def read_profile(path: Path) -> Profile:
    """Read the lines of a profile as they are."""
    rows = Rows(path, "time", "value")
    pause_s = math.nan

    def parse(place: int, line: str) -> None:
        nonlocal pause_s
        cells = line.split("#", 1)[0].split()
        if not cells:
            return
        if len(cells) != 2:
            raise TraceError(f"{path}:{place}: the line has {len(cells)} columns; give 'time value' or 'LOOPAFTER d'")
        if cells[0] in ("LOOPAFTER", "PERIODICITY"):
            pause_s = number(path, place, cells[0], cells[1])
            if pause_s <= 0:
                raise TraceError(f"{path}:{place}: {cells[0]} is {pause_s:g}; give a number above 0")
            return
        time_s = number(path, place, "time", cells[0])
        if time_s < 0:
            raise TraceError(f"{path}:{place}: time is {time_s:g}; give at least 0")
        rows.add(place, time_s, number(path, place, "value", cells[1]))

    read_lines(path, parse)
    if not rows.times_s:
        raise TraceError(f"{path}: there are no rows; give lines 'time value'")
    return Profile(rows.times_s, rows.values, None if math.isnan(pause_s) else pause_s)


def _played(path: Path, rows: Rows, pause_s: float, duration_s: float | None) -> Source:
    """The profile from time 0 on, over one period or written out over `duration_s`."""
    first, last = rows.times_s[0], rows.times_s[-1]
    loops = math.isfinite(pause_s)
    period_s = last + pause_s
    played = Rows(path, "time", "value")
    if first > 0:
        played.add("start", 0.0, 1.0)
    if duration_s is None and loops and first > 0 and rows.values[-1] != 1:
        raise TraceError(
            f"{path}: LOOPAFTER: the first period is unlike the later ones (full speed up to {first:g} s, later "
            f"{rows.values[-1]:g}); a duration writes it out exactly"
        )
    end_s = duration_s if duration_s is not None else period_s if loops else last + max(first, 1.0)
    if loops and end_s / period_s * len(rows.times_s) > MOST_VALUES:
        found = f"{end_s:g} s in periods of {period_s:g} s are too many values"
        raise TraceError(f"{path}: {found}; give a shorter duration for at most {MOST_VALUES}")
    for turn in range(max(1, math.ceil(end_s / period_s)) if loops else 1):
        for time_s, value in zip(rows.times_s, rows.values, strict=True):
            if turn * (period_s if loops else 0.0) + time_s < end_s:
                played.add(f"period {turn + 1}", turn * (period_s if loops else 0.0) + time_s, value)
    halfway = (played.times_s[-1] + end_s) / 2
    played.add("end", halfway, played.values[-1])  # the last stay in two halves: so a CSV trace ends at `end_s`
    kind = (
        f"repeats every {period_s:g} s: use it with `cycle`" if loops and duration_s is None else "use it with `hold`"
    )
    return Source(played.times_s, played.values, "available", (f"the profile {kind}",), end_s)

"""Import of SimGrid speed profiles: `time value` lines and `LOOPAFTER d`; the share of a host's speed that is there."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulator.base.errors import TraceError
from simulator.load_traces.generate import MOST_VALUES
from simulator.load_traces.importers.source import ImportOptions, Rows, Source, read_lines
from simulator.models.load import AfterEnd, LoadTrace


@dataclass(frozen=True)
class Profile:
    """What a profile file says."""

    times_s: Sequence[float]
    """Ascending; full speed before the first of them."""
    values: Sequence[float]
    pause_s: float | None
    """Seconds after the last line at which it starts again, counted as its time 0; None: never."""

    @property
    def alike(self) -> bool:
        """Whether all periods are like the first: before the first line it has full speed, later the last value."""
        return self.pause_s is None or self.times_s[0] == 0 or self.values[-1] == 1

    def played(self, duration_s: float | None = None) -> LoadTrace:
        """The profile as SimGrid plays it (checked on 3.32): one period, or written out over some seconds."""
        first, last = self.times_s[0], self.times_s[-1]
        period_s = last + (self.pause_s or max(first, 1.0))
        end_s = duration_s or period_s
        turns = 1 if self.pause_s is None else math.ceil(end_s / period_s)
        times = (np.arange(turns)[:, np.newaxis] * period_s + np.array(self.times_s)).ravel()
        values = np.tile(self.values, turns)[times < end_s]
        times = times[times < end_s]
        if first > 0:
            times, values = np.append(0.0, times), np.append(1.0, values)
        after: AfterEnd = "hold" if self.pause_s is None else "cycle" if duration_s is None else "error"
        return LoadTrace(times, values, end_s, after)


def read(path: Path, options: ImportOptions) -> Source:
    """A profile as SimGrid plays it, over one period, or over the duration that the user states."""
    profile = read_profile(path)
    if options.duration_s is None and not profile.alike:
        first, later = profile.times_s[0], profile.values[-1]
        found = f"the first period is unlike the later ones (full speed up to {first:g} s, later {later:g})"
        raise TraceError(f"{path}: LOOPAFTER: {found}; a duration writes it out exactly")
    period_s = profile.times_s[-1] + (profile.pause_s or math.inf)
    if options.duration_s is not None and options.duration_s / period_s * len(profile.times_s) > MOST_VALUES:
        found = f"{options.duration_s:g} s in periods of {period_s:g} s are too many values"
        raise TraceError(f"{path}: {found}; give a shorter duration for at most {MOST_VALUES}")
    played = profile.played(options.duration_s)
    repeats = profile.pause_s is not None and options.duration_s is None
    kind = f"repeats every {period_s:g} s: use it with `cycle`" if repeats else "use it with `hold`"
    times_s, values = (array("d", column) for column in (played.times_s, played.values))
    return Source(times_s, values, "available", (f"the profile {kind}",), played.end_s)


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
            raise rows.fault(place, f"the line has {len(cells)} columns; give 'time value' or 'LOOPAFTER d'")
        if cells[0] in ("LOOPAFTER", "PERIODICITY"):
            if not math.isnan(pause_s):
                raise rows.fault(place, f"{cells[0]} comes twice; leave one out")
            pause_s = rows.number(place, cells[0], cells[1])
            if pause_s <= 0:
                raise rows.fault(place, f"{cells[0]} is {pause_s:g}; give a number above 0")
            return
        time_s = rows.number(place, "time", cells[0])
        if time_s < 0:
            raise rows.fault(place, f"time is {time_s:g}; give at least 0")
        rows.add(place, time_s, rows.number(place, "value", cells[1]))

    read_lines(path, parse)
    if not rows.times_s:
        raise TraceError(f"{path}: there are no rows; give lines 'time value'")
    return Profile(rows.times_s, rows.values, None if math.isnan(pause_s) else pause_s)

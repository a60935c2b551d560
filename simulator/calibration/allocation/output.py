"""Times from what a program printed: by a pattern, by HPL's own table, or by the wall clock."""

import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.units import to_number

MOST_CHARACTERS = 500
"""Longest pattern."""
KEEP_BYTES = 2**20
"""How much of the end of an output is looked at."""
_PATIENCE_S = 2.0
"""How long a pattern may search."""
HPL_TIME = r"^W[RC]\w+\s+\d+\s+\d+\s+\d+\s+\d+\s+(?P<time_s>[\d.]+)\s"
"""A result line of HPL: variant, N, NB, P, Q, time."""
LU_TIME = r"^time_s=(?P<time_s>\S+) "
LU_PHASES = r"^kind=(?P<kind>\S+) comp_s=(?P<comp_s>\S+) comm_s=(?P<comm_s>\S+)$"
NAMED_TIMES = {"hpl": HPL_TIME, "lu": LU_TIME}
NAMED_PHASES = {"hpl": "", "lu": LU_PHASES}
_HPL_PHASE = re.compile(r"^[ +]*Max aggregated wall time ([\w ]+?)[ .]*:\s*([\d.]+)", re.MULTILINE)
_HPL_FAILED = re.compile(r"^\|\|.*\.\.\. FAILED", re.MULTILINE)


@dataclass(frozen=True)
class MeasuredTimes:
    """What a run told of its time."""

    time_s: float
    comp_s: Mapping[str, float] = field(default_factory=dict)
    """Computation by kind, where it is told."""
    comm_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class OutputReader:
    """Reads the times of a run."""

    time: "re.Pattern[str] | None" = None
    """With a group `time_s`, or one group; None: the wall clock."""
    phases: "re.Pattern[str] | None" = None
    """With groups `kind`, `comp_s` and `comm_s`."""
    hpl_phases: bool = False

    @property
    def tells_phases(self) -> bool:
        """Whether computation and communication are read too."""
        return self.hpl_phases or self.phases is not None

    def read(self, output: str, *, wall_s: float, kinds: Sequence[str]) -> MeasuredTimes:
        """The times of a run; of several matches the last one counts.

        Parameters
        ----------
        kinds
            Those that took part.

        Raises
        ------
        CalibrationError
            If the output tells no time, or one that is none.
        """
        if self.time is not None and self.time.pattern == HPL_TIME and _HPL_FAILED.search(output):
            raise CalibrationError("a residual that FAILED in its output")
        with _bounded():
            time_s = wall_s if self.time is None else _number(self.time, output)
            comp_s: dict[str, float] = {}
            comm_s: dict[str, float] = {}
            for match in self.phases.finditer(output) if self.phases is not None else ():
                if match["kind"] in kinds:
                    comp_s[match["kind"]] = _seconds(match["comp_s"])
                    comm_s[match["kind"]] = _seconds(match["comm_s"])
        if self.hpl_phases and len(set(kinds)) == 1 and (told := dict(_HPL_PHASE.findall(output))).keys() >= _HPL_PARTS:
            comp_s[kinds[0]] = min(time_s, _hpl_computation(told))
            comm_s[kinds[0]] = time_s - comp_s[kinds[0]]
        return MeasuredTimes(time_s, comp_s, comm_s)


_HPL_PARTS = {"rfact", "mxswp", "update", "laswp", "up tr sv"}


def _hpl_computation(told: Mapping[str, str]) -> float:
    """EQUATIONS section 4, of the greatest phase times of any rank: right where all ranks are alike."""
    rfact, mxswp, update, laswp, solve = (
        float(told[name]) for name in ("rfact", "mxswp", "update", "laswp", "up tr sv")
    )
    return max(0.0, rfact - mxswp) + max(0.0, update - laswp) + solve


def _number(pattern: "re.Pattern[str]", output: str) -> float:
    found = None
    for match in pattern.finditer(output):
        found = match
    if found is None:
        raise CalibrationError("no time in its output")
    return _seconds(found["time_s"] if "time_s" in pattern.groupindex else found[1])


def _seconds(text: str | None) -> float:
    value = to_number(text or "")
    if value is None or not 0 <= value < 1e9:
        raise CalibrationError(f"{text!r} found for a time, seconds allowed")
    return value


def make_reader(time: str | None, phases: str | None) -> OutputReader:
    """A reader from the options: a pattern, `hpl` or `lu`; without a time pattern it is the wall clock.

    Raises
    ------
    ScenarioError
        If a pattern is too long, no regular expression, or has not the groups it needs.
    """
    found = _compiled("--time", NAMED_TIMES.get(time, time)) if time else None
    if found is not None and not (found.groups == 1 or "time_s" in found.groupindex):
        raise ScenarioError(f"--time: {found.groups} groups found, one, or one named time_s, allowed")
    if phases == "hpl":
        return OutputReader(found, None, hpl_phases=True)
    parts = _compiled("--phases", NAMED_PHASES.get(phases, phases)) if phases else None
    if parts is not None and not {"kind", "comp_s", "comm_s"} <= set(parts.groupindex):
        told = ", ".join(parts.groupindex) or "none"
        raise ScenarioError(f"--phases: groups {told} found, kind, comp_s and comm_s needed")
    return OutputReader(found, parts)


def _compiled(option: str, text: str) -> "re.Pattern[str]":
    if len(text) > MOST_CHARACTERS:
        raise ScenarioError(f"{option}: {len(text)} characters found, at most {MOST_CHARACTERS} allowed")
    try:
        return re.compile(text, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise ScenarioError(f"{option}: {text!r} found ({error}), a regular expression allowed") from error


@contextmanager
def _bounded() -> Iterator[None]:
    """End a search that takes too long: `re` looks for signals while it works."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_signal: int, _frame: object) -> None:
        raise CalibrationError(f"its time pattern searched for more than {_PATIENCE_S:g} s, a simpler one needed")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""A program to run under allocations: its command template, the files it reads, and how its times are read."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulator.base import files
from simulator.base.errors import CalibrationError, ScenarioError, meant
from simulator.base.units import to_number
from simulator.calibration.allocation.plan import Allocation, PEKind, PlacedPE

KEEP_BYTES = 2**20
"""How much of the end of an output is looked at."""
HPL_TIME = r"^W[RC]\w+\s+\d+\s+\d+\s+\d+\s+\d+\s+(?P<time_s>[\d.]+)\s"
"""A result line of HPL: variant, N, NB, P, Q, time."""
_HPL_PHASE = re.compile(r"^[ +]*Max aggregated wall time ([\w ]+?)[ .]*:\s*([\d.]+)", re.MULTILINE)
_HPL_FAILED = re.compile(r"^\|\|.*\.\.\. FAILED", re.MULTILINE)
_HPL_PARTS = {"rfact", "mxswp", "update", "laswp", "up tr sv"}
_PLACE = re.compile(r"\{(\w+)\}")
_FOUND_BY = {"hostfile": "hostfile", "hostfile_openmpi": "hostfile.openmpi", "rankfile": "rankfile.openmpi"}
"""Placeholder -> the file that it stands for, written into the folder of the run."""
PLACES = ("N", "P", "cpus", "kinds", "pin", "python", *_FOUND_BY)
_LARGEST_TEMPLATE_BYTES = 2**20


@dataclass(frozen=True)
class MeasuredTimes:
    """What a run said of its time."""

    time_s: float
    comp_s: Mapping[str, float] = field(default_factory=dict)
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

        `kinds`: those that took part.
        """
        if self.time is not None and self.time.pattern == HPL_TIME and _HPL_FAILED.search(output):
            raise CalibrationError("a residual that FAILED in its output")
        time_s = wall_s if self.time is None else _number(self.time, output)
        comp_s: dict[str, float] = {}
        comm_s: dict[str, float] = {}
        for match in self.phases.finditer(output) if self.phases is not None else ():
            if match["kind"] in kinds:
                comp_s[match["kind"]] = _seconds(match["comp_s"])
                comm_s[match["kind"]] = _seconds(match["comm_s"])
        if (
            self.hpl_phases
            and len(set(kinds)) == 1
            and (phases := dict(_HPL_PHASE.findall(output))).keys() >= _HPL_PARTS
        ):
            comp_s[kinds[0]] = min(time_s, _hpl_computation(phases))
            comm_s[kinds[0]] = time_s - comp_s[kinds[0]]
        return MeasuredTimes(time_s, comp_s, comm_s)


def _hpl_computation(phases: Mapping[str, str]) -> float:
    """EQUATIONS section 4, of the greatest phase times of any rank: right where all ranks are alike."""
    rfact, mxswp, update, laswp, solve = (
        float(phases[name]) for name in ("rfact", "mxswp", "update", "laswp", "up tr sv")
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
        raise CalibrationError(f"{text!r} is no time in seconds")
    return value


def make_reader(time: str | None, phases: str | None) -> OutputReader:
    """A reader from the options: a pattern or `hpl`; without a time pattern it is the wall clock."""
    found = _compiled("--time", HPL_TIME if time == "hpl" else time) if time else None
    if found is not None and not (found.groups == 1 or "time_s" in found.groupindex):
        raise ScenarioError(f"--time has {found.groups} groups; give one, or one named time_s")
    if phases == "hpl":
        return OutputReader(found, None, hpl_phases=True)
    parts = _compiled("--phases", phases) if phases else None
    if parts is not None and not {"kind", "comp_s", "comm_s"} <= set(parts.groupindex):
        named = ", ".join(parts.groupindex) or "none"
        raise ScenarioError(f"--phases has the groups {named}; name groups kind, comp_s and comm_s")
    return OutputReader(found, parts)


def _compiled(option: str, text: str) -> "re.Pattern[str]":
    try:
        return re.compile(text, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise ScenarioError(f"{option}: {text!r} is no regular expression ({error})") from error


@dataclass(frozen=True)
class PlacedRank:
    """One process of a run."""

    kind: str
    pe: PlacedPE


def placed_ranks(kinds: tuple[PEKind, ...], allocation: Allocation) -> tuple[PlacedRank, ...]:
    """The ranks of an allocation; of each kind the first PEs take part."""
    return tuple(
        PlacedRank(kind.name, pe)
        for kind, (pes, procs) in zip(kinds, allocation, strict=True)
        for pe in kind.pes[:pes]
        for _ in range(procs)
    )


def check_processors(kinds: tuple[PEKind, ...], allowed: tuple[int, ...]) -> None:
    """Refuse kinds whose PEs are no processors of this machine, or whose load busy loops cannot make."""
    faults, used = [], set()
    for kind in kinds:
        for pe in kind.pes:
            if pe.cpu is None or pe.cpu not in allowed:
                said = "no cpu" if pe.cpu is None else f"cpu {pe.cpu}"
                numbers = ", ".join(map(str, allowed))
                faults.append(f"--local: PE {pe.name} has {said}; give one of this machine's ({numbers})")
            elif pe.cpu in used:
                faults.append(f"--local: PE {pe.name}: cpu {pe.cpu} belongs to another PE already; give each its own")
            used.add(pe.cpu)
        if not kind.steady:
            faults.append(f"--local: kind {kind.name}: the load changes; give a whole number (rule fair)")
    if faults:
        raise ScenarioError(faults)


PIN = Path(__file__).parents[1] / "bench" / "pin.py"
HostFiles = Callable[[Sequence[PlacedRank]], Mapping[str, str]]
"""The host files of ranks: name -> text."""


@dataclass(frozen=True)
class AllocatedProgram:
    """What is run, where, and what is read of it."""

    words: tuple[str, ...]
    folder: Path
    """Where it runs; files it needs are written there before each run."""
    reader: OutputReader
    templates: Mapping[str, str] = field(default_factory=dict)
    """Name of each file that is rendered before a run -> its template."""
    host_files: HostFiles | None = None
    local: bool = False
    """Whether ranks are pinned to this machine's processors, together with real competitors where a kind has a load."""

    @property
    def wants_host_files(self) -> bool:
        """Whether the command line names any."""
        return any("{" + place + "}" in word for word in self.words for place in _FOUND_BY)

    def rendered(self, size: float, ranks: Sequence[PlacedRank]) -> list[str]:
        """The words of a run; a word that is `{pin}` or `{python}` becomes several."""
        values = self._values(size, ranks)
        found: list[str] = []
        for word in self.words:
            if word == "{pin}":
                found += [sys.executable, "-I", "-S", str(PIN), values["cpus"], "--"]
            else:
                found.append(_filled(word, values))
        return found

    def prepare(self, size: float, ranks: Sequence[PlacedRank]) -> None:
        """Write the files of a run."""
        values = self._values(size, ranks)
        for name, text in self.templates.items():
            files.write_text(self.folder / name, _filled(text, values))
        if self.host_files is not None and self.wants_host_files:
            for name, text in self.host_files(ranks).items():
                files.write_text(self.folder / name, text)

    def _values(self, size: float, ranks: Sequence[PlacedRank]) -> dict[str, str]:
        cpus = [rank.pe.cpu for rank in ranks]
        return {
            "N": f"{size:.0f}",
            "P": str(len(ranks)),
            "cpus": ",".join("" if cpu is None else str(cpu) for cpu in cpus),
            "kinds": ",".join(rank.kind for rank in ranks),
            "python": sys.executable,
            **{place: str((self.folder / name).resolve()) for place, name in _FOUND_BY.items()},
        }


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders filled; other braces stay."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


def parse_program(
    command: str, *, templates: Sequence[Path] = (), local: bool = False
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Words of a command template and the file templates, checked; there is no shell.

    A word with a slash that names a file here stays that file wherever the program runs.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ScenarioError(f"--command: {str(error).lower()}; match the quotes") from error
    if not words:
        raise ScenarioError("--command is empty; name a program")
    texts = {path.name: files.read_text(path, limit_bytes=_LARGEST_TEMPLATE_BYTES) for path in templates}
    if len(texts) < len(templates):
        raise ScenarioError("--before: two files have one name; give each another one")
    faults = [
        f"--command: {{{name}}} is no place; write one of {', '.join(PLACES)}{meant(name, PLACES)}"
        for word in words
        for name in _PLACE.findall(word)
        if name not in PLACES
    ]
    faults += ["--command: {pin} stands inside a word; make it a word of its own"] * any(
        "{pin}" in word and word != "{pin}" for word in words
    )
    said = {name for text in (*words, *texts.values()) for name in _PLACE.findall(text)}
    for name, what in (("N", "the problem size"), ("P", "the number of processes")):
        if name not in said:
            faults.append(f"--command has no {{{name}}}; write {what} into it or into a file of --before")
    if local and not said & {"pin", "cpus"}:
        faults.append("--command: --local pins processes; write {pin} before the program, or {cpus}")
    if faults:
        raise ScenarioError(faults)
    _check_program(words[0])
    return tuple(_whole(word) for word in words), texts


def _whole(word: str) -> str:
    return str(Path(word).resolve()) if "/" in word and "{" not in word and Path(word).is_file() else word


def _check_program(word: str) -> None:
    import shutil

    if "{" not in word and shutil.which(word) is None:
        what = "is a file that cannot be run" if os.sep in word and Path(word).exists() else "is no program"
        raise ScenarioError(f"--command: {word} {what}; name one on the path or by its own path")

"""Batsim's workloads: jobs and profiles in JSON; delays and sequences of delays have run times of their own."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.programs.streams.cleaning import MOST_FAULTS, MOST_SECONDS, stream_name, tell
from simulator.programs.streams.stream import Stream, make_stream

_DELAYS: Final = ("delay", "DelayProfile")
_SEQUENCES: Final = ("composed", "SequentialCompositionProfile")
_FIELDS: Final = {
    "workload": ("nb_res", "jobs", "profiles", "command", "date", "description"),
    "job": ("id", "subtime", "walltime", "res", "profile"),
    "profile": ("type", "delay", "seq", "repeat", "nb", "np", "cpu", "com", "command", "runtime"),
}
"""What Batsim's files have: fields that count, and some that say where a workload comes from."""
_MOST_PROCESSORS: Final = 2**31
_DEEPEST: Final = 50
"""Sequences in sequences."""


def parse_batsim(text: str, path: Path, *, machine_processors: int | None = None) -> Stream:
    """The stream of a workload, as it stands there: its jobs need no cleaning.

    Jobs are in the order of submission, those of one moment in the order of the file. A job without a walltime, or
    with -1, has no limit.

    Notes
    -----
    P.-F. Dutot et al., "Batsim: a realistic language-independent resources and jobs management systems simulator",
    JSSPP 2016; the input formats of Batsim 2 to 5.
    """
    document = files.parse_json(text, str(path))
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: the document is no workload; write jobs, profiles and nb_res in braces")
    jobs, profiles = document.get("jobs"), document.get("profiles")
    if not isinstance(jobs, list) or not isinstance(profiles, dict):
        raise ScenarioError(f"{path}: a workload of Batsim needs a list of jobs and profiles by name; add them")
    machine = machine_processors if machine_processors is not None else document.get("nb_res")
    if machine is None:
        raise ScenarioError(
            f"{path}: nb_res, the size of the machine, is missing; write it there or add --procs NUMBER"
        )
    if not _whole(machine):
        raise ScenarioError(
            f"{path}: nb_res: {_shown(machine)} is no size of a machine; write a whole number from 1 on"
        )
    if not jobs:
        raise ScenarioError(f"{path}: there is no job in this workload; write at least one")
    workload = _Workload(path, profiles, int(machine))
    rows = list(workload.rows(jobs))
    tell(str(path), workload.faults)
    return replace(_stream(workload, rows), notes=tuple(_unused(document)))


def _unused(document: Mapping[str, Any]) -> Iterator[str]:
    """A line for fields that have no effect."""
    groups = {"workload": [document], "job": document["jobs"], "profile": document["profiles"].values()}
    for noun, entries in groups.items():
        names = dict.fromkeys(name for entry in entries if isinstance(entry, dict) for name in entry)
        if unused := [name for name in names if name not in _FIELDS[noun]]:
            yield f"fields of a {noun} that are not used: {some_names(unused)}"


def _stream(workload: "_Workload", rows: list[tuple[Any, float, int, float, float, str]]) -> Stream:
    ids, submit, sizes, limits, runs, names = zip(*rows, strict=True)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    whole = all(isinstance(pe, int) for pe in ids)
    return make_stream(
        stream_name(workload.path),
        submit_s=submit,
        processors=sizes,
        run_s=runs,
        limit_s=limits,
        ids=np.array(ids if whole else [str(pe) for pe in ids]),
        executable=np.array([numbers[name] for name in names], dtype=np.int64),
        machine_processors=workload.machine,
        names={"executable": tuple(numbers)},
    )


@dataclass
class _Workload:
    """Jobs and profiles as they are read."""

    path: Path
    profiles: Mapping[str, Any]
    machine: int
    faults: list[str] = field(default_factory=list)
    lasting: dict[str, float] = field(default_factory=dict)
    """Seconds of each profile that was asked for."""

    def rows(self, jobs: list[Any]) -> Iterator[tuple[Any, float, int, float, float, str]]:
        """Id, submission, processors, limit, run time and profile of each job, as long as few are wrong."""
        seen: set[str] = set()
        for place, job in enumerate(jobs, start=1):
            try:
                row = self._row(job, place)
                if str(row[0]) in seen:
                    raise ScenarioError(f"job {row[0]} comes twice; give each its own id")  # noqa: TRY301
                seen.add(str(row[0]))
            except ScenarioError as fault:
                self.faults += [f"{self.path}: {line}" for line in fault.lines]
                if len(self.faults) > MOST_FAULTS:
                    return
            else:
                yield row

    def _row(self, job: Any, place: int) -> tuple[Any, float, int, float, float, str]:
        if not isinstance(job, dict):
            raise ScenarioError(f"jobs: entry {place} is no job; write its id, subtime, res and profile in braces")
        name = job.get("id")
        if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
            raise ScenarioError(
                f"jobs: entry {place}: id: {_shown(name)} is no name of a job; write a text or a number"
            )
        here = f"job {str(name)[:40]}"
        submit, size = job.get("subtime"), job.get("res")
        if not _seconds(submit):
            raise ScenarioError(f"{here}: subtime: {_shown(submit)} is no time from 0 on; write seconds")
        if not _whole(size):
            raise ScenarioError(
                f"{here}: res: {_shown(size)} is no number of processors; write a whole number from 1 on"
            )
        if size > self.machine:  # type: ignore[operator]
            wrong = f"{size} processors of a machine that has {self.machine}; make it smaller, or add --procs NUMBER"
            raise ScenarioError(f"{here} asks for {wrong}")
        limit = job.get("walltime", -1)
        if limit != -1 and not (_seconds(limit) and limit > 0):
            raise ScenarioError(f"{here}: walltime: {_shown(limit)} is no limit; write seconds above 0, or -1 for none")
        profile = job.get("profile")
        if not isinstance(profile, str):
            raise ScenarioError(f"{here}: profile: {_shown(profile)} is no name of a profile; write a text")
        seconds = self._seconds_of(profile, here, 0)
        return name, float(submit), int(size), math.nan if limit == -1 else float(limit), seconds, profile  # type: ignore[arg-type]

    def _seconds_of(self, name: str, job: str, depth: int) -> float:
        """How long a profile lasts; `job` is who asks, for messages."""
        if name not in self.lasting:
            here = f"{job}: profile {name[:40]}"
            found = self.profiles.get(name)
            if not isinstance(found, dict):
                known = meant(name, self.profiles)
                raise ScenarioError(f"{here} is not among the profiles; add it, with its type and delay{known}")
            seconds = self._lasting(found, here, job, depth)
            if seconds > MOST_SECONDS:
                raise ScenarioError(f"{here} lasts {seconds:.4g} s; at most {MOST_SECONDS:.0f} s can be simulated")
            self.lasting[name] = seconds
        return self.lasting[name]

    def _lasting(self, profile: Mapping[str, Any], here: str, job: str, depth: int) -> float:
        kind = profile.get("type")
        if kind in _DELAYS:
            delay = profile.get("delay")
            if not _seconds(delay):
                raise ScenarioError(f"{here}: delay: {_shown(delay)} is no time from 0 on; write seconds")
            return float(delay)  # type: ignore[arg-type]
        if kind not in _SEQUENCES:
            wrong = "only delays and sequences of delays have a run time of their own; write it as a delay"
            raise ScenarioError(f"{here} is of type {str(kind)[:60]}, and {wrong}")
        parts, times = profile.get("seq"), profile.get("repeat", profile.get("nb", 1))
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise ScenarioError(f"{here}: seq: {_shown(parts)} is no sequence; write a list of names of profiles")
        if not _whole(times):
            raise ScenarioError(
                f"{here}: repeat: {_shown(times)} is no number of times; write a whole number from 1 on"
            )
        if depth == _DEEPEST:
            raise ScenarioError(f"{here}: sequences contain each other, or lie more than {_DEEPEST} deep; undo that")
        return float(times * sum(self._seconds_of(part, job, depth + 1) for part in parts))


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_PROCESSORS


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_SECONDS


def _shown(value: Any) -> str:
    text = repr(value)
    return "nothing" if value is None else text if len(text) <= 40 else f"{text[:37]}..."

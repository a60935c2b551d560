"""What Slurm's `sacct --parsable2` prints of jobs: a line of names, then a job or a step of one on each line."""

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats
from simulator.base.errors import meant, some_names
from simulator.base.units import to_number, to_whole
from simulator.programs.streams.cleaning import (
    BYTES_OF_KB,
    FIELDS,
    MOST_FAULTS,
    MOST_SECONDS,
    RawJobs,
    stream_name,
    tell,
)

NEEDED: Final = ("JobID", "Submit", "Start", "End")
"""Names that a file has in any case; with them the elapsed time follows."""
_PROCESSORS: Final = ("AllocCPUS", "NCPUS", "ReqCPUS")
_KNOWN: Final = (
    *(*NEEDED, *_PROCESSORS, "Elapsed", "ElapsedRaw", "Timelimit", "TimelimitRaw", "NNodes", "AllocNodes", "ReqNodes"),
    *("User", "Group", "Partition", "State", "ReqMem", "JobName", "Eligible", "JobIDRaw", "Account", "QOS"),
    *("Constraints", "AllocTRES", "ReqTRES", "Reservation", "SubmitLine"),
)
"""Columns that are read; others are named in a note."""
_ZONED: Final = "print all times with their zone: SLURM_TIME_FORMAT='%Y-%m-%dT%H:%M:%S%z' sacct ..."
_WHOLE_SHIFT_S: Final = 1800
"""Clocks change by multiples of it."""
_NOBODY_KNOWS: Final = frozenset(("", "Unknown", "None", "N/A", "NONE", "INVALID"))
_UNLIMITED: Final = frozenset(("UNLIMITED", "Partition_Limit"))
_TIME = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2}(?:\.\d{1,9})?)")
_ZONE = re.compile(r"T.*(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([KMGTP]?)([nc]?)")
_STATUS: Final = {"COMPLETED": 1, "CANCELLED": 5}
"""As the Standard Workload Format counts; all others have failed."""
_TAKEN: Final = {"user": "User", "group": "Group", "executable": "JobName", "partition": "Partition"}
"""Field of a stream -> the column of its names."""
_TAKEN_MORE: Final = {"account": "Account", "qos": "QOS", "feature": "Constraints"}
"""The same, of fields that the Standard Workload Format lacks."""
_WITH_BARS: Final = ("JobName", "Constraints", "SubmitLine")
"""Columns that may hold a | where they come last."""
_GPUS = re.compile(r"gres/gpu(?::([^=,]+))?=([0-9]{1,9})")
_AFTER = re.compile(r"(?:^|\s)(?:-d\s*|--dependency[= ])\S*?after(?:ok|any|notok):([0-9:]+)")
_EXCLUSIVE = re.compile(r"\s--exclusive(?=\s|$)")


def parse_sacct(text: str, path: Path) -> RawJobs:
    """The finished jobs of a text that `sacct -P` printed, in the order of their submission.

    Steps of jobs (`123.batch`) are left out, and so are jobs that have not started or not ended; notes say how many.
    Times without a zone are read as UTC, so that second 0 of the stream is the first submission; then a job that ran
    while the clocks changed is refused: end less start is not what elapsed. A job counts as submitted when it was
    eligible. Components of a heterogeneous job (`123+0`, `123+1`) are one job of all their processors.
    """
    rows = text.split("\n")
    table = _Table(path, tuple(name.strip() for name in rows[0].removesuffix("\r").split("|")))
    table.check_names()
    for number, row in enumerate(rows[1:], start=2):
        if row.strip():
            table.take(number, row.removesuffix("\r").split("|"))
        if len(table.faults) > MOST_FAULTS:
            break
    tell(str(path), table.faults)
    return table.raw()


@dataclass(frozen=True)
class _Asked:
    """What a job asked for beyond the 18 fields, and when it came and ended."""

    nodes: int
    gpus: int
    whole: bool
    """Whether it asked for whole nodes in words."""
    spare: bool
    """Whether it got more processors than it asked for."""
    after: tuple[str, ...]
    submit_s: float
    end_s: float
    numbers: tuple[int, ...]
    """Of `_TAKEN_MORE`."""


@dataclass
class _Table:
    """Lines as they are read."""

    path: Path
    names: tuple[str, ...]
    faults: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    rows: list[list[float]] = field(default_factory=list)
    asked: list[_Asked] = field(default_factory=list)
    left_out: dict[tuple[str, str, str], int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    """Line of each job or component."""
    components: dict[str, int] = field(default_factory=dict)
    """Row of each heterogeneous job."""
    zones: set[bool] = field(default_factory=set)
    held: int = 0
    """Jobs that were not eligible when they were submitted."""
    reserved: int = 0
    """Jobs that ran in a reservation."""
    numbers: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in _TAKEN | _TAKEN_MORE})

    def check_names(self) -> None:
        """Refuse a table without what a job needs."""
        places = dict.fromkeys(self.names)
        for name in NEEDED:
            if name not in places:
                self._lacks(name, meant(name, self.names))
        if not places.keys() & set(_PROCESSORS):
            self._lacks("AllocCPUS", "")
        if len(places) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            self.faults.append(f"{self.path}:1: the column {twice} comes twice; ask sacct for it once")
        tell(str(self.path), self.faults)

    def _lacks(self, name: str, close: str) -> None:
        self.faults.append(f"{self.path}:1: the column {name} is missing; ask sacct for it with --format{close}")

    def take(self, number: int, cells: Sequence[str]) -> None:
        """Take in a job, or note why it is left out."""
        if self.names[-1] in _WITH_BARS:
            cells = [*cells[: len(self.names) - 1], "|".join(cells[len(self.names) - 1 :])]
        if len(cells) != len(self.names):
            wrong = f"{len(cells)} cells and the first {len(self.names)}; leave out names that hold a |"
            self.faults.append(f"{self.path}:{number}: the line has {wrong}")
            return
        row = dict(zip(self.names, (cell.strip() for cell in cells), strict=True))
        if why := _left_out(row):
            self.left_out[why] = self.left_out.get(why, 0) + 1
            return
        try:
            values = _job(row, zoned=self._zoned(row))
            asked = _asked(row, tuple(self._number(name, _name(row, name)) for name in _TAKEN_MORE))
        except ValueError as fault:
            self.faults.append(f"{self.path}:{number}: {fault}")
            return
        if row["JobID"] in self.seen:
            wrong = f"job {row['JobID']} comes again, after line {self.seen[row['JobID']]}"
            self.faults.append(f"{self.path}:{number}: {wrong}; print each once, without --duplicates")
            return
        self.seen[row["JobID"]] = number
        self.held += values[FIELDS.index("submission time")] > asked.submit_s
        self.reserved += row.get("Reservation", "") not in _NOBODY_KNOWS
        for name, column in _TAKEN.items():
            values[FIELDS.index(name)] = self._number(name, row.get(column, ""))
        job, component, _ = row["JobID"].partition("+")
        if component and job in self.components:
            place = self.components[job]
            self.rows[place], first = _together(self.rows[place], values), self.asked[place]
            sizes = {name: getattr(first, name) + getattr(asked, name) for name in ("nodes", "gpus")}
            self.asked[place] = replace(first, **sizes)
            return
        self.components |= {job: len(self.rows)} if component else {}
        self.ids.append(job)
        self.lines.append(number)
        self.rows.append(values)
        self.asked.append(asked)

    def _number(self, name: str, text: str) -> int:
        """Of a name, counted as they come; -1 for none."""
        known = self.numbers[name]
        return known.setdefault(text, len(known)) if text else -1

    def _zoned(self, row: dict[str, str]) -> bool:
        """Whether times have zones, or are seconds; ValueError where some have and some have not."""
        texts = [row.get(name, "") for name in ("Submit", "Eligible", "Start", "End")]
        zoned = {to_whole(text) is not None or bool(_ZONE.search(text)) for text in texts if text not in _NOBODY_KNOWS}
        self.zones |= zoned
        if len(self.zones) > 1:
            raise ValueError(f"some times have a zone and others have none; {_ZONED}")
        return zoned == {True}

    def raw(self) -> RawJobs:
        """The jobs, from second 0 on."""
        columns = np.array(self.rows, dtype=np.float64).reshape(-1, len(FIELDS))
        submit = columns[:, FIELDS.index("submission time")]
        whole = all(to_whole(job) is not None for job in self.ids)
        ids = np.array([int(job) for job in self.ids] if whole else self.ids)
        more = self._more(columns) | self._chains(columns, ids)
        order, begin = np.argsort(submit, kind="stable"), float(submit.min()) if submit.size else 0.0
        submit -= begin
        found = RawJobs(
            place=str(self.path),
            name=stream_name(self.path),
            ids=ids,
            columns=columns,
            lines=np.array(self.lines, dtype=np.int64),
            start_unix_s=begin if submit.size else None,
            names={name: tuple(known) for name, known in self.numbers.items() if known},
            notes=(*self._left_out_notes(), *self._notes()),
            more=more,
        )
        return found.take(order)

    def _more(self, columns: Floats) -> dict[str, NDArray[Any]]:
        """Nodes, GPUs, account, QOS, feature, and who had nodes alone: by words, or with all that the largest have.

        Who got no more processors than asked for takes them from nobody by being alone.
        """
        nodes, gpus, whole, spare = (
            np.array([getattr(one, name) for one in self.asked], dtype=np.int64)
            for name in ("nodes", "gpus", "whole", "spare")
        )
        got = columns[:, FIELDS.index("allocated processors")] / np.maximum(nodes, 1)
        of = columns[:, FIELDS.index("partition")].astype(np.int64)
        most = np.array([got[of == one].max() for one in range(-1, of.max(initial=-1) + 1) if np.any(of == one)])
        full = got == most[np.unique(of, return_inverse=True)[1]] if of.size else whole > 0
        numbers = np.array([one.numbers for one in self.asked], dtype=np.int64).reshape(-1, len(_TAKEN_MORE))
        alone = np.where((whole > 0) | (full & (spare > 0) & (nodes > 0)), 1, 0)
        named = {name: numbers[:, place] for place, name in enumerate(_TAKEN_MORE)}
        return {"nodes": nodes, "gpus": gpus, "exclusive": alone} | named

    def _chains(self, columns: Floats, ids: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Whom jobs depend on, by what their lines of submission say; such jobs come when they were submitted."""
        rows = dict[str, list[int]]()
        for row, job in enumerate(self.ids):
            rows.setdefault(job.partition("_")[0], []).append(row)
        submit, none = columns[:, FIELDS.index("submission time")], "" if ids.dtype.kind == "U" else -1
        preceding, think = np.full(ids.size, none, dtype=ids.dtype), np.full(ids.size, np.nan)
        for row, one in enumerate(self.asked):
            before = [other for job in one.after for other in rows.get(job, ()) if other != row]
            last = max(before, key=lambda other: self.asked[other].end_s, default=None)
            if last is not None and self.asked[last].end_s <= submit[row]:
                preceding[row], think[row] = ids[last], submit[row] - self.asked[last].end_s
                self.held -= bool(submit[row] > one.submit_s)
                submit[row] = one.submit_s
        return {"preceding": preceding, "think_s": think} if not np.isnan(think).all() else {}

    def _left_out_notes(self) -> Iterator[str]:
        for (one, several, what), count in self.left_out.items():
            yield f"{count} {one if count == 1 else several} {what}"

    def _notes(self) -> Iterator[str]:
        """What of the table has no effect, or another than it seems."""
        if self.held:
            yield f"{self.held} not eligible at once: submitted when they were"
        if len(partitions := list(self.numbers["partition"])) > 1:
            yield f"partitions {some_names(partitions)} are one machine where no --platform describes them"
        if self.reserved:
            yield f"{self.reserved} ran in a reservation, which is not simulated"
        if unused := [name for name in self.names if name and name not in _KNOWN]:
            yield f"columns not used: {', '.join(unused)}"


def _together(one: list[float], other: list[float]) -> list[float]:
    """Two components of a heterogeneous job as one job."""
    first, second = (dict(zip(FIELDS, row, strict=True)) for row in (one, other))
    most = {name: max(first[name], second[name]) for name in ("run time", "requested time", "requested memory")}
    sizes = {name: first[name] + second[name] for name in ("allocated processors", "requested processors")}
    status = first["status"] if first["status"] == second["status"] else 0.0
    return list((first | most | sizes | {"status": status}).values())


def _left_out(row: dict[str, str]) -> tuple[str, str, str] | None:
    """What a line is that is no job that has run, one of them and several, and what becomes of it."""
    state = row.get("State", "").partition(" ")[0]
    if "." in row["JobID"]:
        return "step of a job", "steps of jobs", "left out"
    if row["Start"] in _NOBODY_KNOWS or state == "PENDING":
        why = "cancelled before the start" if state == "CANCELLED" else "not started"
        return "job", "jobs", f"dropped: {why}"
    if row["End"] in _NOBODY_KNOWS or state in {"RUNNING", "SUSPENDED"}:
        return "job", "jobs", "dropped: not ended"
    return None


def _job(row: dict[str, str], *, zoned: bool) -> list[float]:
    """The 18 fields of a job; ValueError says what is wrong with a cell."""
    submit, start, end = (_instant(row, name) for name in ("Submit", "Start", "End"))
    run = _elapsed(row, end - start)
    if row.get("Eligible", "") not in _NOBODY_KNOWS:
        submit = max(submit, _instant(row, "Eligible"))
    if not submit <= start <= end:
        raise ValueError(f"its times are not in the order of submission, start and end; {_ZONED}")
    more = run - (end - start)
    shifted = not zoned and more and abs(more - _WHOLE_SHIFT_S * round(more / _WHOLE_SHIFT_S)) <= 1
    if more > 1 or (abs(more) > 1 and shifted):
        wrong = f"End less Start is {end - start:.15g} s, and {run:.15g} s elapsed"
        raise ValueError(f"{wrong}: clocks were changed, or a cell is wrong; {_ZONED}")
    allocated, requested = _whole(row, ("AllocCPUS", "NCPUS")), _whole(row, ("ReqCPUS",))
    values = dict.fromkeys(FIELDS, -1.0)
    values |= {"submission time": submit, "wait time": start - submit, "run time": run}
    got = allocated if allocated > 0 else requested  # whole nodes are more than a job asks for, and it keeps them busy
    values |= {"allocated processors": allocated, "requested processors": got}
    values |= {"requested time": _limit(row), "requested memory": _memory_kb(row, max(allocated, requested))}
    values["status"] = _STATUS.get(row.get("State", "COMPLETED").partition(" ")[0], 0)
    return list(values.values())


def _asked(row: dict[str, str], numbers: tuple[int, ...]) -> _Asked:
    """What a job asked for beyond the 18 fields; ValueError says what is wrong with a cell."""
    nodes, least = _whole(row, ("NNodes", "AllocNodes")), _whole(row, ("ReqNodes",))
    gpus = _GPUS.findall(row.get("AllocTRES", "") or row.get("ReqTRES", ""))
    by_type = sum(int(count) for kind, count in gpus if kind)
    count = next((int(count) for kind, count in gpus if not kind), by_type)
    anywhere = 0 < least < nodes and not count
    line, asked = row.get("SubmitLine", ""), _whole(row, ("ReqCPUS",))
    return _Asked(
        nodes=0 if anywhere else max(int(nodes), 1 if count else 0),
        gpus=count,
        whole=bool(_EXCLUSIVE.search(line)),
        spare=0 < asked < _whole(row, ("AllocCPUS", "NCPUS")),
        after=tuple(job for match in _AFTER.findall(line) for job in match.split(":") if job),
        submit_s=_instant(row, "Submit"),
        end_s=_instant(row, "End"),
        numbers=numbers,
    )


def _name(row: dict[str, str], field_name: str) -> str:
    """The account, the QOS, or the features of a job's nodes: `a&b`, `a|b`; types of GPUs that it asked for count."""
    text = row.get(_TAKEN_MORE[field_name], "")
    text = "" if text in _NOBODY_KNOWS | {"(null)"} else text
    if field_name != "feature":
        return text
    either = re.sub(r"[\[\]() ]|\*[0-9]+", "", text).replace(",", "&").split("|")
    types = [f"gpu:{kind}" for kind, _ in _GPUS.findall(row.get("ReqTRES", "")) if kind]
    return "|".join("&".join(filter(None, [one, *types])) for one in either)


def _instant(row: dict[str, str], name: str) -> float:
    """Seconds since 1970 of a date and time as Slurm writes them, or of a number of them."""
    text = row[name]
    seconds = to_whole(text)
    if seconds is not None and seconds < MOST_SECONDS:
        return float(seconds)
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name}: {text[:40]!r} is no time; write it as 2026-03-01T10:00:00") from None
    return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp()


def _elapsed(row: dict[str, str], lasting_s: float) -> float:
    """The run time: what was elapsed, which leaves out suspensions, else the time from start to end."""
    raw, text = row.get("ElapsedRaw", ""), row.get("Elapsed", "")
    if raw not in _NOBODY_KNOWS:
        return _number("ElapsedRaw", raw)
    return _duration("Elapsed", text) if text not in _NOBODY_KNOWS else lasting_s


def _limit(row: dict[str, str]) -> float:
    """The limit in seconds, -1 if there is none; the raw one is in minutes."""
    raw, text = row.get("TimelimitRaw", ""), row.get("Timelimit", "")
    if raw not in _NOBODY_KNOWS | _UNLIMITED:
        return 60 * _number("TimelimitRaw", raw)
    return -1.0 if text in _NOBODY_KNOWS | _UNLIMITED else _duration("Timelimit", text)


def _number(name: str, text: str) -> float:
    value = to_number(text)
    if value is None or not math.isfinite(value) or not 0 <= value <= MOST_SECONDS:
        raise ValueError(f"{name}: {text[:40]!r} is no number of at least 0; print it as sacct does")
    return value


def _duration(name: str, text: str) -> float:
    """Seconds of `D-HH:MM:SS`, `HH:MM:SS` or `MM:SS`."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{name}: {text[:40]!r} is no duration; write it as 1-12:30:00, days first")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return min(days * 86400 + hours * 3600 + minutes * 60 + seconds, MOST_SECONDS)


def _whole(row: dict[str, str], names: Sequence[str]) -> float:
    """The first of some columns that holds a number, -1 if none does."""
    for name in names:
        text = row.get(name, "")
        if text not in _NOBODY_KNOWS:
            found = to_whole(text)
            if found is None:
                raise ValueError(f"{name}: {text[:40]!r} is no whole number; print it as sacct does")
            return float(found)
    return -1.0


def _memory_kb(row: dict[str, str], processors: float) -> float:
    """Requested memory per processor: `4Gc` is of a processor, `4Gn` of a node, `4G` of the job; -1 if not known."""
    text = row.get("ReqMem", "")
    if text in _NOBODY_KNOWS | {"0", "?"}:
        return -1.0
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise ValueError(f"ReqMem: {text[:40]!r} is no memory; write it as 4G, 4Gc or 4Gn")
    total = float(match[1]) * BYTES_OF_KB ** "KMGTP".index(match[2] or "M")
    if match[3] == "c" or processors < 1:
        return total if match[3] == "c" else -1.0
    nodes = _whole(row, ("NNodes", "AllocNodes")) if match[3] == "n" else 1.0
    return total * nodes / processors if nodes > 0 else -1.0

"""Cleaning: jobs of a log as they stand there become a stream, and what is dropped or changed is counted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.programs.streams.stream import Stream, make_stream

Cleaning = Literal["strong", "pyss", "none"]
CLEANINGS: Final[tuple[str, ...]] = get_args(Cleaning)
"""Names of the rules by which logs are cleaned; see `clean`."""
FIELDS: Final = (
    *("job", "submission time", "wait time", "run time", "allocated processors", "CPU time", "used memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group", "executable"),
    *("queue", "partition", "preceding job", "think time"),
)
"""The 18 fields of a job in the Standard Workload Format 2.2, in their order."""
MOST_SECONDS: Final = 2.0**32
"""Largest time in a log: two of them still fit 64 bits of nanoseconds."""
MOST_FAULTS: Final = 20
"""Most lines in which faults of one file are listed."""
MOST_LARGER: Final = 0.01
"""Share of the jobs that may be larger than the machine; more, and its size is a number of something else."""
MOST_FOLLOWERS: Final = 0.5
"""Share of the jobs that may wait for one job; more name it because a log's writer had to name something."""
BYTES_OF_KB: Final = 1024
_ENDINGS: Final = (".gz", ".swf", ".json", ".csv", ".txt", ".yaml", ".yml", ".toml")
"""Of names of files that hold streams."""
PARTS: Final = (2, 3, 4)
"""Status of a line about a part of a job between checkpoints: to be continued, the last one, the last that failed."""


@dataclass(frozen=True, eq=False)
class RawJobs:
    """Jobs as a log has them: nothing is dropped or changed yet; arrays (job,)."""

    place: str
    name: str
    """Of the stream that becomes of them."""
    ids: NDArray[Any]
    columns: Floats
    """The 18 `FIELDS`, -1 where nothing is known; (job, 18), times in s, memory in KB per processor."""
    lines: Ints
    machine_processors: int | None = None
    start_unix_s: float | None = None
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further fields of `Stream` that the log has, by name; (job,)."""

    def __len__(self) -> int:
        return int(self.lines.size)

    def take(self, jobs: Flags | Ints) -> "RawJobs":
        """Some of the jobs, in the order given."""
        ids, columns, lines = self.ids[jobs], self.columns[jobs], self.lines[jobs]
        more = {name: values[jobs] for name, values in self.more.items()}
        return replace(self, ids=ids, columns=columns, lines=lines, more=more)

    def of(self, name: str) -> Floats:
        """One of the `FIELDS`."""
        return np.asarray(self.columns[:, FIELDS.index(name)])

    def without(self, dropped: Flags, why: str) -> "RawJobs":
        """All jobs but some, with a note that says how many and why: `JOBS WHY`."""
        if not dropped.any():
            return self
        return replace(self.take(~dropped), notes=(*self.notes, f"{_jobs(dropped)} dropped: {why}"))

    def changed(self, where: Flags, how: str, **values: Floats | float) -> "RawJobs":
        """With other values in some jobs, by field (`_` for a blank), and a note: `JOBS HOW`."""
        if not where.any():
            return self
        columns = self.columns.copy()
        for name, value in values.items():
            at = FIELDS.index(name.replace("_", " "))
            columns[where, at] = value[where] if isinstance(value, np.ndarray) else value
        return replace(self, columns=columns, notes=(*self.notes, f"{_jobs(where)} {how}"))


def clean(raw: RawJobs, cleaning: str = "strong", *, machine_processors: int | None = None) -> Stream:
    """The stream of a log's jobs.

    `raw`: the jobs as they are in the log. Lines about parts of a job, between checkpoints or swaps, are left out in
    any case; the line that sums the job up stays.
    `cleaning`: `strong`: only jobs that ask for and got no more processors than the machine has (where one of the two
    is not known it is the other), ran, have a limit and were submitted at 0 s or later; none runs past its limit. Where
    no job has a limit, run times are taken for it.
    `pyss`: limit and run time change places where a job ran longer, a job without a limit runs for 1 s; one without
    processors, run time or submission becomes one processor for 1 s; larger jobs than the machine are dropped. `none`:
    nothing is changed, and what cannot be simulated is refused.
    `machine_processors`: size of the machine, in place of what the log says.

    Notes
    -----
    `strong` is the filter of E. Gaussier, D. Glesser, V. Reis, D. Trystram, "Improving backfilling by using machine
    learning to predict running times", SC 2015; `pyss` is what the Python Scheduler Simulator does to its input. The
    processors of a job are those that it asked for, or where they are not known those that it got; in `pyss` always
    those that it got.
    """
    if cleaning not in _RULES:
        raise ScenarioError(
            f"cleaning: {cleaning!r} is unknown; take {', '.join(CLEANINGS)}{meant(cleaning, CLEANINGS)}"
        )
    machine = machine_processors if machine_processors is not None else raw.machine_processors
    if machine is None:
        raise ScenarioError(
            f"{raw.place}: the log does not say how many processors its machine has; add --procs NUMBER"
        )
    if machine < 1:
        raise ScenarioError(f"{raw.place}: a machine of {machine} processors runs no job; state at least 1")
    if not (found := len(raw)):
        raise ScenarioError(f"{raw.place}: there is no job in this file that has run{_why(raw)}; name another one")
    part = np.isin(raw.of("status"), PARTS)
    raw = raw.without(part, "the line is about a part of a job, between checkpoints or swaps")
    _check_ids(raw)
    raw = _RULES[cleaning](raw, machine)
    if not len(raw):
        wrong = f"no job of {found} is left after cleaning {cleaning}{_why(raw)}"
        raise ScenarioError(f"{raw.place}: {wrong}; choose another cleaning")
    head = f"{len(raw)} of {found} jobs kept by cleaning {cleaning}"
    return _stream(replace(raw, notes=(head, *raw.notes)), machine)


def _check_ids(raw: RawJobs) -> None:
    """Refuse jobs that have the number of another one."""
    _, first, of_job = np.unique(raw.ids, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[of_job.reshape(-1)] != np.arange(len(raw)))
    faults = [
        f"{raw.place}:{raw.lines[k]}: job {raw.ids[k]} comes again, after line {raw.lines[first[of_job[k]]]}; "
        "give each its own number, or leave one out"
        for k in again[:MOST_FAULTS]
    ]
    tell(raw.place, faults, again.size)


def _why(raw: RawJobs) -> str:
    return f" ({'; '.join(raw.notes)})" if raw.notes else ""


def _not_larger(raw: RawJobs, sizes: Floats, machine: int) -> RawJobs:
    """The jobs that the machine can hold, which are nearly all unless its size was counted in something else."""
    larger = sizes > machine
    if np.mean(larger) > MOST_LARGER:
        many = f"{_jobs(larger)} of {len(raw)} take more than {machine} processors, the largest {sizes.max():.0f}"
        raise ScenarioError(
            f"{raw.place}: {many}; say how many processors the machine has, not how many nodes: --procs"
        )
    return raw.without(larger, f"larger than the machine of {machine} processors")


def _strong(raw: RawJobs, machine: int) -> RawJobs:
    if not np.any(raw.of("requested time") > 0):
        how = "state no requested time, as all do: the run time of each is planned with"
        raw = raw.changed(raw.of("run time") > 0, how, requested_time=raw.of("run time"))
    got, asked = raw.of("allocated processors"), raw.of("requested processors")
    raw = _not_larger(raw, np.maximum(got, asked), machine)
    raw = raw.without((raw.of("allocated processors") <= 0) & (raw.of("requested processors") <= 0), "no processors")
    raw = raw.without(raw.of("run time") <= 0, "no run time above 0 s")
    raw = raw.without(raw.of("requested time") <= 0, "no requested time above 0 s")
    raw = raw.without(raw.of("submission time") < 0, "no submission at 0 s or later")
    got, asked = raw.of("allocated processors"), raw.of("requested processors")
    raw = raw.changed(
        (asked > 0) & (got > 0) & (got != asked), "got other processors than requested: what was requested counts"
    )
    run, limit = raw.of("run time"), raw.of("requested time")
    return _sorted(raw.changed(run > limit, "ran past the requested time and end at it", run_time=limit))


def _pyss(raw: RawJobs, machine: int) -> RawJobs:
    raw = _not_larger(raw, raw.of("allocated processors"), machine)
    run, limit, submit = raw.of("run time"), raw.of("requested time"), raw.of("submission time")
    odd = (run <= 0) | (raw.of("allocated processors") <= 0) | (submit < 0)
    least = {"run_time": np.maximum(np.minimum(run, limit), 1), "requested_time": np.maximum(run, 1)}
    change = "ran past the requested time: each time becomes the other, 1 s at least"
    raw = raw.changed(~odd & (limit > 0) & (run > limit), change, **least)
    raw = raw.changed(
        ~odd & (limit <= 0), "without a requested time run for 1 s, and their run time is the limit", **least
    )
    change = "without run time, processors or submission become 1 processor for 1 s"
    one = {"run_time": 1.0, "requested_time": 1.0, "allocated_processors": 1.0, "requested_processors": 1.0}
    raw = raw.changed(odd, change, submission_time=np.maximum(submit, 1), **one)
    got = raw.of("allocated processors")
    change = "got other processors than requested: what they got counts"
    return _sorted(raw.changed(got != raw.of("requested processors"), change, requested_processors=got))


def _sorted(raw: RawJobs) -> RawJobs:
    """In the order of submission."""
    submit = raw.of("submission time")
    late = np.diff(submit, prepend=submit[:1]) < 0
    if not late.any():
        return raw
    order = np.argsort(submit, kind="stable")
    note = f"{_jobs(late)} submitted before the job above in the file: all are sorted by submission"
    return replace(raw.take(order), notes=(*raw.notes, note))


def _none(raw: RawJobs, machine: int) -> RawJobs:
    sizes, submit = _processors(raw), raw.of("submission time")
    before = np.concatenate((submit[:1], submit[:-1]))
    faults: list[_Fault] = []
    for name in ("submission time", "wait time", "run time", "requested time"):
        times = raw.of(name)
        wrong = f"a {name} of {{:.15g}} s; write -1 where it is not known"
        faults.append(_Fault((times < 0) & (times != -1), wrong, (times,)))
    needed = ("submission time", "run time")
    faults += [_Fault(raw.of(name) == -1, f"no {name}; add it, or clean the log") for name in needed]
    faults.append(_Fault(sizes < 1, "no processors; add them, or clean the log"))
    wrong = f"{{:.15g}} processors and the machine {machine}; state the machine's size, or clean the log"
    faults.append(_Fault(sizes > machine, wrong, (sizes,)))
    wrong = "its submission at {:.15g} s, before the {:.15g} s above it; sort the lines, or clean the log"
    faults.append(_Fault((submit < before) & (submit >= 0), wrong, (submit, before)))
    first = sorted(((k, fault) for fault in faults for k in fault.first()), key=lambda found: found[0])
    lines = [
        f"{raw.place}:{raw.lines[k]}: job {raw.ids[k]} has {fault.has.format(*(values[k] for values in fault.values))}"
        for k, fault in first[:MOST_FAULTS]
    ]
    tell(raw.place, lines, sum(int(np.count_nonzero(fault.wrong)) for fault in faults))
    return raw


@dataclass(frozen=True, eq=False)
class _Fault:
    """Something that some jobs have and may not have."""

    wrong: Flags
    has: str
    """With a place for each of the values."""
    values: tuple[Floats, ...] = ()

    def first(self) -> list[int]:
        """As many of the jobs as are listed."""
        return [int(k) for k in np.flatnonzero(self.wrong)[:MOST_FAULTS]]


_RULES: Final[Mapping[str, Callable[[RawJobs, int], RawJobs]]] = {"strong": _strong, "pyss": _pyss, "none": _none}


def tell(place: str, faults: Sequence[str], count: int | None = None) -> None:
    """Raise what was found wrong in a file, in up to `MOST_FAULTS` lines."""
    if max(len(faults), count or 0) > MOST_FAULTS:
        more = "more" if count is None else f"{count - MOST_FAULTS + 1} more"
        raise ScenarioError([*faults[: MOST_FAULTS - 1], f"{place}: there are {more} faults like these"])
    if faults:
        raise ScenarioError(faults)


def stream_name(path: Path) -> str:
    """What a stream is called that stands in a file: `KTH-SP2-1996-2` in `KTH-SP2-1996-2.swf.gz`."""
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending) or name
    return name


def _jobs(which: Flags) -> str:
    count = int(np.count_nonzero(which))
    return "1 job" if count == 1 else f"{count} jobs"


def _processors(raw: RawJobs) -> Floats:
    asked = raw.of("requested processors")
    return np.where(asked > 0, asked, raw.of("allocated processors"))


def _stream(raw: RawJobs, machine: int) -> Stream:
    limit, memory, wait = (raw.of(name) for name in ("requested time", "requested memory", "wait time"))
    whole = ("user", "group", "executable", "queue", "partition")
    more = _chains(raw) | dict(raw.more)
    return make_stream(
        raw.name,
        submit_s=raw.of("submission time"),
        processors=_processors(raw),
        run_s=raw.of("run time"),
        limit_s=np.where(limit > 0, limit, np.nan),
        ids=raw.ids,
        memory_bytes=np.where(memory > 0, memory * BYTES_OF_KB, np.nan),
        wait_s=np.where(wait >= 0, wait, np.nan),
        machine_processors=machine,
        start_unix_s=raw.start_unix_s,
        notes=raw.notes,
        names=raw.names,
        **{name: raw.of(name).astype(np.int64) for name in whole},
        **more,
    )


def _chains(raw: RawJobs) -> dict[str, NDArray[Any]]:
    """Whom jobs wait for, and how long after its end they come; nothing where most name one job, as fillers do."""
    after, think = raw.of("preceding job"), raw.of("think time")
    of, counts = np.unique(after[after > 0], return_counts=True)
    if not of.size or counts.max() > max(1, MOST_FOLLOWERS * len(raw)):
        return {}
    preceding = np.where(after > 0, after, -1).astype(np.int64)
    return {"preceding": preceding, "think_s": np.where((after > 0) & (think >= 0), think, np.nan)}

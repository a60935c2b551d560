"""Jobs as files: the Standard Workload Format 2.2, the jobs table that Batsim writes, and a table of our own.

What is written is a stream of jobs, before it ran or as it ran under a policy. Or it is the runs of a scenario: a job
is then a run of a configuration on the PEs that it uses, submitted when the run before has ended, on a machine that
does nothing else. So batch simulators get run times as they scatter, and the log is one that they all take.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.base.names import ranges
from simulator.engines.job_queue import JobRuns
from simulator.engines.run_set import RunSet
from simulator.programs.streams.stream import Stream
from simulator.scenario_file.scenario import Scenario

__all__ = ["JOB_FILES", "job_lines", "job_table_lines", "stream_lines"]

JOB_FILES = (".swf", ".csv")
"""What the name of a file of jobs ends in: the Standard Workload Format, or Batsim's table."""
COLUMNS = (
    *("job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time"),
    *("stretch", "allocated_resources"),
)
TABLE = ("job", "submit_s", "start_s", "finish_s", "processors", "wait_s", "estimate_s", "killed", "user")
ALLOCATED, NODES = "allocated", "nodes"
"""Columns of our own table."""
UNKNOWN = -1
FAILED, COMPLETED = 0, 1
KILLED = "COMPLETED_WALLTIME_REACHED"
"""What Batsim calls the end of a job at its limit."""
NS = 10**9
BYTES_OF_KB = 1024
_ROWS = 1000
"""Written at once."""
_NAMED = {"user": "User", "group": "Group", "executable": "Executable", "queue": "Queue", "partition": "Partition"}
"""Field of a stream -> the key under which the head of a log gives its numbers names."""


class _Ran(NamedTuple):
    """A job that ran, as Batsim tells of it; times in whole nanoseconds, so that they add up."""

    name: object
    workload: str
    profile: str
    submit_ns: int
    asked: int
    limit: object
    """Seconds, or UNKNOWN."""
    wait_ns: int
    run_ns: int
    pes: Sequence[int]
    killed: bool = False


def job_lines(scenario: Scenario, runs: RunSet, kind: str) -> Iterator[str]:
    """Text of a file of jobs, a line at a time: configuration after configuration, each replication after replication.

    Raises ScenarioError for another kind.
    """
    return _swf(scenario, runs) if _checked(kind) == ".swf" else _table(_scenario_jobs(scenario, runs))


def stream_lines(jobs: Stream | JobRuns, kind: str) -> Iterator[str]:
    """Text of a file of the jobs of a stream, some lines at a time.

    Raises ScenarioError for another kind, and for Batsim's table of jobs that have not run.

    `jobs`: the stream, or what became of it: then waits, run times, processors and what was killed are those of the
    run. In the Standard Workload Format ids that are no numbers become 1, 2, ...; the sizes that a moldable job may
    have are not said, and what runs is a number with a name in the head.
    """
    if _checked(kind) == ".swf":
        return _stream_swf(jobs)
    if isinstance(jobs, Stream):
        raise ScenarioError(f"{jobs.name}: Batsim's table says when jobs ran; run the stream, or write an .swf file")
    return _table(_stream_jobs(jobs))


def _checked(kind: str) -> str:
    if kind not in JOB_FILES:
        raise ScenarioError(f"jobs: kind is {kind!r}; give {' or '.join(JOB_FILES)}")
    return kind


# The Standard Workload Format


def _head(jobs: int, values: Mapping[str, object], names: Iterable[tuple[str, int, str]], notes: Iterable[str]) -> str:
    """Comments before the jobs: keys that are known, names of numbers by their key, and notes."""
    known = {"Version": 2.2, "Computer": "simulated by apportion", "MaxJobs": jobs, "MaxRecords": jobs, **values}
    lines = [f"{key}: {value}" for key, value in known.items() if value is not None]
    lines += [f"Note: {' '.join(note.split())}" for note in notes]
    lines += [f"{key}: {number} {' '.join(name.split())}" for key, number, name in names if name.strip()]
    return "".join(f"; {line}\n" for line in lines)


def _swf(scenario: Scenario, runs: RunSet) -> Iterator[str]:
    """18 fields a job; an average CPU time is that of its processes on one PE, memory that of the largest of them."""
    size = {"MaxProcs": len(scenario.platform.pes), "MaxNodes": len(scenario.platform.node_names)}
    names = (("Executable", k, name) for k, name in enumerate(runs.configurations, start=1))
    note = "a job is a simulated run, submitted when the one before has ended; executable numbers are configurations"
    yield _head(runs.makespan_ticks.size, size, names, [note])
    used = [len(set(configuration.placement)) for configuration in scenario.configurations]
    held = [max(scenario.program(configuration).footprints_bytes) for configuration in scenario.configurations]
    for job, (k, replication, submit, lasting) in enumerate(_runs(runs), start=1):
        busy = round(float(runs.busy_ticks[k][replication].sum()) * runs.tick_s / used[k] * NS)
        memory = -(-held[k] // BYTES_OF_KB) or UNKNOWN
        ran = (job, _s(submit), 0, _s(lasting), used[k], _s(busy), memory, used[k], UNKNOWN, UNKNOWN, COMPLETED)
        yield _swf_line((*ran, UNKNOWN, UNKNOWN, k + 1, *(UNKNOWN,) * 4))


def _stream_swf(jobs: Stream | JobRuns) -> Iterator[str]:
    stream = jobs.stream if isinstance(jobs, JobRuns) else jobs
    executable, named = _executables(stream)
    begin, machine, notes = stream.start_unix_s, stream.machine_processors, list(stream.notes)
    if isinstance(jobs, JobRuns):
        machine = jobs.pes
        notes.append(f"simulated under {jobs.policy.name}, planned by {jobs.estimates.name}")
    values = {"MaxProcs": machine, "UnixStartTime": None if begin is None else round(begin)}
    names = ((key, k, name) for field, key in _NAMED.items() for k, name in enumerate(named.get(field, ())))
    yield _head(len(stream), values, names, notes)
    unknown = [UNKNOWN] * len(stream)
    ids = stream.ids.tolist() if stream.ids.dtype.kind in "iu" else range(1, len(stream) + 1)
    submit, wait, run, got, status = _times(jobs)
    asked = (stream.processors.tolist(), _seconds(stream.limit_s), _seconds(stream.memory_bytes / BYTES_OF_KB))
    groups = (stream.user, stream.group, executable, stream.queue, stream.partition)
    columns = (ids, submit, wait, run, got, unknown, unknown, *asked, status, *(group.tolist() for group in groups))
    yield from map(_swf_line, zip(*columns, unknown, unknown, strict=True))


def _times(jobs: Stream | JobRuns) -> tuple[Sequence[object], ...]:
    """Submission, wait and run time, processors and status of each job."""
    if isinstance(jobs, Stream):
        unknown = [UNKNOWN] * len(jobs)
        return _seconds(jobs.submit_s), _seconds(jobs.wait_s), _seconds(jobs.run_s), jobs.processors.tolist(), unknown
    ticks = (jobs.submit_ticks, jobs.start_ticks - jobs.submit_ticks, jobs.finish_ticks - jobs.start_ticks)
    submit, wait, run = ([_s(time) for time in _nanoseconds(some, jobs.tick_s)] for some in ticks)
    return submit, wait, run, jobs.processors.tolist(), np.where(jobs.killed, FAILED, COMPLETED).tolist()


def _swf_line(fields: Iterable[object]) -> str:
    return " ".join(map(str, fields)) + "\n"


# Batsim's table


def _scenario_jobs(scenario: Scenario, runs: RunSet) -> Iterator[_Ran]:
    used = [sorted(set(configuration.placement)) for configuration in scenario.configurations]
    for job, (k, _, submit, lasting) in enumerate(_runs(runs), start=1):
        asked = len(used[k]), UNKNOWN
        yield _Ran(job, "apportion", runs.configurations[k], submit, *asked, 0, lasting, used[k])


def _stream_jobs(runs: JobRuns) -> Iterator[_Ran]:
    stream = runs.stream
    executable, named = _executables(stream)
    names, limits = named.get("executable", ()), _seconds(stream.limit_s)
    submit, start, finish = (
        _nanoseconds(ticks, runs.tick_s) for ticks in (runs.submit_ticks, runs.start_ticks, runs.finish_ticks)
    )
    for k, number in enumerate(executable.tolist()):
        profile = names[number] if 0 <= number < len(names) and names[number] else "delay"
        asked = submit[k], int(stream.processors[k]), limits[k]
        times = start[k] - submit[k], finish[k] - start[k]
        yield _Ran(stream.ids[k], stream.name, profile, *asked, *times, runs.pes_of(k).tolist(), bool(runs.killed[k]))


def _table(jobs: Iterable[_Ran]) -> Iterator[str]:
    """A row per job; its resources are numbers of PEs."""
    yield files.csv_lines([COLUMNS])
    rows = []
    for job in jobs:
        rows.append(_row(job))
        if len(rows) == _ROWS:
            yield files.csv_lines(rows)
            rows = []
    yield files.csv_lines(rows)


def _row(job: _Ran) -> tuple[object, ...]:
    start, took = job.submit_ns + job.wait_ns, job.wait_ns + job.run_ns
    asked = job.name, job.workload, job.profile, _s(job.submit_ns), job.asked, job.limit
    ended = (0, KILLED) if job.killed else (1, "COMPLETED_SUCCESSFULLY")
    times = _s(start), _s(job.run_ns), _s(start + job.run_ns), _s(job.wait_ns), _s(took)
    stretch = f"{took / job.run_ns:.9g}" if job.run_ns else UNKNOWN
    return (*asked, *ended, *times, stretch, ranges(job.pes, " "))


# What both need


def _runs(runs: RunSet) -> Iterator[tuple[int, int, int, int]]:
    """Configuration, replication, submission and run time of each run in whole nanoseconds, so that they add up."""
    before = 0
    for (k, replication), seconds in np.ndenumerate(runs.makespan_s):
        lasting = round(seconds * NS)
        yield k, replication, before, lasting
        before += lasting


def _executables(stream: Stream) -> tuple[Ints, dict[str, tuple[str, ...]]]:
    """The number of what each job runs, and all names of numbers: applications are numbered if nothing else is."""
    names = dict(stream.names)
    if not stream.applications or np.any(stream.executable >= 0):
        return stream.executable, names
    said = (
        f"{application.name} {' '.join(f'{key}={value}' for key, value in application.parameters.items())}"
        for application in stream.applications
    )
    return stream.application, names | {"executable": tuple(said)}


def _nanoseconds(ticks: Ints, tick_s: float) -> list[int]:
    each = round(tick_s * NS)
    return [each * tick for tick in ticks.tolist()] if each else [round(tick * tick_s * NS) for tick in ticks.tolist()]


def _seconds(times: Floats) -> list[object]:
    """Numbers with all their digits and without exponents; UNKNOWN for NaN."""
    known = np.where(np.isnan(times), UNKNOWN, times)
    if np.all(known == np.floor(known)):
        return list(known.astype(np.int64).tolist())
    return [np.format_float_positional(time, trim="-") for time in known]


def _s(nanoseconds: int) -> str:
    """Seconds."""
    whole, part = divmod(nanoseconds, NS)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".")


def job_table_lines(runs: JobRuns) -> Iterator[str]:
    """A row per job in the order of the stream, as pieces of CSV; seconds are exact decimals of whole nanoseconds.

    `killed` is 1 where the limit ended the job, `user` a name or number, empty where nobody knows it. If PEs are named,
    `allocated` has their numbers as Batsim writes them: `0-2 5`; `nodes` has those of nodes.
    """
    places = {ALLOCATED: runs.pes_of} if runs.allocated is not None else {}
    places |= {NODES: runs.nodes_of} if runs.held_nodes is not None else {}
    yield files.csv_lines([(*TABLE, *places)])
    users = runs.stream.names.get("user", ())
    for first in range(0, len(runs.stream), _ROWS):
        part = slice(first, first + _ROWS)

        def seconds(ticks: Ints, part: slice = part) -> list[str]:
            return list(map(_s, _nanoseconds(ticks[part], runs.tick_s)))

        numbers = runs.stream.user[part].tolist()
        columns: list[Sequence[object]] = [
            runs.stream.ids[part].tolist(),
            *(seconds(ticks) for ticks in (runs.submit_ticks, runs.start_ticks, runs.finish_ticks)),
            runs.processors[part].tolist(),
            seconds(runs.start_ticks - runs.eligible_ticks),
            seconds(runs.estimate_ticks),
            runs.killed[part].astype(np.int64).tolist(),
            ["" if user < 0 else users[user] if user < len(users) else user for user in numbers],
        ]
        columns += [
            [ranges(numbers_of(first + k).tolist(), " ") for k in range(len(numbers))] for numbers_of in places.values()
        ]
        yield files.csv_lines(zip(*columns, strict=True))

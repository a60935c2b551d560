"""Streams of jobs from files: logs of batch systems, workloads, lists and tables of jobs of our own applications."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from simulator.base import files
from simulator.base.errors import ScenarioError, meant
from simulator.base.faults import Faults, validated
from simulator.base.form import Duration, Form, Latency, Name, Parameter
from simulator.base.tables import parse_table
from simulator.base.units import to_number, to_whole
from simulator.base.yaml_document import document_of
from simulator.platform.foreign import read_slurm
from simulator.programs.applications import PARAMETERS, make_work
from simulator.programs.configuration import MOST_PROCESSES
from simulator.programs.streams.batsim import parse_batsim
from simulator.programs.streams.cleaning import MOST_FAULTS, MOST_SECONDS, clean, stream_name, tell
from simulator.programs.streams.sacct import NEEDED, parse_sacct
from simulator.programs.streams.stream import MISSING, JobApplication, Stream, make_stream
from simulator.programs.streams.swf import read_swf
from simulator.scheduling.nodes import NO_LIMIT_MIB, JobNodes, JobPartition

MOST_JOBS: Final = 1_000_000
"""Most jobs of one list."""
COLUMNS: Final = ("application", "processes", "least", "most", "submitted_s", "limit_s", "user")
"""Columns of a table of jobs; any other is a parameter of the applications, empty for those that have none such."""
_HEAD_BYTES: Final = 2**16
_MOST_BYTES: Final = 2**30
"""Largest text that is read at once; logs in the Standard Workload Format are read block by block."""
_JOB = re.compile(r"[-+.0-9]+[ \t]+[-+.0-9]+[ \t]")
_KINDS: Final = (
    "a log in the Standard Workload Format, what `sacct --parsable2` prints, a workload of Batsim in JSON, "
    "or a list of jobs of applications in YAML or CSV"
)


class ProcessesForm(Form):
    """How many processes a moldable job may have: the policy that places it chooses."""

    least: int = Field(ge=1, le=MOST_PROCESSES)
    """The fewest."""
    most: int = Field(ge=1, le=MOST_PROCESSES)
    """The most, which it asks for where nobody chooses."""

    @model_validator(mode="after")
    def _in_order(self) -> "ProcessesForm":
        if self.least > self.most:
            raise ValueError(f"the fewest processes, {self.least}, are more than the most, {self.most}; swap them")
        return self


class JobForm(Form):
    """A job, or several of one kind."""

    application: str
    """One of the applications, such as `matmul`."""
    parameters: dict[str, Parameter]
    """The problem, such as `{n: 4000}`."""
    processes: Annotated[
        Annotated[Annotated[int, Field(ge=1, le=MOST_PROCESSES)], Tag("<number>")]
        | Annotated[ProcessesForm, Tag("<moldable>")],
        Discriminator(lambda value: "<moldable>" if isinstance(value, dict) else "<number>"),
    ]
    """How many, each on a PE of its own; or `{least, most}`."""
    submitted: Latency = Field(default=0.0, json_schema_extra={"default": "0s"})
    """When, from the start of the stream."""
    limit: Duration | None = None
    """After which the job is killed; none if not stated."""
    user: Name | None = None
    """Whose job it is."""
    count: int = Field(default=1, ge=1, le=MOST_JOBS)
    """How many such jobs are submitted."""
    every: Latency = Field(default=0.0, json_schema_extra={"default": "0s"})
    """The time from one of them to the next."""


class JobListForm(Form):
    """Jobs of our own applications."""

    format: Literal[1]
    """Always `1`, in every file."""
    jobs: list[JobForm] = Field(min_length=1)
    """In any order."""


def parse_job_list(text: str, path: Path) -> Stream:
    """The stream of a list of jobs in YAML, or TOML if the file's name says so."""
    document = document_of(text, path)
    form, jobs = validated(JobListForm, document), _Jobs()
    faults = Faults(document)
    for number, job in enumerate(form.jobs):
        with faults.at("jobs", number):
            asked = job.processes
            sizes = (asked, asked) if isinstance(asked, int) else (asked.least, asked.most)
            times = job.submitted + job.every * np.arange(job.count)
            jobs.add(jobs.application(job.application, job.parameters), sizes, times, job.limit, job.user)
    faults.tell()
    return jobs.stream(path)


def parse_job_table(text: str, path: Path) -> Stream:
    """The stream of a table of jobs in CSV: the `COLUMNS` that are needed, and one for each parameter."""
    table, jobs, faults = parse_table(text, place=str(path)), _Jobs(), list[str]()
    if "application" not in table.names or not (
        {"processes"} <= set(table.names) or {"least", "most"} <= set(table.names)
    ):
        raise ScenarioError(f"{path}: jobs need a column application, and processes or least and most; add them")
    for label, cells in zip(table.labels(), table.rows, strict=True):
        row = dict(zip(table.names, cells, strict=True))
        try:
            given = {name: _value(cell) for name, cell in row.items() if name not in COLUMNS and cell}
            limit = _seconds(row, "limit_s") if row.get("limit_s") else None
            times = np.array([_seconds(row, "submitted_s") if row.get("submitted_s") else 0.0])
            jobs.add(jobs.application(row["application"], given), _cells(row), times, limit, row.get("user") or None)
        except ScenarioError as fault:
            faults += [f"{label}: {line}" for line in fault.lines]
            if len(faults) > MOST_FAULTS:
                break
    tell(str(path), faults)
    return jobs.stream(path)


@dataclass
class _Jobs:
    """Jobs as they are read."""

    applications: dict[tuple[Any, ...], int] = field(default_factory=dict)
    kinds: list[JobApplication] = field(default_factory=list)
    users: dict[str, int] = field(default_factory=dict)
    rows: list[tuple[float, ...]] = field(default_factory=list)

    def application(self, name: str, parameters: Mapping[str, Any]) -> int:
        """The number of an application with its parameters, which are looked at once."""
        key = (name, *sorted((given, type(value).__name__, value) for given, value in parameters.items()))
        if name not in PARAMETERS:
            known = f"take {', '.join(sorted(PARAMETERS))}{meant(name, PARAMETERS)}"
            raise ScenarioError(f"application: {name[:40]!r} is none whose costs are counted; {known}")
        if key not in self.applications:
            try:
                make_work(name, dict(parameters))
            except ScenarioError as error:
                raise ScenarioError([line.removeprefix("application: ") for line in error.lines]) from None
            self.applications[key] = len(self.kinds)
            self.kinds.append(JobApplication(name, dict(parameters)))
        return self.applications[key]

    def add(
        self, application: int, sizes: tuple[int, int], times_s: Any, limit_s: float | None, user: str | None
    ) -> None:
        """Take in one job for each of some times of submission."""
        if len(self.rows) + times_s.size > MOST_JOBS:
            raise ScenarioError(f"count: these are more than {MOST_JOBS} jobs in all; write fewer")
        if times_s[-1] > MOST_SECONDS or (limit_s or 0) > MOST_SECONDS:
            raise ScenarioError(f"submitted: no time may be beyond {MOST_SECONDS:.0f} s; write an earlier one")
        number = MISSING if user is None else self.users.setdefault(user, len(self.users))
        limit = np.nan if limit_s is None else limit_s
        self.rows += [(float(time), *sizes, limit, number, application) for time in times_s]

    def stream(self, path: Path) -> Stream:
        """All of them; a moldable job asks for the most processes that it may have."""
        submit, least, most, limit, user, application = np.array(self.rows).T
        return make_stream(
            stream_name(path),
            submit_s=submit,
            processors=most,
            limit_s=limit,
            least=least.astype(np.int64),
            most=most.astype(np.int64),
            user=user.astype(np.int64),
            application=application.astype(np.int64),
            applications=tuple(self.kinds),
            names={"user": tuple(self.users)} if self.users else {},
        )


def _value(cell: str) -> float | str:
    """A parameter: a whole number, a number or a text."""
    if (whole := to_whole(cell)) is not None:
        return whole
    number = to_number(cell)
    return cell if number is None or not np.isfinite(number) else number


def _cells(row: Mapping[str, str]) -> tuple[int, int]:
    """Fewest and most processes of a row."""
    if row.get("processes") and (row.get("least") or row.get("most")):
        raise ScenarioError("processes: the job has least and most too; give a number, or the fewest and the most")
    names = ("processes", "processes") if row.get("processes") else ("least", "most")
    least, most = (_whole(row, name) for name in names)
    if least > most:
        raise ScenarioError(f"least: {least} processes are more than the most, {most}; swap them")
    return least, most


def _whole(row: Mapping[str, str], name: str) -> int:
    found = to_whole(row.get(name, ""))
    if found is None or not 1 <= found <= MOST_PROCESSES:
        raise ScenarioError(f"{name}: {row.get(name, '')!r} is no number of processes; write 1 to {MOST_PROCESSES}")
    return found


def _seconds(row: Mapping[str, str], name: str) -> float:
    found, least = to_number(row[name]), "above 0" if name == "limit_s" else "from 0 on"
    if found is None or not 0 <= found <= MOST_SECONDS or (name == "limit_s" and not found):
        raise ScenarioError(f"{name}: {row[name]!r} is no time {least}; write seconds")
    return found


def read_stream(path: str | Path, *, cleaning: str = "strong", machine_processors: int | None = None) -> Stream:
    """The jobs of a file: a log of a batch system, a workload of Batsim, or a list of jobs of our own applications.

    What the file is follows from what stands in it; it may be packed with gzip.

    Raises ScenarioError for a file of no such kind, and for faults in it: one line each, with their places.

    `cleaning`: how logs are cleaned: `strong`, `pyss` or `none`, see `clean`. Workloads and lists are taken as they
    are.
    `machine_processors`: size of the machine, in place of what the file says.
    """
    path = Path(path)
    with files.open_lines(path) as stream:
        head = stream.read(_HEAD_BYTES)
    if b"\x00" in head:
        raise ScenarioError(f"{path}: the file holds bytes and no text; name {_KINDS}")
    text = head.decode("utf-8-sig", errors="replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        raise ScenarioError(f"{path}: the file is empty; name {_KINDS}")
    if lines[0].startswith(";") or _JOB.match(lines[0] + " "):
        return clean(read_swf(path, machine_processors), cleaning, machine_processors=machine_processors)
    if "|" in lines[0] and any(name in lines[0].split("|") for name in NEEDED):
        return clean(parse_sacct(_text(path), path), cleaning, machine_processors=machine_processors)
    if lines[0].startswith("{") and (b'"profiles"' in head or '"profiles"' in _text(path)):
        return parse_batsim(_text(path), path, machine_processors=machine_processors)
    return _own(path, lines)(_text(path), path)


def read_job_nodes(path: str | Path) -> tuple[JobNodes, tuple[str, ...]]:
    """The nodes and partitions of a cluster as Slurm describes them, and what is not as it seems.

    Types of GPUs are features, such as `gpu:a100`. Where the configuration says that Slurm gives whole nodes
    (`select/linear`), all partitions do; where it does not count memory (`CR_Core`), memory limits no job.

    Raises ScenarioError as `simulator.platform.foreign.read_slurm`.
    """
    found = read_slurm(Path(path))
    number = {node.name: place for place, node in enumerate(found.nodes)}
    counts = found.settings.get("selecttypeparameters", "memory").lower()
    whole = found.settings.get("selecttype", "").lower().endswith("linear")
    endless = "memory" not in counts or all(node.memory_mib is None for node in found.nodes)
    memory = [NO_LIMIT_MIB if endless or node.memory_mib is None else node.memory_mib for node in found.nodes]
    partitions = [
        JobPartition(
            one.name,
            np.array([number[name] for name in one.nodes], dtype=np.int64),
            np.inf if one.limit_s is None else one.limit_s,
            one.max_nodes,
            one.tier,
            one.exclusive or whole,
            one.default,
        )
        for one in found.partitions
    ]
    nodes = JobNodes(
        names=tuple(number),
        cores=np.array([node.cpus for node in found.nodes], dtype=np.int64),
        memory_mib=np.array(memory, dtype=np.int64),
        gpus=np.array([sum(node.gpus.values()) for node in found.nodes], dtype=np.int64),
        weight=np.array([node.weight for node in found.nodes], dtype=np.int64),
        features=tuple((*node.features, *(f"gpu:{kind}" for kind in node.gpus if kind)) for node in found.nodes),
        partitions=tuple(partitions),
    )
    return nodes, found.notes


def _own(path: Path, lines: list[str]) -> Callable[[str, Path], Stream]:
    """What reads a list of our own jobs that begins with these lines."""
    said = [line for line in lines if not line.startswith("#")]
    if said and re.search(r"(^|[,;\t])\s*\"?application\"?\s*([,;\t]|$)", said[0]):
        return parse_job_table
    if any(re.match(r"[\"']?(format|jobs)[\"']?\s*[:=]|\[\[jobs\]\]|\{", line) for line in said):
        return parse_job_list
    raise ScenarioError(f"{path}: the file holds no stream of jobs; name {_KINDS}")


def _text(path: Path) -> str:
    """All of a file as text."""
    with files.open_lines(path) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ScenarioError(f"{path}: the file has more than {_MOST_BYTES // 2**30} GiB; split it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            f"{path}:{line}: byte {data[error.start]:#04x} is no text in UTF-8; save it as that"
        ) from error

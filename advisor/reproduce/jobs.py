"""Policies for job streams against what others published: averages on two logs, and schedules of Batsim start by start.

Logs and schedules belong to others and do not ship; the caller names them. The published averages do ship
(`papers/jobs_published.csv`).
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from advisor.report.text import aligned
from advisor.reproduce.comparison import REPEATED, Cell, Compared, half_of_last_digit, in_order, judged, shipped_rows
from simulator import Estimates, JobRuns, Policy, ScenarioError, Stream, files, job_metrics, read_stream, run_jobs
from simulator.calibration import read_table

TITLE = "Job streams: policies against other systems and published averages"
CELLS = "cells.csv"
BATSIM = "Batsim"
ALIKE_S = 1e-6
"""Batsim prints six decimals."""
POLICIES = {
    "FCFS": Policy(backfill="none", same_second="event"),
    "EASY": Policy(same_second="event"),
    "EASY-SJBF": Policy(candidates="shortest", same_second="event"),
    "conservative": Policy(backfill="conservative", same_second="event"),
}
"""As the table of published averages calls them."""
ESTIMATES = {
    "limit": Estimates(),
    "true run time": Estimates("exact"),
    "last two, in steps": Estimates("last-two"),
    "last two, to the limit": Estimates("last-two", correction="limit"),
}
SCHEDULES = {
    "easy": Policy(processors="named"),
    "conservative": Policy(backfill="conservative", processors="named"),
}
"""Policies of Batsim's schedules, which name processors."""
NEEDED = ("job_id", "starting_time", "allocated_resources")
"""Columns of these."""

Document = dict[str, Any]
Cells = list[Document]


@dataclass(frozen=True)
class Source:
    """Who published, and how near we have to come."""

    title: str
    """Of the figures, with what they are averages over."""
    bars: Mapping[str, float]
    """Log -> difference in percent that is within the bar, 0 for all printed digits; a log without one is shown."""
    first: int | None = None
    """Of the jobs, so many."""
    warm_up: float = 0.0
    because: str = ""
    """What to know of the differences."""


SOURCES = {
    "pyss": Source(
        "the first 3,000 jobs, none dropped; runs of the Python Scheduler Simulator (pyss)",
        {"KTH-SP2": 0.0, "SDSC-SP2": 0.0},
        first=3000,
    ),
    "predictsim": Source(
        "all jobs, none dropped; E. Gaussier, D. Glesser, V. Reis, D. Trystram, SC 2015 (predictsim)",
        {"KTH-SP2": 1e-7, "SDSC-SP2": 0.15},
    ),
    "in order": Source(
        "the same study: predictions, but candidates in the order of the queue",
        {},
        because="Another path of its code than that of the six pairs, which all agree; shown, not judged.",
    ),
    "Tsafrir": Source(
        "without the first 1 % to end; D. Tsafrir, Y. Etsion, D. G. Feitelson, TPDS 2007, tables 1 to 3",
        {"KTH-SP2": 5.0},
        warm_up=0.01,
        because="EASY-SJBF with the last two is EASY++ there, with true run times PERFECT++. Edition of the logs and "
        "program are not known to be the same; ours is the EASY++ of predictsim, on KTH-SP2 to all digits.",
    ),
    BATSIM: Source("start by start; the schedules that were named", {}),
}
"""Name in the table of published averages -> what it stands for; Batsim's are files."""


@dataclass(frozen=True)
class Log:
    """A log that figures were published of."""

    pes: int
    published_jobs: int
    """After the strong cleaning, in the study of 2015."""
    editions: tuple[int, ...]
    """Jobs after the strong cleaning in all editions that are known."""


LOGS = {
    "KTH-SP2": Log(100, 28_481, (28_481,)),
    "SDSC-SP2": Log(128, 54_006, (53_999, 54_006)),
}


@dataclass(frozen=True, eq=False)
class Given:
    """The files that were named, read."""

    streams: Mapping[str, tuple[Path, Stream]]
    """By log; a workload of Batsim by its own name."""
    schedules: Sequence[tuple[str, Path]]
    """Policy and file."""

    @property
    def workload(self) -> str | None:
        """Which of the streams is one of Batsim's."""
        return next((name for name in self.streams if name not in LOGS), None)

    @property
    def inputs(self) -> dict[str, str]:
        """File -> hash."""
        paths = [*(path for path, _ in self.streams.values()), *(path for _, path in self.schedules)]
        return {str(path): files.digest_of(path) for path in paths}


def read(logs: Sequence[str | Path], schedules: Sequence[str] = ()) -> Given:
    """Read logs and see which they are: by size of the machine and number of jobs after cleaning, or by their names.

    Parameters
    ----------
    logs
        KTH-SP2 and SDSC-SP2 of the Parallel Workloads Archive, a workload of Batsim in JSON, or some of them.
    schedules
        `easy=FILE`, `conservative=FILE`: what Batsim wrote of the workload's jobs.

    Raises
    ------
    ScenarioError
        For no log, one that nothing was published of, two of a kind, and schedules without a workload or the other way
        round; and for files that cannot be read.
    """
    if not logs:
        raise ScenarioError("jobs: logs do not ship with apportion; name them with --log, such as --log KTH-SP2.swf.gz")
    named = [_schedule(text) for text in schedules]
    if len(dict(named)) < len(named):
        raise ScenarioError("--schedule: two schedules are of one policy; name one file for each policy")
    found: dict[str, tuple[Path, Stream]] = {}
    for path in map(Path, logs):
        name, stream = _known(path)
        if name in found:
            raise ScenarioError(f"{path}: {found[name][0]} is {name} too; name one of the two")
        found[name] = path, stream
    workloads = [name for name in found if name not in LOGS]
    if len(workloads) > 1:
        raise ScenarioError(f"--log: {' and '.join(workloads)} are workloads of Batsim; name one, with its schedules")
    if workloads and not named:
        path = found[workloads[0]][0]
        raise ScenarioError(f"{path}: a workload is compared with Batsim's schedule of it; add --schedule easy=FILE")
    if named and not workloads:
        raise ScenarioError("--schedule: a schedule is compared with a run of its workload; add --log WORKLOAD.json")
    return Given(found, named)


def reproduce(given: Given, folder: Path | None = None) -> Document:
    """Run every log under every policy that something was published of.

    Parameters
    ----------
    given
        What `read` returns.
    folder
        Where `cells.csv` goes, a row per figure; None for nowhere.

    Returns
    -------
    dict
        `logs`: file, jobs and notes of each; `cells`: a figure each with `source`, `log`, `policy`, `estimates`,
        `measure`, `unit`, `published`, `ours`, `difference_percent`, `bar_percent`, `within` (None: no bar) and
        `overloaded` (its averages measure the length of the log);
        `counts`: bars met and missed; `warnings`; `inputs`: hashes of the files.

    Raises
    ------
    ScenarioError
        For schedules of other jobs than those of the workload.
    """
    cells: Cells = []
    warnings: list[str] = []
    for name, (_, stream) in given.streams.items():
        if name in LOGS:
            cells += _averages(name, stream)
            warnings += _missing(name, stream)
    for policy, path in given.schedules:
        own, differing = _starts(policy, path, given.streams[str(given.workload)][1])
        cells += own
        warnings += differing
    judged = [cell["within"] for cell in cells if cell["within"] is not None]
    if folder is not None:
        files.make_folder(folder)
        files.write_text(folder / CELLS, files.csv_lines([list(cells[0]), *(list(cell.values()) for cell in cells)]))
    return {
        "paper": "jobs",
        "title": TITLE,
        "logs": [
            {
                "log": name,
                "file": str(path),
                "jobs": len(stream),
                "pes": stream.machine_processors,
                "notes": list(stream.notes),
            }
            for name, (path, stream) in given.streams.items()
        ],
        "cells": cells,
        "counts": {"within": sum(judged), "beyond": len(judged) - sum(judged), "shown": len(cells) - len(judged)},
        "warnings": warnings,
        "inputs": given.inputs,
    }


def text(result: Document) -> str:
    """A table per log and source, then what was met and what was not."""
    lines = [result["title"]]
    for log in result["logs"]:
        lines += ["", f"{log['log']}: {log['jobs']} jobs on {log['pes']} PEs, {log['file']}"]
        lines += [f"  {note}" for note in log["notes"]]
        for source in SOURCES:
            own = [cell for cell in result["cells"] if (cell["log"], cell["source"]) == (log["log"], source)]
            lines += ["", *_table(source, own)] if own else []
    counts = result["counts"]
    met = f"{counts['within']} of {counts['within'] + counts['beyond']} figures within their bar"
    lines += ["", f"{met}, {counts['shown']} shown without one" if counts["shown"] else met]
    return "\n".join([*lines, *(f"warning: {line}" for line in result["warnings"])])


def _table(source: str, cells: Cells) -> Iterator[str]:
    percent = cells[0]["bar_percent"]
    bar = "no bar" if percent is None else f"bar: {percent:g} %" if percent else "bar: all printed digits"
    yield f"{source}: {SOURCES[source].title}; {'bar: every job' if source == BATSIM else bar}"
    rows = []
    for cell in cells:
        decimals = max(1, len(cell["printed"].partition(".")[2])) if source != BATSIM else 0
        rows.append(
            [
                cell["policy"],
                cell["estimates"],
                f"{cell['measure']}{', ' if cell['unit'] else ''}{cell['unit']}",
                cell["printed"],
                f"{cell['ours']:.{decimals}f}",
                f"{cell['difference_percent']:+.2g} %",
                {None: "-", True: "yes", False: "no"}[cell["within"]],
                "overloaded" if cell["overloaded"] else "",
            ]
        )
    yield from aligned(
        ["policy", "estimates", "measure", "published", "ours", "difference", "within", ""], rows, left=3
    )
    if SOURCES[source].because:
        yield SOURCES[source].because


# Which log, which schedule


def _known(path: Path) -> tuple[str, Stream]:
    """A stream that there is something to compare with, and which one it is."""
    known = f"neither {' nor '.join(LOGS)} of the Parallel Workloads Archive, of which figures were published"
    refusal = ScenarioError(f"{path}: the stream is {known}, nor a workload of Batsim (.json); name one of these")
    try:
        stream = read_stream(path)
    except ScenarioError:
        read_stream(path, cleaning="pyss")
        raise refusal from None  # it can be read: refused for what it is, not for what cleaning leaves of it
    for name, log in LOGS.items():
        alike = len(stream) in log.editions or stream.name.startswith(name)
        if stream.machine_processors == log.pes and alike:
            return name, stream
    if ".json" in path.suffixes and not stream.applications:
        return stream.name, stream
    raise refusal


def _schedule(text: str) -> tuple[str, Path]:
    policy, mark, name = text.partition("=")
    if policy not in SCHEDULES or not mark or not name:
        known = " or ".join(f"{policy}=FILE" for policy in SCHEDULES)
        raise ScenarioError(f"--schedule: {text!r} does not say which policy made which file; write {known}")
    return policy, Path(name)


def _missing(name: str, stream: Stream) -> list[str]:
    fewer = LOGS[name].published_jobs - len(stream)
    if not fewer:
        return []
    jobs = f"{len(stream):,} jobs after cleaning, {abs(fewer):,} {'fewer' if fewer > 0 else 'more'} than the"
    return [f"{name}: this edition of the log has {jobs} {LOGS[name].published_jobs:,} of the study of 2015"]


# Averages


def _averages(name: str, stream: Stream) -> Iterator[Document]:
    """All published averages of a log compared with ours, each run made once."""

    @functools.cache
    def ran(first: int | None, policy: str, estimates: str) -> JobRuns:
        jobs = stream if first is None else stream.first(first)
        return run_jobs(jobs, LOGS[name].pes, POLICIES[policy], ESTIMATES[estimates], engine="compiled")

    for row in shipped_rows("papers/jobs_published.csv"):
        if row["log"] != name:
            continue
        source = SOURCES[row["source"]]
        runs = ran(source.first, row["policy"], row["estimates"])
        found = job_metrics.averages(runs, warm_up=source.warm_up)
        values = {"wait": found.wait_s, "turnaround": found.turnaround_s, "bounded slowdown": found.bounded_slowdown}
        ours = values[row["measure"]] / (60 if row["unit"] == "min" else 1)
        yield _cell(row, ours, source.bars.get(name)) | {"overloaded": job_metrics.overload(runs) is not None}


def _cell(row: Mapping[str, str], ours: float, bar: float | None) -> Document:
    """A figure with its difference; within all printed digits where the bar is 0."""
    printed = float(row["published"])
    off = 100 * (ours - printed) / printed
    within = abs(ours - printed) <= half_of_last_digit(row["published"]) if bar == 0 else abs(off) <= (bar or 0)
    said = {key: row[key] for key in ("source", "log", "policy", "estimates", "measure", "unit")}
    return said | {
        "printed": row["published"],
        "published": printed,
        "ours": ours,
        "difference_percent": off,
        "bar_percent": bar,
        "within": None if bar is None else bool(within),
        "overloaded": False,
    }


# Start by start


def _starts(policy: str, path: Path, stream: Stream) -> tuple[Cells, list[str]]:
    """How many jobs start when Batsim says and on the PEs that it says, and the first one that does not."""
    table = read_table(path)
    if absent := [name for name in NEEDED if name not in table.names]:
        raise ScenarioError(f"{path}: {', '.join(absent)} is missing; name a table of jobs that Batsim wrote")
    found = zip(table.numbers(NEEDED[1]), table.text(NEEDED[2]), strict=True)
    rows = dict(zip(table.text(NEEDED[0]), found, strict=True))
    ids = [str(one) for one in stream.ids.tolist()]
    if set(ids) != set(rows) or len(table.rows) != len(ids):
        raise ScenarioError(f"{path}: its jobs are not those of workload {stream.name}; name a schedule of these jobs")
    pes = int(stream.machine_processors or 1)
    runs = run_jobs(stream, pes, SCHEDULES[policy], engine="compiled")
    theirs = np.array([rows[one][0] for one in ids])
    start = np.abs(runs.start_s - theirs) <= ALIKE_S
    place = np.array([runs.pes_of(job).tolist() == _numbers(rows[one][1], path, pes) for job, one in enumerate(ids)])
    row = {"source": BATSIM, "log": stream.name, "policy": policy, "estimates": "limit", "unit": ""}
    row |= {"published": str(len(ids))}
    alike = {"starts alike": start, "PEs alike": place}
    cells = [_cell(row | {"measure": what}, float(same.sum()), 0.0) for what, same in alike.items()]
    if start.all():
        return cells, []
    job = int(np.argmin(start))
    differing = f"{np.count_nonzero(~start)} of {len(ids)} starts differ from {path}, first that of job {ids[job]}"
    return cells, [f"{policy}: {differing}: {runs.start_s[job]:.6f} s here, {theirs[job]:.6f} s there"]


def _numbers(text: str, path: Path, pes: int) -> list[int]:
    """`0-3 7`: the PEs by number, up to the first one that the machine lacks."""
    try:
        ends = [[int(end) for end in part.split("-")] for part in text.split()]
    except ValueError as error:
        raise ScenarioError(f"{path}: resources {text[:40]!r} are no numbers; write them as 0-3 7") from error
    return [number for part in ends for number in range(part[0], min(part[-1], pes) + 1)]


# Tables compared with ours


CITATION = (
    "E. Gaussier, D. Glesser, V. Reis and D. Trystram: Improving backfilling by using machine learning to predict "
    "running times; D. Tsafrir, Y. Etsion and D. G. Feitelson: Backfilling using system-generated predictions rather "
    "than user runtime estimates; runs of pyss; schedules of Batsim"
)
MISPRINTS = (
    "SDSC-SP2 had 54,006 jobs after cleaning in the study of 2015; edition 4.2-cln has 53,999.",
    "EASY++ is 11 % longer for KTH-SP2 in the study of 2015, and with us, than in the paper of 2007 that defines it.",
)


def inventory(result: Document) -> list[Compared]:
    """A table per log and source; figures without a bar are on other data, or of another code path."""
    tables = []
    for log, source in in_order((cell["log"], cell["source"]) for cell in result["cells"]):
        own = [cell for cell in result["cells"] if (cell["log"], cell["source"]) == (log, source)]
        found = tuple(
            Cell(
                f"{cell['policy']}, {cell['estimates']}",
                cell["measure"],
                cell["published"],
                cell["ours"],
                half_of_last_digit(cell["printed"]),
                cell["unit"],
            )
            for cell in own
        )
        number, title, because = f"{log} {source}", SOURCES[source].title, SOURCES[source].because
        bar = own[0]["bar_percent"]
        if bar is None:
            tables.append(Compared(number, title, REPEATED, because, found))
        else:
            tables.append(judged(number, title, because, found, tolerance=bar))
    return tables

"""Run histories of other programs: CSV and Extra-P's text and JSON in and out, Slurm's accounting in."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.base import files, units
from simulator.base.errors import ScenarioError
from simulator.base.tables import Table, parse_table
from simulator.base.units import to_number
from simulator.calibration.history.extrap import (
    Measurements,
    Regions,
    measured,
    read_extrap_json,
    read_extrap_text,
)
from simulator.calibration.history.store import TOTAL, RunRecord, is_history
from simulator.models.foreign import RUNS, format_of

IMPORTS = ("csv", "extrap", "extrap-json", "sacct")
EXPORTS = ("csv", "extrap-json")
_FACTS = ("application", "version", "machine", "made")
_ELAPSED = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)(?:\.\d+)?", re.ASCII)
_NO_TIME = ("Unknown", "None")
_SLURM_COLUMNS = (
    *("JobIDRaw", "JobID", "ElapsedRaw", "Elapsed", "State", "Start", "Submit", "End", "JobName", "Cluster"),
    *("Partition", "NNodes", "NCPUS", "NTasks", "AllocNodes", "AllocCPUS", "ReqNodes", "ReqCPUS"),
)
"""Those that are read; others are named."""
_SLURM_COUNTS = _SLURM_COLUMNS[-7:]


def import_runs(
    path: str | Path, *, kind: str | None = None, application: str | None = None, times: Sequence[str] = ()
) -> tuple[list[RunRecord], list[str]]:
    """Read runs from a file of another program.

    `kind` is one of `IMPORTS`, guessed from the content if None; `application` names runs whose file names none;
    `times` are the columns of a CSV that are times, those that end in `_s` if empty; of Extra-P's files the metric.

    Returns the runs, and one line for each thing that was left out or joined, and why.
    """
    path = Path(path)
    text = files.read_text(path)
    found, printed = kind or _guess(text), format_of(text)
    if kind is None and printed is not None and printed.gives == RUNS:
        known = printed.read(text, str(path))
        return _from_csv(known.table, application or printed.name, times), list(known.notes)
    if times and found == "sacct":
        raise ScenarioError(f"{path}: read as {found}, which says itself what is a time; leave --time out")
    if found == "csv":
        return _from_csv(parse_table(text, place=str(path)), application, times), []
    if found == "sacct":
        return _from_sacct(text, str(path), application)
    if found == "extrap":
        return _from_extrap(read_extrap_text(text, str(path)), times, str(path), application or path.stem)
    if found == "extrap-json":
        return _from_extrap(read_extrap_json(text, str(path)), times, str(path), application or path.stem)
    raise ScenarioError(f"format is {found!r}; name one of {', '.join(IMPORTS)}")


def export_runs(records: Sequence[RunRecord], kind: str) -> str:
    """Text of a file that holds the runs."""
    if not records:
        raise ScenarioError("there are no runs to write; name a history that has some")
    if kind == "csv":
        return _to_csv(records)
    if kind not in EXPORTS:
        raise ScenarioError(f"format is {kind!r}; name one of {', '.join(EXPORTS)}")
    return _to_extrap_json(*_as_regions(records))


def save_export(records: Sequence[RunRecord], kind: str, path: str | Path | None) -> str:
    """Text of `export_runs`, also written to a file if one is given."""
    path = None if path is None else Path(path)
    text = export_runs(records, kind)
    if path is not None:
        files.write_text(path, text)
    return text


def runs_kind(path: str | Path) -> str:
    """What a file of runs is, by what it begins with: `history`, or one of `IMPORTS`."""
    return "history" if is_history(Path(path)) else _guess(files.read_text(Path(path)))


def _guess(text: str) -> str:
    if text.lstrip().startswith("{"):
        return "extrap-json"
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    if first.strip().upper().startswith("PARAMETER"):
        return "extrap"
    return "sacct" if "|" in first else "csv"


def _from_csv(table: Table, application: str | None, times: Sequence[str]) -> list[RunRecord]:
    place = table.place
    columns = tuple(times) or tuple(name for name in table.names if name.endswith("_s") and name not in _FACTS)
    missing = [name for name in columns if name not in table.names]
    if missing or not columns:
        wanted = ", ".join(missing) or "a column that ends in _s"
        raise ScenarioError(f"{place}: {wanted} is missing; the columns are {', '.join(table.names)}")
    named = set(table.text("application")) if "application" in table.names else {""}
    if application is not None and "" not in named and named != {application}:
        raise ScenarioError(
            f"{place}: every row names its application, so --app {application} has no effect; leave it out"
        )
    numeric = [name for name in table.names if name not in (*columns, *_FACTS)]
    faults, records = [], []
    for line, row in zip(table.lines, table.rows, strict=True):
        cells = dict(zip(table.names, row, strict=True))
        numbers = {name: to_number(cells[name]) for name in (*numeric, *columns) if cells[name]}
        faults += [
            f"{place}:{line}: {name}: {cells[name]!r} is no number" for name, value in numbers.items() if value is None
        ]
        made = cells.get("made", "")
        try:
            made = units.parse_instant(made, field=f"{place}:{line}: made").isoformat() if made else ""
        except ScenarioError as error:
            faults += error.lines
            made = ""
        record = RunRecord(
            application=cells.get("application") or application or "",
            version=cells.get("version", ""),
            machine=cells.get("machine", ""),
            parameters={name: numbers[name] or 0.0 for name in numeric if name in numbers},
            times_s={_time_name(name): numbers[name] or 0.0 for name in columns if name in numbers},
            **({"made": made} if made else {}),
        )
        faults += record.check(f"{place}:{line}")
        records.append(record)
    if faults:
        raise ScenarioError(faults[:20])
    return records


def _time_name(column: str) -> str:
    bare = column.removesuffix("_s")
    return TOTAL if bare in ("time", "runtime", "elapsed", TOTAL) else bare


def _to_csv(records: Sequence[RunRecord]) -> str:
    parameters = list(dict.fromkeys(name for record in records for name in record.parameters))
    times = list(dict.fromkeys(name for record in records for name in record.times_s))
    rows: list[list[str]] = [[*_FACTS, *parameters, *(f"{name}_s" for name in times)]]
    for record in records:
        facts = [record.application, record.version, record.machine, record.made]
        values = [_shown(record.parameters.get(name)) for name in parameters]
        rows.append([*facts, *values, *(_shown(record.times_s.get(name)) for name in times)])
    return files.csv_lines(rows)


def _shown(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _from_sacct(text: str, place: str, application: str | None) -> tuple[list[RunRecord], list[str]]:
    table = parse_table(text, place=place, delimiter="|")
    job = next((name for name in ("JobIDRaw", "JobID") if name in table.names), None)
    elapsed = next((name for name in ("ElapsedRaw", "Elapsed") if name in table.names), None)
    if job is None or elapsed is None:
        raise ScenarioError(
            f"{place}: the columns are {', '.join(table.names)}, without JobID or Elapsed (raw or not); "
            "run sacct -P without -n"
        )
    jobs: dict[str, list[dict[str, str]]] = {}
    steps, unfinished = 0, 0
    for line, row in zip(table.lines, table.rows, strict=True):
        cells = dict(zip(table.names, row, strict=True))
        if "." in cells[job]:  # steps repeat their job's time
            steps += 1
            continue
        if _seconds(cells[elapsed]) is None:
            raise ScenarioError(f"{place}:{line}: {elapsed} is {cells[elapsed]!r}; give [DD-]HH:MM:SS or seconds")
        parts = jobs.setdefault(cells[job].partition("+")[0], [])
        if any(other[job] == cells[job] for other in parts):
            raise ScenarioError(f"{place}:{line}: job {cells[job]} comes again; print each once, without --duplicates")
        parts.append(cells)
    records = []
    for parts in jobs.values():
        if not all(map(_completed, parts)):
            unfinished += 1
            continue
        seconds = max(_seconds(cells[elapsed]) or 0.0 for cells in parts)
        records.append(_from_job(parts, seconds, application, f"{place}: job {parts[0][job]}: Start or Submit"))
    left_out = [f"{place}: {steps} job steps left out: they repeat their jobs"] if steps else []
    left_out += [f"{place}: {unfinished} jobs left out: not completed"] if unfinished else []
    unused = [name for name in table.names if name not in _SLURM_COLUMNS]
    left_out += [f"{place}: columns not used: {', '.join(unused)}"] if unused else []
    if not records:
        raise ScenarioError([f"{place} holds no completed job", *left_out])
    return records, left_out


def _completed(cells: Mapping[str, str]) -> bool:
    """Whether a job, or component of a heterogeneous one, has ended well; without a state, whether it has ended."""
    return cells.get("State", "COMPLETED").startswith("COMPLETED") and cells.get("End") not in _NO_TIME


def _from_job(parts: Sequence[Mapping[str, str]], seconds: float, application: str | None, place: str) -> RunRecord:
    """A job; the components `123+0`, `123+1` of a heterogeneous one count together."""
    first = parts[0]
    began = next((first[name] for name in ("Start", "Submit") if first.get(name) and first[name] not in _NO_TIME), "")
    counts = {name: [to_number(cells.get(name) or "0") for cells in parts] for name in _SLURM_COUNTS if first.get(name)}
    return RunRecord(
        application=application or first.get("JobName") or "slurm job",
        parameters={name: sum(map(float, filter(None, found))) for name, found in counts.items() if None not in found},
        times_s={TOTAL: seconds},
        machine=first.get("Cluster") or first.get("Partition") or "",
        made=units.parse_instant(began, field=place).isoformat() if began else "",
    )


def _seconds(cell: str) -> float | None:
    match = _ELAPSED.fullmatch(cell)
    if match is None:
        return to_number(cell)
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _from_extrap(
    found: Measurements, metric: Sequence[str], place: str, application: str
) -> tuple[list[RunRecord], list[str]]:
    """A run for each repetition of a point, with the times of all regions that were measured so often."""
    names, regions, notes = measured(found, metric)
    called = {region: TOTAL if len(regions) == 1 else region for region in regions}
    points = list(dict.fromkeys(point for table in regions.values() for point in table))
    records = []
    for point in points:
        repetitions = max(len(table.get(point, ())) for table in regions.values())
        for i in range(repetitions):
            times = {called[r]: table[point][i] for r, table in regions.items() if len(table.get(point, ())) > i}
            records.append(RunRecord(application, dict(zip(names, point, strict=True)), times, made=""))
    faults = [fault for i, record in enumerate(records, 1) for fault in record.check(f"{place}: run {i}")]
    if faults:
        raise ScenarioError(faults[:20])
    return records, notes


def _as_regions(records: Sequence[RunRecord]) -> tuple[list[str], Regions]:
    names = list(dict.fromkeys(name for record in records for name in record.parameters))
    unequal = next((record for record in records if set(record.parameters) != set(names)), None)
    if not names or unequal is not None:
        raise ScenarioError(
            "the runs have different parameters, and Extra-P needs the same for all; choose one application"
        )
    regions: Regions = {}
    for record in records:
        point = tuple(record.parameters[name] for name in names)
        for name, seconds in record.times_s.items():
            regions.setdefault(name, {}).setdefault(point, []).append(seconds)
    return names, regions


def _to_extrap_json(names: list[str], regions: Mapping[str, Mapping[tuple[float, ...], list[float]]]) -> str:
    measurements = {
        region: {"time": [{"point": list(point), "values": values} for point, values in table.items()]}
        for region, table in regions.items()
    }
    return json.dumps({"parameters": names, "measurements": measurements}, indent=1, allow_nan=False) + "\n"

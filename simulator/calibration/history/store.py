"""The run history: one row per real run in an SQLite file, safe when several processes add at once."""

import contextlib
import datetime
import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from simulator.base import files
from simulator.base.documents import by_field, in_file, read
from simulator.base.errors import ApportionError, ScenarioError, meant, some_names
from simulator.base.formula import Formula, parse
from simulator.base.shipped import locate
from simulator.base.tables import Table
from simulator.base.units import to_number
from simulator.models.foreign import RUNS, Printed, read_as
from simulator.models.regression.file import RuntimeFit
from simulator.models.regression.runs import make_runs

TOTAL = "total"
"""Name of the time of a whole run; the other names are parts of it (computation, communication, ...)."""
WAIT_S = 30.0
"""How long an addition waits for another process to finish its own."""
MAX_FAULTS = 20
"""Most faults of a file that are listed."""

_SCHEMA = "CREATE TABLE runs (id INTEGER PRIMARY KEY, record TEXT NOT NULL)"
"""`record` is a `RunRecord` as JSON."""
_APPLICATION_ID = 0x41505254  # "APRT", so that another program's database is not taken for a history
_MAGIC = b"SQLite format 3\x00"
USUAL_RESPONSES = ("time_s", "total_s", "runtime_s")
"""Columns taken as the measured time when none is named, in this order."""


@dataclass(frozen=True)
class RunRecord:
    """One real run of an application."""

    application: str
    parameters: Mapping[str, float]
    """What the run was given: sizes, process counts."""
    times_s: Mapping[str, float]
    """Seconds in all (`total`) and of each part that was measured."""
    version: str = ""
    machine: str = ""
    made: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    """When it ran, in ISO 8601 with its zone; empty if nobody knows."""

    def check(self, place: str) -> list[str]:
        """Faults of the record, one line each."""
        faults = [] if self.application else [f"{place}: application has no name; give one"]
        faults += (
            [] if not self.made or _has_zone(self.made) else [f"{place}: made: {self.made!r} is no time with a zone"]
        )
        if not self.times_s:
            faults.append(f"{place}: no time is given; give one or more")
        faults += [
            f"{place}: {name} is {value:g}; give a finite number"
            for name, value in self.parameters.items()
            if not math.isfinite(value)
        ]
        faults += [
            f"{place}: {name} is {value:g} s; give a finite time of 0 s or more"
            for name, value in self.times_s.items()
            if not (math.isfinite(value) and value >= 0)
        ]
        both = sorted(set(self.parameters) & set(self.times_s))
        return faults + [f"{place}: {name} is a parameter and a time; give it one meaning" for name in both]


def _has_zone(text: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def is_history(path: Path) -> bool:
    """Whether a file is an SQLite database, by its first bytes."""
    try:
        with files.open_lines(path) as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except ScenarioError:
        return False


def add_runs(path: str | Path, records: Sequence[RunRecord]) -> int:
    """Add runs, all or none, and return how many the history holds now; the file is made if it is not there."""
    path = Path(path)
    faults = [fault for i, record in enumerate(records, 1) for fault in record.check(f"run {i}")]
    if faults:
        raise ScenarioError(faults[:MAX_FAULTS])
    rows = [(json.dumps(by_field(one), allow_nan=False),) for one in records]
    with _open(path, write=True) as database:
        database.executemany("INSERT INTO runs (record) VALUES (?)", rows)
        return int(database.execute("SELECT count(*) FROM runs").fetchone()[0])


def list_runs(path: str | Path, *, application: str | None = None, version: str | None = None) -> list[RunRecord]:
    """Runs in the order in which they were added, of one application and version if these are given."""
    path = Path(path)
    if not path.exists():
        raise ScenarioError(f"{path}: no such file; name a run history")
    with _open(path, write=False) as database:
        rows = database.execute("SELECT id, record FROM runs ORDER BY id").fetchall()
    found, faults = list[RunRecord](), list[str]()
    for key, text in rows:
        place = f"{path}: run {key}"
        try:
            document = files.parse_json(str(text), place)
            with in_file(place):
                found.append(read(RunRecord, document))
            faults += found[-1].check(place)
        except ScenarioError as error:
            faults += error.lines
    if faults:
        raise ScenarioError(list(dict.fromkeys(faults))[:MAX_FAULTS])
    return [one for one in found if application in {None, one.application} and version in {None, one.version}]


@contextlib.contextmanager
def _open(path: Path, *, write: bool) -> Iterator[sqlite3.Connection]:
    """A connection in one transaction: committed when the block ends, undone when it fails."""
    if write:
        files.make_folder(path.parent)
    if os.path.lexists(path):
        files.check_regular(path)
    try:
        database = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
        with contextlib.closing(database):
            if write:
                database.execute("BEGIN IMMEDIATE")  # queues behind other writers instead of failing later
            _check_identity(database, path, write=write)
            yield database
            if write:
                database.execute("COMMIT")
    except sqlite3.Error as error:
        raise ApportionError(
            f"{path}: {error}; name a run history that can be {'written' if write else 'read'}"
        ) from error


def _check_identity(database: sqlite3.Connection, path: Path, *, write: bool) -> None:
    database.execute("PRAGMA trusted_schema = OFF")
    identity = int(database.execute("PRAGMA application_id").fetchone()[0])
    tables = int(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if identity == _APPLICATION_ID:
        _check_schema(database, path)
        return
    if tables or not write:
        raise ScenarioError(f"{path}: this is a database of another program; name a run history")
    database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    database.execute(_SCHEMA)


def _check_schema(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a history that holds anything but our table: a view or a trigger of somebody's would run here."""
    if database.execute("SELECT sql FROM sqlite_master").fetchall() != [(_SCHEMA,)]:
        raise ScenarioError(
            f"{path}: its tables are not as this version writes them; export its runs with the one that wrote them, "
            "and import them into a new history"
        )


# A run-time model fitted to the runs of a CSV file or a run history.


def fit_table(
    path: str | Path,
    formulas: Sequence[str],
    *,
    responses: Sequence[str] = (),
    method: str = "default",
    application: str | None = None,
    version: str | None = None,
) -> RuntimeFit:
    """Fit a run-time model to the runs of a CSV file or a run history.

    `path` is a CSV with a header or a run history; each row is a run, repeated rows are repetitions. A formula is
    `EXPR` for every response, or `COLUMN=EXPR` for one; several responses (seconds) are parts whose sum is the time,
    found by name if empty.
    """
    path = locate(path)
    from simulator.base.provenance import provenance
    from simulator.models.regression.diagnostics import diagnose
    from simulator.models.regression.fitting import fit

    printed = _runs_table(path, application, version)
    table = printed.table
    parsed = _formulas(formulas, responses, table)
    names = tuple(dict.fromkeys(name for formula in parsed.values() for name in formula.names))
    values = {name: table.numbers(name) for name in names}
    runs = {response: make_runs(values, table.numbers(response), labels=table.labels()) for response in parsed}
    model = fit(parsed, runs, method=method)
    unused = [name for name in table.names if name not in names and name not in parsed]
    told = [f"columns that no formula names are not used: {', '.join(unused)}"] if unused else []
    model = replace(model, warnings=(*model.warnings, *told, *printed.notes))
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=2**30))}
    return RuntimeFit(model, diagnose(model, runs), provenance(inputs=inputs), runs)


def _runs_table(path: Path, application: str | None, version: str | None) -> Printed:
    if not is_history(path):
        if version is not None:
            raise ScenarioError(f"{path}: this is a CSV file, which names no versions; name a run history, or none")
        printed = read_as(path, RUNS)
        return replace(printed, table=_of_one_program(printed.table, application))
    records = list_runs(path, application=application, version=version)
    known = sorted({record.application for record in list_runs(path)})
    if not records:
        others = f"it has runs of {', '.join(known) or 'nothing'}{meant(application, known)}"
        raise ScenarioError(f"{path} holds no run of {application!r}; {others}")
    if application is None and len(known) > 1:
        raise ScenarioError(f"{path} holds runs of {', '.join(known)}; name the application that is meant")
    return Printed(_as_table(path, records))


def _of_one_program(table: Table, chosen: str | None) -> Table:
    """The rows of one program, where a column of texts tells several apart."""
    texts = {name: list(dict.fromkeys(table.text(name))) for name in table.names if name != "made"}
    texts = {name: found for name, found in texts.items() if all(cell and to_number(cell) is None for cell in found)}
    if chosen is not None:
        column = next((name for name, found in texts.items() if chosen in found), None)
        if column is None:
            known = [text for found in texts.values() for text in found]
            raise ScenarioError(f"{table.place}: no column of texts holds {chosen!r}{meant(chosen, known)}")
        at, kept = table.names.index(column), [k for k, text in enumerate(table.text(column)) if text == chosen]
        names, *rows = (tuple(row[:at] + row[at + 1 :]) for row in (table.names, *(table.rows[k] for k in kept)))
        return _of_one_program(Table(table.place, names, tuple(rows), tuple(table.lines[k] for k in kept)), None)
    for name, found in texts.items():
        if 1 < len(found) < len(table.rows):
            wrong = f"{name} tells runs of {len(found)} programs or cases apart ({some_names(found)})"
            raise ScenarioError(f"{table.place}: {wrong}, which are not fitted together; choose by --app {found[0]}")
    return table


def _as_table(path: Path, records: Sequence[RunRecord]) -> Table:
    """Runs of a history as a table: a column per parameter, and `NAME_s` per time."""
    rows = [
        dict(record.parameters) | {f"{name}_s": value for name, value in record.times_s.items()} for record in records
    ]
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    cells = tuple(tuple(repr(row[name]) if name in row else "" for name in names) for row in rows)
    return Table(f"{path}: run", names, cells, tuple(range(1, len(rows) + 1)))


def _formulas(texts: Sequence[str], responses: Sequence[str], table: Table) -> dict[str, Formula]:
    """Response -> formula, from `EXPR` and `COLUMN=EXPR` in any number."""
    common: list[str] = []
    own: dict[str, str] = {}
    for text in texts:
        column, mark, expression = text.partition("=")
        if not mark:
            common.append(text)
        elif column.strip() in own:
            raise ScenarioError(f"formula: {column.strip()} has two; give one")
        else:
            own[column.strip()] = expression
    if len(common) > 1:
        raise ScenarioError(f"formula: {len(common)} name no column, and one may; write COLUMN=FORMULA")
    wanted = list(dict.fromkeys([*responses, *own]))
    if common and not wanted:
        wanted = [_usual_response(common[0], table)]
    missing = [name for name in wanted if name not in own and not common]
    unknown = [name for name in wanted if name not in table.names]
    if unknown or missing or not wanted:
        wrong = f"there is no formula for {', '.join(missing) or 'any response'}"
        wrong = f"there is no column {', '.join(unknown)}" if unknown else wrong
        raise ScenarioError(f"{table.place}: {wrong}; the columns are {', '.join(table.names)}")
    allowed = [name for name in table.names if name not in wanted]
    return {
        name: parse(own[name] if name in own else common[0], names=allowed, place=f"{table.place}: formula of {name}")
        for name in wanted
    }


def _usual_response(text: str, table: Table) -> str:
    for name in USUAL_RESPONSES:
        if name in table.names:
            return name
    used = parse(text, names=table.names, place=f"{table.place}: formula").names
    rest = [name for name in table.names if name not in used]
    if len(rest) != 1:
        raise ScenarioError(
            f"{table.place}: there is no column {' or '.join(USUAL_RESPONSES)}; "
            f"name the response, one of {', '.join(rest) or 'none'}"
        )
    return rest[0]

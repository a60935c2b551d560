"""A run-time model fitted to the runs of a CSV file or a run history."""

from collections.abc import Sequence
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.formula import Formula, parse
from simulator.base.shipped import locate
from simulator.base.tables import Table, read_table
from simulator.calibration.history.store import RunRecord, is_history, list_runs
from simulator.models.regression.runs import make_runs
from simulator.models.regression.runtime_model import RuntimeFit

USUAL_RESPONSES = ("time_s", "total_s", "runtime_s")
"""Columns taken as the measured time when none is named, in this order."""


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

    Parameters
    ----------
    path
        CSV with a header, or a run history; each row is a run, repeated rows are repetitions.
    formulas
        `EXPR` for every response, or `COLUMN=EXPR` for one.
    responses
        Columns of measured seconds; several are parts whose sum is the time. Found by name if empty.
    application, version
        Which runs of a history.

    Raises
    ------
    ScenarioError, FormulaError
        If the table, a formula or their combination cannot be fitted; one line per fault.
    """
    path = locate(path)
    from simulator.base.provenance import provenance
    from simulator.models.regression.diagnostics import diagnose
    from simulator.models.regression.fitting import fit

    table = _runs_table(path, application, version)
    parsed = _formulas(formulas, responses, table)
    names = tuple(dict.fromkeys(name for formula in parsed.values() for name in formula.names))
    values = {name: table.numbers(name) for name in names}
    runs = {response: make_runs(values, table.numbers(response), labels=table.labels()) for response in parsed}
    model = fit(parsed, runs, method=method)
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=2**30))}
    return RuntimeFit(model, diagnose(model, runs), provenance(inputs=inputs), runs)


def _runs_table(path: Path, application: str | None, version: str | None) -> Table:
    if not is_history(path):
        if application is not None or version is not None:
            raise ScenarioError(f"{path}: a CSV file found, a run history allowed where an application is named")
        return read_table(path)
    records = list_runs(path, application=application, version=version)
    known = sorted({record.application for record in list_runs(path)})
    if not records:
        raise ScenarioError(f"{path}: no run of {application!r} found, {', '.join(known) or 'none'} recorded")
    if application is None and len(known) > 1:
        raise ScenarioError(f"{path}: runs of {', '.join(known)} found, one application allowed: name it")
    return _as_table(path, records)


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
            raise ScenarioError(f"formula: two for {column.strip()} found, one allowed")
        else:
            own[column.strip()] = expression
    if len(common) > 1:
        raise ScenarioError(f"formula: {len(common)} without a column found, one allowed: write COLUMN=FORMULA")
    wanted = list(dict.fromkeys([*responses, *own]))
    if common and not wanted:
        wanted = [_usual_response(common[0], table)]
    missing = [name for name in wanted if name not in own and not common]
    unknown = [name for name in wanted if name not in table.names]
    if unknown or missing or not wanted:
        found = f"no formula for {', '.join(missing) or 'any response'}"
        found = f"{', '.join(unknown)} no such column" if unknown else found
        raise ScenarioError(f"{table.place}: {found} found, columns are {', '.join(table.names)}")
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
            f"{table.place}: no column {' or '.join(USUAL_RESPONSES)} found, "
            f"one of {', '.join(rest) or 'none'} allowed: name the response"
        )
    return rest[0]

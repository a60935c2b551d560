"""Run-time models from and to files: runs in a CSV or a run history, models in JSON, targets in a CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.formula import Formula, parse
from simulator.base.shipped import locate
from simulator.base.tables import Table, read_table
from simulator.calibration.history import RunRecord, is_history, list_runs
from simulator.models.regression.runs import Runs, make_runs
from simulator.models.regression.runtime_model import Predictions, RuntimeModel, model_from_dict

USUAL_RESPONSES = ("time_s", "total_s", "runtime_s")
"""Columns taken as the measured time when none is named, in this order."""


@dataclass(frozen=True)
class RuntimeFit:
    """A fitted model with what is known about the fit."""

    model: RuntimeModel
    diagnostics: dict[str, Any]
    provenance: dict[str, Any]
    runs: dict[str, Runs]
    """What was measured, by response."""

    def __repr__(self) -> str:
        return f"RuntimeFit({self.model!r})"

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = self.model.to_dict() | {"diagnostics": self.diagnostics, "provenance": self.provenance}
        return {key: _finite(value) for key, value in plain.items()}


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


def save_runtime_fit(fitted: RuntimeFit, path: str | Path) -> None:
    """Write a fitted model as JSON, whole or not at all."""
    path = Path(path)
    files.write_json(path, fitted.to_dict())


def load_runtime_model(path: str | Path) -> RuntimeModel:
    """Read a model that `save_runtime_fit` wrote.

    Raises
    ------
    ScenarioError
        If the file is missing, no JSON, or no run-time model.
    """
    path = Path(path)
    document = files.read_json(path)
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: a {type(document).__name__} found, a model written by `apportion fit` allowed")
    return model_from_dict(document, place=str(path))


def predict_table(model: RuntimeModel, path: str | Path, *, level: float = 0.95) -> tuple[dict[str, Any], Predictions]:
    """Targets of a CSV file by column, and their predictions in the same order.

    Raises
    ------
    ScenarioError
        If the table lacks a parameter, holds something else than numbers, or a target is not determined.
    """
    path = Path(path)
    table = read_table(path)
    values = {name: table.numbers(name) for name in model.names}
    return values, model.predict(values, level=level, labels=table.labels())


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


def _finite(value: Any) -> Any:
    """The same with numbers that JSON lacks replaced by null."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value

"""Run-time models from and to files: models in JSON, targets in a CSV."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.tables import read_table
from simulator.models.regression.runs import Runs
from simulator.models.regression.runtime_model import LEVEL, Predictions, RuntimeModel, model_from_dict


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


def predict_table(model: RuntimeModel, path: str | Path, *, level: float = LEVEL) -> tuple[dict[str, Any], Predictions]:
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


def _finite(value: Any) -> Any:
    """The same with numbers that JSON lacks replaced by null."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value

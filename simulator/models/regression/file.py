"""Run-time models from and to files: the model with what is known about its fit, and predictions of tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simulator.base.arrays import Floats
from simulator.base.documents import FLAT, SPARE, Data
from simulator.base.tables import Table, as_table
from simulator.models.file import FileForm, write_model
from simulator.models.regression.diagnostics import Diagnosis
from simulator.models.regression.runs import Runs
from simulator.models.regression.runtime_model import LEVEL, Predictions, RuntimeModel


@dataclass(frozen=True)
class RuntimeFile(FileForm):
    """What the file of a run-time model says."""

    FORMAT, KIND, WRITER = RuntimeModel.FORMAT, RuntimeModel.KIND, RuntimeModel.WRITER
    model: RuntimeModel = field(metadata=FLAT)
    diagnostics: object = field(default=None, metadata=SPARE)
    """By response, see `diagnose`; there to be read by people."""
    provenance: object = field(default=None, metadata=SPARE)


@dataclass(frozen=True)
class RuntimeFit:
    """A fitted model with what is known about the fit."""

    model: RuntimeModel
    diagnostics: Mapping[str, Diagnosis]
    provenance: Mapping[str, object]
    runs: Mapping[str, Runs]

    def __repr__(self) -> str:
        return f"RuntimeFit({self.model!r})"

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        return RuntimeFile(self.model, self.diagnostics, self.provenance).to_dict()


save_runtime_fit = write_model


def load_runtime_model(path: str | Path) -> RuntimeModel:
    """Read a model that `save_runtime_fit` wrote; see `FileForm.load`."""
    return RuntimeFile.load(path).model


def predict_table(
    model: RuntimeModel, at: Table | str | Path, *, level: float = LEVEL
) -> tuple[dict[str, Floats], Predictions]:
    """Targets of a table or a CSV file by column, and their predictions in the same order.

    Raises ScenarioError if the table lacks a parameter, holds something else than numbers, or a target is not
    determined.
    """
    table = as_table(at)
    values = {name: table.numbers(name) for name in model.names}
    return values, model.predict(values, level=level, labels=table.labels())

"""Model files: one way to read them, whatever kind of model they hold, and to refuse cells of tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.documents import read_format
from simulator.base.errors import ScenarioError
from simulator.base.tables import MAX_FAULTS, Table

T = TypeVar("T")


def model_kind(path: str | Path) -> str:
    """Which kind of model a file holds: `speed`, `runtime` or what else it says.

    Raises ScenarioError if the file is missing or no JSON object.
    """
    document = files.read_json(Path(path))
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: this is no model but a {type(document).__name__}; name a model file")
    return str(document.get("kind"))


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """What the file of any model says besides its format and kind."""

    warnings: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)


def read_model(path: str | Path, kind: str, form: type[T], *, writer: str, newest: int) -> tuple[T, dict[str, Any]]:
    """What the JSON file of a model says, in its form and as plain data; see `model_of`.

    Raises ScenarioError if the file is missing, no JSON, no model of the kind, or of another format.
    """
    path = Path(path)
    document = files.read_json(path)
    return model_of(document, kind, form, writer=writer, newest=newest, place=path), document


def model_of(document: Any, kind: str, form: type[T], *, writer: str, newest: int, place: str | Path) -> T:
    """What the document of a model says, in its form.

    Raises ScenarioError if it is no model of the kind, or of another format, or says anything against the form: a line
    for each key.

    `form`: of all its keys but `format` and `kind`.
    `newest`: the format that is read.
    """
    if not isinstance(document, dict) or document.get("kind") != kind:
        kind_found = document.get("kind") if isinstance(document, dict) else None
        found = "what stands there" if kind_found is None else f"kind {kind_found!r}"
        raise ScenarioError(f"{place}: {found} is no {kind} model; name a file that `{writer}` wrote")
    return read_format(form, document, place, newest=newest, writer=writer)


def write_model(model: Any, path: str | Path) -> None:
    """Write what a model's `to_dict` gives as JSON, whole or not at all."""
    files.write_json(Path(path), model.to_dict())


def cell_faults(table: Table, name: str, values: Floats, wrong: Any, advice: str) -> list[str]:
    """A line for each wrong cell of a column: where it stands, what it is, what to give."""
    return [f"{table.place}:{table.lines[i]}: {name} is {values[i]:g}; {advice}" for i in np.flatnonzero(wrong)]


def refuse(faults: list[str]) -> None:
    """Refuse what has faults, the first of them in words.

    Raises ScenarioError if there is one.
    """
    if len(faults) > MAX_FAULTS:
        faults = [*faults[:MAX_FAULTS], f"{len(faults) - MAX_FAULTS} more such faults"]
    if faults:
        raise ScenarioError(faults)


def check_level(level: float) -> None:
    """Refuse a probability of an interval that is none.

    Raises ScenarioError if it is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ScenarioError(f"level is {level:g}; give a probability between 0 and 1")


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Entries of JSON from columns of equal length; a column of dictionaries stays one."""
    plain = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in columns.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]

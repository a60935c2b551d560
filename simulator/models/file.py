"""Model files: one way to read them, whatever kind of model they hold, and to refuse cells of tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.documents import Data, by_field, read_format
from simulator.base.errors import ScenarioError
from simulator.base.tables import MAX_FAULTS, Table


def model_kind(path: str | Path) -> str:
    """Which kind of model a file holds: `speed`, `runtime` or what else it says.

    Raises ScenarioError if the file is missing or no JSON object.
    """
    document = files.read_json(Path(path))
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: this is no model but a {type(document).__name__}; name a model file")
    return str(document.get("kind"))


class FileForm:
    """A dataclass that says what the JSON file of a kind of model holds besides its format and kind."""

    FORMAT: ClassVar[int]
    """The one that is read."""
    KIND: ClassVar[str]
    WRITER: ClassVar[str]
    """The command that writes such files."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """What a file says; see `of`."""
        return cls.of(files.read_json(Path(path)), path)

    @classmethod
    def of(cls, document: object, place: str | Path) -> Self:
        """What the document of a file says."""
        if not isinstance(document, dict) or document.get("kind") != cls.KIND:
            kind_found = document.get("kind") if isinstance(document, dict) else None
            found = "what stands there" if kind_found is None else f"kind {kind_found!r}"
            raise ScenarioError(f"{place}: {found} is no {cls.KIND} model; name a file that `{cls.WRITER}` wrote")
        return read_format(cls, document, place, newest=cls.FORMAT, writer=cls.WRITER)

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        said = by_field(self)
        last = {name: said.pop(name) for name in ("warnings", "provenance") if name in said}
        return {"format": self.FORMAT, "kind": self.KIND} | said | last


@dataclass(frozen=True, kw_only=True)
class ModelFile(FileForm):
    """What the file of any model says besides its format and kind."""

    warnings: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


def write_model(model: Any, path: str | Path) -> None:
    """Write what a model's `to_dict` gives as JSON, whole or not at all."""
    files.write_json(Path(path), model.to_dict())


def cell_faults(table: Table, name: str, values: Floats, wrong: Any, advice: str) -> list[str]:
    """A line for each wrong cell of a column: where it stands, what it is, what to give."""
    return [f"{table.place}:{table.lines[i]}: {name} is {values[i]:g}; {advice}" for i in np.flatnonzero(wrong)]


def refuse(faults: list[str]) -> None:
    """Refuse what has faults, the first of them in words."""
    if len(faults) > MAX_FAULTS:
        faults = [*faults[:MAX_FAULTS], f"{len(faults) - MAX_FAULTS} more such faults"]
    if faults:
        raise ScenarioError(faults)


def check_level(level: float) -> None:
    """Refuse a probability of an interval that is none."""
    if not 0 < level < 1:
        raise ScenarioError(f"level is {level:g}; give a probability between 0 and 1")


def rows_of(columns: Mapping[str, Any]) -> list[Data]:
    """Entries of JSON from columns of equal length; a column of dictionaries stays one."""
    plain = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in columns.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]

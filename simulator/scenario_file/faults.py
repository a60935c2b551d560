"""What a file says against its form: every fault as one line with its place."""

from typing import Any, TypeVar

from pydantic import ValidationError

from simulator.errors import ScenarioError
from simulator.scenario_file.form import Form
from simulator.scenario_file.yaml_text import Document

F = TypeVar("F", bound=Form)


def validated(kind: type[F], document: Document) -> F:
    """What a document says, in its form.

    Raises
    ------
    ScenarioError
        With one line per fault, each naming file, line, column and field.
    """
    try:
        return kind.model_validate(document.data)
    except ValidationError as error:
        raise ScenarioError([_fault(document, dict(fault)) for fault in error.errors()]) from None


def _fault(document: Document, fault: dict[str, Any]) -> str:
    """A fault of the form at its place, as one line."""
    field = _field(document, list(fault["loc"]), is_missing=fault["type"] == "missing")
    place = document.place(field)
    if fault["type"] == "missing":
        return f"{place}: missing"
    message = str(fault["msg"])
    message = message[0].lower() + message[1:]
    if fault["type"] in ("unknown_key", "no_topology") or (
        fault["type"] == "value_error" and isinstance(fault["input"], dict)
    ):
        return f"{place}: {message}"
    found = repr(fault["input"])
    shown = found if len(found) <= 60 else f"{found[:57]}..."
    return f"{place}: {shown} found, {message}"


def _field(document: Document, loc: list[str | int], *, is_missing: bool) -> list[str | int]:
    """A fault's place without the names of alternatives, which are in no file."""
    field: list[str | int] = []
    for number, part in enumerate(loc):
        found = document.value(field)
        is_there = part in found if isinstance(found, dict) else isinstance(found, list) and isinstance(part, int)
        if is_there or (is_missing and number == len(loc) - 1):
            field.append(part)
    return field

"""What a file says against its form: every fault as one line with its place."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from simulator.base.errors import ScenarioError
from simulator.base.form import Form
from simulator.base.yaml_document import Document, PlacedError

F = TypeVar("F", bound=Form)
MOST_LINES = 100
"""Most faults of one file that are listed."""


@dataclass(frozen=True)
class Faults:
    """What has been found wrong so far, where one fault does not follow from another."""

    document: Document
    lines: list[str] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)

    @contextmanager
    def at(self, *where: str | int, once: bool = False) -> Iterator[None]:
        """What is raised inside is noted; see `Document.at`."""
        try:
            with self.document.at(*where):
                yield
        except ScenarioError as error:
            place = f"{self.document.place(where)}: "
            for line in error.lines:
                reason = line.removeprefix(place)
                if not (once and reason in self.reasons):
                    self.lines.append(line)
                self.reasons.add(reason)

    def tell(self) -> None:
        """Raise what was noted, each line once."""
        if self.lines:
            raise PlacedError(_first(list(dict.fromkeys(self.lines)), self.document))


def _first(lines: list[str], document: Document) -> list[str]:
    """The first lines, and that there are more."""
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES], f"{document.place(())}: there are more than {MOST_LINES} faults; mend these first"]


def validated(kind: type[F], document: Document) -> F:
    """What a document says, in its form."""
    try:
        return kind.model_validate(document.data)
    except ValidationError as error:
        raise ScenarioError(_first([_fault(document, fault) for fault in error.errors()], document)) from None


def _fault(document: Document, fault: ErrorDetails) -> str:
    """A fault of the form at its place, as one line."""
    place = document.place(_where(document, list(fault["loc"]), is_missing=fault["type"] == "missing"))
    if fault["type"] == "missing":
        return f"{place}: it is missing; add it"
    message = str(fault["msg"])
    message = message[0].lower() + message[1:]
    if fault["type"] == "whole_sentence" or (fault["type"] == "value_error" and isinstance(fault["input"], dict)):
        return f"{place}: {message}"
    found = repr(fault["input"])
    shown = found if len(found) <= 60 else f"{found[:57]}..."
    return f"{place}: {shown} {message}"


def _where(document: Document, loc: list[str | int], *, is_missing: bool) -> list[str | int]:
    """A fault's place without the names of alternatives, which are in no file."""
    where: list[str | int] = []
    for number, part in enumerate(loc):
        found = document.value(where)
        is_there = part in found if isinstance(found, dict) else isinstance(found, list) and isinstance(part, int)
        if is_there or (is_missing and number == len(loc) - 1):
            where.append(part)
    return where

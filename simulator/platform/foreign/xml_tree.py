"""XML as a tree of elements with their lines, read without expanding anything: entities are refused."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from simulator.base import files
from simulator.base.errors import ScenarioError

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 64
MAX_ELEMENTS = 1_000_000


@dataclass(frozen=True)
class Element:
    """One element."""

    path: Path
    line: int
    tag: str
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)

    def fault(self, field_name: str, text: str) -> ScenarioError:
        """An error at this element."""
        name = self.attributes.get("id")
        return ScenarioError(f"{self.path}:{self.line}: {self.tag}{f' {name}' if name else ''}: {field_name}: {text}")

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute."""
        found = self.attributes.get(name, default)
        if found is None:
            raise self.fault(name, "it is missing; add it")
        return found

    def all(self, tag: str) -> Iterator["Element"]:
        """Children of one kind."""
        return (child for child in self.children if child.tag == tag)


@dataclass
class _Reading:
    """The elements that are open."""

    path: Path
    parser: expat.XMLParserType
    open: list[Element] = field(default_factory=list)
    root: Element | None = None
    count: int = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH or self.count > MAX_ELEMENTS:
            what = (
                f"more than {MAX_DEPTH} levels" if len(self.open) >= MAX_DEPTH else f"more than {MAX_ELEMENTS} elements"
            )
            raise ScenarioError(f"{self.path}:{self.parser.CurrentLineNumber}: the file has {what}; make it smaller")
        element = Element(self.path, self.parser.CurrentLineNumber, tag, attributes)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def refuse_entity(self, name: str, *_more: object) -> None:
        where = f"{self.path}:{self.parser.CurrentLineNumber}"
        raise ScenarioError(f"{where}: the file defines the entity {name!r}; write it out")


def read_xml(path: Path) -> Element:
    """Read an XML file.

    A document type may be named, as SimGrid's files do, but is not fetched; declarations of entities are refused.
    """
    data = files.read_bytes(path, limit_bytes=MAX_BYTES)
    parser = expat.ParserCreate()
    reading = _Reading(path, parser)
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
    parser.EntityDeclHandler = parser.UnparsedEntityDeclHandler = reading.refuse_entity
    parser.SkippedEntityHandler = reading.refuse_entity
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(data, True)  # noqa: FBT003 - expat's own protocol
    except (expat.ExpatError, ValueError) as error:
        raise ScenarioError(f"{path}:{parser.CurrentLineNumber}: this is no XML: {error}") from None
    if reading.root is None:
        raise ScenarioError(f"{path}: this is no XML: it has no element")
    return reading.root

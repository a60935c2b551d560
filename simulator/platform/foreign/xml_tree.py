"""XML as a tree of elements with their lines, read without expanding anything: entities are refused."""

import codecs
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
    words: list[str] = field(default_factory=list)
    """Pieces of the text in it that is more than blanks."""

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
    skipped: int
    """Blank lines before the XML declaration, which is where XML has to begin."""
    open: list[Element] = field(default_factory=list)
    root: Element | None = None
    count: int = 0

    def fault(self, text: str) -> ScenarioError:
        return ScenarioError(f"{self.path}:{self.skipped + self.parser.CurrentLineNumber}: {text}")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise self.fault(f"the file has more than {MAX_DEPTH} levels; make it smaller")
        if self.count > MAX_ELEMENTS:
            raise self.fault(f"the file has more than {MAX_ELEMENTS} elements; make it smaller")
        element = Element(self.path, self.skipped + self.parser.CurrentLineNumber, tag, attributes)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def text(self, data: str) -> None:
        if data.strip():
            self.open[-1].words.append(data.strip())

    def end(self, _tag: str) -> None:
        self.open.pop()

    def refuse_entity(self, name: str, *_more: object) -> None:
        raise self.fault(f"the file defines the entity {name!r}; write it out")


def read_xml(path: Path) -> Element:
    """Read an XML file.

    A document type may be named, as SimGrid's files do, but is not fetched; declarations of entities are refused.
    """
    data = files.read_bytes(path, limit_bytes=MAX_BYTES).removeprefix(codecs.BOM_UTF8)
    content = data.lstrip()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    reading = _Reading(path, parser, data[: len(data) - len(content)].count(b"\n"))
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
    parser.CharacterDataHandler = reading.text
    parser.EntityDeclHandler = parser.UnparsedEntityDeclHandler = reading.refuse_entity
    parser.SkippedEntityHandler = reading.refuse_entity
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(content, True)  # noqa: FBT003 - expat's own protocol
    except (expat.ExpatError, ValueError, LookupError) as error:  # of an encoding that nobody knows
        raise reading.fault(f"this is no XML: {expat.ErrorString(parser.ErrorCode) or error}") from None
    if reading.root is None:
        raise ScenarioError(f"{path}: this is no XML: it has no element")
    return reading.root

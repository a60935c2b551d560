"""The one writer of what a scenario file says: plain data of its forms as YAML, with comments above fields."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.base.documents import Data
from simulator.base.yaml_document import document_of, yaml_text

Notes = Mapping[tuple[str | int, ...], str]
"""A comment for a field, by the keys and places down to it."""
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def written(document: Data | list[Data], *, head: Sequence[str] = (), notes: Notes | None = None) -> str:
    """Plain data as YAML, in the order given: lines of comment at the top, and each note above its field."""
    text = yaml_text(document)
    places, above = document_of(text, Path("written")), dict[int, list[str]]()
    for field, note in (notes or {}).items():
        above.setdefault(places.line(field), []).append(note)
    lines = [f"# {printable(line)}".rstrip() for line in head]
    for number, line in enumerate(text.splitlines()):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += [f"{indent}# {printable(note)}" for note in above.get(number, ())]
        lines.append(line)
    return "\n".join(lines) + "\n"


def safe_name(host: str | None) -> str:
    """A host's name as a node's: letters, digits, dots, dashes; `node` where no host is named."""
    return _PLAIN.sub("-", host or "").strip("-.") or "node"


def printable(text: str) -> str:
    """A text on one line, without characters that end a comment or cannot be shown; its indent stays."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    return indent + " ".join("".join(c if c.isprintable() else " " for c in text).split())

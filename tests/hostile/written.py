"""Hostile cases written by hand: tables in `cases/`, a command line and a file or a word of it that takes many forms.

An entry says `run`, and one of `words` (put in the place of `{}`), `texts`, `hex`, `cuts` (bytes that are left), `puts`
(PATH, VALUE and perhaps the exits that are right), `replace` (OLD, NEW) or `sql` (statements) for its `file`; each of
them is a case. `<<20000*[>>` in a text stands for 20,000 of what comes after the star; `\\0`, `\\ud800` as in YAML.
"""

import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.hostile.running import Case

FOLDER = Path(__file__).parent / "cases"
_MANY = re.compile(r"<<(\d+)\*(.+?)>>(?!>)", re.DOTALL)


def written() -> list[Case]:
    """All of them, in the order of the files."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for number, entry in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")), 1):
            found += list(_cases(f"{path.stem} {number}", entry))
    return found


def _cases(name: str, entry: dict[str, Any]) -> Iterator[Case]:
    line, bounded = entry["run"], entry.get("bounded", False)
    files: dict[str, Any] = {entry["fifo"]: None} if "fifo" in entry else {}
    for number, word in enumerate(entry.get("words", ()), 1):
        arguments = tuple(part.replace("{}", _long(word)) for part in line.split(" "))
        yield Case(f"{name}.{number}", arguments, files=files, bounded=bounded)
    for number, (exits, change) in enumerate(_changes(entry), 1):
        arguments = tuple(line.split(" "))
        yield Case(f"{name}.{number}", arguments, exits, {entry["file"]: change}, bounded)


def _changes(entry: dict[str, Any]) -> Iterator[tuple[tuple[int, ...], Any]]:
    for text in entry.get("texts", ()):
        yield (2,), _encoded(text)
    for text in entry.get("hex", ()):
        yield (2,), bytes.fromhex(str(text))
    for count in entry.get("cuts", ()):
        yield (2,), partial(_cut, count)
    for path, value, *exits in entry.get("puts", ()):
        yield tuple(map(int, exits[0].split())) if exits else (2,), partial(_put, path, value)
    for old, new in entry.get("replace", ()):
        yield (2,), partial(_replaced, old, new)
    for statements in entry.get("sql", ()):
        yield (2,), partial(_queried, statements)


def _long(text: str) -> str:
    return _MANY.sub(lambda match: int(match[1]) * match[2], text)


def _encoded(text: str) -> bytes:
    return _long(text).encode("utf-8", "surrogatepass")


def _cut(count: int, data: bytes) -> bytes:
    return data[:count]


def _put(path: str, value: Any, data: bytes) -> bytes:
    document = json.loads(data)
    *way, last = (int(part) if part.isdecimal() else part for part in path.split("."))
    holder = document
    for part in way:
        holder = holder[part]
    assert last in holder if isinstance(holder, dict) else last < len(holder), path
    holder[last] = value
    return json.dumps(document).encode()


def _replaced(old: str, new: str, data: bytes) -> bytes:
    text = data.decode()
    assert old in text, old
    return text.replace(old, _long(new), 1).encode("utf-8", "surrogatepass")


def _queried(statements: str, data: bytes) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as stream:
        stream.write(data)
        stream.flush()
        database = sqlite3.connect(stream.name)
        database.executescript(statements)
        database.close()
        return Path(stream.name).read_bytes()

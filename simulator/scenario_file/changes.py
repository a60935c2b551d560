"""Values set in place of what a scenario file says: `platform.nodes.n01.memory=x0.5`."""

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any

from simulator.base import units
from simulator.base.errors import ScenarioError, meant
from simulator.base.units import to_whole
from simulator.base.yaml_document import Document, read_value
from simulator.scenario_file.scenario import Change

Expand = Callable[[str, Any], Mapping[str, Any]]
"""A field that names a model (`levels`, `domains`) and the entry that has it -> fields of it, written out."""
_OF_A_MODEL = {"levels": "levels", "domains": "domains", "uses": "domains"}
"""Field whose parts can be set -> the field that may name a model in place of it."""
_FACTOR = re.compile(r"([x/])\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)")
_MOST_SHOWN = 20
_LONGEST_SHOWN = 60
_MOST_POWER = 308
"""Of ten, in what a factor makes of a value: a double holds no more."""


def with_changes(document: Document, texts: Sequence[str], *, expand: Expand) -> tuple[Document, tuple[Change, ...]]:
    """What a file holds with some values set, and what these were.

    Parameters
    ----------
    texts
        `PATH=VALUE`: keys from the top down, parted by dots; an entry of a list by its place from 0 or its `name`. The
        value in YAML, or `x2`, `/2`: the file's number or quantity times or over so much.

    Raises
    ------
    ScenarioError
        Naming the path and what is there.
    """
    data, changes, fields = deepcopy(document.data), [], dict[tuple[str | int, ...], str]()
    for text in texts:
        path, equals, value = text.partition("=")
        path = path.strip()
        if not equals or not path:
            raise ScenarioError(f"--set: {text!r} is no change; write PATH=VALUE, such as platform.nodes.0.memory=8GiB")
        field, holder = _find(data, path, expand)
        if field == ("extends",):
            raise ScenarioError(f"--set {path}: the scenario has been read; name another file in its place")
        if field in fields:
            raise ScenarioError(f"--set {path}: the path is given twice; leave one out")
        before = _held(holder, field[-1])
        after = _value(path, value.strip(), before)
        holder[field[-1]] = after
        fields[field] = path
        changes.append(Change(path, before, after))
    return replace(document, data=data, fields_set=fields), tuple(changes)


def _find(data: Any, path: str, expand: Expand) -> tuple[tuple[str | int, ...], Any]:
    """The field of a path, and what holds it; the last key of a mapping may be new."""
    parts = path.split(".")
    field: tuple[str | int, ...] = ()
    here, holder = data, data
    while parts:
        source = _OF_A_MODEL.get(parts[0]) if isinstance(here, dict) and len(parts) > 1 else None
        held = None if source is None else here.get(source)
        if source is not None and isinstance(held, dict) and "model" in held and parts[1] not in held:
            here.update(expand(source, here))
        try:
            key, taken = step(here, parts, field=field)
        except ScenarioError as error:
            raise ScenarioError(f"--set {path}: {error.lines[0]}") from None
        field, parts, holder = (*field, key), parts[taken:], here
        here = _held(here, key)
    return field, holder


def step(here: Any, parts: Sequence[str], *, field: tuple[str | int, ...]) -> tuple[str | int, int]:
    """The key that a path goes on with, and how many of its parts name it: keys and names may hold dots.

    Parameters
    ----------
    field
        The way so far, to what stands `here`.

    Raises
    ------
    ScenarioError
        If it leads nowhere; the last key of a mapping may be new.
    """
    where = ".".join(map(str, field)) or "the top level"
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if isinstance(here, dict) and name in here:
            return name, count
        if isinstance(here, list):
            named = [place for place, entry in enumerate(here) if isinstance(entry, dict) and entry.get("name") == name]
            if len(named) == 1:
                return named[0], count
            if (place := to_whole(name)) is not None and place < len(here):
                return place, count
    if isinstance(here, dict):
        if len(parts) == 1:
            return parts[0], 1
        close = meant(parts[0], map(str, here))
        raise ScenarioError(f"there is no {parts[0]!r} in {where}; take {_shown(map(str, here))}{close}")
    if isinstance(here, list):
        names = [str(entry["name"]) for entry in here if isinstance(entry, dict) and "name" in entry]
        places = f"0 to {len(here) - 1}" if here else "nothing"
        known = f"{_shown(names)} or {places}" if names else places
        raise ScenarioError(f"there is no {parts[0]!r} in {where}; take {known}{meant(parts[0], names)}")
    raise ScenarioError(f"there is no {parts[0]!r} in {where}, which is {here!r} and has no fields")


def _held(holder: Any, key: str | int) -> Any:
    return holder.get(key) if isinstance(holder, dict) else holder[key]


def _shown(names: Any) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
    return (", ".join(listed[:_MOST_SHOWN]) or "nothing") + more


def _value(path: str, text: str, before: Any) -> Any:
    """What a text stands for, given what is there."""
    factor = _FACTOR.fullmatch(text)
    if factor is None:
        try:
            return read_value(text)
        except ScenarioError as error:
            raise ScenarioError(f"--set {path}: {error.lines[0]}") from None
    times = units.exact(factor[2]) or Decimal(0)
    if times <= 0:
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
        raise ScenarioError(f"--set {path}: {shown!r} is no factor; give one above 0, and at most 1.8e308")
    times = times if factor[1] == "x" else 1 / times
    if isinstance(before, int | float) and not isinstance(before, bool):
        number = _finite(path, text, Decimal(repr(before)) * times)
        return int(number) if isinstance(before, int) and number == int(number) else float(number)
    found = units.amount(before) if isinstance(before, str) else None
    if found is None:
        there = "nothing" if before is None else repr(before)[:60]
        raise ScenarioError(
            f"--set {path}: {text!r} changes a number, and the file says {there}; give a value in its place"
        )
    number = _finite(path, text, (found[0] * times).normalize())
    return f"{number:f}{' ' + found[1] if found[1] else ''}"


def _finite(path: str, text: str, number: Decimal) -> Decimal:
    """A product that can still be written in full."""
    if number and abs(number.adjusted()) > _MOST_POWER:
        raise ScenarioError(f"--set {path}: {text!r} makes {number:.3g}; make it a number between 1e-308 and 1e308")
    return number

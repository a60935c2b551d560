"""Values that tests make up in part: what is not said is nothing (None where a field allows it, else 0 or empty)."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

from simulator import documents

EMPTY = {str: "", int: 0, float: 0.0, bool: False}


def made(kind, said):
    """An answer, or a part of one, of what a document says of it under the keys that files have."""
    hints, values = get_type_hints(kind, include_extras=True), {}
    for one in fields(kind):
        names = one.metadata.get("names", (one.name,))
        if "flat" in one.metadata:
            values[one.name] = value_of(hints[one.name], said)
        elif (name := next((name for name in names if name in said), None)) is not None:
            values[one.name] = value_of(hints[one.name], said[name])
        elif one.default is MISSING and one.default_factory is MISSING:
            values[one.name] = value_of(hints[one.name], None)
    return kind(**values)


def value_of(hint, value):
    """A value as an annotation wants it, or nothing."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        some = [one for one in args if one is not NoneType]
        if value is None and NoneType in args:
            return None
        return value_of(max(some, key=lambda one: known(one, value)), value)
    if is_dataclass(hint):
        return made(hint, value or {}) if value is None or isinstance(value, Mapping) else value
    if origin is tuple:
        each = args[:1] * len(value or ()) if args[-1] is ... else args
        return tuple(map(value_of, each, value or ()))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: value_of(args[1], part) for name, part in (value or {}).items()}
    return EMPTY.get(hint) if value is None else value


def known(hint, value):
    """How many fields of a class a document has."""
    return sum(one.name in value for one in fields(hint)) if is_dataclass(hint) and isinstance(value, Mapping) else 0


def whole(kind, said):
    """An answer of a document that says all of it, as commands read files."""
    return documents.read_format(kind, said, "made up", newest=1, writer="a test")

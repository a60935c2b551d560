"""Results as documents: dataclasses as plain data for JSON, and back from files, older and incomplete ones included."""

import math
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

__all__ = ["FLAT", "SPARE", "from_dict", "named", "to_dict"]

T = TypeVar("T")
_EMPTY = {str: "", int: 0, float: 0.0, bool: False}
"""What a document that does not say a value is read as."""


FLAT: dict[str, Any] = {"flat": True}
"""Metadata of a field whose own fields stand among those of what holds it."""
SPARE: dict[str, Any] = {"spare": True}
"""Metadata of a field that documents leave out where it is None or an empty text."""


def named(*names: str) -> dict[str, Any]:
    """Metadata of a field that documents call otherwise: the name that is written, then others that are read too."""
    return {"names": names}


def to_dict(value: Any) -> Any:
    """Plain data for JSON: dataclasses by field, or by a `to_dict` of their own."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        found: dict[str, Any] = {}
        for one in fields(value):
            plain = to_dict(getattr(value, one.name))
            if "flat" in one.metadata:
                found |= plain or {}
            elif "spare" not in one.metadata or not _is_empty(plain):
                found[_names(one)[0]] = plain
        return found
    if isinstance(value, Mapping):
        return {name: to_dict(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [to_dict(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def from_dict(kind: type[T], document: object) -> T:
    """A dataclass from plain data, by the annotations of its fields.

    Files of older versions lack fields, which are read as nothing: None where a field allows it, else 0, an empty text
    and the like; so is what is no number where one is wanted. Fields that are not known are left out.

    Raises
    ------
    TypeError
        If something else stands where a list or an object is to be.
    """
    known = _held(document, Mapping, {})
    hints = _hints(cast("Any", kind))
    told = {}
    for one in fields(cast("Any", kind)):
        if "flat" in one.metadata:
            told[one.name] = _read(hints[one.name], known)
        else:
            told[one.name] = _read(hints[one.name], next((known[name] for name in _names(one) if name in known), None))
    return kind(**told)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _names(one: Field[Any]) -> tuple[str, ...]:
    return cast("tuple[str, ...]", one.metadata.get("names", (one.name,)))


def _read(hint: Any, value: Any) -> Any:
    """A value as an annotation wants it."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        some = [one for one in args if one is not NoneType]
        if NoneType in args and _is_nothing(some[0], value):
            return None
        return _read(max(some, key=lambda one: _told(one, value)), value)
    if is_dataclass(hint):
        return from_dict(cast("type", hint), value)
    if origin is tuple:
        parts = _held(value, (list, tuple), ())
        return tuple(_read(args[0], part) for part in parts) if args[-1] is ... else tuple(map(_read, args, parts))
    return _plain(hint, args, value)


def _plain(hint: Any, args: tuple[Any, ...], value: Any) -> Any:
    origin = get_origin(hint)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: _read(args[1], part) for name, part in _held(value, Mapping, {}).items()}
    if hint in _EMPTY:
        return _EMPTY[hint] if _is_nothing(hint, value) else hint(value)
    return value


def _told(hint: Any, value: object) -> int:
    """How many fields of a dataclass a document has."""
    return sum(one.name in value for one in fields(hint)) if is_dataclass(hint) and isinstance(value, Mapping) else 0


def _is_empty(plain: object) -> bool:
    return plain is None or (isinstance(plain, str) and not plain)


def _is_nothing(hint: Any, value: object) -> bool:
    """Whether a value cannot be what an annotation wants."""
    if hint in {int, float}:
        return not isinstance(value, int | float) or not math.isfinite(value)
    fixed = get_origin(hint) is tuple and ... not in get_args(hint)
    if fixed and isinstance(value, list | tuple):
        return len(value) != len(get_args(hint))
    return value is None or (is_dataclass(hint) and value == {})


def _held(value: Any, kinds: Any, nothing: Any) -> Any:
    """A list or an object of a document; nothing where there is none."""
    if value is not None and not isinstance(value, kinds):
        raise TypeError(f"{value!r} stands where a list or an object is to be")
    return nothing if value is None else value

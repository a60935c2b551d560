"""Dataclasses as plain data for JSON and YAML, and back: strictly (models) or leniently (results, older ones too)."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

__all__ = ["FLAT", "NOT_WRITTEN", "SPARE", "Record", "from_dict", "named", "read", "to_dict"]

T = TypeVar("T")
_EMPTY = {str: "", int: 0, float: 0.0, bool: False}
"""The value that a lenient reader takes where a document says none."""


FLAT: dict[str, Any] = {"flat": True}
"""Metadata of a field whose own fields stand among those of what holds it."""
SPARE: dict[str, Any] = {"spare": True}
"""Metadata of a field that documents leave out where it is None or an empty text."""
NOT_WRITTEN: dict[str, Any] = {"written": False}
"""Metadata of a field that is not part of documents."""


class Record:
    """A dataclass that is written field by field and read strictly."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML; what is None or empty by default is left out."""
        return _by_field(self, sparse=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote, also without fields that have defaults.

        Raises
        ------
        KeyError, TypeError, ValueError, ScenarioError
            For anything else.
        """
        return read(cls, data)


def named(*names: str) -> dict[str, Any]:
    """Metadata of a field that has another name in documents: the one that is written, then others that are read."""
    return {"names": names}


def to_dict(value: Any) -> Any:
    """Plain data for JSON: dataclasses by field, or by a `to_dict` of their own."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return _by_field(value, sparse=False)
    if isinstance(value, Mapping):
        return {name: to_dict(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [to_dict(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _by_field(record: Any, *, sparse: bool) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for one in _written(record):
        value = getattr(record, one.name)
        plain = to_dict(value)
        if "flat" in one.metadata:
            entries |= plain or {}
        elif not (sparse and _is_default(one, value)) and not ("spare" in one.metadata and _is_empty(plain)):
            entries[_names(one)[0]] = plain
    return entries


def from_dict(kind: type[T], document: object) -> T:
    """A dataclass from plain data, by the annotations of its fields, leniently.

    Files of older versions lack fields, which are read as nothing: None where a field allows it, else 0, an empty text
    and the like; so is what is no number where one is wanted. Fields that are not known are left out.

    Raises
    ------
    TypeError
        If something else stands where a list or an object is to be.
    """
    known = _held(document, Mapping, {})
    hints = _hints(cast("Any", kind))
    values = {}
    for one in fields(cast("Any", kind)):
        if "flat" in one.metadata:
            values[one.name] = _lenient(hints[one.name], known)
        else:
            entry = next((known[name] for name in _names(one) if name in known), None)
            values[one.name] = _lenient(hints[one.name], entry)
    return kind(**values)


def read(kind: type[T], data: Mapping[str, Any], **known: Any) -> T:
    """A dataclass from plain data by the annotations of its fields, strictly; see `Record.from_dict`.

    Parameters
    ----------
    known
        Fields that the data do not say.
    """
    hints = _hints(cast("Any", kind))
    values = {
        one.name: _strict(hints[one.name], data[_names(one)[0]])
        for one in _written(kind)
        if one.name not in known
        and (_names(one)[0] in data or (one.default is MISSING and one.default_factory is MISSING))
    }
    return kind(**values, **known)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _names(one: Field[Any]) -> tuple[str, ...]:
    return cast("tuple[str, ...]", one.metadata.get("names", (one.name,)))


def _written(kind: Any) -> list[Field[Any]]:
    return [one for one in fields(kind) if one.metadata.get("written", True)]


def _strict(hint: Any, value: Any) -> Any:
    """A value as an annotation has it; what does not fit is refused."""
    if hasattr(get_origin(hint), "__value__"):  # NumPy 2.5 spells its arrays by an alias
        hint = get_origin(hint).__value__[get_args(hint)]
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return None if value is None else _strict(next(one for one in args if one is not NoneType), value)
    if origin is tuple:
        hints = [args[0]] * len(value) if args[-1] is ... else args
        return tuple(_strict(one, part) for one, part in zip(hints, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {args[0](key): _strict(args[1], part) for key, part in value.items()}
    if is_dataclass(hint):
        return hint.from_dict(value) if hasattr(hint, "from_dict") else read(cast("type", hint), value)
    if origin is not None and hasattr(origin, "__array__"):
        import numpy as np

        return np.asarray(value, dtype=get_args(args[1])[0])
    return hint(value) if hint in _EMPTY else value


def _lenient(hint: Any, value: Any) -> Any:
    """A value as an annotation wants it; nothing where it does not fit."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        some = [one for one in args if one is not NoneType]
        if NoneType in args and _is_nothing(some[0], value):
            return None
        return _lenient(max(some, key=lambda one: _fields_said(one, value)), value)
    if is_dataclass(hint):
        return from_dict(cast("type", hint), value)
    if origin is tuple:
        parts = _held(value, (list, tuple), ())
        return (
            tuple(_lenient(args[0], part) for part in parts) if args[-1] is ... else tuple(map(_lenient, args, parts))
        )
    return _plain(hint, args, value)


def _plain(hint: Any, args: tuple[Any, ...], value: Any) -> Any:
    origin = get_origin(hint)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: _lenient(args[1], part) for name, part in _held(value, Mapping, {}).items()}
    if hint in _EMPTY:
        return _EMPTY[hint] if _is_nothing(hint, value) else hint(value)
    return value


def _fields_said(hint: Any, value: object) -> int:
    """How many fields of a dataclass a document has."""
    return sum(one.name in value for one in fields(hint)) if is_dataclass(hint) and isinstance(value, Mapping) else 0


def _is_default(one: Field[Any], value: Any) -> bool:
    return (value is None and one.default is None) or (one.default_factory is not MISSING and not value)


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

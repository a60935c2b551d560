"""Models as plain data for JSON and YAML, and back: dataclasses by their fields, arrays as lists."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")
NOT_WRITTEN = MappingProxyType({"written": False})
"""Metadata of a field that is none of the data."""


class Record:
    """A dataclass that is written field by field."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML; what is None or empty by default is left out."""
        return {_key(one): plain(value) for one, value in _written(self) if not _is_left_out(one, value)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote, also without fields that have defaults.

        Raises
        ------
        KeyError, TypeError, ValueError, ScenarioError
            For anything else.
        """
        return read(cls, data)


def named(key: str) -> Mapping[str, Any]:
    """Metadata of a field that is called otherwise in files."""
    return {"key": key}


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays and tuples as lists, dataclasses by fields or by a `to_dict` of their own."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {_key(one): plain(part) for one, part in _written(value)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value


def read(kind: type[T], data: Mapping[str, Any], **known: Any) -> T:
    """A dataclass from plain data by the annotations of its fields; see `Record.from_dict`.

    Parameters
    ----------
    known
        Fields that the data do not say.
    """
    hints = _hints(cast("Any", kind))
    wanted = [one for one in fields(cast("Any", kind)) if one.name not in known and one.metadata.get("written", True)]
    said = {
        one.name: _read(hints[one.name], data[_key(one)])
        for one in wanted
        if _key(one) in data or (one.default is MISSING and one.default_factory is MISSING)
    }
    return kind(**said, **known)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _key(one: Field[Any]) -> str:
    return str(one.metadata.get("key", one.name))


def _written(record: Any) -> list[tuple[Field[Any], Any]]:
    return [(one, getattr(record, one.name)) for one in fields(record) if one.metadata.get("written", True)]


def _is_left_out(one: Field[Any], value: Any) -> bool:
    return (value is None and one.default is None) or (one.default_factory is not MISSING and not value)


def _read(hint: Any, value: Any) -> Any:
    """A value as an annotation has it."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return None if value is None else _read(next(one for one in args if one is not NoneType), value)
    if origin is np.ndarray:
        return np.asarray(value, dtype=get_args(args[1])[0])
    if origin is tuple:
        hints = [args[0]] * len(value) if args[-1] is ... else args
        return tuple(_read(one, part) for one, part in zip(hints, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {args[0](key): _read(args[1], part) for key, part in value.items()}
    if is_dataclass(hint):
        return hint.from_dict(value) if hasattr(hint, "from_dict") else read(cast("type", hint), value)
    return hint(value) if hint in {bool, int, float, str} else value

"""What a Python program hands over: quantities as texts or numbers, whole numbers, names; a fault is one sentence."""

import math
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from simulator.base import units
from simulator.base.errors import ScenarioError, meant

_LONGEST = 60
"""Letters of a value that a sentence shows."""


def shown(value: object) -> str:
    """A value in a sentence: what it is, and where that is short, its content."""
    if isinstance(value, float):
        return f"{value:g}"
    if value is None or isinstance(value, bool | numbers.Number):
        return str(value)
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def check_is(value: object, wanted: type[Any] | tuple[type[Any], ...], *, where: str, give: str) -> None:
    """Refuse what is of another class."""
    if not isinstance(value, wanted):
        raise ScenarioError(f"{where}: it is {shown(value)}; give {give}")


def check_name(value: object, *, where: str, give: str = "a name, such as 'fast1'") -> None:
    """Refuse what is no text with letters in it."""
    if not isinstance(value, str) or not value.strip():
        raise ScenarioError(f"{where}: it is {shown(value)}; give {give}")


def check_choice(value: object, names: Iterable[str], *, where: str) -> None:
    """Refuse what is none of some names; the nearest is named."""
    known = list(names)
    if value not in known:
        raise ScenarioError(f"{where}: it is {shown(value)}; give one of {', '.join(known)}{meant(value, known)}")


def check_once(name: str, taken: Iterable[str], *, where: str) -> None:
    """Refuse a name of NAME=VALUE that was given before: which of the two counts is nobody's guess."""
    if name in taken:
        raise ScenarioError(f"{where}: {name!r} is given twice; leave one out")


def quantity(value: object, kind: dict[str, Decimal], *, where: str, example: str, zero: bool = False) -> float:
    """The number that a quantity is, in SI units.

    `value`: a text with a unit (`"3 Gflop/s"`), or a number in the SI unit: seconds, bytes, bytes or units per second.
    `kind`: one of those of `units`: `units.SPEED`, `units.DURATION` ...
    `where`, `example`: where it stands; what to give in the place of something else, such as `'3 Gflop/s' or a number
    of units/s`.
    """
    if isinstance(value, str):
        try:
            number = units.parse(value, kind, field=where)
        except ScenarioError as error:
            unit = (units.amount(value) or (0, ""))[1]
            raise ScenarioError(f"{error.lines[0]}{meant(unit, kind)}") from None
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
    else:
        raise ScenarioError(f"{where}: it is {shown(value)}; give a text such as {example}")
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise ScenarioError(f"{where}: it is {shown(value)}; give {'at least' if zero else 'more than'} 0")
    return number


def whole(value: object, *, where: str, least: int | None = None) -> int:
    """The integer that a value is; NumPy's are integers too."""
    number = int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None
    if number is not None and (least is None or number >= least):
        return number
    bound = "" if least is None else f" of at least {least}"
    raise ScenarioError(f"{where}: it is {shown(value)}; give a whole number{bound}")


def several(value: object, *, where: str, give: str) -> tuple[Any, ...]:
    """The entries of a list, a tuple or an array."""
    if isinstance(value, tuple):
        return value
    is_row = getattr(value, "ndim", 1) == 1 and not isinstance(value, str | bytes | Mapping)
    if not (is_row and isinstance(value, Iterable)):
        raise ScenarioError(f"{where}: it is {shown(value)}; give {give}")
    return tuple(value)


def plain(value: Any) -> Any:
    """A number of NumPy as Python's own; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value

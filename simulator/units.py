"""Quantities as people write them (`50us`, `1Gbit/s`, `4MiB`) to SI numbers and back."""

import math
import re
from decimal import Decimal
from typing import Final

from simulator.errors import ScenarioError

__all__ = [
    "BANDWIDTH",
    "DURATION",
    "POWER",
    "SHARE",
    "SIZE",
    "SPEED",
    "parse",
    "parse_duration",
    "show_duration",
    "show_rate",
    "show_size",
    "to_number",
    "to_whole",
]

_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*?)?\s*", re.ASCII)
_DECIMAL: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SCALES: Final = _DECIMAL | _BINARY


def _scaled(unit: str, factor: str = "1") -> dict[str, Decimal]:
    return {scale + unit: Decimal(value) * Decimal(factor) for scale, value in _SCALES.items()}


DURATION: Final = {
    "ps": Decimal("1e-12"),
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
SIZE: Final = _scaled("B") | _scaled("b", "0.125") | _scaled("bit", "0.125")
BANDWIDTH: Final = {f"{unit}/s": value for unit, value in SIZE.items()}
SPEED: Final = _scaled("flop/s") | _scaled("units/s")
POWER: Final = {"mW": Decimal("0.001")} | {f"{scale}W": Decimal(_DECIMAL[scale]) for scale in ("", "k", "M")}
SHARE: Final = {"%": Decimal("0.01"), "": Decimal(1)}

_EXAMPLES: Final = {
    id(DURATION): "a duration such as 50us, 1.5s or 10min",
    id(SIZE): "a size such as 64KiB, 4MiB or 1GB",
    id(BANDWIDTH): "a bandwidth such as 1Gbit/s or 125MB/s",
    id(SPEED): "a speed such as 2.5Gflop/s",
    id(POWER): "a power such as 150W or 1.5kW",
    id(SHARE): "a share such as 5% or 0.05",
}


def to_number(text: str) -> float | None:
    """The number that a text is, None if it is none; underscores and other scripts' digits make no number."""
    if not text.isascii() or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def to_whole(text: str) -> int | None:
    """The whole number of at most 18 digits 0 to 9 that a text is, None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def parse(text: object, units: dict[str, Decimal], *, field: str) -> float:
    """Read a quantity with a unit of the given kind.

    Parameters
    ----------
    text
        What the user wrote; a bare number is refused unless the kind knows the empty unit.
    units
        One of `DURATION`, `SIZE`, `BANDWIDTH`, `SPEED`, `POWER`, `SHARE`.
    field
        Where it stands, for the message.

    Returns
    -------
    float
        The value in SI: seconds, bytes, bytes per second, units per second, watts.

    Raises
    ------
    ScenarioError
        If it is no number, has no unit or one of another kind, or is not finite.
    """
    match = _NUMBER.fullmatch(str(text))
    unit = (match.group(2) or "") if match else ""
    if match is None or unit not in units:
        raise ScenarioError(f"{field}: {str(text)!r} found, {_EXAMPLES[id(units)]} allowed")
    value = float(Decimal(match.group(1)) * units[unit])  # through Decimal: 50 us is 5e-05, not 4.9999999999999996e-05
    if not math.isfinite(value):
        raise ScenarioError(f"{field}: {str(text)!r} found, a finite number allowed")
    return value


def parse_duration(text: object, *, field: str, positive: bool = True) -> float:
    """Read a duration in seconds, by default one above zero; see `parse`."""
    value = parse(text, DURATION, field=field)
    if value < 0 or (positive and value == 0):
        raise ScenarioError(f"{field}: {str(text)!r} found, {_EXAMPLES[id(DURATION)]}, above zero, allowed")
    return value


def _show(value: float, steps: list[tuple[float, str]], digits: int) -> str:
    """A number with the largest unit that it reaches, the unit of 1 for zero, and never an exponent."""
    fallback = next((step for step in steps if step[0] == 1.0), steps[-1]) if value == 0 else steps[-1]
    scale, unit = next((step for step in steps if abs(value) >= step[0]), fallback)
    return f"{float(f'{value / scale:.{digits}g}'):.15g} {unit}"


def show_duration(seconds: float, digits: int = 3) -> str:
    """Write seconds with the unit that reads best: `2.46 s`, `310 us`."""
    return _show(seconds, [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")], digits)


def show_size(size_bytes: float, digits: int = 3) -> str:
    """Write bytes with a binary unit: `32 MiB`."""
    return _show(
        size_bytes, [(2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")], digits
    )


def show_rate(value: float, unit: str, digits: int = 3) -> str:
    """Write a rate with a decimal scale: `62.5 Gflop/s`."""
    steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]
    return _show(value, [(scale, prefix + unit) for scale, prefix in steps], digits)

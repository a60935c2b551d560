"""Quantities as people write them (`50us`, `1Gbit/s`, `4MiB`) to SI numbers and back; dates and times with a zone."""

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from simulator.base.errors import ScenarioError

MOST_LETTERS: Final = 1000
"""Letters of a number with its unit: a double needs no more, and reading digits takes the square of their number."""
MOST_BYTES: Final = 2**62
"""Largest size of anything in bytes (4 EiB): sums of two still fit 64 bits."""
_LONGEST_SHOWN: Final = 60
_MOST_DIGITS: Final = 18
"""Of an integer that 64 bits hold, whatever its digits."""
_BEYOND: Final = 308
"""Largest power of ten that a double holds."""
_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S.*?)?\s*")
_DECIMAL: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SCALES: Final = _DECIMAL | _BINARY
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
LENGTH: Final = {
    "mm": Decimal("0.001"),
    "cm": Decimal("0.01"),
    "in": Decimal("0.0254"),
    "pt": Decimal("0.0254") / 72,
}
SHARE: Final = {"%": Decimal("0.01"), "": Decimal(1)}
TICK_S = 1e-12
"""Of the simulator, the least: means of times and differences that are smaller are what rounding left."""
_LONG_S, _LONG = 100.0, (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
"""From where on seconds are read in which units."""
_MOST_DECIMALS, _MOST_OF_SMALL, _SMALL = 4, 6, 0.1
"""And those of values that are all below the last of the three."""
_ROUNDING = 1e-9
"""Width of an interval, as a share of its values, below which it has none."""
_SECONDS = ((96 * 3600.0, "d"), (6000.0, "h"), (_LONG_S, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
"""From which size on values are written in which unit."""


def _scaled(unit: str, factor: str = "1") -> dict[str, Decimal]:
    return {scale + unit: Decimal(value) * Decimal(factor) for scale, value in _SCALES.items()}


SIZE: Final = _scaled("B")
_BITS: Final = _scaled("b", "0.125") | _scaled("bit", "0.125")
BANDWIDTH: Final = {f"{unit}/s": value for unit, value in (SIZE | _BITS).items()}
SPEED: Final = _scaled("flop/s") | _scaled("units/s")
POWER: Final = {"mW": Decimal("0.001")} | {f"{scale}W": Decimal(_DECIMAL[scale]) for scale in ("", "k", "M")}

_EXAMPLES: Final = {
    id(DURATION): "duration; write one such as 50us, 1.5s or 10min",
    id(SIZE): "size; write one such as 64KiB, 4MiB or 1GB",
    id(BANDWIDTH): "bandwidth; write one such as 1Gbit/s or 125MB/s",
    id(SPEED): "speed; write one such as 2.5Gflop/s",
    id(LENGTH): "length; write one such as 3.4in, 86mm or 8.6cm",
    id(POWER): "power; write one such as 150W or 1.5kW",
    id(SHARE): "share; write one such as 5% or 0.05",
}


def exact(text: str) -> Decimal | None:
    """The decimal number that a text is, with every digit; None if it is none, or none that a double could hold.

    Nothing is worked out for a text of more than `MOST_LETTERS` letters; what a double takes for 0 is 0.
    """
    match = _NUMBER.fullmatch(text) if len(text) <= MOST_LETTERS else None
    if match is None or match.group(2):
        return None
    try:
        number = Decimal(match.group(1))
    except ArithmeticError:  # an exponent of more digits than decimals have
        return None
    if number.adjusted() > _BEYOND:
        return None if number else Decimal(0)
    return number if number.adjusted() >= -2 * _BEYOND else Decimal(0)


def amount(text: str) -> tuple[Decimal, str] | None:
    """Number and unit of a quantity, whatever the unit; None if it is none, see `exact`."""
    match = _NUMBER.fullmatch(text) if len(text) <= MOST_LETTERS else None
    number = None if match is None else exact(match.group(1))
    return None if match is None or number is None else (number, match.group(2) or "")


def _shown(text: object) -> str:
    found = str(text)
    return repr(found if len(found) <= _LONGEST_SHOWN else f"{found[:_LONGEST_SHOWN]}...")


def to_number(text: str) -> float | None:
    """The number that a text is, None if it is none; underscores and other scripts' digits make no number."""
    if len(text) > MOST_LETTERS or not text.isascii() or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def to_whole(text: str) -> int | None:
    """The whole number of at least 0 that a text of at most 18 digits 0 to 9 is; None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def parse(text: object, units: dict[str, Decimal], *, field: str | None) -> float:
    """Read a quantity with a unit of the given kind.

    `units`: one of `DURATION`, `SIZE`, `BANDWIDTH`, `SPEED`, `POWER`, `SHARE`.
    `field`: where it stands, for the message; None: the message begins after what was written (`is no size; ...`).
    """
    written, where = str(text), "" if field is None else f"{field}: {_shown(text)} "
    match = _NUMBER.fullmatch(written[: MOST_LETTERS + 1])
    unit = (match.group(2) or "") if match else ""
    if match is not None and units is SIZE and unit in _BITS:
        in_bytes = f"{match.group(1)}{unit.removesuffix('bit').removesuffix('b')}B"
        raise ScenarioError(f"{where}is in bits; write {in_bytes}")
    if len(written) <= MOST_LETTERS and (match is None or unit not in units):
        raise ScenarioError(f"{where}is no {_EXAMPLES[id(units)]}")
    found = amount(written)
    value = math.inf if found is None else float(found[0] * units[found[1]])  # exact: 50 us is 5e-05, not a bit less
    if not math.isfinite(value):
        raise ScenarioError(f"{where}is too large or too long; write at most 1.8e308 in at most {MOST_LETTERS} letters")
    if units is SIZE and abs(value) > MOST_BYTES:
        raise ScenarioError(f"{where}is too large; write at most {MOST_BYTES // 2**60} EiB")
    return value


def parse_duration(text: object, *, field: str, positive: bool = True) -> float:
    """Read a duration in seconds, by default one above zero; see `parse`."""
    value = parse(text, DURATION, field=field)
    if value < 0 or (positive and value == 0):
        raise ScenarioError(
            f"{field}: {str(text)!r} is not above zero; write a {_EXAMPLES[id(DURATION)].partition('; ')[0]} that is"
        )
    return value


def parse_instant(text: str, *, field: str) -> datetime.datetime:
    """Read a date and time as ISO 8601 writes them; without a zone it is this machine's local time."""
    try:
        found = datetime.datetime.fromisoformat(text.strip())
        return found if found.tzinfo is not None else found.astimezone()
    except (ValueError, OverflowError, OSError):  # a year that the system's zones do not know
        hint = "write it as 2026-11-21T14:30+01:00; without a zone it is this machine's local time"
        raise ScenarioError(f"{field}: {text[:40]!r} is no date and time; {hint}") from None


def parse_zoned(text: object, *, field: str) -> datetime.datetime:
    """Read a date and time with its zone as ISO 8601 writes them."""
    try:
        found = datetime.datetime.fromisoformat(text.strip()) if isinstance(text, str) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        shown = str(text)[:40]
        hint = "write it as 2026-11-21T08:00+01:00"
        raise ScenarioError(f"{field}: {shown!r} is no date and time with a zone; {hint}")
    return found


def _show(value: float, steps: list[tuple[float, str]], digits: int) -> str:
    """A number with the largest unit that it reaches, the unit of 1 for zero, and never an exponent."""
    fallback = next((step for step in steps if step[0] == 1.0), steps[-1]) if value == 0 else steps[-1]
    scale, unit = next((step for step in steps if abs(value) >= step[0]), fallback)
    return f"{float(f'{value / scale:.{digits}g}'):.15g} {unit}"


def show_duration(seconds: float, digits: int = 3) -> str:
    """Write seconds as people read them: `310 us`, `2.46 s`, from 100 s on `1 min 40 s`; less than a tick is `0 s`."""
    if math.isfinite(seconds) and float(f"{abs(seconds):.{digits}g}") >= _LONG_S:
        large = next(place for place, (_, length) in enumerate(_LONG) if round(abs(seconds)) >= length)
        (name, length), (below, step) = _LONG[large : large + 2]
        whole, rest = divmod(round(abs(seconds) / step), length // step)
        name, whole = (_LONG[large - 1][0], 1) if large and whole == _LONG[large - 1][1] // length else (name, whole)
        return f"{'-' if seconds < 0 else ''}{whole} {name}{f' {rest} {below}' if rest else ''}"
    return _show(
        0.0 if abs(seconds) < TICK_S else seconds, [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")], digits
    )


def show_interval(
    mean: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    unit: str = "s",
    signed: bool = False,
) -> str:
    """A value with its interval, the one way to write both: `1.23 s (1.10 to 1.40)`; a dash where nothing is known.

    All three have as many decimals as three digits of the value need and as tell the ends apart. An interval that is
    not known, or whose ends read alike, is left out.

    `unit`: `s` for seconds, which are written in the unit that reads best; `%` for shares; anything else as it is.
    """
    if mean is None or not math.isfinite(mean):
        return "-"
    known = low is not None and high is not None and math.isfinite(low) and math.isfinite(high)
    ends = [low, high] if known and low is not None and high is not None else []
    if unit == "s" and not signed and abs(mean) >= _LONG_S and len({mean, *ends}) == 1:
        return show_duration(mean)
    largest = max(map(abs, [mean, *ends]))
    scale, unit = _scale(max(abs(mean), 1.0) if unit == "s" and largest >= _LONG_S else largest, unit)
    values = [value / scale for value in (mean, *ends)]
    texts = [_signed(value, _decimals(values), signed=signed) for value in values]
    within = f" ({texts[1]} to {texts[2]})" if ends and texts[1] != texts[2] else ""
    return f"{texts[0]}{f' {unit}' if unit else ''}{within}"


def show_range(low: float | None, high: float | None, *, unit: str = "s") -> str:
    """Two values with `to` between them and their unit, `1.10 to 1.40 s`; a dash where they are not known."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "-"
    scale, unit = _scale(max(abs(low), abs(high)), unit)
    values = [(low + high) / 2 / scale, low / scale, high / scale]
    texts = [_signed(value, _decimals(values), signed=False) for value in values[1:]]
    text = texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"
    return f"{text}{f' {unit}' if unit else ''}"


def _scale(largest: float, unit: str) -> tuple[float, str]:
    """What values are divided by, and the unit they have then."""
    if unit == "%":
        return 0.01, unit
    if unit != "s" or not largest:
        return 1.0, unit
    name = next((name for least, name in _SECONDS if largest >= least), "ns")
    return float(DURATION[name]), name


def _decimals(values: Sequence[float]) -> int:
    """Three digits of a value, or of the ends of its interval where these are far larger; more to tell them apart."""
    largest = max(map(abs, values))
    typical = abs(values[0]) if abs(values[0]) > largest / 10 else largest
    needed = 2 - math.floor(math.log10(float(f"{typical:.3g}"))) if typical else 0
    width = max(values) - min(values)
    if width > largest * _ROUNDING:
        needed = max(needed, -math.floor(math.log10(width / 2)))
    return max(0, min(needed, _MOST_DECIMALS if largest >= _SMALL else _MOST_OF_SMALL))


def _signed(value: float, decimals: int, *, signed: bool) -> str:
    text = f"{value:.{decimals}f}"
    zero = not float(text)
    text = text.removeprefix("-") if zero else text
    return f"+{text}" if signed and value > 0 and not zero else text


def show_size(size_bytes: float, digits: int = 3) -> str:
    """Write bytes with a binary unit: `32 MiB`."""
    return _show(
        size_bytes, [(2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")], digits
    )


def show_rate(value: float, unit: str, digits: int = 3) -> str:
    """Write a rate with a decimal scale: `62.5 Gflop/s`."""
    steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]
    return _show(value, [(scale, prefix + unit) for scale, prefix in steps], digits)


def _written(value: float, kind: Mapping[str, Decimal], scales: Sequence[str]) -> str:
    """The shortest text with a unit that is read back as exactly this value."""
    exactly = Decimal(repr(float(value)))
    texts = []
    for unit in scales:
        number = (exactly / kind[unit]).normalize()
        text = f"{number:f}" if -6 < number.adjusted() < 16 else f"{number}"
        if float(Decimal(text) * kind[unit]) == value:
            texts.append(f"{text} {unit}")
    return min(texts, key=len)


def write_duration(value: float) -> str:
    """Seconds as a text with a unit that is read back as exactly this value, as the others here."""
    return _written(value, DURATION, ("s", "ms", "us", "ns"))


def write_size(value: float) -> str:
    """Bytes."""
    return _written(value, SIZE, ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "TiB"))


def write_bandwidth(value: float) -> str:
    """Bytes per second."""
    return _written(value, BANDWIDTH, ("B/s", "MB/s", "GB/s", "Mbit/s", "Gbit/s"))


def write_speed(value: float) -> str:
    """Units of volume per second."""
    return _written(value, SPEED, ("units/s", "Munits/s", "Gunits/s"))


def write_power(value: float) -> str:
    """Watts."""
    return _written(value, POWER, ("W", "kW"))

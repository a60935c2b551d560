"""Numbers as texts with units that are read back as exactly these numbers."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from simulator.base import units


def quantity(value: float, kind: Mapping[str, Decimal], scales: Iterable[str]) -> str:
    """The shortest text with a unit that is read back as exactly this value."""
    exact = Decimal(repr(float(value)))
    texts = []
    for unit in scales:
        number = (exact / kind[unit]).normalize()
        text = f"{number:f}" if -6 < number.adjusted() < 16 else f"{number}"
        if float(Decimal(text) * kind[unit]) == value:
            texts.append(f"{text} {unit}")
    return min(texts, key=len)


def duration(value: float) -> str:
    """Seconds."""
    return quantity(value, units.DURATION, ("s", "ms", "us", "ns"))


def size(value: float) -> str:
    """Bytes."""
    return quantity(value, units.SIZE, ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "TiB"))


def bandwidth(value: float) -> str:
    """Bytes per second."""
    return quantity(value, units.BANDWIDTH, ("B/s", "MB/s", "GB/s", "Mbit/s", "Gbit/s"))


def speed(value: float) -> str:
    """Units of volume per second."""
    return quantity(value, units.SPEED, ("units/s", "Munits/s", "Gunits/s"))

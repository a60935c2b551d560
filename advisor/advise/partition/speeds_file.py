"""The file of `apportion advise`: a JSON list of PEs with their speed functions, read and checked."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from advisor.advise.partition.speed_kinds import MOST_UNITS, Floats, SpeedKinds
from simulator import ApportionError, ScenarioError, files, shipped

MOST_PES = 10_000_000
MOST_FAULTS = 20
MOST_BYTES = 512 * 2**20
"""100,000 PEs of 20 knots take 80 MB."""
CURVES = {"name", "sizes", "speeds", "max_size", "setup_s", "count"}
MODELS = {"name", "model", "elements_per_unit", "volume_per_unit", "max_size", "setup_s", "count"}
NUMBERS, PER_UNIT = ("sizes", "speeds"), ("elements_per_unit", "volume_per_unit")
OPTIONAL = {"max_size", "setup_s", "count"}
"""Keys that may also be null, as other programs write what is not there."""


@dataclass(frozen=True)
class Speeds:
    """What a speeds file holds."""

    pes: SpeedKinds
    inputs: dict[str, str]
    """Files that were read and their hashes."""


class _Curves(NamedTuple):
    """Speeds by size, and the most units that fit."""

    sizes: Floats
    speeds: Floats
    most: int = MOST_UNITS


@dataclass
class _Entry:
    name: str
    curves: _Curves
    limit: int
    setup_s: float
    count: int


def read_speeds(path: str | Path) -> Speeds:
    """Read PEs: `name`, `sizes` in units, `speeds` in units per second, and `max_size`, `setup_s`, `count` if need be.

    In the place of curves a `model` may stand: a speed model that `apportion calibrate speed` wrote, with
    `elements_per_unit` and `volume_per_unit` (1 by default).

    Raises
    ------
    ScenarioError
        One line per fault: where it is, what is wrong, and what to do.
    """
    path = shipped.locate(path)
    document = files.read_json(path, limit_bytes=MOST_BYTES)
    if not isinstance(document, list) or not document:
        raise ScenarioError(f"{path} holds {_shown(document)}; give a list of PEs with name, sizes and speeds")
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=MOST_BYTES))}
    entries: list[_Entry] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    for number, raw in enumerate(document, 1):
        name = raw.get("name") if isinstance(raw, dict) else None
        named = isinstance(name, str) and bool(name.strip())
        found: list[str] = []
        entry = _entry(raw, found, path.parent, inputs)
        if named and seen.setdefault(str(name), number) != number:
            found.append(f"entry {seen[str(name)]} is {name!r} too; name each once, count says how many are alike")
        faults += [f"{path}: entry {number}{f' ({name})' if named else ''}: {line}" for line in found]
        entries += [entry] if entry is not None else []
    if not faults and (count := sum(entry.count for entry in entries)) > MOST_PES:
        faults = [f"{path}: count: {count} PEs are too many; give at most {MOST_PES}"]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])
    pes = SpeedKinds.of(
        [entry.curves.sizes for entry in entries],
        [entry.curves.speeds for entry in entries],
        names=[entry.name for entry in entries],
        counts=[entry.count for entry in entries],
        limits=[entry.limit for entry in entries],
        setups=[entry.setup_s for entry in entries],
    )
    return Speeds(pes, inputs)


def _entry(raw: Any, faults: list[str], folder: Path, inputs: dict[str, str]) -> _Entry | None:
    """One entry, or None if its faults leave none."""
    if not isinstance(raw, dict):
        faults.append(f"it is {_shown(raw)}; give a mapping with name, sizes and speeds")
        return None
    raw = {key: value for key, value in raw.items() if value is not None or key not in OPTIONAL}
    name = raw.get("name")
    if not (isinstance(name, str) and name.strip()):
        faults.append(f"name is {_shown(name)}; give a text")
    known = MODELS if "model" in raw else CURVES
    faults += [
        f"{key!r} is no key of it; there are {', '.join(sorted(known))}" for key in sorted(set(raw) - known, key=str)
    ]
    count = raw.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        faults.append(f"count is {_shown(count)}; give a whole number of at least 1")
    limit = _number(raw.get("max_size", MOST_UNITS), "max_size", faults, above=True)
    setup_s = _number(raw.get("setup_s", 0), "setup_s", faults)
    if "model" in raw:
        per_unit, volume = (_number(raw.get(name, 1), name, faults, above=True) for name in PER_UNIT)
        curves = _from_model(raw["model"], per_unit, volume, faults, folder, inputs)
    else:
        sizes, speeds = (_numbers(raw.get(name), name, faults) for name in NUMBERS)
        curves = _curves(sizes, speeds, faults)
    if faults or curves is None:
        return None
    return _Entry(str(name), curves, min(math.floor(limit), curves.most), setup_s, count)


def _curves(sizes: Floats | None, speeds: Floats | None, faults: list[str]) -> _Curves | None:
    if sizes is not None:
        faults += _size_faults(sizes)
    if sizes is not None and speeds is not None and speeds.size != sizes.size:
        faults.append(f"speeds has {speeds.size} numbers; give one per size, {sizes.size}")
    elif speeds is not None and np.any(speeds <= 0):
        at = int(np.argmax(speeds <= 0))
        size = f" at size {sizes[at]:g}" if sizes is not None else ""
        faults.append(f"speeds is {speeds[at]:g}{size}; give speeds above 0, and in max_size what a PE can hold")
    return None if faults or sizes is None or speeds is None else _Curves(sizes, speeds)


def _size_faults(sizes: Floats) -> Iterator[str]:
    if sizes[0] < 0:
        yield f"sizes begin with {sizes[0]:g}; give numbers of at least 0"
    falls = np.flatnonzero(np.diff(sizes) <= 0)
    if falls.size:
        at = int(falls[0])
        yield f"sizes do not ascend: {sizes[at + 1]:g} follows {sizes[at]:g}"


def _from_model(
    model: object, per_unit: float, volume: float, faults: list[str], folder: Path, inputs: dict[str, str]
) -> _Curves | None:
    if not isinstance(model, str):
        faults.append(f"model is {_shown(model)}; give the path of a speed model")
        return None
    if faults:
        return None
    from simulator.calibration import load_speed_model

    path = folder / model
    try:
        band = load_speed_model(path).band
    except ApportionError as error:
        faults += [f"model: {line}" for line in error.lines]
        return None
    inputs[str(path)] = files.digest(files.read_bytes(path))
    sizes, speeds, top = band.sizes / per_unit, band.mid, MOST_UNITS
    if band.mid[-1] == 0:  # the memory limit: the last whole unit before it is the last knot
        top = math.ceil(sizes[-1]) - 1
        inner = sizes[:-1] < top
        knots = np.append(sizes[:-1][inner], top) if top > sizes[0] else sizes[:1]
        sizes, speeds = knots, np.interp(knots, sizes, speeds)
    return _Curves(sizes, speeds / volume, top)


def _number(value: Any, field: str, faults: list[str], *, above: bool = False) -> float:
    """A number of at least 0, or above it."""
    if _is_number(value) and (value > 0 or (value == 0 and not above)):
        return float(value)
    faults.append(f"{field} is {_shown(value)}; give a number {'above' if above else 'of at least'} 0")
    return 1.0


def _numbers(values: Any, field: str, faults: list[str]) -> Floats | None:
    """A list of finite numbers, at least one."""
    if not isinstance(values, list) or not values:
        faults.append(f"{field} is {_shown(values)}; give a list of numbers")
        return None
    bad = [value for value in values if not _is_number(value)]
    if bad:
        faults.append(f"{field} holds {_shown(bad[0])}; give finite numbers")
        return None
    return np.array(values, np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _shown(value: Any) -> str:
    """A value in a message: short, and nothing by name."""
    if value is None:
        return "nothing"
    if isinstance(value, list | dict):
        return "an empty list" if value == [] else "a list" if isinstance(value, list) else "a mapping"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."

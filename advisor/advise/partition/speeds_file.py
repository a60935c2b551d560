"""The file of `apportion partition`: a JSON list of PEs with their speed functions, read and checked."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from advisor.advise.partition.speed_kinds import MOST_UNITS, Floats, SpeedKinds
from simulator import ApportionError, ScenarioError, files, shipped

MOST_PES = 10_000_000
MOST_FAULTS = 20
MOST_BYTES = 512 * 2**20
"""100,000 PEs of 20 knots take 80 MB."""
CURVES = {"name", "sizes", "speeds", "low", "high", "max_size", "setup_s", "count"}
MODELS = {"name", "model", "elements_per_unit", "volume_per_unit", "max_size", "setup_s", "count"}
OPTIONAL = {"max_size", "setup_s", "count", "low", "high"}
"""Keys that may also be null, as other programs write what is not there."""


@dataclass(frozen=True)
class Speeds:
    """What a speeds file holds."""

    pes: SpeedKinds
    low: Floats | None
    """Lower and upper speeds at the knots of `pes`; None where no entry has a band."""
    high: Floats | None
    inputs: dict[str, str]
    """Files that were read and their hashes."""


@dataclass
class _Entry:
    name: str
    sizes: Floats
    speeds: Floats
    low: Floats | None
    high: Floats | None
    limit: int
    setup_s: float
    count: int


def read_speeds(path: str | Path) -> Speeds:
    """Read PEs: `name`, `sizes` in units, `speeds` in units per second, and `max_size`, `setup_s`, `count` if need be.

    A band has `low` and `high` speeds beside them. In the place of curves a `model` may stand: a speed model that
    `apportion calibrate speed` wrote, with `elements_per_unit` and `volume_per_unit` (1 by default).

    Raises
    ------
    ScenarioError
        One line per fault: what was found, and what is allowed.
    """
    path = shipped.locate(path)
    document = files.read_json(path, limit_bytes=MOST_BYTES)
    if not isinstance(document, list) or not document:
        raise ScenarioError(f"{path}: {_shown(document)} found, a list of PEs with name, sizes and speeds allowed")
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=MOST_BYTES))}
    entries: list[_Entry] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    for number, raw in enumerate(document, 1):
        found = _Faults(f"{path}: entry {number}")
        entry = _entry(raw, found, path.parent, inputs)
        if entry is not None and seen.setdefault(entry.name, number) != number:
            found.add(
                f"name: {entry.name!r} found again after entry {seen[entry.name]}, each once allowed; "
                "count says how many are alike"
            )
        faults += found.lines
        if entry is not None:
            entries.append(entry)
    if not faults and sum(entry.count for entry in entries) > MOST_PES:
        faults = [f"{path}: count: {sum(entry.count for entry in entries)} PEs found, at most {MOST_PES} allowed"]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])
    return _joined(entries, inputs)


def _joined(entries: list[_Entry], inputs: dict[str, str]) -> Speeds:
    pes = SpeedKinds.of(
        [entry.sizes for entry in entries],
        [entry.speeds for entry in entries],
        names=[entry.name for entry in entries],
        counts=[entry.count for entry in entries],
        limits=[entry.limit for entry in entries],
        setups=[entry.setup_s for entry in entries],
    )
    if all(entry.low is None for entry in entries):
        return Speeds(pes, None, None, inputs)
    low = np.concatenate([entry.speeds if entry.low is None else entry.low for entry in entries])
    high = np.concatenate([entry.speeds if entry.high is None else entry.high for entry in entries])
    return Speeds(pes, low, high, inputs)


class _Faults:
    """Lines about one entry; they begin with its place."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Note one fault."""
        self.lines.append(f"{self.place}: {line}")


def _entry(raw: Any, faults: _Faults, folder: Path, inputs: dict[str, str]) -> _Entry | None:
    """One entry, or None if its faults leave none."""
    if not isinstance(raw, dict):
        faults.add(f"{_shown(raw)} found, a mapping with name, sizes and speeds allowed")
        return None
    raw = {key: value for key, value in raw.items() if value is not None or key not in OPTIONAL}
    name = raw.get("name")
    if isinstance(name, str) and name.strip():
        faults.place += f" ({name})"
    else:
        faults.add(f"name: {_shown(name)} found, a text allowed")
        name = ""
    allowed = MODELS if "model" in raw else CURVES
    for key in sorted(set(raw) - allowed, key=str):
        faults.add(f"{key}: not known here, {', '.join(sorted(allowed))} allowed")
    count = raw.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        faults.add(f"count: {_shown(count)} found, a whole number of at least 1 allowed")
    limit = _number(raw, "max_size", float(MOST_UNITS), faults, least=0.0, above=True)
    setup_s = _number(raw, "setup_s", 0.0, faults, least=0.0)
    curves = _from_model(raw, faults, folder, inputs) if "model" in raw else _curves(raw, faults)
    if faults.lines or curves is None:
        return _Entry(name, np.ones(1), np.ones(1), None, None, 1, 0.0, 1) if name else None
    sizes, speeds, low, high, top = curves
    return _Entry(name, sizes, speeds, low, high, min(math.floor(limit), top), setup_s, count)


_Curves = tuple[Floats, Floats, Floats | None, Floats | None, int]
"""Sizes, speeds, low, high, and the most units that fit."""


def _curves(raw: dict[str, Any], faults: _Faults) -> _Curves | None:
    sizes = _numbers(raw, "sizes", faults)
    if sizes is not None:
        if sizes[0] < 0:
            faults.add(f"sizes: {sizes[0]:g} found, numbers of at least 0 allowed")
        falls = np.flatnonzero(np.diff(sizes) <= 0)
        if falls.size:
            at = int(falls[0])
            faults.add(f"sizes: {sizes[at + 1]:g} found after {sizes[at]:g}, ascending numbers allowed")
    curves: dict[str, Floats] = {}
    for field in ("speeds", *(field for field in ("low", "high") if field in raw)):
        curve = _numbers(raw, field, faults)
        if curve is None:
            continue
        if sizes is not None and curve.size != sizes.size:
            faults.add(f"{field}: {curve.size} numbers found, one per size ({sizes.size}) allowed")
        elif np.any(curve <= 0):
            at = int(np.argmax(curve <= 0))
            size = f" at size {sizes[at]:g}" if sizes is not None else ""
            faults.add(f"{field}: {curve[at]:g} found{size}, speeds above 0 allowed; max_size says what a PE can hold")
        curves[field] = curve
    if ("low" in raw) != ("high" in raw):
        faults.add("low and high: one found without the other, both or neither allowed")
    if faults.lines or sizes is None:
        return None
    low, high = curves.get("low"), curves.get("high")
    if low is not None and high is not None and np.any((low > curves["speeds"]) | (curves["speeds"] > high)):
        faults.add("low and high: a speed outside them found, low <= speeds <= high allowed")
    return sizes, curves["speeds"], low, high, MOST_UNITS


def _from_model(raw: dict[str, Any], faults: _Faults, folder: Path, inputs: dict[str, str]) -> _Curves | None:
    per_unit = _number(raw, "elements_per_unit", 1.0, faults, least=0.0, above=True)
    volume = _number(raw, "volume_per_unit", 1.0, faults, least=0.0, above=True)
    if not isinstance(raw["model"], str):
        faults.add(f"model: {_shown(raw['model'])} found, the path of a speed model allowed")
    if faults.lines:
        return None
    from simulator.calibration import load_speed_model

    path = folder / raw["model"]
    try:
        band = load_speed_model(path)[0]
    except ApportionError as error:
        for line in error.lines:
            faults.add(f"model: {line}")
        return None
    inputs[str(path)] = files.digest(files.read_bytes(path))
    sizes, curves, top = band.sizes / per_unit, [band.mid, band.low, band.high], MOST_UNITS
    if band.mid[-1] == 0:  # the memory limit: the last whole unit before it is the last knot
        top = math.ceil(sizes[-1]) - 1
        inner = sizes[:-1] < top
        knots = np.append(sizes[:-1][inner], top) if top > sizes[0] else sizes[:1]
        curves = [np.interp(knots, sizes, curve) for curve in curves]
        sizes = knots
    mid, low, high = (curve / volume for curve in curves)
    return sizes, mid, low, high, top


def _number(raw: dict[str, Any], field: str, default: float, faults: _Faults, **limits: Any) -> float:
    """A number of at least `least`, or `above` it."""
    value, above = raw.get(field, default), limits.get("above", False)
    if _is_number(value) and (value > limits["least"] if above else value >= limits["least"]):
        return float(value)
    faults.add(f"{field}: {_shown(value)} found, a number {'above' if above else 'of at least'} 0 allowed")
    return default


def _numbers(raw: dict[str, Any], field: str, faults: _Faults) -> Floats | None:
    """A list of finite numbers, at least one."""
    values = raw.get(field)
    if not isinstance(values, list) or not values:
        faults.add(f"{field}: {_shown(values)} found, a list of numbers allowed")
        return None
    bad = next((value for value in values if not _is_number(value)), None)
    if bad is not None or None in values:
        faults.add(f"{field}: {_shown(bad)} found, finite numbers allowed")
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

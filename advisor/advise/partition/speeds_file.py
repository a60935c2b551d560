"""The file of `apportion advise`: a JSON list of PEs with their speed functions, read and checked."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from advisor.advise.partition.speed_kinds import MOST_UNITS, Floats, SpeedKinds
from simulator import ScenarioError, documents, files, shipped

MOST_PES = 10_000_000
MOST_BYTES = 512 * 2**20
"""100,000 PEs of 20 knots take 80 MB."""


@dataclass(frozen=True)
class Speeds:
    """What a speeds file holds."""

    pes: SpeedKinds
    inputs: dict[str, str]
    """Files that were read and their hashes."""


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """PEs that are alike."""

    name: str
    max_size: float | None = None
    setup_s: float | None = None
    count: int | None = None


@dataclass(frozen=True, kw_only=True)
class _Curve(_Kind):
    """With speeds by size."""

    sizes: Annotated[Floats, documents.Array("float64", 1)]
    speeds: Annotated[Floats, documents.Array("float64", 1)]


@dataclass(frozen=True, kw_only=True)
class _Model(_Kind):
    """With those of a speed model."""

    model: str
    elements_per_unit: float = 1.0
    volume_per_unit: float = 1.0

    def __post_init__(self) -> None:
        if not (self.elements_per_unit > 0 and self.volume_per_unit > 0):
            raise ScenarioError("elements_per_unit and volume_per_unit: give numbers above 0")


def read_speeds(path: str | Path) -> Speeds:
    """Read PEs: `name`, `sizes` in units, `speeds` in units per second, and `max_size`, `setup_s`, `count` if need be.

    In the place of curves a `model` may stand: a speed model that `apportion calibrate speed` wrote, with
    `elements_per_unit` and `volume_per_unit` (1 by default).

    Raises ScenarioError with a line per fault of the first entry that has some.
    """
    path = shipped.locate(path)
    document = files.read_json(path, limit_bytes=MOST_BYTES)
    if not isinstance(document, list) or not document:
        raise ScenarioError(f"{path} holds no list, or an empty one; give a list of PEs with name, sizes and speeds")
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=MOST_BYTES))}
    entries, curves = list[_Kind](), list[tuple[Floats, Floats, int]]()
    for number, raw in enumerate(document, 1):
        name = raw.get("name") if isinstance(raw, dict) else None
        with documents.in_file(f"{path}: entry {number}" + (f" ({name})" if isinstance(name, str) else "")):
            entries.append(documents.read(_Model if isinstance(raw, dict) and "model" in raw else _Curve, raw))
            curves.append(_curve(entries[-1], path.parent, inputs))
    counts = [1 if one.count is None else one.count for one in entries]
    with documents.in_file(path):
        ((name, times),) = Counter(one.name for one in entries).most_common(1)
        if times > 1:
            raise ScenarioError(f"{name!r} is named twice; name each once, count says how many are alike")
        if sum(counts) > MOST_PES:
            raise ScenarioError(f"count: {sum(counts)} PEs are too many; give at most {MOST_PES}")
        pes = SpeedKinds.of(
            [sizes for sizes, *_ in curves],
            [speeds for _, speeds, _ in curves],
            names=[one.name for one in entries],
            counts=counts,
            limits=[
                most if one.max_size is None else min(math.floor(one.max_size), most)
                for one, (*_, most) in zip(entries, curves, strict=True)
            ],
            setups=[one.setup_s or 0.0 for one in entries],
        )
    return Speeds(pes, inputs)


def _curve(one: Any, folder: Path, inputs: dict[str, str]) -> tuple[Floats, Floats, int]:
    """Sizes, speeds and the most units that fit, of an entry."""
    if isinstance(one, _Curve):
        if one.sizes.size != one.speeds.size:
            raise ScenarioError(f"speeds has {one.speeds.size} numbers; give one per size, {one.sizes.size}")
        return one.sizes, one.speeds, MOST_UNITS
    from simulator.calibration import load_speed_model

    path = folder / one.model
    with documents.at("model"):
        band = load_speed_model(path).band
    inputs[str(path)] = files.digest(files.read_bytes(path))
    sizes, speeds, top = band.sizes / one.elements_per_unit, band.mid, MOST_UNITS
    if band.mid[-1] == 0:  # the memory limit: the last whole unit before it is the last knot
        top = math.ceil(sizes[-1]) - 1
        inner = sizes[:-1] < top
        knots = np.append(sizes[:-1][inner], top) if top > sizes[0] else sizes[:1]
        sizes, speeds = knots, np.interp(knots, sizes, speeds)
    return sizes, speeds / one.volume_per_unit, top

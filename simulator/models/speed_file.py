"""Speed models from and to files: a band with its points in JSON, sizes in a CSV."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import MALFORMED, ScenarioError
from simulator.base.tables import read_table
from simulator.models.speed import FORMAT, SpeedBand, SpeedSurface


def model_kind(path: str | Path) -> str:
    """Which kind of model a file holds: `speed`, `runtime` or what else it says.

    Raises
    ------
    ScenarioError
        If the file is missing or no JSON object.
    """
    path = Path(path)
    document = files.read_json(path)
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: a {type(document).__name__} found, a model allowed")
    return str(document.get("kind"))


def load_speed_model(path: str | Path) -> tuple[SpeedBand, dict[str, Any]]:
    """Read a speed model: its band, and the whole document; of a surface, the band of its largest number of columns.

    Raises
    ------
    ScenarioError
        If the file is missing, no JSON, or no speed model.
    """
    model, document = load_speed(path)
    return (model.at(model.columns[-1]) if isinstance(model, SpeedSurface) else model), document


def load_speed(path: str | Path) -> tuple[SpeedBand | SpeedSurface, dict[str, Any]]:
    """Read a speed model: its band or, where it was measured on panels, its surface, and the whole document.

    Raises
    ------
    ScenarioError
        If the file is missing, no JSON, or no speed model.
    """
    path = Path(path)
    document = files.read_json(path)
    if not isinstance(document, dict) or document.get("kind") != "speed":
        found = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise ScenarioError(f"{path}: kind {found!r} is no speed model; name a file that `calibrate speed` wrote")
    files.check_format(document, FORMAT, path)
    try:
        model = document["model"]
        return files.known((SpeedSurface if "columns" in model else SpeedBand).from_dict(model)), document
    except ScenarioError as error:
        raise ScenarioError([f"{path}: model: {line}" for line in error.lines]) from None
    except MALFORMED as error:
        allowed = "sizes, low, mid and high, or columns and bands, allowed"
        raise ScenarioError(f"{path}: model: {error} found, {allowed}") from error


def predict_speeds(path: str | Path, at: str | Path, *, level: float = 0.9) -> list[dict[str, Any]]:
    """The band at the sizes of a CSV file (`size_elements`), in its order; speeds in volume per second.

    Parameters
    ----------
    level
        Probability that one run lies between `low` and `high`, and its truth between `truth_low` and `truth_high`.
        Where noise and doubt are not told apart, `low` and `high` are the band's limits, and no truth is told.

    Raises
    ------
    ScenarioError
        If model or table cannot be used, or a size is not above 0.
    """
    path = Path(path)
    at = Path(at)
    band, document = load_speed_model(path)
    table = read_table(at)
    sizes = table.numbers("size_elements")
    faults = [
        f"{table.place}:{table.lines[i]}: size_elements: {sizes[i]:g} found, a number above 0 allowed"
        for i in np.flatnonzero(sizes <= 0)
    ]
    if faults:
        raise ScenarioError(faults[:20])
    measured = [float(point["size_elements"]) for point in document.get("points", ())]
    low, mean, high = (band.speed(sizes, position=position) for position in (0.0, 0.5, 1.0))
    truths: list[dict[str, float]] = [{}] * sizes.size
    if band.stated:
        if not 0 < level < 1:
            raise ScenarioError(f"level: {level:g} is no probability; give a number between 0 and 1")
        low, high = band.run_interval(sizes, level=level)
        silent = replace(band, noise=None) if band.doubt is not None else band
        ends = (silent.drawn(sizes, position=(1 + sign * level) / 2) for sign in (-1, 1))
        truths = [{"truth_low": float(one), "truth_high": float(other)} for one, other in zip(*ends, strict=True)]
    least, most = float(band.sizes[0]), float(band.sizes[-1])
    top = max(measured, default=most)
    return [
        {
            "size_elements": float(size),
            "low": float(low[i]),
            "mean": float(mean[i]),
            "high": float(high[i]),
            **truths[i],
            "beyond_points": bool(size > top),
            "outside_band": bool(not least <= size <= most),
        }
        for i, size in enumerate(sizes)
    ]

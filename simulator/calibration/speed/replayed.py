"""Recorded runs in the place of real ones: a table of sizes, or a file of points that a calibration kept."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base.errors import MALFORMED, ScenarioError
from simulator.calibration.bands.source import ReplaySource, read_recorded_sizes, recorded
from simulator.calibration.bench.journal import read_entries
from simulator.calibration.bench.measurement import Measurement


def read_replay(path: str | Path) -> ReplaySource:
    """The runs of a CSV table (`read_recorded_sizes`), or of a JSON file of points that `--store` kept.

    Raises
    ------
    ScenarioError
        If it holds neither.
    """
    path = Path(path)
    return _points(path) if path.suffix == ".json" else read_recorded_sizes(path)


def _points(path: Path) -> ReplaySource:
    entries = list(read_entries(path))
    if not entries or entries[0].get("kind") != "points":
        raise ScenarioError(f"{path}: no points in it; name a file that `calibrate speed --store` kept, or a CSV table")
    try:
        subject: Mapping[str, Any] = dict(entries[0]["subject"])
        points = {entry["key"]: Measurement.from_row(entry["point"]) for entry in entries if entry.get("finished")}
        measured = sorted(points.values(), key=lambda point: point.size)
        rows = [
            (point.size, point.volume, cpu_s, wall_s)
            for point in measured
            for cpu_s, wall_s in zip(point.cpu_s, point.wall_s, strict=True)
        ]
        columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    except MALFORMED as error:
        raise ScenarioError(f"{path}: a point is damaged ({error}); measure it anew") from error
    if np.unique(columns[0]).size < 2:
        raise ScenarioError(f"{path}: {len(points)} finished points in it; two sizes or more are needed")
    return replace(recorded(*columns), subject=subject)

"""The table of a sweep: one row per point and configuration, with every parameter, the seed and paired differences."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simulator.engines.run_set import describe_all
from simulator.experiments.sweep.plan import Plan
from simulator.results.files import makespans_s
from simulator.results.tables import framed, kind_of, plain

if TYPE_CHECKING:
    import pandas as pd

AT_ONCE = 256
"""Points whose makespans are in memory at once."""
_OF_TIMES = ("mean", "low", "high", "median", "p05", "p95")
_OF_DIFFERENCES = ("mean", "low", "high")
Times = NDArray[np.float64]


def table(plan: Plan, found: Mapping[str, dict[str, Any]], failed: Mapping[str, str]) -> "pd.DataFrame":
    """One row per point and configuration, in the plan's order; of a point that failed one row without a configuration.

    Differences are to the same configuration of the base, replication by replication; missing where it has none. So are
    intervals and quantiles of a single replication, unless nothing is drawn.
    """
    nothing: Times = np.full(plan.replications, np.nan)
    base, base_sure = _times(plan, found, 0), _deterministic(plan, found, 0)
    numbers, names, blocks = list[int](), list[str](), list[Times]()
    for first in range(0, len(plan.points), AT_ONCE):
        here = [
            (number, name, times)
            for number in range(first, min(first + AT_ONCE, len(plan.points)))
            for name, times in (_times(plan, found, number) or {"": nothing}).items()
        ]
        numbers += [number for number, _, _ in here]
        names += [name for _, name, _ in here]
        times_s = np.stack([times for _, _, times in here])
        differences_s = times_s - np.stack([base.get(name, nothing) for _, name, _ in here])
        sure = [_deterministic(plan, found, number) for number, _, _ in here]
        both = [own and base_sure for own in sure]
        described = _described(times_s, _OF_TIMES, sure), _described(differences_s, _OF_DIFFERENCES, both)
        blocks.append(np.concatenate(described, axis=1))
    points = [plan.points[number] for number in numbers]
    columns: dict[str, Any] = {"point": numbers, "hash": [point.hash for point in points]}
    columns |= {path: [plain(point.at(path, was)) for point in points] for path, was in plan.before.items()}
    columns |= {"replications": [plan.replications] * len(points), "seed": [plan.seed] * len(points)}
    columns |= {"configuration": [name or None for name in names]}
    kinds = {name: kind_of(values) for name, values in columns.items()}
    measured = [f"{key}_s" for key in _OF_TIMES] + [f"difference_{key}_s" for key in _OF_DIFFERENCES]
    columns |= dict(zip(measured, np.concatenate(blocks).T, strict=True))
    columns |= {"error": [failed.get(point.hash) for point in points]}
    return framed(columns, kinds | dict.fromkeys(measured, "float64") | {"error": "str", "configuration": "str"})


def _times(plan: Plan, found: Mapping[str, dict[str, Any]], number: int) -> dict[str, Times]:
    name = plan.points[number].hash
    return makespans_s(found[name]) if name in found else {}


def _deterministic(plan: Plan, found: Mapping[str, dict[str, Any]], number: int) -> bool:
    """Whether a point says that nothing is drawn there."""
    return found.get(plan.points[number].hash, {}).get("deterministic") is True


def _described(samples_s: Times, keys: tuple[str, ...], deterministic: list[bool]) -> Times:
    """What `describe_all` says of each row, NaN where it says nothing; (row, key)."""
    ways = [describe_all(samples_s, deterministic=way) for way in (False, True)]
    rows = [ways[sure][place] for place, sure in enumerate(deterministic)]
    return np.array([[entry[key] for key in keys] for entry in rows], dtype=np.float64)

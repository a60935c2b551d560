"""Findings of a what-if: each point against the base on the same draws, and which pays most."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.ranking import gain
from simulator import describe, provenance, units
from simulator.sweep import Point, Swept, configurations_of

Times = NDArray[np.float64]


def whatif_document(swept: Swept) -> dict[str, Any]:
    """Plain data for JSON and for `render_whatif`.

    A point is judged by its own best configuration (least mean makespan) against the base's best one, replication by
    replication: `gain` says how many times faster that is, with its 95 % interval.
    """
    plan = swept.plan
    base = _times(swept, plan.points[0])
    best_of_base = None if not base else _best(base)
    entries = [_entry(swept, point, number, base, best_of_base) for number, point in enumerate(plan.points)]
    judged = [entry for entry in entries[1:] if entry["gain"] is not None]
    most = max(judged, key=lambda entry: float(entry["gain"]["mean"]), default=None)
    single = [entry for entry in judged if len(_differing(entry, plan.before)) == 1]
    alone = max(single, key=lambda entry: float(entry["gain"]["mean"]), default=None)
    return {
        "format": 1,
        "command": "whatif",
        "scenario": plan.path.name,
        "question": plan.ask.__qualname__,
        "parameters": dict(plan.before),
        "replications": plan.replications,
        "seed": plan.seed,
        "points": entries,
        "pays_most": None if most is None else most["point"],
        "pays_most_alone": None if alone is None else alone["point"],
        "sentence": _sentence(entries[0], most, alone, plan.before),
        "failed": len(swept.failed),
        "spent": swept.spent,
        "warnings": _warnings(swept),
        "provenance": provenance.provenance(seed=plan.seed, inputs=plan.inputs),
    }


def _times(swept: Swept, point: Point) -> dict[str, Times]:
    return configurations_of(swept.documents[point.hash]) if point.hash in swept.documents else {}


def _best(times: Mapping[str, Times]) -> str:
    return min(times, key=lambda name: float(np.mean(times[name])))


def _entry(
    swept: Swept, point: Point, number: int, base: Mapping[str, Times], best_of_base: str | None
) -> dict[str, Any]:
    """One point; `best` and `gain` are None where it or the base has no answer."""
    times, document = _times(swept, point), swept.documents.get(point.hash, {})
    best = _best(times) if times else None
    against = None
    if number and best is not None and best_of_base is not None:
        against = vars(gain(base[best_of_base], times[best], seed=swept.plan.seed))
    return {
        "point": number,
        "hash": point.hash,
        "set": list(point.changes),
        "changes": dict(point.values),
        "configurations": [
            {
                "name": name,
                "makespan_s": describe(here),
                "difference_s": _difference(base[name], here) if name in base else None,
            }
            for name, here in times.items()
        ],
        "best": best,
        "difference_s": None if against is None else _difference(base[str(best_of_base)], times[str(best)]),
        "gain": against,
        "advice": document.get("advice"),
        "error": swept.failed.get(point.hash),
    }


def _difference(base_s: Times, other_s: Times) -> dict[str, float]:
    found = describe(other_s - base_s)
    return {key: found[key] for key in ("mean", "low", "high")}


def _differing(entry: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Paths where a point differs from the base."""
    return [path for path, value in entry["changes"].items() if value != before[path]]


def _sentence(
    base: Mapping[str, Any], most: Mapping[str, Any] | None, alone: Mapping[str, Any] | None, before: Mapping[str, Any]
) -> str:
    """The answer."""
    if most is None:
        return "No point can be compared with the scenario as it is."
    if most["gain"]["low"] <= 1:
        return "No change pays: none is faster than the scenario as it is, as far as these replications can tell."
    said = f"{_named(most, before)} pays most: {_faster(most)}, {_mean(most)} in place of {_mean(base)}."
    if alone is None or alone["point"] == most["point"]:
        return said
    if alone["gain"]["low"] <= 1:
        return f"{said} No change alone pays."
    return f"{said} Of single changes {_named(alone, before)}: {_faster(alone)}."


def _named(entry: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """What a point changes, without what it sets to what is there."""
    changed = zip(entry["set"], entry["changes"].items(), strict=True)
    return " with ".join(text for text, (path, value) in changed if value != before[path]) or "the scenario as it is"


def _faster(entry: Mapping[str, Any]) -> str:
    found = entry["gain"]
    return f"{found['mean']:.2f} times as fast (95 % interval {found['low']:.2f} to {found['high']:.2f})"


def _mean(entry: Mapping[str, Any]) -> str:
    return next(
        units.show_duration(float(one["makespan_s"]["mean"]))
        for one in entry["configurations"]
        if one["name"] == entry["best"]
    )


def _warnings(swept: Swept) -> list[str]:
    """What points warn of, each line once, with how many say so."""
    lines = [line for document in swept.documents.values() for line in document.get("warnings", ())]
    counts = dict.fromkeys(lines, 0)
    for line in lines:
        counts[line] += 1
    told = [line if count == 1 else f"{line} ({count} points)" for line, count in counts.items()]
    return told if len(told) <= MOST_WARNINGS else [*told[:MOST_WARNINGS], f"{len(told) - MOST_WARNINGS} more warnings"]


MOST_WARNINGS = 12
"""Lines of warnings that are told."""

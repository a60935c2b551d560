"""The answer of a what-if in words."""

from collections.abc import Mapping
from typing import Any

from advisor.wording import counted, probability
from simulator import ties, units

SURE = 0.95
"""Chance from which the fastest point is said to pay most without naming others."""
LIKELY = 0.05
"""Chance from which another point is named beside it."""
MOST_NAMED = 3
ROUNDING = 1e-9
"""Width of an interval that has none."""


def sentence(document: Mapping[str, Any]) -> str:
    """The answer."""
    points, comparisons = document["points"], document["comparisons"]
    if all(entry["gain"] is None for entry in points):
        return "No point can be compared with the scenario as it is."
    compared = [entry for entry in points if entry["gain"] is not None]
    if all(entry["gain"]["low"] is None for entry in compared):
        most = max(compared, key=lambda entry: entry["gain"]["mean"])
        return (
            f"{counted(document['replications'], 'replication').capitalize()} cannot show which change pays: "
            f"{named(most)} was {most['gain']['mean']:.2f} times as fast, without an interval; "
            "ask for more with --replications, such as 20."
        )
    if document["pays_most"] is None:
        among = "" if comparisons == 1 else f", {comparisons} changes compared"
        return (
            "No change pays: none is faster than the scenario as it is, "
            f"as far as {counted(document['replications'], 'replication')} can tell{among}."
        )
    most = points[document["pays_most"]]
    pays = "pays most" if (most["chance"] or 0.0) >= SURE else "pays"
    said = f"{named(most)} {pays}: {_faster(most, comparisons)}, {_mean(most)} in place of {_mean(points[0])}"
    said += f"; {_how_sure(document, most)}."
    if document["nearly"] is not None:
        said += f" Within 1 % of it, with fewer changes: {named(points[document['nearly']])}."
    if document["pays_most_alone"] is None:
        return f"{said} No change alone pays, of those looked at." if document["single"] else said
    if document["pays_most_alone"] in {document["pays_most"], document["nearly"]}:
        return said
    alone = points[document["pays_most_alone"]]
    return f"{said} Of single changes {named(alone)}: {_faster(alone, comparisons)}."


def named(entry: Mapping[str, Any]) -> str:
    """What a point changes, without what it sets to what is there."""
    changed = zip(entry["set"], entry["changes"], strict=True)
    return " with ".join(text for text, path in changed if path in entry["differs"]) or "the scenario as it is"


def _how_sure(document: Mapping[str, Any], most: Mapping[str, Any]) -> str:
    """How likely it is that no other point is faster, and which others may be."""
    answered = sum(entry["best"] is not None for entry in document["points"])
    if document.get("deterministic"):
        among = "" if most["chance"] == 1 else "one of "
        return f"{among}the fastest of {counted(answered, 'point')}, as nothing is drawn"
    said = f"the fastest of {counted(answered, 'point')} with a chance of {probability(most['chance'])}"
    if most["chance"] >= SURE:
        return said
    group = {most["point"], most["same_as"]}
    others = [
        entry
        for entry in document["points"]
        if not {entry["point"], entry["same_as"]} & group - {None} and (entry["chance"] or 0) >= LIKELY
    ]
    others = [others[place] for place in ties.in_order([-entry["chance"] for entry in others])]
    listed = [f"{named(entry)} ({probability(entry['chance'])})" for entry in others[:MOST_NAMED]]
    more = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return f"{said}, so others may be: {', '.join([*listed, *more])}" if listed else f"{said}, so another may be"


def _faster(entry: Mapping[str, Any], comparisons: int) -> str:
    found = entry["together"]
    if found["low"] is None or found["high"] - found["low"] < ROUNDING:
        return f"{entry['gain']['mean']:.2f} times as fast in every replication"
    which = "95 % interval" if comparisons == 1 else f"95 % interval of {comparisons} together"
    return f"{entry['gain']['mean']:.2f} times as fast ({which} {found['low']:.2f} to {found['high']:.2f})"


def _mean(entry: Mapping[str, Any]) -> str:
    return next(
        units.show_duration(float(one["makespan_s"]["mean"]))
        for one in entry["configurations"]
        if one["name"] == entry["best"]
    )

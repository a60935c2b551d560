"""The answer of a what-if in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from advisor.wording import counted, listed, loss_text, probability, with_interval
from simulator import ties

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
            f"{named(most)} was {with_interval(most['gain'], '')} times as fast, without an interval; "
            "ask for more with --replications, such as 200."
        )
    if document["pays_most"] is None:
        among = "" if comparisons == 1 else f", {comparisons} changes compared"
        return (
            "No change pays: none is faster than the scenario as it is, "
            f"as far as {counted(document['replications'], 'replication')} can tell{among}."
        )
    most = points[document["pays_most"]]
    tied = _tied(document, most)
    pays = "pays most" if not tied and (most["chance"] or 0.0) >= SURE else "pays"
    said = f"{named(most)} {pays}: {_faster(most)}, {_mean(most)} in place of {_mean(points[0])}"
    simplest = "" if document["nearly"] is None else named(points[document["nearly"]])
    said += f"; {_tie(most, tied, simplest) if tied else _how_sure(document, most)}."
    if simplest and simplest not in tied:
        said += f" Within 1 % of it, with fewer changes: {simplest}."
    if document["pays_most_alone"] is None:
        return f"{said} No change alone pays, of those looked at." if document["single"] else said
    if document["pays_most_alone"] in {document["pays_most"], document["nearly"]}:
        return said
    alone = points[document["pays_most_alone"]]
    return f"{said} Of single changes {named(alone)}: {_faster(alone)}."


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


def _tied(document: Mapping[str, Any], most: Mapping[str, Any]) -> list[str]:
    """The points that are as good as the fastest that pays, by name; those alike once."""
    found: dict[str, None] = {}
    for number in document["ties"]:
        entry = document["points"][number]
        if entry["same_as"] is None and number not in {most["point"], most["same_as"]}:
            found[named(entry)] = None
    return list(found)


def _tie(most: Mapping[str, Any], tied: Sequence[str], simplest: str) -> str:
    """Who is as good, the one with the fewest changes first."""
    first = [simplest] if simplest in tied else []
    names = listed([*first, *(name for name in tied if name not in first)], most=MOST_NAMED)
    verb, loss = "is" if len(tied) == 1 else "are", loss_text(most["expected_loss"])
    fewer = "" if not first else " with fewer changes" if len(tied) == 1 else f", {simplest} with fewer changes"
    return f"a tie with {names}, which {verb} within 1 % of it{fewer}; expected loss {loss}"


def _faster(entry: Mapping[str, Any]) -> str:
    gain = entry["gain"]
    every = " in every replication" if gain["low"] is None or gain["high"] - gain["low"] < ROUNDING else ""
    return f"{with_interval(gain, '')} times as fast{every}"


def _mean(entry: Mapping[str, Any]) -> str:
    return next(with_interval(one["makespan_s"]) for one in entry["configurations"] if one["name"] == entry["best"])

"""Findings of a what-if: each point against the base on the same draws, and which change pays most, how surely."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from advisor.advise.ranking import alike, chances_of_fastest, differences, gains
from advisor.whatif import lines, together, told
from advisor.whatif.grid import Grid, differing, grid_of, shown
from advisor.whatif.outcomes import Outcomes, outcomes_of
from advisor.whatif.present import present_values
from simulator import interval_note, provenance, ties
from simulator.experiments.sweep import Swept

MOST_WARNINGS = 12
"""Lines of warnings that are told."""
MARGIN = 0.01
"""A point so near to the best is as good as it."""


def whatif_document(swept: Swept) -> dict[str, Any]:
    """Plain data for JSON, `render_whatif` and the report; times and dates are in `spent` and `provenance` only.

    A point is judged by its own best configuration (least mean makespan) against the base's best one, replication by
    replication: `gain` says how many times faster that is, with its 95 % interval, and `together` with intervals that
    hold for all points at once (Bonferroni): a change pays if that one is above 1. `chance` is the probability that no
    other point is faster; `same_as` a point that takes the same time in every replication. Intervals and chances are
    None where replications are too few to have one; nothing pays then.
    """
    plan, outcomes, before = swept.plan, outcomes_of(swept), present_values(swept.plan)
    grid, entries = grid_of(plan, before), _entries(swept, outcomes, before)
    comparisons = _judge(entries, outcomes, seed=plan.seed)
    note = interval_note(plan.replications, deterministic=outcomes.deterministic)
    pays = [entry for entry in entries if entry["gain"] and (entry["together"]["low"] or 0.0) > 1]
    most = _most(pays)
    alone = _most([entry for entry in pays if len(entry["differs"]) == 1])
    fastest = _most([entry for entry in entries if entry["best"] is not None])
    nearly = None if most is None else _simplest(entries, most)
    warnings = _warnings(outcomes) + ([] if note is None or outcomes.deterministic else [note])
    document = {
        "format": 1,
        "command": "whatif",
        "scenario": plan.path.name,
        "question": plan.ask.__qualname__,
        "parameters": before,
        "replications": plan.replications,
        "deterministic": outcomes.deterministic,
        "seed": plan.seed,
        "grid": grid.to_dict(),
        "points": entries,
        "comparisons": comparisons,
        "pays": [entry["point"] for entry in pays],
        "pays_most": _number(most),
        "pays_most_alone": _number(alone),
        "nearly": _number(nearly),
        "single": [entry["point"] for entry in _by_gain(entries) if len(entry["differs"]) == 1],
        **_effects(entries, grid, outcomes, fastest=_number(fastest), most=_number(most)),
        "fronts": together.add_costs(entries, outcomes),
        "failed": len(swept.failed),
        "spent": swept.spent,
        "warnings": warnings,
        "provenance": provenance.provenance(seed=plan.seed, inputs=plan.inputs),
    }
    return document | {"sentence": told.sentence(document)}


def _entries(swept: Swept, outcomes: Outcomes, before: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Points without a verdict; `best` is None where there is no answer."""
    rows = _rows(swept)
    entries = []
    for number, point in enumerate(swept.plan.points):
        values = dict(point.values)
        best = outcomes.best[number]
        entries.append(
            {
                "point": number,
                "hash": point.hash,
                "set": list(point.changes),
                "changes": values,
                "differs": differing(values, before),
                "configurations": rows.get(number, []),
                "best": None if best < 0 else outcomes.names[best],
                "difference_s": None,
                "gain": None,
                "together": None,
                "chance": None,
                "same_as": None,
                "advice": outcomes.told[number].get("advice"),
                "error": swept.failed.get(point.hash),
            }
        )
    return entries


def _rows(swept: Swept) -> dict[int, list[dict[str, Any]]]:
    """What the table says of each point's configurations."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in swept.rows:
        if np.isnan(row["mean_s"]):
            continue
        makespan = {key: _known(row[f"{key}_s"]) for key in ("mean", "low", "high", "median", "p05", "p95")}
        difference = {key: _known(row[f"difference_{key}_s"]) for key in ("mean", "low", "high")}
        lacks = difference["mean"] is None
        entry = {"name": row["configuration"], "makespan_s": makespan, "difference_s": None if lacks else difference}
        found.setdefault(row["point"], []).append(entry | {"gain": None})
    return found


def _known(value: float) -> float | None:
    """A number of the table; None where it has none."""
    return None if np.isnan(value) else value


def _judge(entries: list[dict[str, Any]], outcomes: Outcomes, *, seed: int) -> int:
    """Put gains and chances into the entries; the number of comparisons that intervals hold together for."""
    answered = outcomes.answered
    own_s, known = outcomes.own_s(answered), {"deterministic": outcomes.deterministic}
    chances = chances_of_fastest(own_s, seed=seed, **known).tolist() if answered.size else []
    for number, chance in zip(answered.tolist(), chances, strict=True):
        entries[number]["chance"] = None if np.isnan(chance) else round(chance, 4)
    if not answered.size or answered[0] != 0:
        return 0
    first = alike(own_s)
    for number, of in zip(answered.tolist(), answered[first].tolist(), strict=True):
        entries[number]["same_as"] = None if of == number else of
    comparisons = max(1, np.unique(first).size - 1)
    base_s, others_s, numbers = own_s[0], own_s[1:], answered[1:].tolist()
    found = zip(
        numbers,
        gains(base_s, others_s, **known).rows(),
        gains(base_s, others_s, comparisons=comparisons, **known).rows(),
        differences(base_s, others_s, **known).rows(),
        strict=True,
    )
    for number, gain, all_of_them, difference in found:
        here = outcomes.own_s(np.array([number]))[0]
        wins = None
        if outcomes.deterministic or base_s.size > 1:
            wins = float(np.mean((here < base_s) + 0.5 * (here == base_s)))
        entries[number] |= {"gain": gain | {"probability": wins}, "together": all_of_them, "difference_s": difference}
    _judge_configurations(entries, outcomes)
    return comparisons


def _judge_configurations(entries: list[dict[str, Any]], outcomes: Outcomes) -> None:
    """The gain of each configuration against itself in the base."""
    for place, name in enumerate(outcomes.names):
        times = outcomes.makespans_s[:, place]
        if np.isnan(times[0, 0]):
            continue
        numbers = [number for number in range(1, len(entries)) if not np.isnan(times[number, 0])]
        found = {}
        if numbers:
            rows = gains(times[0], times[numbers], deterministic=outcomes.deterministic).rows()
            found = dict(zip(numbers, rows, strict=True))
        for number, gain in found.items():
            next(one for one in entries[number]["configurations"] if one["name"] == name)["gain"] = gain


def _effects(
    entries: Sequence[Mapping[str, Any]], grid: Grid, outcomes: Outcomes, *, fastest: int | None, most: int | None
) -> dict[str, Any]:
    """What fields do by themselves, and changes together."""
    found = lines.lines_of(grid, outcomes, fastest)
    changed = {
        entry["point"]: {path: shown(entry["changes"][path]) for path in entry["differs"]}
        for entry in entries
        if entry["gain"] is not None
    }
    combined, combinations = together.interactions(changed, outcomes, first=most)
    return {
        "diminishing": [one for line in found if (one := lines.diminishing(line, outcomes)) is not None],
        "elasticity": lines.by_size([one for line in found if (one := lines.elasticity(line, outcomes)) is not None]),
        "interactions": combined,
        "combinations": combinations,
    }


def _number(entry: Mapping[str, Any] | None) -> int | None:
    return None if entry is None else int(entry["point"])


def _by_gain(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with a gain, the largest first; of equal ones those with the fewest changes."""
    some = [entry for entry in entries if entry["gain"] is not None]
    return _sorted(some, [-float(entry["gain"]["mean"]) for entry in some])


def _most(entries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The fastest; of points that are equally fast the one with the fewest changes."""
    return next(iter(_sorted(entries, [_mean(entry) for entry in entries])), None)


def _sorted(entries: Sequence[dict[str, Any]], values: Sequence[float]) -> list[dict[str, Any]]:
    """Those with the least values first; of equal ones those with the fewest changes."""
    return [entries[place] for place in ties.in_order(values, [len(entry["differs"]) for entry in entries])]


def _simplest(entries: Sequence[dict[str, Any]], most: Mapping[str, Any]) -> dict[str, Any] | None:
    """A point within 1 % of the best that changes less; the fastest of those that change least."""
    near = [
        entry
        for entry in entries
        if entry["gain"] and _mean(entry) <= (1 + MARGIN) * _mean(most) and len(entry["differs"]) < len(most["differs"])
    ]
    fewest = min((len(entry["differs"]) for entry in near), default=0)
    least = [entry for entry in near if len(entry["differs"]) == fewest]
    return least[ties.first_least([_mean(entry) for entry in least])] if least else None


def _mean(entry: Mapping[str, Any]) -> float:
    return min(float(one["makespan_s"]["mean"]) for one in entry["configurations"])


def _warnings(outcomes: Outcomes) -> list[str]:
    """What points warn of, in the order of the plan: each line once, with how many say so."""
    counts: dict[str, int] = {}
    for said in outcomes.told:
        for line in said.get("warnings", ()):
            counts[line] = counts.get(line, 0) + 1
    listed = [line if count == 1 else f"{line} ({count} points)" for line, count in counts.items()]
    return (
        listed
        if len(listed) <= MOST_WARNINGS
        else [*listed[:MOST_WARNINGS], f"{len(listed) - MOST_WARNINGS} more warnings"]
    )

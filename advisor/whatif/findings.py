"""Findings of a what-if: each point against the base on the same draws, and which change pays most, how surely."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.pareto import front
from advisor.whatif import told
from advisor.whatif.advised import advised
from advisor.whatif.compared import differences, gains, product_of_means
from advisor.whatif.grid import Grid, Stop, differing, grid_of, shown
from advisor.whatif.outcomes import Outcomes, outcomes_of
from simulator import ApportionError, dump_scenario, interval_note, intervals, provenance, read_template, ties
from simulator.experiments.sweep import Plan, Swept

# What one field does by itself: where more of it gains nothing any more, and percent of makespan per percent of it.


LITTLE = 1.01
"""A gain that is worth no mention."""
STEP = 0.1
"""Elasticity about a value is between values that are so far from it at least, as a share."""


@dataclass(frozen=True)
class Line:
    """Points that differ in one field only."""

    field: str
    others: str
    """`as they are`, or `as at the fastest point` where the grid does not hold the scenario as it is."""
    stops: tuple[Stop, ...]
    points: tuple[int, ...]
    """With an answer; as `stops`."""


def lines_of(grid: Grid, outcomes: Outcomes, fastest: int | None) -> tuple[Line, ...]:
    """A line for each field: through the scenario as it is, else through the fastest point."""
    found = []
    for place, field in enumerate(grid.fields):
        at = _through_base(grid, place)
        others = "as they are"
        if at is None:
            if fastest is None or fastest not in grid.places:
                continue
            at, others = grid.where(fastest), "as at the fastest point"
        pairs = [
            (stop, int(point))
            for stop, point in zip(field.stops, grid.along(place, at), strict=True)
            if outcomes.best[point] >= 0
        ]
        if len(grid.fields) == 1:
            others = ""
        if len(pairs) > 1:
            found.append(Line(field.name, others, *map(tuple, zip(*pairs, strict=True))))
    return tuple(found)


def _through_base(grid: Grid, field: int) -> tuple[int, ...] | None:
    """Stops of the other fields as the scenario has them."""
    found = [0 if place == field else one.as_is for place, one in enumerate(grid.fields)]
    return None if None in found else tuple(place for place in found if place is not None)


def diminishing(line: Line, outcomes: Outcomes) -> dict[str, Any] | None:
    """From which value on no further one is faster beyond noise; None for a line of fewer than three numbers.

    None as well where replications are too few to tell.
    Each value is compared with the fastest one beyond it. The intervals of all pairs on the line hold together, so that
    the choice of pairs does no harm. No gain seen does not mean none: `rest` says how much there may still be.
    """
    if len(line.points) < 3 or any(stop.value is None for stop in line.stops):
        return None
    stops, points = line.stops, np.array(line.points)
    times = outcomes.own_s(points)
    if times[-1].mean() > times[0].mean():
        stops, times = stops[::-1], times[::-1]
    means = times.mean(axis=1)
    ahead = [place + 1 + ties.first_least(means[place + 1 :]) for place in range(len(stops) - 1)]
    pairs = len(stops) * (len(stops) - 1) // 2
    found = gains(times[:-1], times[ahead], comparisons=pairs, **outcomes.how)
    if any(gain["low"] is None for gain in found):  # too few replications to say that a step gains, or that it does not
        return None
    end = next((place for place, gain in enumerate(found) if gain["low"] <= 1), None)
    near = next((place for place, gain in enumerate(found) if gain["high"] <= LITTLE), None)
    return {
        "field": line.field,
        "others": line.others,
        "from": stops[0].text,
        "to": stops[-1].text,
        "more": stops[-1].value is not None and stops[-1].value > (stops[0].value or 0.0),
        "beyond": None if end is None else stops[end].text,
        "rest": None if end is None else found[end],
        "little_beyond": None if near is None else stops[near].text,
        "gain": gains(times[0], times[[ties.first_least(means)]], **outcomes.how)[0],
    }


def elasticity(line: Line, outcomes: Outcomes) -> dict[str, Any] | None:
    """Percent of makespan per percent of the field, each with its interval; None without two positive numbers.

    That is log(makespan ratio) / log(value ratio) between neighbouring values; `here` is the one about what the
    scenario has, between values a tenth or more beside it, or over the whole line if it is not on it.
    """
    some = [
        (stop, point)
        for stop, point in zip(line.stops, line.points, strict=True)
        if stop.value is not None and stop.value > 0
    ]
    kept = [pair for place, pair in enumerate(some) if not place or pair[0].value != some[place - 1][0].value]
    if len(kept) < 2:
        return None
    base = next((place for place, (stop, _) in enumerate(kept) if stop.as_is), None)
    ends = (0, len(kept) - 1) if base is None else _about([_value(stop) for stop, _ in kept], base)
    steps = [_slope(kept[place], kept[place + 1], outcomes, len(kept) - 1) for place in range(len(kept) - 1)]
    return {
        "field": line.field,
        "others": line.others,
        "about_base": base is not None,
        "here": _slope(kept[ends[0]], kept[ends[1]], outcomes, 1),
        "steps": steps,
    }


def _about(values: Sequence[float], base: int) -> tuple[int, int]:
    """The nearest places that are at least a tenth below and above one, or the ends: nearer ones drown in noise."""
    below = [place for place in range(base) if values[place] * (1 + STEP) <= values[base]]
    above = [place for place in range(base + 1, len(values)) if values[place] >= values[base] * (1 + STEP)]
    return (below[-1] if below else 0), (above[0] if above else len(values) - 1)


def _slope(one: tuple[Stop, int], other: tuple[Stop, int], outcomes: Outcomes, comparisons: int) -> dict[str, Any]:
    run = math.log(_value(other[0]) / _value(one[0]))
    times = outcomes.own_s(np.array([one[1], other[1]]))
    rise, *ends = product_of_means(np.array([-1.0, 1.0]), times, comparisons=comparisons, **outcomes.how)
    low, high = (None, None) if math.isnan(ends[0]) else sorted(end / run for end in ends)
    return {"from": one[0].text, "to": other[0].text, "mean": rise / run, "low": low, "high": high}


def _value(stop: Stop) -> float:
    return math.nan if stop.value is None else stop.value


def by_size(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Elasticities, the largest first."""
    size = [-abs(float(one["here"]["mean"])) for one in found]
    return [found[place] for place in ties.in_order(size, floor=ties.SAME)]


# Changes together: whether they gain what their single gains promise, and what the points cost beside it.


MOST_INTERACTIONS = 20
"""Combinations that are told, those that differ most from the product of their single gains."""


def interactions(
    changed: Mapping[int, Mapping[str, str]], outcomes: Outcomes, *, first: int | None = None
) -> tuple[list[dict[str, Any]], int]:
    """Each combination against its single changes, those that surely differ most first, and how many there are.

    `factor` is the gain together over the product of the single gains, with intervals that hold for all together:
    above 1 they help each other, below 1 the one leaves less for the other to gain.

    Parameters
    ----------
    changed
        Of each point with an answer, what differs from the base: path and value as text.
    first
        The combination to begin with, if it is one.
    """
    single = {next(iter(of.items())): point for point, of in reversed(list(changed.items())) if len(of) == 1}
    known = {
        point: [single[item] for item in of.items()]
        for point, of in changed.items()
        if len(of) > 1 and all(item in single for item in of.items())
    }
    found: list[tuple[float, float, dict[str, Any]]] = []
    for point, parts in known.items():
        # gain together / product of gains = product of single means / (mean together x base^(parts - 1))
        rows = np.array([0, point, *parts])
        powers = np.array([1.0 - len(parts), -1.0, *[1.0] * len(parts)])
        log, low, high = product_of_means(powers, outcomes.own_s(rows), comparisons=len(known), **outcomes.how)
        ends = (None, None) if math.isnan(low) else (min(low, log - ROUNDING), max(high, log + ROUNDING))
        base_s = outcomes.mean_s(0)
        singles = [base_s / outcomes.mean_s(part) for part in parts]
        entry = {
            "point": point,
            "parts": parts,
            "gain": base_s / outcomes.mean_s(point),
            "product": math.prod(singles),
            "factor": {"mean": math.exp(log)}
            | {name: None if end is None else math.exp(end) for name, end in zip(("low", "high"), ends, strict=True)},
        }
        sure = math.inf if point == first else max(0.0, low, -high)  # 0 where nothing is known: NaN is no more than it
        found.append((sure, abs(log), entry))
    order = ties.in_order([-sure for sure, *_ in found], [-size for _, size, _ in found], floor=ROUNDING)
    return [found[place][2] for place in order[:MOST_INTERACTIONS]], len(found)


ROUNDING = 1e-9
"""Factors nearer to 1 are 1."""
RATES = {"cost": ("cost_per_s", "units of cost"), "energy": ("power_w", "J")}
"""What a platform may say: the entry of a point's document, and the unit of that times seconds."""


def add_costs(entries: Sequence[dict[str, Any]], outcomes: Outcomes) -> list[dict[str, Any]]:
    """Put cost and energy of a run into entries of points, and return the fronts of makespan and cost.

    All PEs of the platform at the point count for the whole makespan, used or not: that is what one pays for.
    """
    fronts = []
    for of, (key, unit) in RATES.items():
        rates = [said.get("rates", {}) for said in outcomes.told]
        told = [point for point in outcomes.answered.tolist() if key in rates[point]]
        for point in told:
            rate = rates[point][key]
            entries[point][of] = {key: rate, "run": rate * outcomes.mean_s(point)}
        if not told:
            continue
        values = np.array([outcomes.mean_s(point) for point in told])
        spent = np.array([entries[point][of]["run"] for point in told])
        fronts.append(
            {
                "of": of,
                "unit": unit,
                "points": [told[place] for place in front(values, spent)],
                "considered": len(told),
                "silent": outcomes.answered.size - len(told),
            }
        )
    return fronts


# What a scenario has at the fields that a what-if varies, defaults that its file leaves unsaid included.


MOST_TRIED = 12
"""Values of a field that are tried: each takes as long as reading the scenario."""


def present_values(plan: Plan) -> dict[str, Any]:
    """The value at each varied path; None where it is a default that no value asked for agrees with.

    A value is the default if the resolved scenario with it is that without it.
    """
    found = dict(plan.before)
    for path in (path for path, value in plan.before.items() if value is None):
        asked = {
            change: point.values[path]
            for point in plan.points[1:]
            for change, of in zip(point.changes, point.values, strict=True)
            if of == path
        }
        for change, value in list(asked.items())[:MOST_TRIED]:
            if _changes_nothing(plan, change):
                found[path] = value
                break
    return found


def _changes_nothing(plan: Plan, change: str) -> bool:
    try:
        template = read_template(plan.path)
        if plan.ask is advised:
            template = template.divided_equally()
        return dump_scenario(template.scenario([change], oversized=plan.oversized)) == plan.resolved
    except ApportionError:
        return False


MOST_WARNINGS = 12
"""Lines of warnings that are told."""
MARGIN = 0.01
"""A point so near to the best is as good as it."""


def whatif_document(swept: Swept) -> dict[str, Any]:
    """Plain data for JSON, `render_whatif` and the report; times and dates are in `spent` and `provenance` only.

    A point is judged by its own best configuration (least mean makespan) against the base's best one, replication by
    replication: `gain` says how many times faster that is, with its interval, and `together` with intervals that hold
    for all points at once (Bonferroni): a change pays if that one is above 1. `chance` is the probability that no other
    point is faster, `expected_loss` how much longer it is expected to take than the fastest of each truth, and `ties`
    are the points that lose 1 % at most; `same_as` a point that takes the same time in every replication. Intervals and
    chances are None where replications are too few to have one; nothing pays then.
    """
    plan, outcomes, before = swept.plan, outcomes_of(swept), present_values(swept.plan)
    grid, entries = grid_of(plan, before), _entries(swept, outcomes, before)
    comparisons = _judge(entries, outcomes, seed=plan.seed)
    note = interval_note(plan.replications, outcomes.truths, deterministic=outcomes.deterministic)
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
        "truths": outcomes.truth_count,
        "level": plan.level,
        "deterministic": outcomes.deterministic,
        "seed": plan.seed,
        "grid": grid.to_dict(),
        "points": entries,
        "comparisons": comparisons,
        "ties": _ties(entries),
        "pays": [entry["point"] for entry in pays],
        "pays_most": _number(most),
        "pays_most_alone": _number(alone),
        "nearly": _number(nearly),
        "single": [entry["point"] for entry in _by_gain(entries) if len(entry["differs"]) == 1],
        **_effects(entries, grid, outcomes, fastest=_number(fastest), most=_number(most)),
        "fronts": add_costs(entries, outcomes),
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
                "expected_loss": None,
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
        makespan = {key: _known(row[f"{key}_s"]) for key in ("mean", "low", "high", "median", "run_low", "run_high")}
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
    if not answered.size:
        return 0
    own_s, known = outcomes.own_s(answered), outcomes.how
    first = intervals.alike(own_s)
    _put_chances(entries, outcomes, first, seed=seed)
    if answered[0] != 0:
        return 0
    for number, of in zip(answered.tolist(), answered[first].tolist(), strict=True):
        entries[number]["same_as"] = None if of == number else of
    comparisons = max(1, np.unique(first).size - 1)
    base_s, others_s, numbers = own_s[0], own_s[1:], answered[1:].tolist()
    found = zip(
        numbers,
        gains(base_s, others_s, **known),
        gains(base_s, others_s, comparisons=comparisons, **known),
        differences(base_s, others_s, **known),
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


def _put_chances(entries: list[dict[str, Any]], outcomes: Outcomes, first: NDArray[np.int64], *, seed: int) -> None:
    """Put chances and expected losses into the entries; points that are alike have those of the first of them.

    Parameters
    ----------
    first
        For each point with an answer the place of the first one that is like it.
    """
    rows, own = np.unique(first, return_inverse=True)
    times_s, sure = outcomes.own_s(outcomes.answered[rows]), outcomes.deterministic
    chances = intervals.chances(times_s, outcomes.truths, seed=seed, margin=MARGIN, deterministic=sure)
    for number, row in zip(outcomes.answered.tolist(), own.tolist(), strict=True):
        chance, loss = float(chances.best[row]), float(chances.loss[row])
        entries[number]["chance"] = None if math.isnan(chance) else round(chance, 4)
        entries[number]["expected_loss"] = None if math.isnan(loss) else loss


def _ties(entries: Sequence[Mapping[str, Any]]) -> list[int]:
    """The points that are as good as the fastest one; none where that is alone."""
    near = [one["point"] for one in entries if one["expected_loss"] is not None and one["expected_loss"] <= MARGIN]
    return near if len(near) > 1 else []


def _judge_configurations(entries: list[dict[str, Any]], outcomes: Outcomes) -> None:
    """The gain of each configuration against itself in the base."""
    for place, name in enumerate(outcomes.names):
        times = outcomes.makespans_s[:, place]
        if np.isnan(times[0, 0]):
            continue
        numbers = [number for number in range(1, len(entries)) if not np.isnan(times[number, 0])]
        found = {}
        if numbers:
            rows = gains(times[0], times[numbers], **outcomes.how)
            found = dict(zip(numbers, rows, strict=True))
        for number, gain in found.items():
            next(one for one in entries[number]["configurations"] if one["name"] == name)["gain"] = gain


def _effects(
    entries: Sequence[Mapping[str, Any]], grid: Grid, outcomes: Outcomes, *, fastest: int | None, most: int | None
) -> dict[str, Any]:
    """What fields do by themselves, and changes together."""
    found = lines_of(grid, outcomes, fastest)
    changed = {
        entry["point"]: {path: shown(entry["changes"][path]) for path in entry["differs"]}
        for entry in entries
        if entry["gain"] is not None
    }
    combined, combinations = interactions(changed, outcomes, first=most)
    return {
        "diminishing": [one for line in found if (one := diminishing(line, outcomes)) is not None],
        "elasticity": by_size([one for line in found if (one := elasticity(line, outcomes)) is not None]),
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

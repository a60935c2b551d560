"""Every point of a what-if against the base on the same draws: gains, chances, costs, and which change pays most."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.pareto import front
from advisor.advise.ranking import Gain
from advisor.results import Described, Drawn, Ends, Provenance
from advisor.whatif import purchases
from advisor.whatif.advised import advised
from advisor.whatif.findings import Configured, Cost, Energy, Findings, Front, PointFound, fewest_first
from advisor.whatif.grid import differing, grid_of
from advisor.whatif.outcomes import Outcomes, outcomes_of
from advisor.whatif.purchases import bought_of, read_purchases
from advisor.whatif.sentences import sentence
from simulator import ApportionError, dump_scenario, interval_note, intervals, read_template, ties
from simulator.experiments.sweep import Plan, Swept
from simulator.programs.applications import CHOSEN

MOST_WARNINGS = 12
"""Lines of warnings that are listed."""
MARGIN = 0.01
"""A point so near to the best is as good as it, and one so near to the scenario as it is does not pay."""
MOST_TRIED = 12
"""Values of a field that are tried: each takes as long as reading the scenario."""
RATES = {"cost": ("cost_per_s", "units of cost", Cost), "energy": ("power_w", "J", Energy)}
"""What a platform may say: the entry of a point's document, the unit of that times seconds, and what it is of a run."""
_OF_PLATFORM = ("doubt", "noise", "source", "sizes", "sizes_bytes", "knots_bytes", "columns", "name", "notes", "uses")
"""What describes how something was measured, or what it is called; a platform is bought, these are not."""


def findings_of(swept: Swept, buy: str | None = None) -> Findings:
    """Judge every point, and say what pays; of purchases with prices, what pays most per price."""
    plan, outcomes, before = swept.plan, outcomes_of(swept), present_values(swept.plan)
    grid = grid_of(plan, before)
    points, comparisons = _judged(_entries(swept, outcomes, before), outcomes, seed=plan.seed)
    points, fronts = with_costs(points, outcomes)
    note = interval_note(plan.replications, outcomes.truths, deterministic=outcomes.deterministic)
    faster = [one for one in points if one.together is not None and (one.together.low or 0.0) > 1]
    pays = [one for one in faster if one.gain is not None and one.gain.mean > 1 + MARGIN]
    most, alone = _most(pays), _most([one for one in pays if len(one.differs) == 1])
    others = {path for path in before if not can_be_chosen(path, _application(plan))}
    found = Findings(
        format=1,
        command="whatif",
        scenario=plan.path.name,
        question=plan.question,
        parameters=before,
        drawn=Drawn(plan.replications, outcomes.truth_count, plan.level, outcomes.deterministic, plan.seed),
        grid=grid,
        points=tuple(points),
        comparisons=comparisons,
        ties=_ties(points),
        pays=tuple(one.point for one in pays),
        pays_most=_number(most),
        pays_most_alone=_number(alone),
        nearly=None if most is None else _number(_simplest(points, most)),
        single=(),
        not_ranked=tuple(sorted(others)),
        fronts=tuple(fronts),
        failed=len(swept.failed),
        spent=swept.spent,
        warnings=(*warnings_of(outcomes), *([] if note is None or outcomes.deterministic else [note])),
        provenance=Provenance.of(plan.seed, plan.inputs),
    )
    found = replace(found, single=tuple(one.point for one in found.by_gain() if len(one.differs) == 1))
    if buy is not None:
        gains = {one.point: one.gain for one in points[1:] if one.gain is not None}
        found = replace(found, bought=bought_of(gains, found.pays, outcomes, read_purchases(buy, plan.data)))
    said = (purchases.sentence(found.bought or ()), sentence(found))
    return replace(found, sentence=" ".join(filter(None, said)))


def _entries(swept: Swept, outcomes: Outcomes, before: Mapping[str, Any]) -> list[PointFound]:
    """Points without a verdict."""
    rows, found, application = configured_rows(swept), [], _application(swept.plan)
    for number, point in enumerate(swept.plan.points):
        values, best = dict(point.values), outcomes.best[number]
        found.append(
            PointFound(
                point=number,
                hash=point.hash,
                set=tuple(point.changes),
                changes=values,
                differs=(differs := tuple(differing(values, before))),
                chosen=all(can_be_chosen(path, application) for path in differs),
                configurations=tuple(rows.get(number, ())),
                best=None if best < 0 else outcomes.names[best],
                advice=outcomes.said[number].advice,
                error=swept.failed.get(point.hash),
            )
        )
    return found


def _application(plan: Plan) -> Any:
    """What runs, as the file names it."""
    said = plan.data.get("application")
    return said.get("name") if isinstance(said, dict) else None


def configured_rows(swept: Swept) -> dict[int, list[Configured]]:
    """What the table says of each point's configurations."""
    found: dict[int, list[Configured]] = {}
    for row in swept.rows:
        if not np.isnan(row["mean_s"]):
            low, high, run_low, run_high = (_known(row[f"{key}_s"]) for key in ("low", "high", "run_low", "run_high"))
            takes = Described(row["mean_s"], low, high, row["median_s"], run_low, run_high)
            apart = Ends(*(_known(row[f"difference_{key}_s"]) for key in ("mean", "low", "high")))
            one = Configured(row["configuration"], takes, None if apart.mean is None else apart, None)
            found.setdefault(row["point"], []).append(one)
    return found


def _known(value: float) -> float | None:
    """A number of the table; None where it has none."""
    return None if np.isnan(value) else value


def _judged(points: Sequence[PointFound], outcomes: Outcomes, *, seed: int) -> tuple[list[PointFound], int]:
    """Points with gains and chances, and the number of comparisons that intervals hold together for."""
    answered = outcomes.answered
    if not answered.size:
        return list(points), 0
    own_s = outcomes.own_s(answered)
    first = intervals.alike(own_s)
    found = _with_chances(points, outcomes, first, seed=seed)
    if answered[0] != 0:
        return found, 0
    for number, of in zip(answered.tolist(), answered[first].tolist(), strict=True):
        found[number] = replace(found[number], same_as=None if of == number else of)
    ranked = np.array([points[number].chosen for number in answered.tolist()])
    comparisons = max(1, np.unique(first[ranked]).size - 1)
    base_s, others = own_s[0], answered[1:]
    columns = zip(
        others.tolist(),
        own_s[1:],
        outcomes.gains(0, others),
        outcomes.gains(0, others, comparisons=comparisons),
        outcomes.differences(0, others),
        strict=True,
    )
    for number, here, gain, together, difference in columns:
        wins = None
        if outcomes.deterministic or base_s.size > 1:
            wins = float(np.mean((here < base_s) + 0.5 * (here == base_s)))
        judged = Gain(gain.mean or 0.0, gain.low, gain.high, wins)
        all_held = together if found[number].chosen else None
        found[number] = replace(found[number], gain=judged, together=all_held, difference_s=difference)
    return _with_configurations(found, outcomes), comparisons


def _with_chances(
    points: Sequence[PointFound], outcomes: Outcomes, first: NDArray[np.int64], *, seed: int
) -> list[PointFound]:
    """Points with chances and expected losses; those that are alike have those of the first of them.

    `first`: for each point with an answer the place of the first one that is like it.
    """
    ranked = np.array([points[number].chosen for number in outcomes.answered.tolist()])
    rows, own = np.unique(first[ranked], return_inverse=True)
    varied = [points[number] for number in outcomes.answered.tolist() if points[number].differs]
    if varied and not any(one.chosen for one in varied):
        return list(points)  # nothing is compared with the scenario as it is
    times_s, sure = outcomes.own_s(outcomes.answered[rows]), outcomes.deterministic
    chances = intervals.chances(times_s, outcomes.truths, seed=seed, margin=MARGIN, deterministic=sure)
    found = list(points)
    for number, row in zip(outcomes.answered[ranked].tolist(), own.tolist(), strict=True):
        chance, loss = _known(float(chances.best[row])), _known(float(chances.loss[row]))
        chance = None if chance is None else round(chance, 4)
        found[number] = replace(found[number], chance=chance, expected_loss=loss)
    return found


def _with_configurations(points: Sequence[PointFound], outcomes: Outcomes) -> list[PointFound]:
    """Points with the gain of each configuration against itself in the base."""
    over: dict[tuple[int, str], Ends] = {}
    for place, name in enumerate(outcomes.names):
        times = outcomes.makespans_s[:, place]
        numbers = [number for number in range(1, len(points)) if not np.isnan(times[[0, number], 0]).any()]
        if numbers:
            said = outcomes.gains(0, numbers, place)
            over |= {(number, name): gain for number, gain in zip(numbers, said, strict=True)}
    return [
        replace(
            one,
            configurations=tuple(replace(own, gain=over.get((one.point, own.name))) for own in one.configurations),
        )
        for one in points
    ]


def _ties(points: Sequence[PointFound]) -> tuple[int, ...]:
    """The points that are as good as the fastest one; none where that is alone."""
    near = tuple(one.point for one in points if one.expected_loss is not None and one.expected_loss <= MARGIN)
    return near if len(near) > 1 else ()


def _number(one: PointFound | None) -> int | None:
    return None if one is None else one.point


def _most(points: Sequence[PointFound]) -> PointFound | None:
    """The fastest; of points that are equally fast the one with the fewest changes."""
    return next(iter(fewest_first(points, [one.mean_s for one in points])), None)


def _simplest(points: Sequence[PointFound], most: PointFound) -> PointFound | None:
    """A point within 1 % of the best that changes less; the fastest of those that change least."""
    near = [
        one
        for one in points
        if one.gain and one.chosen and one.mean_s <= (1 + MARGIN) * most.mean_s and len(one.differs) < len(most.differs)
    ]
    fewest = min((len(one.differs) for one in near), default=0)
    least = [one for one in near if len(one.differs) == fewest]
    return least[ties.first_least([one.mean_s for one in least])] if least else None


def warnings_of(outcomes: Outcomes) -> list[str]:
    """What points warn of, in the order of the plan: each line once, with how many say so."""
    counts = Counter(line for said in outcomes.said for line in said.warnings)
    lines = [line if count == 1 else f"{line} ({count} points)" for line, count in counts.items()]
    more = len(lines) - MOST_WARNINGS
    return lines if more <= 0 else [*lines[:MOST_WARNINGS], f"{more} more warnings"]


def with_costs(points: Sequence[PointFound], outcomes: Outcomes) -> tuple[list[PointFound], list[Front]]:
    """Points with cost and energy of a run, and the fronts of makespan and cost.

    All PEs of the platform at the point count for the whole makespan, used or not: that is what one pays for.
    """
    found, fronts = list(points), []
    for of, (key, unit, kind) in RATES.items():
        rates = [said.rates for said in outcomes.said]
        some = [point for point in outcomes.answered.tolist() if key in rates[point]]
        values = np.array([outcomes.mean_s(point) for point in some])
        spent = np.array([rates[point][key] * outcomes.mean_s(point) for point in some])
        for point, run in zip(some, spent.tolist(), strict=True):
            found[point] = replace(found[point], **{of: kind(rates[point][key], run)})
        ranked = [place for place, point in enumerate(some) if points[point].chosen]
        if ranked:
            best = tuple(some[ranked[place]] for place in front(values[ranked], spent[ranked]))
            fronts.append(Front(of, unit, best, outcomes.answered.size - len(some)))
    return found, fronts


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
        if plan.question == advised.name:
            template = template.as_now()
        return dump_scenario(template.scenario([change], oversized=plan.oversized)) == plan.resolved
    except ApportionError:
        return False


def can_be_chosen(path: str, application: Any) -> bool:
    """Whether somebody who runs an application may change the field at a path, and still solve the same problem.

    Parts of the platform may: its links, speeds, cores, memory, PEs and the load of own jobs; and configurations, and
    parameters that say how the problem is solved. The problem's size, its iterations, and what decides draws may not.
    """
    first, *rest = path.split(".")
    if first == "platform":
        return not set(rest) & set(_OF_PLATFORM)
    if first == "application":
        return rest[:1] == ["parameters"] and rest[-1] in CHOSEN.get(str(application), ())
    return first == "configurations"

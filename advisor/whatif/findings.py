"""Findings of a what-if: each point against the base on the same draws, and which change pays most, how surely."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.pareto import front
from advisor.advise.ranking import Gain
from advisor.results import Described, Drawn, Ends, Provenance
from advisor.whatif import purchases
from advisor.whatif.advised import NOW, advised
from advisor.whatif.grid import Grid, Stop, differing, grid_of
from advisor.whatif.improvements import can_be_chosen
from advisor.whatif.outcomes import Outcomes, outcomes_of, product_of_means
from advisor.whatif.purchases import Bought, bought_of, read_purchases
from advisor.wording import counted, listed, loss_text, probability, with_interval
from simulator import ApportionError, documents, dump_scenario, interval_note, intervals, read_template, ties
from simulator.experiments.sweep import Plan, Swept

# What is found.


@dataclass(frozen=True)
class Configured:
    """One configuration at a point, against itself in the base."""

    name: str
    makespan_s: Described
    difference_s: Ends | None
    gain: Ends | None


@dataclass(frozen=True)
class PointAdvice:
    """What is recommended at a point."""

    recommended: str
    varied: tuple[str, ...]
    partition: tuple[int, ...]
    pes: tuple[str, ...]
    idle: str | None
    """Cores that it leaves idle, as a sentence."""

    @property
    def shares(self) -> list[str]:
        """Who gets how much."""
        return [f"{pe} {part}" for pe, part in zip(self.pes, self.partition, strict=True)]


@dataclass(frozen=True)
class Cost:
    """What a run costs, all PEs of the platform for the whole makespan."""

    cost_per_s: float
    run: float


@dataclass(frozen=True)
class Energy:
    """What a run draws, in watts and joules."""

    power_w: float
    run: float


@dataclass(frozen=True)
class PointFound:
    """A point; without an answer, `best` is None and `error` says why.

    It is judged by its own best configuration (least mean makespan) against the base's best one, replication by
    replication.
    """

    point: int
    hash: str
    set: tuple[str, ...]
    changes: Mapping[str, Any]
    differs: tuple[str, ...]
    """Paths at which it is not as the scenario has it."""
    chosen: bool
    """Whether all of these can be bought or chosen; else it is another question, and is not ranked with the others."""
    configurations: tuple[Configured, ...]
    best: str | None
    advice: PointAdvice | None
    error: str | None
    difference_s: Ends | None = None
    gain: Gain | None = None
    together: Ends | None = None
    """The gain with intervals that hold for all points at once (Bonferroni)."""
    chance: float | None = None
    """That no other point is faster."""
    expected_loss: float | None = None
    """How much longer it is expected to take than the fastest of each truth."""
    same_as: int | None = None
    """A point that takes the same time in every replication."""
    cost: Cost | None = field(default=None, metadata=documents.SPARE)
    energy: Energy | None = field(default=None, metadata=documents.SPARE)

    @property
    def own(self) -> Configured | None:
        """The configuration that it is judged by."""
        return next((one for one in self.configurations if one.name == self.best), None)

    @property
    def mean_s(self) -> float:
        """The least mean makespan."""
        return min(one.makespan_s.mean or 0.0 for one in self.configurations)

    @property
    def named(self) -> str:
        """What it changes, without what it sets to what is there."""
        changed = zip(self.set, self.changes, strict=True)
        return " with ".join(text for text, path in changed if path in self.differs) or "the scenario as it is"

    def spent(self, of: str) -> Cost | Energy | None:
        """`cost` or `energy` of a run."""
        return self.cost if of == "cost" else self.energy


@dataclass(frozen=True)
class Diminishing:
    """From which value of a field on no further one is faster beyond noise."""

    field: str
    others: str
    begin: str = dataclasses.field(metadata=documents.named("from"))
    to: str
    beyond: str | None
    rest: Ends | None
    """How much there may still be: no gain seen does not mean none."""
    little_beyond: str | None
    """Beyond it no more than 1 % is left."""


@dataclass(frozen=True)
class Slope:
    """Percent of makespan per percent of a field between two of its values."""

    begin: str = dataclasses.field(metadata=documents.named("from"))
    to: str
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Elasticity:
    """Percent of makespan per percent of a field: about what the scenario has, and step by step."""

    field: str
    others: str
    here: Slope
    steps: tuple[Slope, ...]


@dataclass(frozen=True)
class Front:
    """Points that none beats in both makespan and cost."""

    of: str
    unit: str
    points: tuple[int, ...]
    silent: int
    """Points that do not say what they cost."""


@dataclass(frozen=True)
class Findings:
    """What `apportion whatif` answers; times and dates are in `spent` and `provenance` only.

    Intervals and chances are None where replications are too few to have one; nothing pays then.
    """

    format: int
    command: str
    scenario: str
    question: str
    parameters: Mapping[str, Any]
    drawn: Drawn = field(metadata=documents.FLAT)
    grid: Grid
    points: tuple[PointFound, ...]
    comparisons: int
    ties: tuple[int, ...]
    """The points that are expected to lose 1 % to the fastest at most."""
    pays: tuple[int, ...]
    pays_most: int | None
    pays_most_alone: int | None
    nearly: int | None
    """A point within 1 % of the one that pays most that changes less."""
    single: tuple[int, ...]
    """Points that change one field that can be bought or chosen, the largest gain first."""
    not_ranked: tuple[str, ...]
    """Fields that can be neither bought nor chosen, such as the problem's size: shown as sensitivity alone."""
    diminishing: tuple[Diminishing, ...]
    elasticity: tuple[Elasticity, ...]
    fronts: tuple[Front, ...]
    failed: int
    spent: Mapping[str, Any]
    warnings: tuple[str, ...]
    provenance: Provenance
    sentence: str = ""
    bought: tuple[Bought, ...] | None = field(default=None, metadata=documents.SPARE)
    """Purchases with what they gain per price, where prices were given."""

    def by_gain(self, *, every: bool = False) -> list[PointFound]:
        """Points that change anything and have a gain, the fastest first; of equal ones those with the fewest changes.

        `every`: those too that are not ranked.
        """
        some = [one for one in self.points if one.gain is not None and one.differs and (one.chosen or every)]
        return _sorted(some, [-one.gain.mean for one in some if one.gain is not None])


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
    for place, varied in enumerate(grid.fields):
        at = _through_base(grid, place)
        others = "as they are"
        if at is None:
            if fastest is None or fastest not in grid.places:
                continue
            at, others = grid.where(fastest), "as at the fastest point"
        pairs = [
            (stop, int(point))
            for stop, point in zip(varied.stops, grid.along(place, at), strict=True)
            if outcomes.best[point] >= 0
        ]
        if len(grid.fields) == 1:
            others = ""
        if len(pairs) > 1:
            found.append(Line(varied.name, others, *map(tuple, zip(*pairs, strict=True))))
    return tuple(found)


def _through_base(grid: Grid, field: int) -> tuple[int, ...] | None:
    """Stops of the other fields as the scenario has them."""
    found = [0 if place == field else one.as_is for place, one in enumerate(grid.fields)]
    return None if None in found else tuple(place for place in found if place is not None)


def diminishing(line: Line, outcomes: Outcomes) -> Diminishing | None:
    """From which value on no further one is faster beyond noise; None for a line of fewer than three numbers.

    None as well where replications are too few to tell.
    Each value is compared with the fastest one beyond it. The intervals of all pairs on the line hold together, so that
    the choice of pairs does no harm. No gain seen does not mean none: `rest` says how much there may still be.
    """
    if len(line.points) < 3 or any(stop.value is None for stop in line.stops):
        return None
    stops, points = line.stops, np.array(line.points)
    means = outcomes.own_s(points).mean(axis=1)
    if means[-1] > means[0]:
        stops, points, means = stops[::-1], points[::-1], means[::-1]
    ahead = [place + 1 + ties.first_least(means[place + 1 :]) for place in range(len(stops) - 1)]
    pairs = len(stops) * (len(stops) - 1) // 2
    found = outcomes.gains(points[:-1], points[ahead], comparisons=pairs)
    ends = [(one.low, one.high) for one in found if one.low is not None and one.high is not None]
    if len(ends) < len(found):  # too few replications to say that a step gains, or that it does not
        return None
    end = next((place for place, (low, _) in enumerate(ends) if low <= 1), None)
    near = next((place for place, (_, high) in enumerate(ends) if high <= LITTLE), None)
    return Diminishing(
        field=line.field,
        others=line.others,
        begin=stops[0].text,
        to=stops[-1].text,
        beyond=None if end is None else stops[end].text,
        rest=None if end is None else found[end],
        little_beyond=None if near is None else stops[near].text,
    )


def elasticity(line: Line, outcomes: Outcomes) -> Elasticity | None:
    """Percent of makespan per percent of the field, each with its interval; None without two positive numbers.

    That is log(makespan ratio) / log(value ratio) between neighbouring values; `here` is the one about what the
    scenario has, between values that differ from it by a tenth or more, or over the whole line if it is not on it.
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
    here = _slope(kept[ends[0]], kept[ends[1]], outcomes, 1)
    return Elasticity(line.field, line.others, here, tuple(steps))


def _about(values: Sequence[float], base: int) -> tuple[int, int]:
    """The nearest places that are at least a tenth below and above one, or the ends: nearer ones drown in noise."""
    below = [place for place in range(base) if values[place] * (1 + STEP) <= values[base]]
    above = [place for place in range(base + 1, len(values)) if values[place] >= values[base] * (1 + STEP)]
    return (below[-1] if below else 0), (above[0] if above else len(values) - 1)


def _slope(one: tuple[Stop, int], other: tuple[Stop, int], outcomes: Outcomes, comparisons: int) -> Slope:
    run = math.log(_value(other[0]) / _value(one[0]))
    times = outcomes.own_s(np.array([one[1], other[1]]))
    rise, *ends = product_of_means(np.array([-1.0, 1.0]), times, outcomes.how, comparisons=comparisons)
    low, high = (None, None) if math.isnan(ends[0]) else sorted(end / run for end in ends)
    return Slope(one[0].text, other[0].text, rise / run, low, high)


def _value(stop: Stop) -> float:
    return math.nan if stop.value is None else stop.value


def by_size(found: Sequence[Elasticity]) -> list[Elasticity]:
    """Elasticities, the largest first."""
    size = [-abs(one.here.mean or 0.0) for one in found]
    return [found[place] for place in ties.in_order(size, floor=ties.SAME)]


# What the points cost.


ROUNDING = 1e-9
"""Factors nearer to 1 are 1."""
RATES = {"cost": ("cost_per_s", "units of cost", Cost), "energy": ("power_w", "J", Energy)}
"""What a platform may say: the entry of a point's document, the unit of that times seconds, and what it is of a run."""


def with_costs(points: Sequence[PointFound], outcomes: Outcomes) -> tuple[list[PointFound], list[Front]]:
    """Points with cost and energy of a run, and the fronts of makespan and cost.

    All PEs of the platform at the point count for the whole makespan, used or not: that is what one pays for.
    """
    found, fronts = list(points), []
    for of, (key, unit, kind) in RATES.items():
        rates = [said.get("rates", {}) for said in outcomes.said]
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
        if plan.question == advised.name:
            template = template.as_now()
        return dump_scenario(template.scenario([change], oversized=plan.oversized)) == plan.resolved
    except ApportionError:
        return False


MOST_WARNINGS = 12
"""Lines of warnings that are listed."""
MARGIN = 0.01
"""A point so near to the best is as good as it, and one so near to the scenario as it is does not pay."""


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
    fastest = _most([one for one in points if one.best is not None and one.chosen])
    lines = lines_of(grid, outcomes, _number(fastest))
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
        diminishing=tuple(
            less
            for line in lines
            if not set(line.field.split(" with ")) & others and (less := diminishing(line, outcomes)) is not None
        ),
        elasticity=tuple(by_size([slope for line in lines if (slope := elasticity(line, outcomes)) is not None])),
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
        advice = outcomes.said[number].get("advice")
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
                advice=None if advice is None else documents.read(PointAdvice, advice),
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
            takes = [_known(row[f"{key}_s"]) for key in ("mean", "low", "high", "median", "run_low", "run_high")]
            apart = Ends(*(_known(row[f"difference_{key}_s"]) for key in ("mean", "low", "high")))
            one = Configured(row["configuration"], Described(*takes), None if apart.mean is None else apart, None)
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
    return next(iter(_sorted(points, [one.mean_s for one in points])), None)


def _sorted(points: Sequence[PointFound], values: Sequence[float]) -> list[PointFound]:
    """Those with the least values first; of equal ones those with the fewest changes."""
    return [points[place] for place in ties.in_order(values, [len(one.differs) for one in points])]


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
    counts = Counter(line for said in outcomes.said for line in said.get("warnings", ()))
    lines = [line if count == 1 else f"{line} ({count} points)" for line, count in counts.items()]
    more = len(lines) - MOST_WARNINGS
    return lines if more <= 0 else [*lines[:MOST_WARNINGS], f"{more} more warnings"]


# The answer in words.


SURE = 0.95
"""Chance from which the fastest point is said to pay most without naming others."""
LIKELY = 0.05
"""Chance from which another point is named with it."""
MOST_NAMED = 3


def sentence(found: Findings) -> str:
    """The answer."""
    points, compared = found.points, [one for one in found.points if one.gain is not None and one.chosen]
    if not any(one.differs for one in compared) and (found.not_ranked or not compared):
        return _not_ranked_sentence(found)
    replications = counted(found.drawn.replications, "replication")
    if all(one.gain is None or one.gain.low is None for one in compared):
        best = max(compared, key=lambda one: 0.0 if one.gain is None else one.gain.mean)
        was = f"{best.named} was {with_interval(best.gain, '')} times as fast, without an interval"
        ask = "ask for more with --replications, such as 200"
        return f"{replications.capitalize()} cannot show which change pays: {was}; {ask}."
    if found.pays_most is None:
        sure = any(one.together is not None and (one.together.low or 0.0) > 1 for one in compared)
        more = "more than 1 % " if sure else ""
        among = "" if found.comparisons == 1 else f", {found.comparisons} changes compared"
        among = among if sure else f", as far as {replications} can tell{among}"
        return f"No change pays: none is {more}faster than the scenario as it is{among}."
    most = points[found.pays_most]
    tied = _tied(found, most)
    pays = "pays most" if not tied and (most.chance or 0.0) >= SURE else "pays"
    said = f"{most.named} {pays}: {_faster(most)}, {_takes(most)} in place of {_from(points[0])}"
    simplest = "" if found.nearly is None else points[found.nearly].named
    said += f"; {_tie(most, tied, simplest) if tied else _how_sure(found, most)}."
    if simplest and simplest not in tied:
        said += f" Within 1 % of it, with fewer changes: {simplest}."
    if found.pays_most_alone is None:
        return f"{said} No change alone pays, of those looked at." if found.single else said
    if found.pays_most_alone in {found.pays_most, found.nearly}:
        return said
    alone = points[found.pays_most_alone]
    return f"{said} Of single changes {alone.named}: {_faster(alone)}."


def _not_ranked_sentence(found: Findings) -> str:
    """The answer where nothing that varies can be bought or chosen: what the makespan is then."""
    answered = [one for one in found.points if one.best is not None and one.differs]
    if not answered or not found.not_ranked or found.points[0].best is None:
        return "No point can be compared with the scenario as it is."
    paths = listed([path.removeprefix("application.parameters.") for path in found.not_ranked], most=MOST_NAMED)
    shown = answered if len(answered) <= MOST_NAMED else [answered[0], answered[-1]]
    said = ", ".join(f"{one.named.removeprefix('application.parameters.')} takes {_takes(one)}" for one in shown)
    verb = "is" if len(found.not_ranked) == 1 else "are"
    return f"{said}, in place of {_from(found.points[0])}; {paths} {verb} part of the question, so nothing is ranked."


def _how_sure(found: Findings, most: PointFound) -> str:
    """How likely it is that no other point is faster, and which others may be."""
    answered, share = sum(one.best is not None and one.chosen for one in found.points), most.chance or 0.0
    if found.drawn.deterministic:
        among = "" if share == 1 else "one of "
        return f"{among}the fastest of {counted(answered, 'point')}, as nothing is drawn"
    said = f"the fastest of {counted(answered, 'point')} with a chance of {probability(most.chance)}"
    if share >= SURE:
        return said
    group = {most.point, most.same_as}
    others = [
        one
        for one in found.points
        if not {one.point, one.same_as} & group - {None} and (one.chance or 0) >= LIKELY
    ]  # fmt: skip
    others = [others[place] for place in ties.in_order([-(one.chance or 0.0) for one in others])]
    others = list({one.named: one for one in others}.values())
    names = [f"{one.named} ({probability(one.chance)})" for one in others[:MOST_NAMED]]
    more = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return f"{said}, so others may be: {', '.join([*names, *more])}" if names else f"{said}, so another may be"


def _tied(found: Findings, most: PointFound) -> list[str]:
    """The points that are as good as the fastest that pays, by name; those alike once."""
    near = [found.points[number] for number in found.ties if number not in {most.point, most.same_as}]
    return list(dict.fromkeys(one.named for one in near if one.same_as is None))


def _tie(most: PointFound, tied: Sequence[str], simplest: str) -> str:
    """Who is as good, the one with the fewest changes first."""
    first = [simplest] if simplest in tied else []
    names = listed([*first, *(name for name in tied if name not in first)], most=MOST_NAMED)
    verb, loss = "is" if len(tied) == 1 else "are", loss_text(most.expected_loss)
    fewer = "" if not first else " with fewer changes" if len(tied) == 1 else f", {simplest} with fewer changes"
    return f"a tie with {names}, which {verb} within 1 % of it{fewer}; expected loss {loss}"


def _faster(one: PointFound) -> str:
    gain = one.gain
    alike = gain is None or gain.low is None or gain.high is None or gain.high - gain.low < ROUNDING
    return f"{with_interval(gain, '')} times as fast{' in every replication' if alike else ''}"


def _takes(one: PointFound) -> str:
    return with_interval(None if one.own is None else one.own.makespan_s)


def _from(base: PointFound) -> str:
    """What the base takes; where work was divided again there too, what it takes now stands beside it."""
    now = [] if base.advice is None else [one for one in base.configurations if one.name in NOW]
    return _takes(base) + "".join(f" divided again and {with_interval(one.makespan_s)} {NOW[one.name]}" for one in now)

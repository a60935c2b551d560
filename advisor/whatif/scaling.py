"""Strong and weak scaling: the same problem, or one that grows with them, on more and more nodes, on paired draws."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from advisor.results import Described, Drawn, Ends, Provenance
from advisor.whatif.advised import PointAdvice, asking
from advisor.whatif.judging import configured_rows, warnings_of
from advisor.whatif.outcomes import outcomes_of, times
from advisor.wording import counted, listed, with_interval
from simulator import (
    Scenario,
    ScenarioError,
    documents,
    interval_note,
    intervals,
    partitions,
    read_template,
    shipped,
    template_of,
    whatif,
)
from simulator.experiments.sweep import Plan, Swept, make_plan
from simulator.programs.applications import CHOSEN, PARAMETERS

Kind = Literal["strong", "weak"]
MOST_NODES, MOST_TIMES = 4096, 2**20
"""Most nodes that are looked at: each is written out with its PEs; and most times that a problem's size may grow."""
GOOD, NEAR = 0.8, 0.005
"""Efficiency below which more nodes are said to be used badly, and how far work per node may be off unsaid."""


@dataclass(frozen=True)
class Step:
    """What is asked of one number of nodes."""

    nodes: int
    which: str
    """The scenario's nodes, and which of them are copied."""
    size: int | None
    """The problem's size, where it grows."""
    work: float
    """Volume of the problem over that on the fewest nodes."""
    speed: float
    """What the PEs can do together over those of the fewest nodes: speeds at an equal share, mean loads."""


@dataclass(frozen=True)
class ScalingPlan:
    """Steps as points of a sweep, in the same order."""

    kind: Kind
    scenario: str
    parameter: str | None
    """What grows with the nodes."""
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    plan: Plan


@dataclass(frozen=True)
class Scaled:
    """What was found on one number of nodes."""

    step: Step = field(metadata=documents.FLAT)
    configuration: str | None
    makespan_s: Described | None
    speed_up: Ends | None
    """How many times as much work is done in a second as on the fewest nodes."""
    efficiency: Ends | None
    """The same over `speed`: 1 where all that was added is used."""
    advice: PointAdvice | None
    error: str | None


@dataclass(frozen=True)
class Scaling:
    """What `apportion whatif --scaling` answers."""

    format: int
    command: str
    scenario: str
    kind: Kind
    question: str
    parameter: str | None
    drawn: Drawn = field(metadata=documents.FLAT)
    points: tuple[Scaled, ...]
    failed: int
    spent: Mapping[str, Any]
    warnings: tuple[str, ...]
    provenance: Provenance
    sentence: str = ""


def read_nodes(text: str) -> tuple[int, ...]:
    """Read `1,2,4,8` or `1..8`: whole numbers of nodes, ascending.

    Raises ScenarioError if one is none, or given twice.
    """
    found = []
    try:
        values = whatif.read_varied(f"nodes={text}").values
    except ScenarioError as error:
        raise ScenarioError([line.replace("--vary nodes", "--nodes", 1) for line in error.lines]) from None
    for value in values:
        if not value.isdecimal() or not 1 <= int(value) <= MOST_NODES:
            raise ScenarioError(
                f"--nodes: {value[:40]!r} is no number of nodes; give whole numbers from 1 to {MOST_NODES}"
            )
        found.append(int(value))
    for number in found:
        if found.count(number) > 1:
            raise ScenarioError(f"--nodes: {number} is given twice; give each number once")
    return tuple(sorted(found))


def plan_scaling(  # noqa: PLR0913 - all by name
    scenario: Scenario | str | Path,
    kind: str,
    nodes: Sequence[int],
    *,
    advise: bool | None = None,
    replications: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
    level: float = intervals.LEVEL,
    here: bool = True,
) -> ScalingPlan:
    """A scenario on so many nodes, step by step: its own in order, and copies of them where it has fewer.

    Raises ScenarioError if the scenario is wrong, its network does not say how copies are joined, or its problem how it
    grows.

    `kind`: `strong`: the same problem everywhere; `weak`: it grows so that the work per node stays that on the fewest.
    `nodes`: numbers of nodes, ascending.
    `advise`: whether the work is divided again at each step (None: it is), or as equal units and units by speed.
    `replications`, `runs`, `seed`, `level`, `here`: see `what_if` and `make_plan`.
    """
    if kind not in get_args(Kind):
        raise ScenarioError(f"--scaling: {kind!r} is unknown; take {' or '.join(get_args(Kind))}")
    template = template_of(scenario) if isinstance(scenario, Scenario) else read_template(shipped.locate(scenario))
    base = template.as_now().scenario(oversized=True)
    parameter = _grows(base) if kind == "weak" else None
    steps, on = list[Step](), list[Scenario]()
    for count in nodes:
        part, which = _on_nodes(base, count)
        if parameter is not None:
            part = part.with_parameters(_grown(base, parameter, count / nodes[0]))
        steps.append(_step(part, count, which, parameter, on[0] if on else part))
        on.append(part)
    begun = template.on(on[0], _configurations(on[0]))
    points = [_changes(template, part, begun) for part in on[1:]]
    plan = make_plan(
        template.document.path,
        points,
        ask=asking(runs, advise=advise is not False),
        replications=replications,
        seed=seed,
        level=level,
        oversized=advise is not False,
        template=begun,
        here=here,
    )
    notes = _notes(base, steps)
    return ScalingPlan(kind, template.document.path.name, parameter, tuple(steps), notes, plan)  # type: ignore[arg-type]


def _on_nodes(scenario: Scenario, count: int) -> tuple[Scenario, str]:
    """A scenario on so many nodes, and which these are."""
    platform = scenario.platform
    names = platform.node_names
    numbers = [place % len(names) for place in range(count)]
    which = listed(list(names[:count]), most=4)
    if (more := count - len(names)) > 0:
        of = "it" if len(names) == 1 else "them in order"
        which += f" and {more} {'copy' if more == 1 else 'copies'} of {of}"
    return replace(scenario, platform=platform.of_nodes(numbers), configurations=()), which


def _grows(scenario: Scenario) -> str:
    """The parameter that makes the problem larger."""
    name = scenario.application.name
    given = scenario.application.parameters
    known = [one for one in PARAMETERS.get(name, ()) if one not in CHOSEN.get(name, ())]
    known = known or [one for one, value in given.items() if one != "units" and isinstance(value, int)]
    if not known or (name not in PARAMETERS and len(known) > 1):
        raise _unknown(scenario)
    return known[0]


def _unknown(scenario: Scenario) -> ScenarioError:
    found = f"--scaling weak: which parameter of {scenario.application.name} makes its problem larger is not known"
    return ScenarioError(f"{found}; take strong, or vary it yourself with --vary")


def _grown(scenario: Scenario, parameter: str, times: float) -> Mapping[str, float | str]:
    """Parameters with which there is as near as can be to so many times the work, by the volume of all units."""
    given = scenario.application.parameters
    size, wanted = int(given[parameter]), times * _volume(scenario)
    if times == 1:
        return given
    low, high = size, size + 1
    while (found := _volume(scenario, {**given, parameter: high})) < wanted:
        if high > MOST_TIMES * size or found <= 0:
            raise _unknown(scenario)
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _volume(scenario, {**given, parameter: middle}) < wanted else (low, middle)
    ends = [(abs(_volume(scenario, {**given, parameter: one}) - wanted), one) for one in (low, high)]
    return {**given, parameter: min(ends)[1]}


def _volume(scenario: Scenario, parameters: Mapping[str, float | str] | None = None) -> float:
    work = (scenario if parameters is None else scenario.with_parameters(parameters)).application.work
    return float(work.compute(1)(work.units).volume)


def _step(part: Scenario, count: int, which: str, parameter: str | None, first: Scenario) -> Step:
    size = None if parameter is None else int(part.application.parameters[parameter])
    return Step(count, which, size, _volume(part) / _volume(first), _speed(part, first) / _speed(first, first))


def _speed(part: Scenario, first: Scenario) -> float:
    """What PEs can do together, at the share that an equal partition gives on the fewest nodes."""
    work, kernel = first.application.work, first.application.kernel
    processes = sum(pe.cores for pe in first.platform.pes)
    share = work.compute(processes)(max(1, work.units // processes))
    return sum(
        pe.cores * float(pe.speed_of(kernel).speed(share.size)) * partitions.mean_share(pe, processes=pe.cores)
        for pe in part.platform.pes
    )


def _configurations(part: Scenario) -> dict[str, documents.Data]:
    """A process on each core, with equal units and with units by speed, as a file says them."""
    pes = part.platform.pes
    placed = {} if all(pe.cores == 1 for pe in pes) else {"allocation": {pe.name: pe.cores for pe in pes}}
    return {rule: {"partition": rule, **placed} for rule in ("equal", "by-speed")}


def _changes(template: Any, part: Scenario, begun: Any) -> tuple[str, ...]:
    """What makes a step of the first one, as `--set` takes it."""
    before, data = begun.document.data, template.on(part, _configurations(part)).document.data
    parameters = data["application"]["parameters"]
    changed = {"platform": data["platform"]} | {
        f"application.parameters.{name}": value
        for name, value in parameters.items()
        if value != before["application"]["parameters"].get(name)
    }
    if data["configurations"] != before["configurations"]:
        changed["configurations"] = data["configurations"]
    return tuple(f"{path}={json.dumps(value)}" for path, value in changed.items())


def _notes(scenario: Scenario, steps: Sequence[Step]) -> tuple[str, ...]:
    """What is to be known of copies."""
    lines, count = [], len(scenario.platform.node_names)
    if steps[-1].nodes > count:
        lines.append(f"the scenario has {counted(count, 'node')}; those beyond are copies of its own, in order")
        if count == 1 and scenario.platform.network.topology is None:
            said = "messages between copies take platform.link, which joins PEs within one node here"
            lines.append(f"{said}; set platform.network to what is to join nodes")
    return tuple(lines)


def scaling_of(swept: Swept, asked: ScalingPlan) -> Scaling:
    """Each step against the first one on the same draws."""
    outcomes, rows, plan = outcomes_of(swept), configured_rows(swept), swept.plan
    found = []
    for number, (step, point) in enumerate(zip(asked.steps, plan.points, strict=True)):
        best = outcomes.best[number]
        name = None if best < 0 else outcomes.names[best]
        took = next((one.makespan_s for one in rows.get(number, ()) if one.name == name), None)
        speed_up = efficiency = None
        if best >= 0 and outcomes.best[0] >= 0:
            (gain,) = outcomes.gains(0, [number])
            speed_up = times(gain, step.work)
            efficiency = times(speed_up, 1 / step.speed)
        of = outcomes.said[number].advice
        found.append(Scaled(step, name, took, speed_up, efficiency, of, swept.failed.get(point.hash)))
    note = interval_note(plan.replications, outcomes.truths, deterministic=outcomes.deterministic)
    warned = warnings_of(outcomes) + ([] if note is None or outcomes.deterministic else [note])
    return Scaling(
        format=1,
        command="scaling",
        scenario=asked.scenario,
        kind=asked.kind,
        question=plan.question,
        parameter=asked.parameter,
        drawn=Drawn(plan.replications, outcomes.truth_count, plan.level, outcomes.deterministic, plan.seed),
        points=tuple(found),
        failed=len(swept.failed),
        spent=swept.spent,
        warnings=(*asked.notes, *warned),
        provenance=Provenance.of(plan.seed, plan.inputs),
        sentence=_sentence(asked, found),
    )


def _sentence(asked: ScalingPlan, found: Sequence[Scaled]) -> str:
    """The answer."""
    some = [one for one in found if one.efficiency is not None]
    if len(some) < 2 or some[0] is not found[0]:
        return "No two numbers of nodes can be compared."
    first, last = some[0].step, some[-1]
    on = f"{counted(last.step.nodes, 'node')}"
    if asked.kind == "weak":
        more = f"{last.step.work:.4g} times the work ({asked.parameter} = {last.step.size} in place of {first.size})"
        said = f"{more} on {on} takes {_takes(last)} in place of {_takes(some[0])} on {first.nodes}"
    else:
        said = f"{on} are {with_interval(last.speed_up, '')} times as fast as {first.nodes}, {_takes(last)}"
    said += f": an efficiency of {with_interval(last.efficiency, '')}."
    low = next((one for one in some if ((one.efficiency and one.efficiency.mean) or 0.0) < GOOD), None)
    fastest = min(some, key=lambda one: (one.makespan_s and one.makespan_s.mean) or 0.0)
    if low is not None:
        said += f" It is below {GOOD} from {counted(low.step.nodes, 'node')} on."
    if asked.kind == "strong" and fastest is not last:
        said += f" {counted(fastest.step.nodes, 'node').capitalize()} are the fastest."
    return said


def _takes(one: Scaled) -> str:
    return with_interval(one.makespan_s)

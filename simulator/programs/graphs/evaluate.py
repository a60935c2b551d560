"""Evaluating a software execution graph: how often each step is expected to run, the total RUVs, the expected time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.errors import FormulaError, ScenarioError
from simulator.base.formula import Formula
from simulator.models.resource import METHODS, CostVector, Method, Ruvs, Times, bounds
from simulator.programs.graphs.nodes import (
    TOLERANCE,
    Branch,
    Call,
    Graph,
    Loop,
    Node,
    Place,
    Processing,
    Seg,
    bodies,
    parts_of,
)

Floats = NDArray[np.float64]
Values = Mapping[str, ArrayLike]


@dataclass(frozen=True)
class Visit:
    """A step that uses resources, and how often it is expected to run."""

    place: Place
    """`graphs`, the graph's name, `body`, ..."""
    name: str
    ruvs: Ruvs
    count: Floats
    """Expected executions; of the shape that the parameters' values have together, or ()."""
    working_set_bytes: Floats | None
    """What its accesses go through, if its graph or one that calls it says so."""
    timed: bool
    """Whether it is processing, which needs a RUV; the bookkeeping of others may have none."""


@dataclass(frozen=True)
class Totals:
    """Expected amounts of each operation in all, by one method."""

    method: Method
    operations: tuple[str, ...]
    amounts: Floats
    """(operation, ...): behind the operations the shape of the parameters' values."""
    low: Floats
    high: Floats
    """The same where amounts are guesses: the ends of their ranges."""


def visits(seg: Seg, values: Values, *, graph: str | None = None) -> tuple[Visit, ...]:
    """How often each step is expected to run, those of called graphs by each call.

    Parameters
    ----------
    seg
        One that `check` accepts.
    values
        Each of the graph's parameters: a number, or an array; arrays broadcast to one shape.
    graph
        Where execution begins; by default in the first graph.

    Raises
    ------
    ScenarioError
        If a value is missing, a probability is outside [0, 1], probabilities do not add up to 1, or a count is below 0,
        with the step and the values.
    """
    start = seg.graph(graph)
    missing = [name for name in start.parameters if name not in values]
    if missing:
        given = ", ".join(values) or "none"
        raise ScenarioError(f"graph {start.name}: parameters: {', '.join(missing)} missing; given are {given}")
    floats = {name: np.asarray(values[name], dtype=np.float64) for name in start.parameters}
    found: list[Visit] = []
    _enter(seg, start, floats, np.ones(()), None, found)
    return tuple(found)


def used_methods(seg: Seg) -> tuple[Method, ...]:
    """Methods for which every step that needs a RUV has one, of all graphs."""
    steps = [node for graph in seg.graphs for node in _processing(graph.body)]
    return tuple(method for method in METHODS if steps and all(method in node.ruvs for node in steps))


def total_ruv(seg: Seg, method: Method, values: Values, *, graph: str | None = None) -> Totals:
    """The expected amounts of every operation in all.

    Raises
    ------
    ScenarioError
        As `visits`; or if a step has no RUV by the method.
    """
    found = visits(seg, values, graph=graph)
    _check_method(found, method)
    names = tuple(dict.fromkeys(name for visit in found for name in visit.ruvs.get(method, {})))
    rows = {name: number for number, name in enumerate(names)}
    shape = np.broadcast_shapes(*(visit.count.shape for visit in found))
    sums = np.zeros((3, len(names), *shape))
    for visit in found:
        for name, amount in visit.ruvs.get(method, {}).items():
            for end, value in enumerate(bounds(amount)):
                sums[end, rows[name]] += visit.count * value
    return Totals(method, names, *sums)


def expected_time(
    seg: Seg,
    values: Values,
    costs: CostVector,
    *,
    graph: str | None = None,
    working_set_bytes: ArrayLike | None = None,
) -> Times:
    """The expected time, with its range where costs or amounts are ranges.

    Parameters
    ----------
    costs
        Of one PE; its method says which RUVs are used.
    working_set_bytes
        Of graphs that say none.

    Raises
    ------
    ScenarioError
        As `total_ruv`; or if an operation has no cost.
    """
    found = visits(seg, values, graph=graph)
    _check_method(found, costs.method)
    total = Times.zero()
    for visit in found:
        ruv = visit.ruvs.get(costs.method)
        if ruv is not None:
            held = working_set_bytes if visit.working_set_bytes is None else visit.working_set_bytes
            each = costs.time(ruv, working_set_bytes=held, used_by=".".join(map(str, visit.place)))
            total += each.times(visit.count)
    return total


def check_costs(seg: Seg, costs: CostVector) -> list[str]:
    """One line for each step with operations that have no cost, and for each one without a RUV by the method."""
    lines = []
    for graph in seg.graphs:
        for place, node in _placed(graph.body, ("graphs", graph.name, "body")):
            where = ".".join(map(str, place))
            ruvs = getattr(node, "ruvs", {})
            if isinstance(node, Processing) and costs.method not in ruvs:
                lines.append(_no_ruv(where, node.name, costs.method, ruvs))
            refused = costs.refusal(ruvs.get(costs.method, {}), used_by=where)
            lines += [] if refused is None else [refused]
    return lines


def _placed(body: Node, place: Place) -> list[tuple[Place, Node]]:
    found: list[tuple[Place, Node]] = []
    for number, node in enumerate(parts_of(body)):
        found.append(((*place, number), node))
        for below, inner in bodies(node):
            found += _placed(inner, (*place, number, *below))
    return found


def _processing(body: Node) -> list[Processing]:
    return [node for _, node in _placed(body, ()) if isinstance(node, Processing)]


def _no_ruv(where: str, name: str, method: Method, ruvs: Ruvs) -> str:
    known = ", ".join(one for one in METHODS if one in ruvs) or "none"
    return f"{where}: step {name}: it has no RUV by {method} (by {known}); add one, {{}} where it uses nothing"


def _check_method(found: Sequence[Visit], method: Method) -> None:
    lines = [
        _no_ruv(".".join(map(str, visit.place)), visit.name, method, visit.ruvs)
        for visit in found
        if visit.timed and method not in visit.ruvs
    ]
    if lines:
        raise ScenarioError(list(dict.fromkeys(lines)))


def _enter(
    seg: Seg, graph: Graph, values: dict[str, Floats], count: Floats, held: Floats | None, found: list[Visit]
) -> None:
    top: Place = ("graphs", graph.name)
    if graph.working_set is not None:
        held = _value(graph.working_set, values, (*top, "working_set"), least=0.0)
    _body(_Walk(seg, values, held, found), graph.body, (*top, "body"), count)


@dataclass(frozen=True)
class _Walk:
    """What stays the same inside one call of a graph."""

    seg: Seg
    values: dict[str, Floats]
    held: Floats | None
    found: list[Visit]


def _body(walk: _Walk, body: Node, place: Place, count: Floats) -> None:
    for number, node in enumerate(parts_of(body)):
        here = (*place, number)
        if isinstance(node, Processing):
            walk.found.append(Visit(here, node.name, node.ruvs, count, walk.held, timed=True))
        elif isinstance(node, Loop):
            inside = count * _value(node.count, walk.values, (*here, "count"), least=0.0)
            _own(walk, node, here, inside)
            _body(walk, node.body, (*here, "do"), inside)
        elif isinstance(node, Branch):
            _own(walk, node, here, count)
            chances = _probabilities(node, walk.values, here)
            for arm, (chance, (_, inner)) in enumerate(zip(chances, node.arms, strict=True)):
                _body(walk, inner, (*here, "arms", arm, "do"), count * chance)
        elif isinstance(node, Call):
            _own(walk, node, here, count)
            inner_values = {
                name: _value(formula, walk.values, (*here, "arguments", name)) for name, formula in node.arguments
            }
            _enter(walk.seg, walk.seg.graph(node.graph), inner_values, count, walk.held, walk.found)
        else:
            for below, inner in bodies(node):
                _body(walk, inner, (*here, *below), count)


def _own(walk: _Walk, node: Loop | Branch | Call, place: Place, count: Floats) -> None:
    if node.ruvs:
        walk.found.append(Visit(place, node.name, node.ruvs, count, walk.held, timed=False))


def _probabilities(node: Branch, values: dict[str, Floats], here: Place) -> list[Floats]:
    chances = [
        _value(formula, values, (*here, "arms", arm, "probability"), least=0.0, most=1.0)
        for arm, (formula, _) in enumerate(node.arms)
    ]
    total = sum(chances, start=np.zeros(()))
    if np.any(np.abs(total - 1) > TOLERANCE):
        row = int(np.argmax(np.abs(np.atleast_1d(total) - 1)))
        names = tuple(dict.fromkeys(name for formula, _ in node.arms for name in formula.names))
        at = _at(names, values, row, np.shape(total))
        where = ".".join(map(str, (*here, "arms")))
        raise ScenarioError(f"{where}: the probabilities add up to {np.ravel(total)[row]:g}{at}; make it 1")
    return chances


def _value(
    formula: Formula, values: dict[str, Floats], place: Place, *, least: float = -np.inf, most: float = np.inf
) -> Floats:
    where = ".".join(map(str, place))
    try:
        found = formula.evaluate(values)
    except FormulaError as error:
        raise ScenarioError([f"{where}: {line.removeprefix('formula: ')}" for line in error.lines]) from None
    slack = TOLERANCE if most < np.inf else 0.0
    outside = (found < least - slack) | (found > most + slack)
    if np.any(outside):
        row = int(np.argmax(np.ravel(outside)))
        at = _at(formula.names, values, row, np.shape(found))
        wanted = f"at least {least:g}" if most == np.inf else f"a number in [{least:g}, {most:g}]"
        raise ScenarioError(f"{where}: {formula.text} is {np.ravel(found)[row]:g}{at}; make it {wanted}")
    return np.clip(found, least, most) if slack else found


def _at(names: Sequence[str], values: dict[str, Floats], row: int, shape: tuple[int, ...]) -> str:
    shown = [f"{name} = {np.ravel(np.broadcast_to(values[name], shape))[row]:g}" for name in names]
    return f" at {', '.join(shown)}" if shown else ""

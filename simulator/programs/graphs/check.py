"""What a software execution graph must keep to, and every breach of it at once."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simulator.base.errors import FormulaError, ScenarioError, meant
from simulator.base.formula import FUNCTIONS, Formula
from simulator.models.resource import METHODS, Ruvs, bounds
from simulator.programs.graphs.nodes import Branch, Call, Graph, Loop, Node, Processing, Seg, Sequence
from simulator.programs.graphs.walk import Place, walk

MAX_DEPTH = 40
"""Deepest nesting of nodes in a graph."""
MAX_STEPS = 100_000
"""Most nodes once every call is written out."""
TOLERANCE = 1e-9
"""How far probabilities may be from adding up to 1."""
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Fault:
    """A breach and its place: `graphs`, the graph's name, `body`, ..."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.place))}: {self.text}"


def check(seg: Seg) -> None:
    """Refuse a graph that cannot be evaluated, whatever its parameters are.

    Raises
    ------
    ScenarioError
        With one line per fault.
    """
    found = faults(seg)
    if found:
        raise ScenarioError([str(fault) for fault in found])


def faults(seg: Seg) -> list[Fault]:
    """Every fault that can be seen without values of the parameters."""
    if not seg.graphs:
        return [Fault(("graphs",), "none found, at least one allowed")]
    repeated = [name for name, times in Counter(graph.name for graph in seg.graphs).items() if times > 1]
    found = [Fault(("graphs", name), "named twice found, each name once allowed") for name in repeated]
    graphs = {graph.name: graph for graph in seg.graphs}
    found += [fault for graph in seg.graphs for fault in _of_graph(graph, graphs)]
    return found or _calls_in_circles(seg)


def _of_graph(graph: Graph, graphs: dict[str, Graph]) -> Iterator[Fault]:
    top: Place = ("graphs", graph.name)
    for name in graph.parameters:
        if not _NAME.fullmatch(name) or name in FUNCTIONS:
            yield Fault((*top, "parameters"), f"{name!r} found, names of letters, digits and _ allowed")
    for name, times in Counter(graph.parameters).items():
        if times > 1:
            yield Fault((*top, "parameters"), f"{name!r} twice found, each name once allowed")
    if graph.working_set is not None:
        yield from _of_formula((*top, "working_set"), graph.working_set, graph)
    for place, node, depth in walk(graph.body):
        here = (*top, *place)
        if depth >= MAX_DEPTH:
            yield Fault(here, f"more than {MAX_DEPTH} nested nodes found, fewer allowed")
            return
        if not isinstance(node, Sequence):
            yield from _of_ruvs((*here, "ruv"), node.ruvs)
        yield from _of_node(here, node, graph, graphs)


def _of_node(here: Place, node: Node, graph: Graph, graphs: dict[str, Graph]) -> Iterator[Fault]:
    if isinstance(node, Processing) and not node.name:
        yield Fault((*here, "process"), "no name found, one allowed")
    if isinstance(node, Loop):
        yield from _of_formula((*here, "count"), node.count, graph, least=0.0)
    if isinstance(node, Branch):
        if not node.arms:
            yield Fault((*here, "arms"), "none found, at least one allowed")
        for number, (probability, _) in enumerate(node.arms):
            yield from _of_formula((*here, "arms", number, "probability"), probability, graph, least=0.0, most=1.0)
        if node.arms and not any(probability.names for probability, _ in node.arms):
            total = sum(float(probability.evaluate({})) for probability, _ in node.arms)
            if abs(total - 1) > TOLERANCE:
                yield Fault((*here, "arms"), f"probabilities that add up to {total:g} found, 1 allowed")
    if isinstance(node, Call):
        yield from _of_call(here, node, graph, graphs)


def _of_call(here: Place, node: Call, graph: Graph, graphs: dict[str, Graph]) -> Iterator[Fault]:
    if node.graph not in graphs:
        close = meant(node.graph, graphs)
        yield Fault((*here, "call"), f"unknown graph {node.graph!r} found, {', '.join(graphs)} allowed{close}")
        return
    wanted, given = graphs[node.graph].parameters, [name for name, _ in node.arguments]
    if sorted(wanted) != sorted(given):
        shown = ", ".join(given) or "none"
        yield Fault((*here, "arguments"), f"{shown} found, the parameters {', '.join(wanted) or 'none'} allowed")
    for name, formula in node.arguments:
        yield from _of_formula((*here, "arguments", name), formula, graph)


def _of_formula(
    here: Place, formula: Formula, graph: Graph, *, least: float | None = None, most: float | None = None
) -> Iterator[Fault]:
    unknown = [name for name in formula.names if name not in graph.parameters]
    for name in unknown:
        allowed = f"{', '.join(graph.parameters) or 'none'} allowed{meant(name, graph.parameters)}"
        yield Fault(here, f"unknown name {name!r} found, {allowed}")
    if formula.names:
        return
    try:
        value = float(formula.evaluate({}))
    except FormulaError as error:
        yield Fault(here, error.lines[0].removeprefix("formula: "))
        return
    if (least is not None and value < least) or (most is not None and value > most):
        allowed = f"at least {least:g}" if most is None else f"a number in [{least:g}, {most:g}]"
        yield Fault(here, f"{formula.text} found, {allowed} allowed")


def _of_ruvs(here: Place, ruvs: Ruvs) -> Iterator[Fault]:
    for method, ruv in ruvs.items():
        if method not in METHODS:
            yield Fault((*here, method), f"unknown method found, {', '.join(METHODS)} allowed{meant(method, METHODS)}")
            continue
        for operation, amount in ruv.items():
            likely, low, high = bounds(amount)
            if not (0 <= low <= likely <= high < np.inf):
                shown = f"{likely:g}" if low == high == likely else f"low {low:g}, likely {likely:g}, high {high:g}"
                yield Fault(
                    (*here, method, operation), f"{shown} found, finite amounts of at least 0 that ascend allowed"
                )


def _calls_in_circles(seg: Seg) -> list[Fault]:
    """Recursion, and graphs that become too large once calls are written out."""
    graphs = {graph.name: graph for graph in seg.graphs}
    sizes: dict[str, int] = {}
    below: list[str] = []

    def size(name: str) -> int:
        if name in sizes:
            return sizes[name]
        below.append(name)
        total = 0
        for place, node, _ in walk(graphs[name].body):
            total += 1
            if isinstance(node, Call):
                if node.graph in below:
                    circle = " calls ".join([*below[below.index(node.graph) :], node.graph])
                    raise _CircleError(Fault(("graphs", name, *place, "call"), f"{circle} found, no recursion allowed"))
                total += size(node.graph)
        below.pop()
        sizes[name] = total
        return total

    for name in graphs:
        below.clear()
        try:
            if size(name) > MAX_STEPS:
                found = f"more than {MAX_STEPS} nodes with all calls written out found, fewer allowed"
                return [Fault(("graphs", name), found)]
        except _CircleError as circle:
            return [circle.fault]
    return []


class _CircleError(Exception):
    """A graph that calls itself."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault

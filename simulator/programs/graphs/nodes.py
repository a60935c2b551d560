"""Software execution graphs: nodes, faults, timing formulas as text, and how often each step is expected to run."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats
from simulator.base.errors import FormulaError, ScenarioError, meant
from simulator.base.formula import FUNCTIONS, Formula
from simulator.models.resource import METHODS, NO_RUVS, CostVector, Method, Ruvs, Times, bounds

Place: TypeAlias = tuple[str | int, ...]
MAX_DEPTH = 40
"""Deepest nesting of nodes in a graph."""
MAX_STEPS = 100_000
"""Most nodes once every call is written out."""
TOLERANCE = 1e-9
"""How far probabilities may be from adding up to 1."""
_NAME = re.compile(r"[^\W\d]\w*")
Values = Mapping[str, ArrayLike]


@dataclass(frozen=True)
class Processing:
    """A step without loops and branches."""

    name: str
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)
    """What one execution uses, by method."""


@dataclass(frozen=True)
class Loop:
    """A body that is done `count` times."""

    name: str
    count: Formula
    body: "Node"
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)
    """Of one iteration's own bookkeeping: counter, test, jump."""


@dataclass(frozen=True)
class Branch:
    """One of several arms, each with its probability."""

    name: str
    arms: tuple[tuple[Formula, "Node"], ...]
    """Probability (a formula of the parameters), and what is done; the probabilities add up to 1."""
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)


@dataclass(frozen=True)
class Sequence:
    """Parts, one after the other."""

    name: str
    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Call:
    """Another graph, with arguments in place of its parameters."""

    name: str
    graph: str
    arguments: tuple[tuple[str, Formula], ...] = ()
    """Its parameter -> a formula of ours."""
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)


Node: TypeAlias = Processing | Loop | Branch | Sequence | Call


@dataclass(frozen=True)
class Graph:
    """A graph with the names that its formulas use."""

    name: str
    parameters: tuple[str, ...]
    body: Node
    working_set: Formula | None = None
    """Bytes that its steps go through, for resource models that ask what memory takes; None: that of its caller."""


@dataclass(frozen=True)
class Seg:
    """Graphs that may call each other; the first is where execution begins."""

    graphs: tuple[Graph, ...]

    def graph(self, name: str | None = None) -> Graph:
        """A graph by its name; the first one if none is named."""
        if name is None and self.graphs:
            return self.graphs[0]
        found = [graph for graph in self.graphs if graph.name == name]
        if not found:
            known = ", ".join(graph.name for graph in self.graphs) or "none"
            raise ScenarioError(f"there is no graph {name!r}; take one of {known}")
        return found[0]


def parts_of(body: Node) -> tuple[Node, ...]:
    """A body as the list that a file writes: the parts of sequences without a name, or the one node."""
    if not isinstance(body, Sequence) or body.name:
        return (body,)
    return tuple(node for part in body.parts for node in parts_of(part))


def bodies(node: Node) -> Iterator[tuple[Place, Node]]:
    """What is done inside a node, each with its place below it."""
    if isinstance(node, Loop):
        yield ("do",), node.body
    elif isinstance(node, Branch):
        for number, (_, arm) in enumerate(node.arms):
            yield ("arms", number, "do"), arm
    elif isinstance(node, Sequence):
        yield ("do",), Sequence("", node.parts)


def walk(body: Node, place: Place = ("body",), depth: int = 0) -> Iterator[tuple[Place, Node, int]]:
    """Every node with its place and how many others hold it, those that hold before those held."""
    for number, node in enumerate(parts_of(body)):
        here = (*place, number)
        yield here, node, depth
        for below, inner in bodies(node):
            yield from walk(inner, (*here, *below), depth + 1)


@dataclass(frozen=True)
class Fault:
    """A breach and its place: `graphs`, the graph's name, `body`, ..."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.place))}: {self.text}"


def check(seg: Seg) -> None:
    """Refuse a graph that cannot be evaluated, whatever its parameters are."""
    found = faults(seg)
    if found:
        raise ScenarioError([str(fault) for fault in found])


def faults(seg: Seg) -> list[Fault]:
    """Every fault that can be seen without values of the parameters."""
    if not seg.graphs:
        return [Fault(("graphs",), "there is none; write at least one")]
    repeated = [name for name, times in Counter(graph.name for graph in seg.graphs).items() if times > 1]
    found = [Fault(("graphs", name), "two graphs have this name; give each its own") for name in repeated]
    graphs = {graph.name: graph for graph in seg.graphs}
    found += [fault for graph in seg.graphs for fault in _of_graph(graph, graphs)]
    return found or _calls_in_circles(seg)


def _of_graph(graph: Graph, graphs: dict[str, Graph]) -> Iterator[Fault]:
    top: Place = ("graphs", graph.name)
    for name in graph.parameters:
        if not _NAME.fullmatch(name) or name in FUNCTIONS:
            yield Fault(
                (*top, "parameters"),
                f"{name!r} cannot name a parameter; take letters, digits and _, and no function",
            )
    for name, times in Counter(graph.parameters).items():
        if times > 1:
            yield Fault((*top, "parameters"), f"{name!r} comes twice; name each once")
    if graph.working_set is not None:
        yield from _of_formula((*top, "working_set"), graph.working_set, graph)
    for place, node, depth in walk(graph.body):
        here = (*top, *place)
        if depth >= MAX_DEPTH:
            yield Fault(here, f"more than {MAX_DEPTH} nodes lie in each other; nest fewer")
            return
        if not isinstance(node, Sequence):
            yield from _of_ruvs((*here, "ruv"), node.ruvs)
        yield from _of_node(here, node, graph, graphs)


def _of_node(here: Place, node: Node, graph: Graph, graphs: dict[str, Graph]) -> Iterator[Fault]:
    if isinstance(node, Processing) and not node.name:
        yield Fault((*here, "process"), "the name is empty; write one")
    if isinstance(node, Loop):
        yield from _of_formula((*here, "count"), node.count, graph, least=0.0)
    if isinstance(node, Branch):
        if not node.arms:
            yield Fault((*here, "arms"), "there is none; write at least one")
        for number, (probability, _) in enumerate(node.arms):
            yield from _of_formula((*here, "arms", number, "probability"), probability, graph, least=0.0, most=1.0)
        if node.arms and not any(probability.names for probability, _ in node.arms):
            total = sum(float(probability.evaluate({})) for probability, _ in node.arms)
            if abs(total - 1) > TOLERANCE:
                yield Fault((*here, "arms"), f"the probabilities add up to {total:g}; make it 1")
    if isinstance(node, Call):
        yield from _of_call(here, node, graph, graphs)


def _of_call(here: Place, node: Call, graph: Graph, graphs: dict[str, Graph]) -> Iterator[Fault]:
    if node.graph not in graphs:
        close = meant(node.graph, graphs)
        yield Fault((*here, "call"), f"there is no graph {node.graph!r}; take {', '.join(graphs)}{close}")
        return
    wanted, given = graphs[node.graph].parameters, [name for name, _ in node.arguments]
    if sorted(wanted) != sorted(given):
        shown = ", ".join(given) or "none"
        yield Fault((*here, "arguments"), f"they are {shown}; give the parameters {', '.join(wanted) or 'none'}")
    for name, formula in node.arguments:
        yield from _of_formula((*here, "arguments", name), formula, graph)


def _of_formula(
    here: Place, formula: Formula, graph: Graph, *, least: float | None = None, most: float | None = None
) -> Iterator[Fault]:
    unknown = [name for name in formula.names if name not in graph.parameters]
    for name in unknown:
        known = f"take {', '.join(graph.parameters)}" if graph.parameters else "the graph has no parameters"
        yield Fault(here, f"the name {name!r} is unknown here; {known}{meant(name, graph.parameters)}")
    if formula.names:
        return
    try:
        value = float(formula.evaluate({}))
    except FormulaError as error:
        yield Fault(here, error.lines[0].removeprefix("formula: "))
        return
    if (least is not None and value < least) or (most is not None and value > most):
        wanted = f"at least {least:g}" if most is None else f"a number in [{least:g}, {most:g}]"
        yield Fault(here, f"it is {formula.text}; give {wanted}")


def _of_ruvs(here: Place, ruvs: Ruvs) -> Iterator[Fault]:
    for method, ruv in ruvs.items():
        if method not in METHODS:
            yield Fault((*here, method), f"the method is unknown; take {', '.join(METHODS)}{meant(method, METHODS)}")
            continue
        for operation, amount in ruv.items():
            likely, low, high = bounds(amount)
            if not (0 <= low <= likely <= high < np.inf):
                shown = f"{likely:g}" if low == high == likely else f"low {low:g}, likely {likely:g}, high {high:g}"
                yield Fault((*here, method, operation), f"it is {shown}; give finite amounts of at least 0 that ascend")


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
                    raise _CircleError(Fault(("graphs", name, *place, "call"), f"{circle}; undo the recursion"))
                total += size(node.graph)
        below.pop()
        sizes[name] = total
        return total

    for name in graphs:
        below.clear()
        try:
            if size(name) > MAX_STEPS:
                found = f"with all calls written out it has more than {MAX_STEPS} nodes; write fewer"
                return [Fault(("graphs", name), found)]
        except _CircleError as circle:
            return [circle.fault]
    return []


class _CircleError(Exception):
    """A graph that calls itself."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def timing_formulas(seg: Seg) -> dict[str, str]:
    """Each graph's timing formula; the first one's is of `t`, those of others of `t_NAME(parameters)`."""
    return {graph.name: _line(graph, first=graph is seg.graphs[0]) for graph in seg.graphs}


def timing_formula(seg: Seg) -> str:
    """All of them, one a line."""
    return "\n".join(timing_formulas(seg).values())


def _line(graph: Graph, *, first: bool) -> str:
    name = "t" if first else f"t_{graph.name}({', '.join(graph.parameters)})"
    return f"{name} = {' + '.join(_Labels().terms(graph.body)) or '0'}"


class _Labels:
    """One label for each RUV of a graph: steps of one name and unlike RUVs are kept apart by numbers."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Ruvs]] = {}

    def terms(self, node: Node) -> list[str]:
        """The summands of a node's time."""
        if isinstance(node, Processing):
            return [self._own(node.name, node.ruvs)]
        if isinstance(node, Sequence):
            return [term for part in node.parts for term in self.terms(part)]
        usual = {Loop: "loop", Branch: "if", Call: "call"}[type(node)]
        own = [self._own(node.name or usual, node.ruvs)] if node.ruvs else []
        if isinstance(node, Loop):
            return _scaled(node.count, [*own, *self.terms(node.body)])
        if isinstance(node, Branch):
            return own + [term for chance, arm in node.arms for term in _scaled(chance, self.terms(arm))]
        arguments = ", ".join(formula.text for _, formula in node.arguments)
        return [*own, f"t_{node.graph}({arguments})"]

    def _own(self, name: str, ruvs: Ruvs) -> str:
        seen = self._seen.setdefault(name, [])
        if ruvs not in seen:
            seen.append(ruvs)
        number = seen.index(ruvs)
        return f"t(v_{name}{f'_{number + 1}' if number else ''})"


def _scaled(factor: Formula, terms: list[str]) -> list[str]:
    """A sum times a factor, in parentheses where it needs them; nothing where it has no terms."""
    text = factor.text.strip()
    if not terms or text == "1":
        return terms
    first = f"({text})" if factor.is_sum else text
    return [f"{first}*{terms[0] if len(terms) == 1 else '(' + ' + '.join(terms) + ')'}"]


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

    `values`: each of the graph's parameters: a number, or an array; arrays broadcast to one shape.
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
    placed = [node for graph in seg.graphs for _, node in _placed(graph.body, ())]
    steps = [node for node in placed if isinstance(node, Processing)]
    return tuple(method for method in METHODS if steps and all(method in node.ruvs for node in steps))


def total_ruv(seg: Seg, method: Method, values: Values, *, graph: str | None = None) -> Totals:
    """The expected amounts of every operation in all.

    Raises ScenarioError as `visits`; or if a step has no RUV by the method.
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

    `working_set_bytes`: of graphs that say none.
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


def _no_ruv(where: str, name: str, method: Method, ruvs: Ruvs) -> str:
    known = ", ".join(one for one in METHODS if one in ruvs) or "none"
    return f"{where}: step {name}: it has no RUV by {method} (by {known}); add one, {{}} where it uses nothing"


def _check_method(found: Several[Visit], method: Method) -> None:
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


def _at(names: Several[str], values: dict[str, Floats], row: int, shape: tuple[int, ...]) -> str:
    shown = [f"{name} = {np.ravel(np.broadcast_to(values[name], shape))[row]:g}" for name in names]
    return f" at {', '.join(shown)}" if shown else ""

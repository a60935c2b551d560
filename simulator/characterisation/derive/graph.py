"""A software execution graph from the structure of functions, their profile, and what each step uses."""

import ast
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.base.errors import FormulaError
from simulator.characterisation.derive import fit
from simulator.characterisation.derive.arguments import Values
from simulator.characterisation.derive.constructs import Counting, principal
from simulator.characterisation.derive.steps import Block, Choice, Piece, Repeat, Rest, Step, Straight
from simulator.models.resource import Method, Ruv
from simulator.programs.graphs.nodes import Branch, Call, Graph, Loop, Node, Processing
from simulator.programs.graphs.nodes import Sequence as Steps

CHANCE = 3.0
"""Standard deviations that counts may be off a constant probability."""
STEADY = 0.05
"""Share of a probability, or of what it leaves of 1, that it may differ by between runs and be taken as constant."""


@dataclass(frozen=True)
class Profile:
    """How often each block was entered in each profiled run."""

    points: tuple[Values, ...]
    counts: tuple[tuple[int, ...], ...]

    def of(self, counter: int) -> tuple[int, ...]:
        """By point."""
        return tuple(counts[counter] for counts in self.counts)

    def means(self, counts: Sequence[float], around: int) -> list[tuple[Values, float]]:
        """Counts per entry of another block, where that was entered."""
        return [
            (point, count / entries)
            for point, count, entries in zip(self.points, counts, self.of(around), strict=True)
            if entries
        ]


@dataclass(frozen=True)
class Inner:
    """A loop of the machine code alone: a vector loop or what remains of one."""

    name: str
    """Empty where it has none of its own."""
    count: str
    """Per entry of the block around it, a formula's text."""
    uses: Mapping[Method, Ruv]


@dataclass(frozen=True)
class Machine:
    """What was found in intermediate and machine code."""

    blocks: Mapping[int, Mapping[Method, Ruv]] = field(default_factory=dict)
    """Counter -> what one entry of the block uses."""
    inner: Mapping[int, tuple[Inner, ...]] = field(default_factory=dict)
    """Counter -> loops that the machine code has inside the block."""
    methods: tuple[Method, ...] = ()


@dataclass
class Builder:
    """Builds the graphs of one analysis; warnings gather."""

    profile: Profile
    machine: Machine
    parameters: tuple[str, ...]
    working_set: str | None = None
    """Bytes of the arguments, a formula's text."""
    warnings: list[str] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    """Counters of all blocks of the graphs built."""
    loops: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Counter of a loop's body -> that of the block around, and the count as a formula's text."""
    names: dict[int, str] = field(default_factory=dict)
    """Counter of a loop's body -> the loop's name."""

    def graph(self, name: str, block: Block, counting: Counting) -> Graph:
        """The graph of one function."""
        held = None if self.working_set is None else fit.as_formula(self.working_set)
        return Graph(name, self.parameters, _Function(self, counting).block(name, block), held)

    def mean(self, counts: Sequence[float], around: int, *, what: str) -> str:
        """A count per entry of the block around, as a formula's text."""
        means = self.profile.means(counts, around)
        if not means:
            return "0"
        points, observed = [point for point, _ in means], [mean for _, mean in means]
        found = fit.fit(observed, points)
        if found.miss > fit.EXACT:
            other = self._by_totals(counts, around)
            if other is not None and other.miss <= (fit.EXACT if found.miss <= fit.TOLERANCE else found.miss):
                found = other
        if found.miss > fit.EXACT and max(observed) <= 1:
            found = self._probability(counts, around, observed, points) or found
        if found.miss > fit.TOLERANCE:
            self.warnings.append(f"{what}: {found.text} misses the profiled counts by up to {100 * found.miss:.1f} %")
        return found.text

    def _probability(
        self, counts: Sequence[float], around: int, observed: Sequence[float], points: Sequence[Values]
    ) -> fit.Fitted | None:
        """A constant where chance explains what differs, or it is little; else what one term gives, or the constant."""
        share = sum(counts) / sum(self.profile.of(around))
        off = max(abs(mean - share) for mean in observed)
        flat = fit.Fitted(fit.show(round(share, 9)), off / max(share, 1e-300))
        if self._drawn(share, counts, around):
            return fit.Fitted(flat.text, 0.0)
        if off <= STEADY * min(share, 1 - share):
            return flat
        return fit.least([flat, fit.fit(observed, points, terms=1)])

    def _drawn(self, share: float, counts: Sequence[float], around: int) -> bool:
        """Whether the counts look like draws with one probability, as data that differ from size to size give them."""
        entries = self.profile.of(around)
        return 0 <= share <= 1 and all(
            abs(count - share * entry) <= CHANCE * math.sqrt(share * (1 - share) * entry) + 1
            for count, entry in zip(counts, entries, strict=True)
        )

    def _by_totals(self, counts: Sequence[float], around: int) -> fit.Fitted | None:
        """Numerator and denominator fitted apart: totals often have simpler formulas than their ratio."""
        entries = self.profile.of(around)
        if not all(entries):
            return None
        above, below = fit.fit(counts, self.profile.points), fit.fit(entries, self.profile.points)
        text = f"({above.text})/({below.text})"
        try:
            miss = max(
                abs(fit.value_at(text, point) * entry / count - 1) if count else 0.0
                for point, count, entry in zip(self.profile.points, counts, entries, strict=True)
            )
        except FormulaError:
            return None
        return fit.Fitted(text, miss)


class _Function:
    """Turns the blocks of one function into nodes with names of their own."""

    def __init__(self, builder: Builder, counting: Counting) -> None:
        self._builder, self._counting = builder, counting
        self._names: Counter[str] = Counter()

    def block(self, name: str, block: Block) -> Node:
        parts: list[Node] = []
        own = self._builder.machine.blocks.get(block.counter, {})
        self._builder.blocks.append(block.counter)
        if own and not (block.steps and isinstance(block.steps[0], Straight)):
            parts.append(Processing(self._name(f"code_{name}"), self._uses(machine=own)))
            own = {}
        for step in block.steps:
            parts += self._step(step, block, own)
            own = {}
        for inner in self._builder.machine.inner.get(block.counter, ()):
            own_name = self._name(inner.name or f"code_in_{name}")
            body = Processing(self._name(f"code_of_{own_name}"), self._uses(machine=inner.uses))
            parts.append(Loop(own_name, fit.as_formula(inner.count), body, self._uses()))
        return parts[0] if len(parts) == 1 else Steps(self._name(f"steps_{name}"), tuple(parts))

    def _step(self, step: Step, around: Block, own: Mapping[Method, Ruv]) -> list[Node]:
        match step:
            case Straight(statements=statements, pieces=pieces):
                apart = {piece.expression for piece in pieces}
                counts = self._counting.statements(statements, apart)
                name = _lines(statements)
                first = Processing(self._name(name), self._uses(counts, own))
                return [first, *self._pieces(pieces, around), *self._calls(statements, apart)]
            case Repeat():
                return self._repeat(step, around)
            case Choice():
                return self._choice(step, around)
            case Rest(block=block):
                name = f"after_{_line(block)}"
                return [self._either(name, block.counter, around, self.block(name, block))]
        raise AssertionError(step)

    def _repeat(self, step: Repeat, around: Block) -> list[Node]:
        node, builder = step.node, self._builder
        is_for = isinstance(node, ast.For)
        name = f"for_{ast.unparse(node.target)}_{node.lineno}" if isinstance(node, ast.For) else f"while_{node.lineno}"
        entered = builder.profile.of(step.body.counter)
        what = f"line {node.lineno}: count of the loop"
        count = builder.mean(entered, around.counter, what=what)
        builder.loops[step.body.counter] = around.counter, count
        builder.names[step.body.counter] = name
        apart = {piece.expression for piece in step.pieces}
        own = self._counting.expression(node.iter if isinstance(node, ast.For) else node.test, apart)
        calls = self._calls([node.iter if isinstance(node, ast.For) else node.test], apart)
        each: Counter[str] = Counter({"for_iteration" if is_for else "while_iteration": 1})
        body = self.block(name, step.body)
        before: list[Node] = []
        if step.tests is None:
            before = [Processing(self._name(f"bounds_{node.lineno}"), self._uses(own)), *calls] if own or calls else []
        else:
            each += own
            last = [t - e for t, e in zip(builder.profile.of(step.tests), entered, strict=True)]
            leaving = Processing(self._name(f"last_test_{node.lineno}"), self._uses(own))
            before = [self._share(f"leaving_{node.lineno}", last, around, leaving)]
            body = Steps(self._name(f"tested_{node.lineno}"), (*calls, body)) if calls else body
        pieces = self._pieces(step.pieces, around)
        return [*before, *pieces, Loop(self._name(name), fit.as_formula(count), body, self._uses(each))]

    def _choice(self, step: Choice, around: Block) -> list[Node]:
        apart = {piece.expression for piece in step.pieces}
        own = self._counting.expression(step.node.test, apart) + Counter({"branch": 1})
        name = f"if_{step.node.lineno}"
        then = self.block(f"then_{step.node.lineno}", step.then)
        otherwise = None if step.otherwise is None else self.block(f"else_{step.node.lineno}", step.otherwise)
        calls = self._calls([step.node.test], apart)
        chosen = self._either(name, step.then.counter, around, then, otherwise=otherwise, uses=own)
        return [*self._pieces(step.pieces, around), *calls, chosen]

    def _either(
        self,
        name: str,
        counter: int,
        around: Block,
        then: Node,
        *,
        otherwise: Node | None = None,
        uses: Mapping[str, float] | None = None,
    ) -> Branch:
        """A branch whose first arm is taken as often as the counter says."""
        counts = self._builder.profile.of(counter)
        found = self._builder.mean(counts, around.counter, what=f"{name}: probability")
        return self._branch(name, found, then, otherwise=otherwise, uses=uses)

    def _branch(
        self,
        name: str,
        probability: str,
        then: Node,
        *,
        otherwise: Node | None = None,
        uses: Mapping[str, float] | None = None,
    ) -> Branch:
        taken, left = _probabilities(probability)
        nothing = otherwise or Processing(self._name(f"nothing_{name}"), self._uses())
        arms = ((fit.as_formula(taken), then), (fit.as_formula(left), nothing))
        return Branch(self._name(name), arms, self._uses(uses))

    def _share(self, name: str, counts: Sequence[float], around: Block, node: Node) -> Node:
        """A node that is done in so many of the block's entries: as it is, in a branch, or in a loop."""
        found = self._builder.mean(counts, around.counter, what=name)
        if found == "1":
            return node
        if any(mean > 1 for _, mean in self._builder.profile.means(counts, around.counter)):
            return Loop(self._name(name), fit.as_formula(found), node, self._uses())
        return self._branch(name, found, node)

    def _pieces(self, pieces: Sequence[Piece], around: Block) -> list[Node]:
        found: list[Node] = []
        for piece in pieces:
            line = piece.expression.lineno
            apart = {inner.expression for inner in piece.inner}
            own = Processing(self._name(f"part_{line}"), self._uses(self._counting.expression(piece.expression, apart)))
            calls = self._calls([piece.expression], apart)
            node = Steps(self._name(f"steps_part_{line}"), (own, *calls)) if calls else own
            found.append(self._share(f"if_part_{line}", self._builder.profile.of(piece.counter), around, node))
            found += self._pieces(piece.inner, around)
        return found

    def _calls(self, nodes: Iterable[ast.AST], apart: Iterable[ast.AST]) -> list[Node]:
        """Calls of other functions in statements or expressions, parts apart left out."""
        left_out = set(apart)
        found: list[Node] = []
        parameters = tuple((name, fit.as_formula(name)) for name in self._builder.parameters)

        def visit(node: ast.AST) -> None:
            if node in left_out:
                return
            for part in ast.iter_child_nodes(node):
                visit(part)
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in self._counting.functions
            ):
                name = self._name(f"call_{node.func.id}_{node.lineno}")
                found.append(Call(name, node.func.id, parameters, self._uses()))

        for node in nodes:
            visit(node)
        return found

    def _uses(
        self, counts: Mapping[str, float] | None = None, machine: Mapping[Method, Ruv] | None = None
    ) -> dict[Method, Ruv]:
        """RUVs of every method, those without operations empty."""
        constructs = {name: float(count) for name, count in sorted((counts or {}).items()) if count}
        found: dict[Method, Ruv] = {"poc": principal(counts or {}), "hllc": constructs}
        return found | {method: dict((machine or {}).get(method, {})) for method in self._builder.machine.methods}

    def _name(self, name: str) -> str:
        """A name that no other node of this function has."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"


def _probabilities(text: str) -> tuple[str, str]:
    """A probability and what is left of 1, kept within 0 and 1 where it is a formula of parameters."""
    try:
        value = min(1.0, max(0.0, float(text)))
    except ValueError:
        kept = f"min(1, max(0, {text}))"
        return kept, f"1 - {kept}"
    return fit.show(value), fit.show(1 - value)


def _lines(statements: Sequence[ast.stmt]) -> str:
    first, last = statements[0].lineno, statements[-1].end_lineno or statements[-1].lineno
    return f"line_{first}" if first == last else f"lines_{first}_{last}"


def _line(block: Block) -> int:
    """Where a block begins."""
    match block.steps[0]:
        case Straight(statements=statements):
            return statements[0].lineno
        case Repeat(node=node) | Choice(node=node):
            return node.lineno
        case Rest(block=rest):
            return _line(rest)
    raise AssertionError(block)

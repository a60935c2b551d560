"""Which block of the source each block of intermediate or machine code belongs to, by how often both are entered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.base import ties
from simulator.base.errors import FormulaError
from simulator.characterisation.derive import fit
from simulator.characterisation.derive.graph import Builder, Inner, Machine
from simulator.characterisation.derive.machine.code import Code
from simulator.models.resource import Method

FACTORS = (2, 4, 8, 16, 32, 64)
"""How many iterations of a loop one of the compiled loop may do."""
NEAR = 0.01
"""Largest relative miss of counts that count as found."""
STEADY = 0.05
"""Largest relative miss of counts that are taken as proportional rather than by a formula with several terms."""

_Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """Where a block of code belongs."""

    around: int
    count: str
    """Entries per entry of that: a formula's text."""
    plain: bool
    """Whether the count is a number, and the code the block's own."""
    name: str
    """Of the compiled loop, empty where it has none."""
    miss: float


@dataclass
class Attribution:
    """Places of all blocks of one code."""

    method: Method
    places: dict[int, Place] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missed: float = 0.0
    """Share of all instructions, in the largest run, that stand in blocks whose counts no formula gave within 1 %."""


def attribute(method: Method, code: Code, builder: Builder) -> Attribution:
    """Find the places of every block that was entered at all."""
    found = Attribution(method)
    entries = np.array(code.counts, dtype=np.float64)
    work = entries[-1] * np.array([block.instructions for block in code.blocks], dtype=np.float64)
    finder = _Finder(builder)
    known: dict[tuple[float, ...], Place] = {}
    for number in range(len(code.blocks)):
        counts = entries[:, number]
        if counts.any():
            key = tuple(counts.tolist())
            known[key] = known.get(key) or finder.place(counts)
            found.places[number] = known[key]
    misses = {number: place.miss for number, place in found.places.items()}
    lost = [number for number, miss in misses.items() if miss > NEAR]
    found.missed = float(sum(work[number] for number in lost) / max(1.0, work.sum()))
    if lost and found.missed >= NEAR / 10:
        worst = max(lost, key=lambda number: work[number])
        found.warnings.append(
            f"{method}: {len(lost)} blocks with {100 * found.missed:.2g} % of the instructions have no formula of the "
            f"parameters that gives their counts within 1 % (the largest misses by {100 * misses[worst]:.2g} %)"
        )
    if code.outside:
        found.warnings.append(f"{method}: instructions inside {', '.join(code.outside)} are not counted")
    return found


def machine_parts(found: Sequence[tuple[Attribution, Code]]) -> Machine:
    """What the graph's blocks get, of all methods."""
    blocks: dict[int, dict[Method, dict[str, float]]] = {}
    inner: dict[int, dict[tuple[str, str], dict[Method, dict[str, float]]]] = {}
    for attribution, code in found:
        for number, place in attribution.places.items():
            if place.plain:
                uses, factor = blocks.setdefault(place.around, {}), float(place.count)
            else:
                uses = inner.setdefault(place.around, {}).setdefault((place.name, place.count), {})
                factor = 1.0
            into = uses.setdefault(attribution.method, {})
            for operation, amount in code.blocks[number].uses.items():
                into[operation] = into.get(operation, 0.0) + factor * amount
    loops = {
        around: tuple(Inner(name, count, uses) for (name, count), uses in parts.items())
        for around, parts in inner.items()
    }
    return Machine(blocks, loops, tuple(attribution.method for attribution, _ in found))


def _least(places: Sequence[Place]) -> Place:
    """The one that misses least; of equal ones the first."""
    return places[ties.first_least([place.miss for place in places], floor=fit.EXACT)]


@dataclass(frozen=True)
class _Candidates:
    """How often loops that a compiler makes of one may be entered per entry of the block around it."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    values: _Counts
    """(candidate, point)."""


class _Finder:
    """Finds places among the blocks and loops of built graphs."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._entries = {
            counter: np.array(builder.profile.of(counter), dtype=np.float64)
            for counter in dict.fromkeys(builder.blocks)
        }
        self._candidates = {body: self._divided(body, count) for body, (_, count) in builder.loops.items()}

    def place(self, counts: _Counts) -> Place:
        """The simplest: as often as a block, in proportion to one, as a vector loop is, by a fitted formula."""
        steady = [place for counter in self._entries if (place := self._steady(counts, counter)) is not None]
        exact = [place for place in steady if place.miss <= fit.EXACT]
        if exact:
            return exact[ties.first_least([abs(np.log(float(place.count))) for place in exact])]
        if (found := next(self._vectors(counts), None)) is not None:
            return found
        fitted = _least(list(self._fits(counts)))
        return _least(steady) if steady and fitted.miss > NEAR / 10 else fitted

    def _divided(self, body: int, count: str) -> _Candidates:
        points = self._builder.profile.points
        values = {name: np.array([point[name] for point in points]) for name in points[0]}
        found: list[tuple[str, str, _Counts]] = []
        for name, text in _rounded(count):
            try:
                row = np.broadcast_to(fit.as_formula(text).evaluate(values), len(points))
            except FormulaError:
                continue
            found.append((f"{self._builder.names[body]}_{name}" if name else "", text, row))
        names, texts, rows = zip(*found, strict=True)
        return _Candidates(names, texts, np.stack(rows))

    def _each(self, counts: _Counts, counter: int, *, always: bool = False) -> _Counts | None:
        """Entries per entry of a block of the source; None if the code runs where that does not, or not `always`."""
        entries = self._entries[counter]
        if np.any((entries == 0) & (counts > 0)) or not entries.any() or (always and not entries.all()):
            return None
        return np.asarray(counts[entries > 0] / entries[entries > 0])

    def _steady(self, counts: _Counts, counter: int) -> Place | None:
        """A block with the same count per entry in all runs."""
        each = self._each(counts, counter)
        if each is None or not each[-1] or (len(each) < 2 and len(counts) > 1):
            return None
        miss = float(np.max(np.abs(each / each[-1] - 1)))
        return Place(counter, fit.show(float(each[-1])), plain=True, name="", miss=miss) if miss <= STEADY else None

    def _vectors(self, counts: _Counts) -> Iterator[Place]:
        """Blocks around a loop for which the loop's count, divided and rounded, gives these counts exactly."""
        for body, (around, _) in self._builder.loops.items():
            each = self._each(counts, around, always=True)
            divided = self._candidates[body]
            for place in [] if each is None else np.flatnonzero(_equal(divided.values, each)):
                name, text = divided.names[place], divided.texts[place]
                yield Place(around, text, plain=False, name=name, miss=0.0)

    def _fits(self, counts: _Counts) -> Iterator[Place]:
        """A formula fitted to the count per entry of each block of the source."""
        for counter in self._entries:
            each = self._each(counts, counter, always=True)
            if each is None:
                continue
            found = fit.fit(each.tolist(), self._builder.profile.points)
            if found.miss > NEAR / 10:  # several terms would follow chance, and lead far astray at other sizes
                found = fit.fit(each.tolist(), self._builder.profile.points, terms=1)
            text = f"max(0, {found.text})" if fit.as_formula(found.text).names else found.text
            yield Place(counter, text, plain=False, name="", miss=found.miss)


def _equal(values: _Counts, each: _Counts) -> NDArray[np.bool_]:
    """Which rows agree at every point."""
    close: NDArray[np.bool_] = np.all(np.abs(values - each) <= fit.EXACT * np.maximum(1.0, np.abs(each)), axis=-1)
    return close


def _rounded(count: str) -> Iterator[tuple[str, str]]:
    """Counts of loops that a compiler makes of one: names and formulas; the loop as it is has none."""
    yield "", count
    for by in FACTORS:
        rest = f"(({count}) - {by}*floor(({count})/{by}))"
        yield f"by_{by}", f"floor(({count})/{by})"
        yield f"rest_of_{by}", rest
        yield f"if_rest_of_{by}", f"min(1, {rest})"
        for less in (factor for factor in FACTORS if factor < by):
            yield f"rest_of_{by}_by_{less}", f"floor({rest}/{less})"
            yield f"if_rest_of_{by}_by_{less}", f"min(1, floor({rest}/{less}))"
            both = f"min(1, floor({rest}/{less}))*min(1, ({count}) - {less}*floor(({count})/{less}))"
            yield f"if_rest_of_{by}_by_{less}_and_rest", both

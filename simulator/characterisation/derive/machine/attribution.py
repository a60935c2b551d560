"""Which block of the source each block of intermediate or machine code belongs to, found by how often both are entered.

A compiler unrolls, vectorises, merges and moves code, so that lines tell little; counts of the very code tell exactly.
A block of code entered as often as a block of the source belongs to it, one entered half as often too, with half the
amounts. Vector loops and what remains of them are entered so often per entry of the block around their loop as the
loop's count, divided and rounded, says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.characterisation.derive import fit
from simulator.characterisation.derive.graph import Builder, Inner, Machine
from simulator.characterisation.derive.machine.code import Code
from simulator.errors import FormulaError
from simulator.models.resource import Method

FACTORS = (2, 4, 8, 16, 32, 64)
"""How many iterations of a loop one of the compiled loop may do."""
NEAR = 0.01
"""Largest relative miss of counts that are proportional but for ends of loops."""

_Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """Where a block of code belongs."""

    around: int
    """Counter of the source's block."""
    count: str
    """Entries per entry of that: a formula's text."""
    plain: bool
    """Whether the count is a number, and the code the block's own."""
    name: str
    """Of the compiled loop, empty where it has none."""
    miss: float
    """Largest relative miss over the profiled runs."""


@dataclass
class Attribution:
    """Places of all blocks of one code."""

    method: Method
    places: dict[int, Place] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missed: float = 0.0
    """Share of all instructions, in the largest run, that stand in blocks whose counts no formula gave within 1 %."""


def attribute(method: Method, code: Code, builder: Builder) -> Attribution:
    """Find the place of every block that was entered at all."""
    found = Attribution(method)
    entries = np.array(code.counts, dtype=np.float64)
    work = entries[-1] * np.array([block.instructions for block in code.blocks], dtype=np.float64)
    known: dict[tuple[float, ...], Place] = {}
    for number in range(len(code.blocks)):
        counts = entries[:, number]
        if counts.any():
            key = tuple(counts.tolist())
            known[key] = known.get(key) or _place(counts, builder)
            found.places[number] = known[key]
    lost = [number for number, place in found.places.items() if place.miss > NEAR]
    found.missed = float(sum(work[number] for number in lost) / max(1.0, work.sum()))
    if lost and found.missed >= NEAR / 10:
        worst = max(lost, key=lambda number: work[number])
        found.warnings.append(
            f"{method}: {len(lost)} blocks with {100 * found.missed:.2g} % of the instructions have no formula of the "
            f"parameters that gives their counts (the largest misses by {100 * found.places[worst].miss:.2g} %)"
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
            if not place.plain:
                uses = inner.setdefault(place.around, {}).setdefault((place.name, place.count), {})
                factor = 1.0
            else:
                uses, factor = blocks.setdefault(place.around, {}), float(place.count)
            into = uses.setdefault(attribution.method, {})
            for operation, amount in code.blocks[number].uses.items():
                into[operation] = into.get(operation, 0.0) + factor * amount
    loops = {
        around: tuple(Inner(name, count, uses) for (name, count), uses in parts.items())
        for around, parts in inner.items()
    }
    return Machine(blocks, loops, tuple(attribution.method for attribution, _ in found))


def _place(counts: _Counts, builder: Builder) -> Place:
    """The simplest place: as often as a block, in proportion to one, as a vector loop is, by a formula."""
    steady = [place for counter in builder.blocks if (place := _steady(counts, counter, builder)) is not None]
    exact = [place for place in steady if place.miss <= fit.EXACT]
    if exact:
        return min(exact, key=lambda place: abs(np.log(float(place.count))))
    vector = next(_vectors(counts, builder), None)
    if vector is not None:
        return vector
    fitted = min(_fits(counts, builder), key=lambda place: place.miss)
    if fitted.miss > fit.EXACT and steady:
        return min(steady, key=lambda place: place.miss)
    return fitted


def _per_entry(counts: _Counts, counter: int, builder: Builder) -> _Counts | None:
    """Entries per entry of a block of the source; None if the code runs where that does not."""
    entries = np.array(builder.profile.of(counter), dtype=np.float64)
    if np.any((entries == 0) & (counts > 0)) or not entries.any():
        return None
    return counts[entries > 0] / entries[entries > 0]


def _steady(counts: _Counts, counter: int, builder: Builder) -> Place | None:
    """A block with the same count per entry in all runs."""
    each = _per_entry(counts, counter, builder)
    if each is None or not each[-1]:
        return None
    miss = float(np.max(np.abs(each / each[-1] - 1)))
    return (
        Place(counter, fit.show(float(each[-1])), plain=True, name="", miss=miss)
        if miss <= NEAR and len(each) > 1
        else None
    )


def _vectors(counts: _Counts, builder: Builder) -> Iterator[Place]:
    """Blocks around a loop for which the loop's count, divided and rounded, gives these counts exactly."""
    for body, (around, count) in builder.loops.items():
        each = _per_entry(counts, around, builder)
        if each is None or len(each) < len(counts) or not np.allclose(each, np.round(each), rtol=0, atol=fit.EXACT):
            continue
        for name, text in _rounded(count):
            try:
                values = [fit.value_at(text, point) for point in builder.profile.points]
            except FormulaError:
                continue
            if np.allclose(values, each, rtol=fit.EXACT, atol=fit.EXACT):
                yield Place(around, text, plain=False, name=f"{builder.names[body]}_{name}", miss=0.0)
                return


def _rounded(count: str) -> Iterator[tuple[str, str]]:
    """Counts of loops that a compiler makes of one: names and formulas."""
    m = f"({count})"
    for by in FACTORS:
        rest = f"({m} - {by}*floor({m}/{by}))"
        yield f"by_{by}", f"floor({m}/{by})"
        yield f"rest_of_{by}", rest
        yield f"if_rest_of_{by}", f"min(1, {rest})"
        yield f"if_no_rest_of_{by}", f"1 - min(1, {rest})"
        yield f"by_{by}_but_one", f"floor(({m} - 1)/{by})"
        yield from ((f"rest_of_{by}_by_{less}", f"floor({rest}/{less})") for less in FACTORS if less < by)
        yield from ((f"if_rest_of_{by}_by_{less}", f"min(1, floor({rest}/{less}))") for less in FACTORS if less < by)
        yield f"by_{by}_back", f"max(0, floor({m}/{by}) - 1)"


def _fits(counts: _Counts, builder: Builder) -> Iterator[Place]:
    """A formula fitted to the count per entry of each block of the source."""
    points = builder.profile.points
    for counter in builder.blocks:
        each = _per_entry(counts, counter, builder)
        if each is None or len(each) < len(counts):
            continue
        found = fit.fit(each.tolist(), points)
        text = f"max(0, {found.text})" if fit.as_formula(found.text).names else found.text
        yield Place(counter, text, plain=False, name="", miss=found.miss)

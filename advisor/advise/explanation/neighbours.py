"""What other configurations near the advice would bring: PEs, nodes, processes and units more or less."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from advisor.advise.explanation.questions import Questions
from advisor.advise.proposers.processes import with_more, without
from advisor.advise.space import Placement, Space, whole_units
from simulator import Configuration, ties

MOST = {"with": 6, "without": 6, "without node": 4, "less": 4, "more": 4, "units": 6}
"""Rows of each sort, at most: those that the model finds best."""
MOVED = 0.01
"""Share of its units that a row takes from the PEs of a kind or gives to them."""
LESS, MORE = "one process less on each PE like", "one process more on each PE like"
FEWER, MORE_UNITS = "1 % fewer units on PEs like", "1 % more units on PEs like"


@dataclass(frozen=True)
class Other:
    """The makespan of a configuration near the advised one, the other units divided as is best for it."""

    change: str
    """What is changed: `with`, `without`, `without node`, or processes or units more or less."""
    pe: str
    """The PE, one of its kind, or the node."""
    makespan_s: float
    """The advice's predicted objective times what follows."""
    longer: float
    """So much longer than the recommended configuration, as a share, on the same draws; with its 95 % interval."""
    low: float | None
    high: float | None


@dataclass(frozen=True)
class _Row:
    sort: str
    change: str
    pe: str
    placements: tuple[Placement, ...]
    made: tuple[Configuration, ...] = ()
    """Configurations, where the units are given."""


def others(asked: Questions) -> tuple[Other, ...]:
    """One row for each change of the advice; of PEs that are alike for one of them.

    Raises OutOfBudgetError if no more may be asked.
    """
    now_s, predicted_s = asked.kept(asked.now), asked.now.value(asked.chosen)
    found = []
    for row in _likeliest(asked):
        then_s = asked.best_over(*row.placements, given=row.made)
        if then_s is not None:
            share, low, high = asked.gain(then_s, now_s, deterministic=asked.scenario.deterministic).change
            found.append(Other(row.change, row.pe, predicted_s * (1 + share), share, low, high))
    return tuple(found)


def _likeliest(asked: Questions) -> list[_Row]:
    """The rows that can be run, of each sort those that the model finds best, in the order of their sorts."""
    rows, found = list(_rows(asked)), []
    for sort, most in MOST.items():
        mine = [row for row in rows if row.sort == sort]
        if len(mine) > most and sort != "units":
            model_s = [min(asked.space.balanced(one)[1] for one in row.placements) for row in mine]
            mine = [mine[place] for place in sorted(ties.in_order(model_s)[:most].tolist())]
        found += mine[:most]
    return found


def _rows(asked: Questions) -> Iterator[_Row]:
    for row in _of_processes(asked.space, asked.chosen, processes="allocation" in asked.made.varied):
        runs = tuple(one for one in row.placements if one and asked.space.takes(len(one)))
        if runs:
            yield _Row(row.sort, row.change, row.pe, runs)
    if asked.space.unequal:
        yield from _of_units(asked.space, asked.chosen)


def _of_processes(space: Space, chosen: Configuration, *, processes: bool) -> Iterator[_Row]:
    """PEs and nodes taken in and left out, and a process less and more on all PEs of a kind, up to their cores."""
    pes, placed = space.scenario.platform.pes, chosen.placement
    busy = Counter(placed)
    used = {pe for pe, units in zip(placed, chosen.partition, strict=True) if units}
    for kind in space.kinds:
        mine, free = [pe for pe in kind.pes if pe in used], [pe for pe in kind.pes if not busy[pe]]
        if free:
            usual = Counter(busy[pe] for pe in mine).most_common(1)
            counts = {usual[0][0]} if usual else {1, kind.most}
            ways = tuple(with_more(space, placed, Counter({free[0]: count})) for count in sorted(counts))
            yield _Row("with", "with", pes[free[0]].name, ways)
        if mine and len(used) > 1:
            last = mine[-1]
            yield _Row("without", "without", pes[last].name, (without(placed, Counter({last: busy[last]})),))
        less = Counter({pe: 1 for pe in mine if busy[pe] > 1})
        more = Counter({pe: 1 for pe in mine if busy[pe] < kind.most})
        if processes and less:
            yield _Row("less", LESS, pes[mine[0]].name, (without(placed, less),))
        if processes and more:
            yield _Row("more", MORE, pes[mine[0]].name, (with_more(space, placed, more),))
    for name, gone in _nodes(space, busy, used):
        yield _Row("without node", "without node", name, (without(placed, gone),))


def _nodes(space: Space, busy: Counter[int], used: set[int]) -> Iterator[tuple[str, Counter[int]]]:
    """Of each sort of nodes with several PEs in use the last one, and its processes."""
    platform, found = space.scenario.platform, dict[object, tuple[str, Counter[int]]]()
    for node in sorted(set(platform.node_of.tolist())):
        mine = [pe for pe in np.flatnonzero(platform.node_of == node).tolist() if pe in used]
        if 1 < len(mine) < len(used):
            sort = tuple(sorted((space.kind_of[pe], busy[pe]) for pe in mine))
            found[sort] = platform.known_nodes[node].name, Counter({pe: busy[pe] for pe in mine})
    return iter(found.values())


def _of_units(space: Space, chosen: Configuration) -> Iterator[_Row]:
    """A step of units from the PEs of a kind to all others, or the other way round; kinds with most units first."""
    units = np.array(chosen.partition, dtype=np.float64)
    places = [np.isin(chosen.placement, kind.pes) for kind in space.kinds]
    of_kind = [float(units[mine].sum()) / space.units for mine in places]
    for number in ties.in_order([-share for share in of_kind]).tolist():
        kind, mine, share = space.kinds[number], places[number], of_kind[number]
        for change, by in ((FEWER, -MOVED * share), (MORE_UNITS, MOVED * share)):
            if 0 < share < 1 and 0 < share + by < 1:
                moved = units * np.where(mine, (share + by) / share, (1 - share - by) / (1 - share))
                parts = tuple(whole_units(moved, space.units).tolist())
                one = space.configured(chosen.placement, parts, grid=chosen.grid)
                yield _Row("units", change, space.scenario.platform.pes[kind.pes[0]].name, (), (one,))

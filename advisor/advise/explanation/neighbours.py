"""What other configurations near the advice would bring: PEs, nodes, processes and units more or less."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from advisor.advise.explanation.optimum import Advised, Placement, best_over, lacks, model_s
from advisor.advise.explanation.simulations import Seen, Simulations
from advisor.advise.space import whole_units
from simulator import Configuration, ScenarioError, ties

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
    ways: tuple[tuple[Placement, bool | None], ...]
    """Placements, and whether the master has no units there."""
    made: tuple[Configuration, ...] = ()
    """Configurations, where the units are given."""


def others(advised: Advised, simulations: Simulations) -> tuple[Other, ...]:
    """One row for each change of the advice; of PEs that are alike for one of them.

    Raises
    ------
    OutOfRuns
        If the runs allowed do not suffice.
    """
    scenario, rows = advised.scenario, _likeliest(advised)
    few, many, _ = simulations.planned(scenario, len(advised.placement))
    first = [[one for place in row.ways for one in _divided(advised, place)[:1]] + list(row.made) for row in rows]
    simulations.seen(scenario, [one for made in first for one in made], few)
    found = []
    simulations.seen(scenario, [advised.configuration], many)
    now = simulations.all_of(scenario, advised.configuration)
    predicted_s = simulations.value_s(now.makespans_s)
    for row, made in zip(rows, first, strict=True):
        then = _best_of_row(advised, simulations, row, made, many)
        if then is not None:
            known_s = simulations.all_of(scenario, then.configuration).makespans_s  # more, where it seemed better
            common = min(known_s.size, now.makespans_s.size)
            pair = known_s[:common], now.makespans_s[:common]
            longer = simulations.gain(*pair, deterministic=scenario.deterministic)
            share, low, high = longer.change
            found.append(Other(row.change, row.pe, predicted_s * (1 + share), share, low, high))
    return tuple(found)


def _best_of_row(
    advised: Advised, simulations: Simulations, row: _Row, made: list[Configuration], many: int
) -> Seen | None:
    """The best of a row, its units moved as far as the plan goes."""
    seen = []
    for placement, rests in row.ways:
        if rests is None:
            try:
                seen.append(best_over(advised, advised.scenario, simulations, placement))
            except ScenarioError:  # too few units, or no memory
                continue
    given = [one for one in made if one in row.made or any(rests for _, rests in row.ways)]
    seen += simulations.seen(advised.scenario, given, many) if given else []
    return seen[ties.first_least([simulations.value_s(one.makespans_s) for one in seen])] if seen else None


def _divided(advised: Advised, way: tuple[Placement, bool | None]) -> list[Configuration]:
    return advised.divided(advised.scenario, advised.model(advised.scenario, way[0], rests=way[1]))


def _likeliest(advised: Advised) -> list[_Row]:
    """The rows that can be run, of each sort those that the model finds best, in the order of their sorts."""
    rows = [row for row in _rows(advised) if row.ways or row.made]
    found = []
    for sort, most in MOST.items():
        mine = [row for row in rows if row.sort == sort]
        if len(mine) > most:
            order = ties.in_order([_seconds(advised, row) for row in mine])
            mine = [mine[place] for place in sorted(order[:most].tolist())]
        found += mine
    return found


def _seconds(advised: Advised, row: _Row) -> float:
    """What the model says of a row."""
    scenario = advised.scenario
    models = [advised.model(scenario, placement, rests=rests) for placement, rests in row.ways]
    return min([one.seconds for one in models if one] + [model_s(scenario, one) for one in row.made], default=np.inf)


def _rows(advised: Advised) -> Iterator[_Row]:
    yield from _rows_of_pes(advised)
    yield from _rows_of_nodes(advised)
    if "allocation" in advised.varied:
        yield from _rows_of_processes(advised)
    if not advised.equal:
        yield from _rows_of_units(advised)


def _rows_of_pes(advised: Advised) -> Iterator[_Row]:
    """Of each kind a PE that is not used taken in, and one that is used left out."""
    pes, used = advised.scenario.platform.pes, advised.pes
    for kind in advised.kinds:
        free, mine = [pe for pe in kind.pes if pe not in used], [pe for pe in kind.pes if pe in used]
        if free:
            ways = [advised.over(used | {free[0]})]
            if kind.most > 1 and not mine:  # how many processes such a PE should run is not known
                ways.append(advised.with_counts({free[0]: 1}))
            yield _Row("with", "with", pes[free[0]].name, tuple((way, None) for way in ways))
        if mine and len(used) > 1:
            yield _without(advised, "without", pes[mine[-1]].name, frozenset(mine[-1:]))


def _without(advised: Advised, sort: str, name: str, gone: frozenset[int]) -> _Row:
    """Without some PEs; where a master would move, also with the master on its PE, without units."""
    counts = {pe: count for pe, count in advised.counts.items() if pe not in gone}
    left = tuple(pe for pe in sorted(counts) for _ in range(counts[pe]))
    master = advised.scenario.application.work.has_master and advised.placement[0] in gone
    kept = (((advised.placement[0], *left), True),) if master and not advised.rests else ()
    if advised.rests and 0 in gone:
        return _Row(sort, sort, name, ((left, False),))
    return _Row(sort, sort, name, ((left, None), *kept))


def _rows_of_nodes(advised: Advised) -> Iterator[_Row]:
    """Of each sort of nodes with several PEs in use the last one left out."""
    platform, used = advised.scenario.platform, advised.pes
    of_pe = {pe: number for number, kind in enumerate(advised.kinds) for pe in kind.pes}
    nodes: dict[object, tuple[int, frozenset[int]]] = {}
    for node in sorted(set(platform.node_of.tolist())):
        mine = frozenset(pe for pe in np.flatnonzero(platform.node_of == node).tolist() if pe in used)
        if 1 < len(mine) < len(used):
            nodes[tuple(sorted(Counter((of_pe[pe], advised.counts[pe]) for pe in mine).items()))] = (node, mine)
    for node, mine in nodes.values():
        yield _without(advised, "without node", platform.known_nodes[node].name, mine)


def _rows_of_processes(advised: Advised) -> Iterator[_Row]:
    """On all PEs of a kind that are used a process less, and one more up to their cores."""
    pes = advised.scenario.platform.pes
    for kind in advised.kinds:
        mine = [pe for pe in kind.pes if pe in advised.pes]
        fewer = {pe: advised.counts[pe] - 1 for pe in mine if advised.counts[pe] > 1}
        more = {pe: advised.counts[pe] + 1 for pe in mine if advised.counts[pe] < kind.most}
        if fewer:
            yield _Row("less", LESS, pes[mine[0]].name, ((advised.with_counts(fewer), None),))
        if more:
            yield _Row("more", MORE, pes[mine[0]].name, ((advised.with_counts(more), None),))


def _rows_of_units(advised: Advised) -> Iterator[_Row]:
    """A step of units from the PEs of a kind to all others, or the other way round."""
    chosen, work = advised.configuration, advised.scenario.application.work
    units = np.array(chosen.partition, dtype=np.float64)
    for kind in advised.kinds:
        mine = np.isin(chosen.placement, kind.pes)
        share = float(units[mine].sum()) / work.units
        for change, by in ((FEWER, -MOVED * share), (MORE_UNITS, MOVED * share)):
            if 0 < share < 1 and 0 < share + by < 1:
                moved = units * np.where(mine, (share + by) / share, (1 - share - by) / (1 - share))
                whole = whole_units(moved * (work.units / moved.sum()), work.units)
                one = replace(chosen, name="tried", partition=work.fitting(tuple(whole.tolist())))
                if not lacks(advised.scenario, one):
                    yield _Row("units", change, advised.scenario.platform.pes[kind.pes[0]].name, (), (one,))

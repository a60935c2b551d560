"""A scenario's configurations and draws lowered to `Costs`, block by block.

What a PE leaves to our processes under its load, as integer tables. `placement` is the PE of each process,
(configuration, process), and `draws` are those of the replications.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.base.machine import check_room
from simulator.engines.costs.messages import MAX_BYTES, alone_s, capacities, message_costs, sent_of
from simulator.engines.costs.quotas import Quotas, quotas_of
from simulator.engines.costs.sharing import Sharing, all_domains, sharing_of
from simulator.engines.costs.ticks import LAST_TICK, TickOverflowError, Ticks, rounded, to_ticks
from simulator.models.load import AfterEnd, availability
from simulator.models.memory.levels import RAM, MemoryUse, paged_time_s, resident_levels, shared_access_time_s
from simulator.models.predicted_speed import UNKNOWN_USE
from simulator.platform.networks import Contention
from simulator.platform.nodes import PE, Node, Platform
from simulator.programs.assembly import PLACE_BYTES, assemble
from simulator.programs.columns import Columns, FarmTable, Kind
from simulator.programs.program import Barrier, Collective, Custom, Farm, Loop, Program, Row
from simulator.scenario_file.scenario import Scenario, check_memory
from simulator.scenario_file.truths import Draws, structure_of
from simulator.scheduling.chunks import largest

ALL_TIME = np.array([0, LAST_TICK])


@dataclass(frozen=True)
class ServiceTable:
    """What one of `m` equal processes attains on a PE under load, as integers.

    At tick `t` of piece `k` it has attained `min(attained[k] + floor(rates[k]*(t - knots[k])), attained[k+1])`.
    """

    knots: Ticks
    """First tick of each piece, then the tick where the trace ends; (K+1,)."""
    rates: Floats
    """Share of the PE in each piece; (K,)."""
    attained: Ticks
    """Nominal ticks attained by each knot; (K+1,)."""
    after_end: AfterEnd
    turns: Ticks | None = None
    """Under `turns` ticks of ours in a round, which come last, and of the round, in each piece; (2, K). Only these
    ticks count then, at the rate that the processes have in them."""


def service_table(pe: PE, processes: int, *, tick_s: float) -> ServiceTable:
    """How a PE's load shares it with `processes` runnable processes of ours, in ticks from the trace's start."""
    if pe.load is None:
        share = min(1.0, pe.cores / processes)
        return ServiceTable(ALL_TIME, np.array([share]), np.array([0, int(share * LAST_TICK)]), "hold")
    trace = pe.load.trace
    knots = np.rint(np.append(trace.times_s, trace.end_s) / tick_s).astype(np.int64)
    rates, turns, ticks = (
        availability(trace.values, pe.load.rule, processes=processes, cores=pe.cores),
        None,
        np.diff(knots),
    )
    if pe.takes_turns:
        turns = turns_of(rates, min(1.0, pe.cores / processes), int(to_ticks(pe.slice_s, tick_s)))
        rates, ticks = np.full(rates.size, min(1.0, pe.cores / processes)), ours_in(ticks, *turns)
    steps = np.floor(rates * ticks).astype(np.int64)
    return ServiceTable(knots, rates, np.concatenate(([0], np.cumsum(steps))), trace.after_end, turns)


def turns_of(shares: Floats, alone: float, slice_ticks: int) -> Ticks:
    """Ticks of ours in a round, and of the round, for the share of each process and what it were without a load."""
    ours = max(1, int(np.rint(slice_ticks / alone)))
    rounds = np.maximum(ours, np.rint(ours * alone / shares).astype(np.int64))
    return np.stack((np.full(rounds.size, ours), rounds))


def ours_in(ticks: Ticks, ours: Ticks, rounds: Ticks) -> Ticks:
    """How many of the first ticks of a piece are in turns of ours."""
    return ticks // rounds * ours + np.maximum(0, ticks % rounds - (rounds - ours))


def start_ticks(draws: Draws, *, tick_s: float) -> Ticks:
    """Where in its trace each PE's load starts, in ticks; axes (replication, PE)."""
    return np.rint(draws.load_starts_s / tick_s).astype(np.int64)


# What processes lose whose node's memory does not hold them all.


def lost_s(scenario: Scenario, columns: Columns, placement: Ticks) -> Floats | None:
    """Seconds per unit of volume that each process loses to paging.

    Speeds are measured alone and in RAM, so a process loses accesses times the difference of two access times: with
    its part of each shared level, RAM and swap included, and with all of each level and RAM for everything. What
    processes lose to neighbours on nodes that do not page is in `sharing`. (configuration, process); None where nobody
    pages.
    """
    paging = pages(scenario, columns, placement)
    if not paging.any():
        return None
    use, platform = scenario.application.memory or UNKNOWN_USE, scenario.platform
    lost = np.zeros(placement.shape)
    for row, node_of in enumerate(platform.node_of[placement]):
        for number in np.flatnonzero(paging[row]).tolist():
            here = np.flatnonzero(node_of == number)
            lost[row, here] = _lost_on(platform.known_nodes[number], use, columns.footprints_bytes[here])
    return lost if lost.any() else None


def pages(scenario: Scenario, columns: Columns, placement: Ticks) -> NDArray[np.bool_]:
    """Nodes whose processes need more than their memory; (configuration, node)."""
    limits = scenario.platform.memory_limits_bytes
    if np.all(np.isinf(limits)):
        return np.zeros((placement.shape[0], limits.size), dtype=np.bool_)
    footprints, node_of = columns.footprints_bytes, scenario.platform.node_of[placement]
    return np.array([np.bincount(row, weights=footprints, minlength=limits.size) > limits for row in node_of])


def _lost_on(node: Node, use: MemoryUse, footprints_bytes: Ticks) -> Floats:
    """Seconds per unit that the processes of one node that pages lose; (process,)."""
    alone_s, _ = shared_access_time_s(resident_levels(node.levels) or (RAM,), use, footprints_bytes)
    return use.accesses_per_unit * (paged_time_s(node.paging_levels, use, footprints_bytes) - alone_s)


# Computations as nominal ticks: volume over speed, for every configuration and replication.


def bands_have_width(scenario: Scenario) -> bool:
    """Whether speeds differ between replications."""
    return any(band.wide for band in scenario.bands) or any(scenario.application_spreads)


def computation_s(scenario: Scenario, columns: Columns, computes: Ticks, placement: Ticks, *, draws: Draws) -> Floats:
    """Seconds of computations, given by their rows, alone and without load; (configuration, replication or 1, C)."""
    volumes, sizes = columns.amount[computes], columns.size[computes]
    constant = _constant_speeds(scenario)
    if constant is not None:
        owner = columns.process[computes]
        return np.asarray((volumes / constant[placement][:, owner])[:, np.newaxis])
    edges = np.searchsorted(computes, columns.first)
    rows = draws.band_positions.shape[0] if bands_have_width(scenario) else 1
    seconds = np.empty((placement.shape[0], rows, computes.size))
    for row, pes in enumerate(placement.tolist()):
        for process, pe in enumerate(pes):
            mine = slice(edges[process], edges[process + 1])
            if mine.stop > mine.start:
                seconds[row, :, mine] = volumes[mine] / _speeds_of(scenario, pe, sizes[mine], draws)
    return seconds


def farm_ticks(
    scenario: Scenario, table: FarmTable, placement: Ticks, lost: Floats | None, *, draws: Draws, tick_s: float
) -> tuple[Ticks, Ticks]:
    """Nominal ticks of all units of a farm before one, and which row of them each of its processes has.

    (configuration, replication or 1, row, units + 1), and (its processes,): those that are alike in all runs share one.
    """
    factors = draws.unit_factors(scenario.seed, table)
    volumes = table.volumes[np.newaxis] if factors is None else table.volumes * factors
    before = np.concatenate((np.zeros((volumes.shape[0], 1)), np.cumsum(volumes, axis=1)), axis=1)
    processes = list(table.processes)
    pes = placement[:, processes]
    speeds = [[_speeds_of(scenario, pe, np.array([table.size]), draws)[:, 0] for pe in row] for row in pes.tolist()]
    rows = max(speed.size for row in speeds for speed in row)
    full = np.array([[np.broadcast_to(speed, rows) for speed in row] for row in speeds]).transpose(0, 2, 1)
    per_unit_s = 1 / full if lost is None else 1 / full + lost[:, np.newaxis, processes]
    first, row_of = _alike(per_unit_s.reshape(-1, len(processes)).T)
    cells = float(per_unit_s.shape[0]) * max(per_unit_s.shape[1], before.shape[0]) * first.size * before.shape[1]
    check_room(
        f"a farm of {table.volumes.size} units", 3 * 8 * cells, instead="fewer units or unlike processes need less"
    )
    return rounded(before[np.newaxis, :, np.newaxis] * per_unit_s[..., first, np.newaxis], tick_s), row_of


def _alike(lines: Floats | Ticks) -> tuple[Ticks, Ticks]:
    """The first of each kind of equal lines, in their order, and which of them each line is."""
    known: dict[bytes, int] = {}
    row_of = np.array([known.setdefault(line.tobytes(), len(known)) for line in np.ascontiguousarray(lines)])
    return np.unique(row_of, return_index=True)[1], row_of.astype(np.int64)


def data_ticks(
    platform: Platform, table: FarmTable, placement: Ticks, pull: int, *, tick_s: float
) -> tuple[Ticks, Ticks]:
    """Ticks that the data of a chunk takes from the pool to a process, and which row of them each process has.

    By units of a chunk up to the largest one, row 0 for those without data, (row, units + 1); and (configuration, its
    processes). Together with the ticks of a pull they may not pass the last one.
    """
    processes = list(table.processes)
    most = largest(table.scheduling, table.volumes.size, len(processes), chunk=table.chunk)
    rows = np.zeros((placement.shape[0], len(processes)), dtype=np.int64)
    if table.unit_bytes == 0 or most == 0:
        return np.zeros((1, most + 1), dtype=np.int64), rows
    sizes_bytes = table.unit_bytes * np.arange(1.0, most + 1)
    if sizes_bytes[-1] > MAX_BYTES:
        raise ScenarioError(f"program: farm: a chunk has more than {MAX_BYTES:.3g} bytes; give fewer unit_bytes")
    found, known = [np.zeros(most, dtype=np.int64)], dict[tuple[int, int], int]()
    for row, nodes in enumerate(platform.node_of[placement[:, processes]].tolist()):
        for place, node in enumerate(nodes[1:], 1):
            pair = nodes[0], node
            if pair not in known:
                known[pair] = len(found)
                source, destination = (np.full(most, end) for end in pair)
                found.append(to_ticks(alone_s(platform.network, source, destination, sizes_bytes), tick_s))
            rows[row, place] = known[pair]
    ticks = np.concatenate((np.zeros((len(found), 1), dtype=np.int64), np.array(found)), axis=1)
    if ticks.max() > LAST_TICK - pull:
        raise TickOverflowError
    return ticks, rows


def _speeds_of(scenario: Scenario, pe: int, sizes: Floats, draws: Draws) -> Floats:
    """Speeds on one PE; (replication or 1, sizes)."""
    band = scenario.platform.pes[pe].speed_of(scenario.application.kernel)
    speeds = draws.speeds(band, pe, sizes) if band.wide else np.asarray(band.speed(sizes)[np.newaxis])
    if sizes.size and band.mid[-1] == 0 and np.any(speeds == 0):
        where = f"platform: PE {scenario.platform.pes[pe].name}: speed of {scenario.application.kernel}"
        found = f"is 0 at {sizes.max():g} elements, where its band ends for want of memory"
        raise ScenarioError(f"{where} {found}; give smaller problems, or the memory of the node, which then pages")
    return speeds


def _constant_speeds(scenario: Scenario) -> Floats | None:
    """The speed of each PE, if none depends on the problem size or has a band; (PE,)."""
    speeds = []
    for pe in scenario.platform.pes:
        band = pe.speeds.get(scenario.application.kernel)
        if band is None or band.sizes.size > 1 or band.low[0] != band.high[0] or band.stated:
            return None
        speeds.append(band.mid[0])
    return np.array(speeds)


@dataclass(frozen=True)
class Loops:
    """Of each process the loop of which one turn is written down; (P,)."""

    begin: Ticks
    """Its first row."""
    size: Ticks
    """Rows of a turn."""
    turns: Ticks
    """Further turns; 0 where there is no such loop."""

    @property
    def skipped(self) -> Ticks:
        """Rows that are not written down."""
        return self.size * self.turns

    def written_out(self, first: Ticks) -> tuple[Ticks, Ticks]:
        """Where each process begins if all turns are written out, and which of the rows of one turn each row is."""
        all_first = first + np.concatenate(([0], np.cumsum(self.skipped)))
        process = np.repeat(np.arange(self.turns.size), np.diff(all_first))
        at = np.arange(all_first[-1]) - (all_first - first)[process]
        past = at - (self.begin + self.size)[process]  # the first turn
        again = (past >= 0) & (past < self.skipped[process])
        row = np.where(past < 0, at, at - self.skipped[process])
        return all_first, np.where(again, self.begin[process] + past % np.maximum(1, self.size)[process], row)


def _looped(program: Program) -> tuple[Columns, Loops | None]:
    """A program's columns with one turn of each process's longest loop whose turns are alike, where there is one."""
    rows = {key: _parts(row) for key, row in {id(row): row for row in program.operations}.items()}
    turns = np.array([rows[id(row)][1] for row in program.operations])
    if not turns.any():
        return assemble(program), None
    before, through, short = (
        assemble(replace(program, operations=tuple(rows[id(row)][0][part] for row in program.operations)))
        for part in range(3)
    )
    begin, end = np.diff(before.first), np.diff(through.first)
    loops = Loops(short.first[:-1] + begin, end - begin, turns * (end > begin))
    check_room("loops", float(loops.skipped.sum()) * PLACE_BYTES, instead="fewer iterations need less")
    return short, loops


def _parts(row: Row) -> tuple[tuple[Row, Row, Row], int]:
    """What comes before a row's longest loop of equal turns, that and one turn, all with one turn; further turns."""
    loops = [(one.iterations, at, one.body) for at, one in enumerate(row) if isinstance(one, Loop)]
    turns, at, body = max((loop for loop in loops if _same(loop[2], 1)), key=lambda loop: loop[0], default=(0, 0, ()))
    if turns < 2:
        return ((), (), row), 0
    through = *row[:at], Loop(1, body)
    return (row[:at], through, (*through, *row[at + 1 :])), turns - 1


def _same(body: Row, depth: int) -> bool:
    """Whether all turns of the outermost of so many loops do the same; meetings are counted, so they differ."""
    for one in body:
        if isinstance(one, Loop):
            varies = not _same(one.body, depth + 1)
        else:
            figures = (getattr(one, name) for name in one.__dataclass_fields__ if name != "group")
            varies = any(np.ndim(figure) > depth - isinstance(one, Collective) for figure in figures)
        if varies or isinstance(one, Barrier | Farm | Custom):
            return False
    return True


BLOCK = 2**24
"""Most nominal ticks of one block of configurations and replications."""
KEPT_TICKS = 2**20
"""Nominal ticks of a block of all replications up to which they are made at once and shared out to the truths."""


Assembled = tuple[Columns, Loops | None, list[int]]
"""A program, and the places of the configurations that share it."""
BY_OPERATION = ("kind", "index", "partner", "source", "tag", "amount", "size")
"""Columns with a place for each operation."""
BY_ROW = ("computation", "ticks", "units", "route", "eager")
"""Costs whose last axis are the operations."""


@dataclass(frozen=True)
class Costs:
    """Some configurations that share a program, and some replications, lowered; N operations, C computations.

    An axis of configurations or replications has length 1 where all are alike.
    """

    scenario: Scenario
    """What was lowered: of one truth, where truths differ by more than speeds."""
    columns: Columns
    configurations: tuple[int, ...]
    """Their places in the scenario."""
    replications: range
    """Of the scenario; those of one truth may be a step apart."""
    placement: Ticks
    """PE of each process; (configuration, process)."""
    nominal_ticks: Ticks
    """Ticks of each computation alone and without load; (configuration or 1, replication or 1, C)."""
    computation: Ticks
    """Place of each operation in the last axis of `nominal_ticks`, -1 if it is neither a COMPUTE nor a DELAY that
    differs between replications; (N,)."""
    ticks: Ticks
    """(configuration or 1, replication or 1, N): DELAY and WAIT_UNTIL as such; of messages and READ_WRITE the
    time of what is sent, or if it is a flow (contention `fair` and a route) its latency, possibly 0; else 0."""
    units: Ticks
    """What a flow has to deliver, possibly 0; (configuration or 1, N)."""
    route: Ticks
    """Row of the routes of what is sent, -1 where it passes no links; (configuration or 1, N)."""
    eager: NDArray[np.bool_]
    """Whether what an operation sends is eager; (N,)."""
    route_first: Ticks
    """Where each route's links begin in `route_links`, and the end."""
    route_links: Ticks
    """Directed links, disks included; a route names none twice."""
    capacities: Ticks
    """Per directed link: `round(bytes per tick * 2**50)`; all 0 unless contention is `fair`."""
    farm_ticks: tuple[Ticks, ...]
    """Per farm table: nominal ticks of all units before one; (configuration or 1, replication or 1, row, units + 1).
    Units `i` up to `j` take `max(1, [j] - [i])`."""
    farm_rows: tuple[Ticks, ...]
    """Per farm table: row of `farm_ticks` that each of its processes has; (its processes,)."""
    pull_ticks: tuple[int, ...]
    """Per farm table: from when a request is served until the end of the pull, without data."""
    serve_ticks: tuple[int, ...]
    """Per farm table: how long nobody else is served, part of `pull_ticks`; 0: all are served at once."""
    data_ticks: tuple[Ticks, ...]
    """Per farm table: what the data of so many units takes; (row, units + 1), up to the largest chunk."""
    data_rows: tuple[Ticks, ...]
    """Per farm table: the row of `data_ticks` of each of its processes; (configuration, its processes)."""
    contention: Contention
    sharing: Sharing | None = None
    """What processes lose to neighbours; None where nobody can lose anything."""
    quotas: Quotas | None = None
    """What control groups grant; None where none has a quota that can bind."""
    loops: Loops | None = None
    """Where of a loop one turn is lowered, those loops."""
    shared: dict[str, Any] = field(default_factory=dict)
    """What blocks that differ by their truths work out once: operations written out, and the plan of them."""

    @property
    def times(self) -> Ticks:
        """How often each operation is done; (N,)."""
        found = np.ones(self.columns.kind.size, dtype=np.int64)
        if self.loops is not None:
            for process in np.flatnonzero(self.loops.turns).tolist():
                begin = self.loops.begin[process]
                found[begin : begin + self.loops.size[process]] += self.loops.turns[process]
        return found

    @property
    def written_out(self) -> "Costs":
        """The same with all turns of loops; places among operations are those of first turns."""
        if self.loops is None:
            return self
        if not self.shared:
            first, row = self.loops.written_out(self.columns.first)
            columns = {name: getattr(self.columns, name)[row] for name in BY_OPERATION}
            self.shared.update(columns=replace(self.columns, first=first, **columns), row=row)
        costs = {name: getattr(self, name)[..., self.shared["row"]] for name in BY_ROW}
        return replace(self, columns=self.shared["columns"], loops=None, **costs)

    @property
    def rows(self) -> slice:
        """Its replications, of arrays of all."""
        return _slice(self.replications)


def lower(scenario: Scenario, draws: Draws, *, tick_s: float, once: bool = False) -> Iterator[Costs]:
    """The integer costs of all configurations and replications, block by block.

    Raises ScenarioError for programs, routes or memory that the platform cannot offer; TickOverflowError if an
    operation alone would pass the last tick. With `once`, loops whose turns are alike are lowered once, where that is
    the same: see `Costs.loops`.
    """
    once = once and not all_domains(scenario)  # these add up what all turns compute
    wide, programs, base = bands_have_width(scenario), _by_program(scenario, once=once), dict[Hashable, Costs]()
    messages = _Messages.of(scenario, draws, programs, tick_s=tick_s)
    every = range(scenario.replications)
    for truth, whole in _truths(scenario, draws) if messages is None else [(scenario, every)]:
        for number, (columns, loops, places) in enumerate(programs):
            drawn = sum(table.volumes.size * len(table.processes) for table in columns.farm_tables if table.spread)
            varies = wide or drawn > 0 or columns.spread is not None or messages is not None
            kinds = columns.kind if messages is not None else columns.kind[columns.kind == Kind.COMPUTE]
            computations = max(1, kinds.size + drawn)
            rows = min(len(whole), max(1, BLOCK // computations)) if varies else len(whole)
            at_once = max(1, BLOCK // max(columns.kind.size, computations * (rows if varies else 1)))
            for first in range(0, len(places), at_once):
                here, runs = places[first : first + at_once], scenario.replications if varies else 1
                if truth is not scenario and computations * len(here) * runs <= KEPT_TICKS:
                    if (number, first) not in base:
                        made = _block(scenario, columns, here, draws, every, tick_s=tick_s)
                        base[number, first] = replace(made, loops=loops)
                    yield _in_truth(base[number, first], truth, whole, tick_s=tick_s)
                    continue
                for start in range(0, len(whole), rows):
                    some = whole[start : start + rows]
                    made = _block(truth, columns, here, draws.of(_slice(some)), some, tick_s=tick_s)
                    ticks = made.ticks if messages is None else messages.ticks(made, number, first)
                    yield replace(made, loops=loops, ticks=ticks)


@dataclass(frozen=True)
class _Messages:
    """Messages over the links of all truths, where these share nothing and nothing else is doubted."""

    alone: Ticks
    """Of messages that differ by nodes or size; (truth, message)."""
    truth: Ticks
    """Of each replication, among those that are there; (replication,)."""
    sent: list[tuple[Ticks, Ticks]]
    """By program, operations that send, (M,), and which of the messages that is, (configuration, M)."""

    @classmethod
    def of(
        cls, scenario: Scenario, draws: Draws, programs: Sequence[Assembled], *, tick_s: float
    ) -> "_Messages | None":
        """Those of all programs; None where truths differ by more, or there are too many."""
        platform, columns = scenario.platform, [of[0] for of in programs]
        more = bool(platform.domains) or any(
            pe.slice_s or (pe.load is not None and pe.load.doubtful) for pe in platform.pes
        )
        more = more or bool(platform.gpu_hosts) or any(table.unit_bytes for one in columns for table in one.farm_tables)
        shared = platform.network.contention == "fair" or not platform.network.doubtful
        if draws.truths is None or draws.series is None or more or shared:
            return None
        moves = [np.flatnonzero(one.sends) for one in columns]
        placed = (_placements(scenario, of[2]) for of in programs)
        sent = [sent_of(platform, *each) for each in zip(columns, placed, moves, strict=True)]
        truths, truth = np.unique(np.stack((draws.series, draws.truths)), axis=1, return_inverse=True)
        distinct, message = np.unique(np.hstack([np.stack(one.ends) for one in sent]), axis=1, return_inverse=True)
        if distinct.shape[1] * truths.shape[1] > BLOCK or np.any(distinct[2] > MAX_BYTES):
            return None
        ends = *distinct[:2].astype(np.int64), distinct[2]
        alone = np.empty((truths.shape[1], distinct.shape[1]), dtype=np.int64)
        for row, (series, number) in enumerate(truths.T.tolist()):
            network = structure_of(scenario, number, series=series).platform.network
            alone[row] = to_ticks(alone_s(network, *ends), tick_s)
        parts = np.split(message.reshape(-1), np.cumsum([one.row.size for one in sent])[:-1])
        which = [(of, part.reshape(len(p[2]), of.size)) for of, part, p in zip(moves, parts, programs, strict=True)]
        return cls(alone, truth.reshape(-1), which)

    def ticks(self, made: Costs, program: int, first: int) -> Ticks:
        """Of a block of the configurations of a program from the first one on; see `Costs`."""
        moves, message = self.sent[program]
        truth, count = self.truth[made.rows, np.newaxis], len(made.configurations)
        found = np.broadcast_to(made.ticks, (count, truth.size, made.ticks.shape[2])).copy()
        found[..., moves] = self.alone[truth, message[first : first + count, np.newaxis]]
        return found


def _placements(scenario: Scenario, places: list[int]) -> Ticks:
    """PE of each process; (configuration, process)."""
    return np.array([scenario.configurations[place].placement for place in places], dtype=np.int64)


def _truths(scenario: Scenario, draws: Draws) -> Iterator[tuple[Scenario, range]]:
    """What is lowered: all replications at once, or each truth's links, domains and loads with its replications."""
    if not scenario.structured or draws.truths is None or draws.series is None:
        yield scenario, range(scenario.replications)
        return
    order = np.lexsort((draws.truths, draws.series))
    truths = np.stack((draws.series, draws.truths))[:, order]
    for rows in np.split(order, np.flatnonzero(np.any(np.diff(truths), axis=0)) + 1):
        steps, first, last = np.unique(np.diff(rows)), int(rows[0]), int(rows[-1])
        regular = [range(first, last + 1, int(steps[0]) if steps.size else 1)]
        for some in regular if steps.size < 2 else [range(row, row + 1) for row in rows.tolist()]:
            yield structure_of(scenario, int(draws.truths[first]), series=int(draws.series[first])), some


def _slice(rows: range) -> slice:
    return slice(rows.start, rows.stop, rows.step)


def _by_program(scenario: Scenario, *, once: bool) -> list[Assembled]:
    """Programs, assembled once, and the places of the configurations that share each; see `lower`."""
    found: dict[int, Assembled] = {}
    programs = {}  # keeps them alive, so that no two have the same id
    for place, configuration in enumerate(scenario.configurations):
        key = scenario.program_key(configuration)
        if key not in programs:
            program = scenario.program(configuration)
            programs[key] = program
            if id(program) not in found:
                found[id(program)] = (*_assembled(program, once=once), [])
        program = programs[key]
        if len(configuration.placement) != len(program.operations):
            counts = (
                f"{len(configuration.placement)} processes are placed, and the program has {len(program.operations)}"
            )
            raise ScenarioError(f"configuration {configuration.name}: {counts}; give as many of each")
        found[id(program)][2].append(place)
    return list(found.values())


def _assembled(program: Program, *, once: bool) -> tuple[Columns, Loops | None]:
    if once and program.assembled is None:
        with suppress(ScenarioError):  # what is wrong is said of the whole program
            return _looped(program)
    return assemble(program), None


def _block(
    scenario: Scenario, columns: Columns, places: list[int], draws: Draws, replications: range, *, tick_s: float
) -> Costs:
    platform = scenario.platform
    placement = _placements(scenario, places)
    for place in places:
        check_memory(scenario, scenario.configurations[place], columns.footprints_bytes)
    computes = np.flatnonzero(columns.kind == Kind.COMPUTE)
    computation = np.full(columns.kind.size, -1, dtype=np.int64)
    computation[computes] = np.arange(computes.size)
    if draws.factors(columns) is not None:  # delays that differ from run to run are counted like computations
        asleep = np.flatnonzero(columns.kind == Kind.DELAY)
        computation[asleep] = computes.size + np.arange(asleep.size)
    nominal, farms = _computing(scenario, columns, placement, draws, tick_s=tick_s)
    pulls, serves = _pulls(columns, tick_s)
    data = _data(platform, columns, placement, pulls, tick_s=tick_s)
    return Costs(
        scenario=scenario,
        columns=columns,
        configurations=tuple(places),
        replications=replications,
        placement=placement,
        nominal_ticks=nominal,
        computation=computation,
        eager=columns.eager(platform.network.eager_bytes),
        farm_ticks=tuple(ticks for ticks, _ in farms),
        farm_rows=tuple(rows for _, rows in farms),
        pull_ticks=pulls,
        serve_ticks=serves,
        data_ticks=tuple(ticks for ticks, _ in data),
        data_rows=tuple(rows for _, rows in data),
        contention=platform.network.contention,
        sharing=sharing_of(scenario, columns, placement, pages(scenario, columns, placement), tick_s=tick_s),
        quotas=quotas_of(platform, draws, polls=columns.polls, tick_s=tick_s),
        **_moving(platform, columns, placement, tick_s=tick_s),
    )


def _pulls(columns: Columns, tick_s: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of each farm table ticks of a pull, service included, and of the service."""
    serves = tuple(int(to_ticks(table.serve_s, tick_s)) if table.serve_s else 0 for table in columns.farm_tables)
    pulls = tuple(
        int(to_ticks(table.pull_s, tick_s)) + serve for table, serve in zip(columns.farm_tables, serves, strict=True)
    )
    if max(pulls, default=0) > LAST_TICK:
        raise TickOverflowError
    return pulls, serves


def _data(
    platform: Platform, columns: Columns, placement: Ticks, pulls: tuple[int, ...], *, tick_s: float
) -> list[tuple[Ticks, Ticks]]:
    """Of each farm table; see `data_ticks`."""
    tables = zip(columns.farm_tables, pulls, strict=True)
    return [data_ticks(platform, table, placement, pull, tick_s=tick_s) for table, pull in tables]


def _in_truth(costs: Costs, truth: Scenario, replications: range, *, tick_s: float) -> Costs:
    """The block of all replications for those of one truth: only what its links, domains and loads decide is new."""
    columns, placement, before = costs.columns, costs.placement, costs.scenario.platform
    platform, changed, rows = truth.platform, dict[str, Any](), _slice(replications)
    linked = platform.network is not before.network or any(pe.gpu is not None and pe.gpu.doubtful for pe in before.pes)
    if linked or any(pe.slice_s for pe in platform.pes):
        changed |= _moving(platform, columns, placement, tick_s=tick_s)
        data = _data(platform, columns, placement, costs.pull_ticks, tick_s=tick_s)
        changed["data_ticks"] = tuple(ticks for ticks, _ in data)
    if platform.domains or costs.sharing is not None:
        paging = pages(truth, columns, placement)
        changed["sharing"] = sharing_of(truth, columns, placement, paging, tick_s=tick_s)
    return replace(
        costs,
        scenario=truth,
        replications=replications,
        nominal_ticks=_of_rows(costs.nominal_ticks, rows),
        farm_ticks=tuple(_of_rows(ticks, rows) for ticks in costs.farm_ticks),
        quotas=None if costs.quotas is None else costs.quotas.of(rows),
        **changed,
    )


def _of_rows(ticks: Ticks, rows: slice) -> Ticks:
    """Of some replications, along the second axis, which has length 1 where all are alike."""
    return ticks if ticks.shape[1] == 1 else ticks[:, rows]


def _computing(
    scenario: Scenario, columns: Columns, placement: Ticks, draws: Draws, *, tick_s: float
) -> tuple[Ticks, tuple[tuple[Ticks, Ticks], ...]]:
    """Nominal ticks of computations, and of farms with their rows; see `Costs`."""
    computes = np.flatnonzero(columns.kind == Kind.COMPUTE)
    seconds = computation_s(scenario, columns, computes, placement, draws=draws)
    lost = lost_s(scenario, columns, placement)
    if lost is not None:
        seconds = seconds + (columns.amount[computes] * lost[:, columns.process[computes]])[:, np.newaxis]
    own = draws.computing(scenario.seed, columns.spread)
    seconds = seconds if own is None else seconds * own
    factors = draws.factors(columns)
    if factors is not None:
        waits = columns.amount[columns.kind == Kind.DELAY]
        waits = np.broadcast_to(waits, (*seconds.shape[:2], waits.size))
        seconds = np.concatenate((seconds, waits), axis=2) * factors[np.newaxis, :, np.newaxis]
    farms = tuple(
        farm_ticks(scenario, table, placement, lost, draws=draws, tick_s=tick_s) for table in columns.farm_tables
    )
    return to_ticks(seconds, tick_s), farms


def _moving(platform: Platform, columns: Columns, placement: Ticks, *, tick_s: float) -> dict[str, Any]:
    """Messages, transfers and what they pass; see `Costs`."""
    sent = message_costs(platform, columns, placement, tick_s=tick_s)
    return {
        "ticks": sent.ticks[:, np.newaxis],
        "units": sent.units,
        "route": sent.route,
        "route_first": sent.route_first,
        "route_links": sent.route_links,
        "capacities": capacities(platform, tick_s=tick_s),
    }

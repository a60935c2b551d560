"""Lays out the event engine's memory for a block of runs, and does them one by one.

A program's operations fill megabytes, and a run reads all of them: from memory that takes longer than to do them. Of a
loop whose turns are alike to the last byte one turn is kept, and the process goes round in it.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Flags, Floats, Ints
from simulator.engines.compiled import memory
from simulator.engines.compiled.block import plain, step
from simulator.engines.compiled.cache import callee, compiled
from simulator.engines.compiled.events import simulate
from simulator.engines.compiled.memory import NONE, W
from simulator.engines.compiled.queues import MORE_SLOTS
from simulator.engines.compiled.service import ServiceTables
from simulator.engines.costs import BY_OPERATION, BY_ROW, Costs, Loops, Sharing
from simulator.programs.columns import Columns, Kind
from simulator.programs.program import ANY
from simulator.scheduling import chunks

Records = NDArray[np.void]


@dataclass(frozen=True)
class Grouping:
    """Of one configuration."""

    group: Ints
    """Of each process, 0 for those that are in no domain; (P,)."""
    groups: Records
    """As they are in the beginning; `first` is where a group's heap begins."""
    domains: Records
    members: Ints
    loaded: Ints
    slots: Ints
    """Domain of each slot of a PE, -1 for none that matters; (PE, K)."""
    demands: Ints
    tables: Ints
    load_demands: Ints
    group_first: Ints
    """Where the groups of a PE that is not free begin, and how many there are; (PE,)."""
    group_count: Ints


def grouped(sharing: Sharing, configuration: int, placement: Ints, free: Flags) -> Grouping:
    """The groups of a configuration.

    `free`: PEs whose processes each have a whole core whatever happens; (PE,).
    """
    slots = np.where(_matter(sharing, configuration), sharing.slots, -1)
    demands, tables = sharing.demands[configuration], sharing.tables[configuration]
    inside = np.flatnonzero(sharing.inside[configuration][placement])
    own = np.where(free[placement], -1, placement * placement.size + np.arange(placement.size))
    keys = np.column_stack((own, slots[placement], demands, tables))[inside]
    distinct, first, number = _rows(keys)
    group = np.zeros(placement.size, dtype=np.int64)
    group[inside] = number
    made = np.zeros(distinct, memory.GROUP)
    sizes = np.bincount(number, minlength=distinct)
    made["first"], made["process"] = np.cumsum(sizes) - sizes, inside[first]
    made["pe"] = placement[made["process"]]
    domains = np.zeros(len(sharing.domains), memory.DOMAIN)
    domains["kind"] = sharing.kinds
    has_load = np.array([load is not None for load in sharing.loads])
    members, counts = _by_domain(slots[made["pe"]], domains.size)
    loaded, loads = _by_domain(np.where(has_load[:, np.newaxis], slots, -1), domains.size)
    for name, sizes in (("", counts), ("loaded_", loads)):
        domains[f"{name}first"], domains[f"{name}end"] = np.cumsum(sizes) - sizes, np.cumsum(sizes)
    bound = ~free[made["pe"]]
    group_first, group_count = np.zeros(free.size, dtype=np.int64), np.zeros(free.size, dtype=np.int64)
    np.add.at(group_count, made["pe"][bound], 1)
    numbers = np.flatnonzero(bound)[::-1]
    group_first[made["pe"][numbers]] = numbers
    return Grouping(
        group, made, domains, members, loaded, np.ascontiguousarray(slots),
        np.ascontiguousarray(demands), np.ascontiguousarray(tables),
        np.ascontiguousarray(sharing.load_demands[configuration]), group_first, group_count,
    )  # fmt: skip


def _by_domain(slots: Ints, count: int) -> tuple[Ints, Ints]:
    """Rows in which each domain stands, domain after domain, and how many they are."""
    rows, columns = np.nonzero(slots >= 0)
    found = slots[rows, columns]
    return rows[np.argsort(found, kind="stable")], np.bincount(found, minlength=count)


def _matter(sharing: Sharing, configuration: int) -> Flags:
    """Slots whose domain matters."""
    bites = np.append(sharing.biting[configuration], np.zeros(1, dtype=np.bool_))
    return np.asarray(bites[sharing.slots])


def _rows(keys: Ints) -> tuple[int, Ints, Ints]:
    """Distinct rows in order: their number, the first of each, and which each row is."""
    if not keys.size:
        empty = np.zeros(0, dtype=np.int64)
        return 0, empty, empty
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return int(new.sum()), order[new], number


Short = NDArray[np.int32]

FEWEST = 8
"""Operations of a process from which on a loop is looked for."""
TRIES = 64
"""Periods that are tried, those at which the operation in the middle comes again."""
_BARRIER = int(Kind.BARRIER)


class Rows(NamedTuple):
    """A program's columns, all that decides what an operation does and costs."""

    first: Ints
    kind: NDArray[np.int8]
    partner: Short
    source: Short
    tag: Short
    amount: Floats
    size: Floats
    barriers: Short


def rolled(costs: Costs) -> tuple[Costs, Loops]:
    """The costs with one turn of each process's loop, and the loops: those that are known, or those that are found."""
    if costs.loops is not None:
        return costs, costs.loops
    columns = costs.columns
    begin, size, turns = _loops(columns).reshape(-1, 3).T
    left_out = np.concatenate(([0], np.cumsum(size * turns)))
    loops = Loops(begin - left_out[:-1], size, turns)
    if not turns.any():
        return costs, loops
    first_turn = np.ones(columns.kind.size, dtype=np.bool_)
    for start, count in zip(begin + size, loops.skipped, strict=True):
        first_turn[start : start + count] = False
    row = np.flatnonzero(first_turn)
    kept = {name: getattr(columns, name)[row] for name in BY_OPERATION}
    shorter: dict[str, Any] = {name: getattr(costs, name)[..., row] for name in BY_ROW}
    columns = replace(columns, first=columns.first - left_out, **kept)
    return replace(costs, columns=columns, loops=loops, shared={}, **shorter), loops


def _loops(columns: Columns) -> Ints:
    """First row, size and further turns of each process's loop; flat (P, 3), turns 0 where there is none."""
    kinds = np.int64, np.int8, *(np.int32,) * 3, *(np.float64,) * 2, np.int32
    rows = Rows(*(plain(getattr(columns, name), kind) for name, kind in zip(Rows._fields, kinds, strict=True)))
    loops = np.zeros(3 * columns.processes, dtype=np.int64)
    meant = np.full(columns.barriers.size, -1, dtype=np.int32)
    if not compiled(find_loops)(rows, loops, meant):
        loops[:] = 0
    return loops


def find_loops(rows: Rows, loops: Ints, meant: Short) -> bool:
    """Kernel: fill `loops`; whether barriers stay what they are, `meant` being which one of a first turn each is."""
    for process in range(rows.first.size - 1):
        _find_loop(rows, process, loops)
    for process in range(rows.first.size - 1):
        begin, size, turns = loops[3 * process], loops[3 * process + 1], loops[3 * process + 2]
        for row in range(rows.first[process], rows.first[process + 1]):
            if rows.kind[row] == _BARRIER:
                inside = begin <= row < begin + size * (turns + 1)
                base = rows.partner[begin + (row - begin) % size] if inside else rows.partner[row]
                number = rows.partner[row]
                if meant[number] == -1:
                    meant[number] = base
                if meant[number] != base or rows.barriers[number] != rows.barriers[base]:
                    return False
    return True


@callee
def _find_loop(rows: Rows, process: int, loops: Ints) -> None:
    """Look for a period from the middle row on; it has to save half of the rows."""
    low, high = rows.first[process], rows.first[process + 1]
    loops[3 * process], loops[3 * process + 1], loops[3 * process + 2] = low, 1, 0
    if high - low < FEWEST:
        return
    middle, tries = low + (high - low) // 2, 0
    for size in range(1, high - middle):
        if not _alike(rows, middle, middle + size):
            continue
        begin, last = middle, middle
        while begin > low and _alike(rows, begin - 1, begin - 1 + size):
            begin -= 1
        while last + 1 + size < high and _alike(rows, last + 1, last + 1 + size):
            last += 1
        turns = (last + size - begin + 1) // size
        if 2 * size * (turns - 1) >= high - low:
            loops[3 * process], loops[3 * process + 1], loops[3 * process + 2] = begin, size, turns - 1
            return
        tries += 1
        if tries == TRIES:
            return


@callee
def _alike(rows: Rows, one: int, other: int) -> bool:
    """Whether two operations of a process are the same; barriers are compared afterwards."""
    return (
        rows.kind[one] == rows.kind[other]
        and (rows.partner[one] == rows.partner[other] or rows.kind[one] == _BARRIER)
        and rows.amount[one] == rows.amount[other]
        and rows.size[one] == rows.size[other]
        and rows.source[one] == rows.source[other]
        and rows.tag[one] == rows.tag[other]
    )


CONTENTIONS = {"none": 0, "fifo": 1, "fair": 2}
FEW_SLOTS = 4096
"""Slots for eager messages at first; their number grows when a run needs more."""
_NONE = np.zeros(0, dtype=np.int64)
MANY_TAGS = 100
"""Tags up to which their numbers are taken as they are."""
MANY_KEYS = 2**22
"""Possible channels up to which they are numbered through a table."""
STRAIGHT = ("nominal_ticks", "computation", "ticks", "units", "route", "route_first", "route_links", "capacities")
"""What the kernel reads where it lies."""


@dataclass(frozen=True)
class Layout:
    """What all runs of a block share, and none changes."""

    costs: Costs
    """Of the program, its loops rolled up."""
    loops: Loops
    most_slots: int
    """Slots with which no run needs more: one for each eager message."""
    services: ServiceTables
    operations: Records
    channels: Records
    inboxes: Records
    messages: int
    hops: int
    handles: Records
    room: Ints
    """Processes that each PE runs as if each was alone there: its cores without load, else 1; (PE,)."""
    cores: Ints
    """(PE,)."""

    @classmethod
    def of(cls, costs: Costs, services: ServiceTables, cores: Ints) -> "Layout":
        """Number channels and inboxes, and write the operations down as records."""
        costs, loops = rolled(costs)
        columns, times = costs.columns, costs.times
        straight: dict[str, Any] = {name: _straight(getattr(costs, name)) for name in STRAIGHT}
        for name in ("farm_ticks", "data_ticks", "data_rows"):
            straight[name] = tuple(_straight(table) for table in getattr(costs, name))
        costs = replace(costs, **straight)
        operations = np.zeros(columns.kind.size, memory.OPERATION)
        operations["kind"], operations["eager"] = columns.kind, costs.eager
        operations["partner"], operations["out"], operations["into"] = columns.partner, NONE, NONE
        _place_farms(columns, operations, costs.farm_rows)
        channels, inboxes, places = _connect(columns, operations, times)
        handles = _open(columns, operations)
        most_slots = columns.processes + handles.size + int(times[costs.eager].sum())
        lengths = np.diff(costs.route_first)
        flows = costs.contention != "none" and lengths.size
        used = services.of_pe >= 0
        free = used & (services.pieces[services.of_pe] == 0)
        room = np.where(free, services.cores[services.of_pe], 1).astype(np.int64)
        hops = int(lengths.max()) if flows else 0
        sizes = places, hops
        return cls(costs, loops, most_slots, services, operations, channels, inboxes, *sizes, handles, room, cores)


def _place_farms(columns: Columns, operations: Records, farm_rows: tuple[Ints, ...]) -> None:
    """Where in its farm each process stands, and which row of its ticks it has."""
    for number, table in enumerate(columns.farm_tables):
        rows = np.flatnonzero(columns.kind == Kind.FARM)
        rows = rows[columns.farms[columns.partner[rows]] == number]
        place = np.zeros(columns.processes, dtype=np.int64)
        place[list(table.processes)] = np.arange(len(table.processes))
        operations["into"][rows] = place[columns.process[rows]]
        operations["out"][rows] = farm_rows[number][operations["into"][rows]]


def _connect(columns: Columns, operations: Records, times: Ints) -> tuple[Records, Records, int]:
    """Channels by (sender, receiver, tag), and inboxes for receives from anyone; places in all inboxes.

    `times`: how often each row is done; (N,).
    """
    process = columns.process
    sends, takes = np.flatnonzero(columns.sends), np.flatnonzero(columns.receives)
    source = columns.senders[takes]
    anyone = takes[source == ANY]
    takes, source = takes[source != ANY], source[source != ANY]
    rows = np.concatenate((sends, takes))
    sender = np.concatenate((process[sends], source)).astype(np.int64)
    receiver = np.concatenate((columns.partner[sends], process[takes])).astype(np.int64)
    tags, tag = _numbered_tags(columns.tag)
    keys = (sender * columns.processes + receiver) * tags + tag[rows]
    distinct, number = _numbered(keys, columns.processes**2 * tags)
    operations["out"][sends], operations["into"][takes] = number[: sends.size], number[sends.size :]
    channels = np.zeros(distinct.size, memory.CHANNEL)
    channels["receiver"], channels["inbox"] = distinct // tags % columns.processes, NONE
    boxes, box = np.unique(process[anyone] * np.int64(tags) + tag[anyone], return_inverse=True)
    operations["into"][anyone] = -2 - box
    inboxes = np.zeros(boxes.size, memory.INBOX)
    if not boxes.size:
        return channels, inboxes, 0
    into = distinct % (columns.processes * tags)
    place = np.minimum(np.searchsorted(boxes, into), boxes.size - 1)
    channels["inbox"] = np.where(boxes[place] == into, place, NONE)
    found = channels["inbox"][number[: sends.size]]
    counts = np.bincount(found[found >= 0], times[sends][found >= 0], minlength=boxes.size).astype(np.int64)
    inboxes["first"] = np.cumsum(counts) - counts
    return channels, inboxes, int(counts.sum())


def _open(columns: Columns, operations: Records) -> Records:
    """The requests, each as a record, and in each operation the number of its own behind those of processes."""
    rows, number = columns.requests()
    operations["partner"][rows] = columns.processes + number
    handles = np.zeros(int(number.max(initial=-1)) + 1, memory.HANDLE)
    handles["process"][number] = columns.process[rows]
    return handles


def _numbered_tags(tags: NDArray[np.int32]) -> tuple[int, Ints]:
    """Tags counted from 0, and their number."""
    from_least = tags.astype(np.int64) - (tags.min() if tags.size else 0)
    number = int(from_least.max(initial=0)) + 1
    if number <= MANY_TAGS:
        return number, from_least
    distinct, place = np.unique(tags, return_inverse=True)
    return int(distinct.size), place


def _numbered(keys: Ints, possible: int) -> tuple[Ints, Ints]:
    """Distinct keys in order, and the place among them of each key."""
    if possible > MANY_KEYS:
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, place
    number = np.zeros(possible, dtype=np.int64)
    number[keys] = 1
    distinct = np.flatnonzero(number)
    number[distinct] = np.arange(distinct.size)
    return distinct, number[keys]


class Workspace:
    """The memory of one thread, for one run after the other."""

    def __init__(self, layout: Layout) -> None:
        costs, columns = layout.costs, layout.costs.columns
        self._layout = layout
        self.w = np.zeros(W.END, dtype=np.int64)
        self._kept: dict[W, NDArray[Any]] = {}
        self.slots = columns.processes
        self._most_slots = layout.most_slots
        self._keep(W.OPERATIONS, layout.operations)
        self._keep(W.HANDLES, layout.handles.copy())
        self.w[W.HANDLE_COUNT] = layout.handles.size
        self._keep(W.CHANNELS, layout.channels.copy())
        self._keep(W.INBOXES, layout.inboxes.copy())
        self._keep(W.MESSAGES, np.zeros(layout.messages, memory.ENTRY))
        self._keep(W.COMPUTATION, costs.computation)
        self._keep(W.ROUTE_FIRST, costs.route_first)
        self._keep(W.ROUTE_LINKS, costs.route_links)
        self._place_processes()
        self._place_others()
        self._place_sharing()
        self._place_quotas()
        self._make_slots(min(self._most_slots, columns.processes + layout.handles.size + FEW_SLOTS))

    @property
    def processes(self) -> Records:
        """What became of each process; see `memory.PROCESS`."""
        return self._kept[W.PROCESSES]

    @property
    def makespan(self) -> int:
        """Of the last run, in ticks."""
        return int(self.processes["finish"].max())

    def run(self, configuration: int, replication: int, starts: Ints, log: tuple[Ints, Ints] | None = None) -> int:
        """Do one run; its status.

        `configuration`, `replication`: places in the costs.
        `starts`: tick of each PE's trace at tick 0; (PE,).
        `log`: where the begin and end of each operation are written; (N,) each.
        """
        self._place(configuration, starts)
        self._group(configuration, starts)
        self._charge(configuration, replication)
        if self._layout.costs.quotas is not None:
            self._kept[W.QUOTAS]["phase"] = self._layout.costs.quotas.phases[replication]
        begin, end = log or (None, None)
        self.w[W.BEGAN] = 0 if begin is None else begin.ctypes.data
        self.w[W.ENDED] = 0 if end is None else end.ctypes.data
        kernel = compiled(simulate)
        status = int(kernel(self.w))
        while status == MORE_SLOTS:
            self._make_slots(min(self._most_slots, 4 * int(self.w[W.SLOT_COUNT])))
            status = int(kernel(self.w))
        return status

    def _keep(self, place: W, values: NDArray[Any]) -> None:
        """An array that the kernel reads or writes, from now on."""
        if not values.flags.c_contiguous or not values.flags.aligned:
            raise ValueError(place)
        self._kept[place] = values
        self.w[place] = values.ctypes.data

    def _place_processes(self) -> None:
        columns = self._layout.costs.columns
        processes = np.zeros(columns.processes, memory.PROCESS)
        loops = self._layout.loops
        processes["first"], processes["end"] = columns.first[:-1], columns.first[1:]
        processes["all_first"] = columns.first[:-1] + np.cumsum(loops.skipped) - loops.skipped
        processes["loop_end"] = np.where(loops.turns > 0, loops.begin + loops.size, NONE)
        processes["loop_size"], processes["all_turns"] = loops.size, loops.turns
        self._keep(W.PROCESSES, processes)
        self._keep(W.TARGETS, np.zeros(columns.processes, memory.ENTRY))
        self._keep(W.PULLS, np.zeros(columns.processes, memory.ENTRY))
        self._keep(W.ASKING, np.zeros(columns.processes, dtype=np.int64))
        barriers = np.zeros(columns.barriers.size, memory.BARRIER)
        barriers["expected"] = columns.barriers
        self._keep(W.BARRIERS, barriers)
        farms = self._make_farms()
        self.w[[W.PROCESS_COUNT, W.BARRIER_COUNT, W.FARM_COUNT]] = columns.processes, barriers.size, farms.size
        self.w[W.POLLS] = columns.polls

    def _make_farms(self) -> Records:
        """Farms, and what their pulls get."""
        costs, columns = self._layout.costs, self._layout.costs.columns
        tables = np.zeros(len(columns.farm_tables), memory.TABLE)
        farms = np.zeros(columns.farms.size, memory.FARM)
        farms["table"] = columns.farms
        tables["pull"], tables["serve"] = costs.pull_ticks, costs.serve_ticks
        self._notes: list[Floats] = []
        for number, table in enumerate(columns.farm_tables):
            told, units, processes = table.scheduling, table.volumes.size, len(table.processes)
            notes = np.array(chunks.begin(told, units, processes, chunk=table.chunk))
            mine = np.flatnonzero(columns.farms == number)
            lines = np.zeros((mine.size, notes.size))
            self._notes += [notes, lines]
            one = tables[number]
            one["units"], one["processes"], one["rule"] = units, processes, chunks.number_of(told)
            one["notes"], one["notes_size"] = notes.ctypes.data, notes.size
            farms["notes"][mine] = lines.ctypes.data + lines.strides[0] * np.arange(mine.size)
            one["chunks"] = costs.data_ticks[number].shape[1]
            if table.unit_bytes:
                one["data"] = costs.data_ticks[number].ctypes.data
        self._keep(W.TABLES, tables)
        self._keep(W.FARMS, farms)
        return farms

    def _place_others(self) -> None:
        costs, layout = self._layout.costs, self._layout
        pes = np.zeros(layout.services.of_pe.size, memory.PE_STATE)
        self._keep(W.PES, pes)
        for place, values in enumerate(layout.services):
            self.w[W.SERVICES + place] = values.ctypes.data
        used = layout.hops > 0
        links = np.zeros(costs.capacities.size if used else 0, memory.LINK)
        links["capacity"] = costs.capacities[: links.size]
        self._keep(W.LINKS, links)
        self.w[[W.PE_COUNT, W.LINK_COUNT, W.HOPS]] = pes.size, links.size, layout.hops
        self.w[[W.CHANNEL_COUNT, W.INBOX_COUNT]] = layout.channels.size, layout.inboxes.size
        self.w[W.CONTENTION] = CONTENTIONS[costs.contention] if used else 0

    def _make_slots(self, count: int) -> None:
        """Room for so many messages and disk transfers at once."""
        self.w[W.SLOT_COUNT] = count
        links = int(self.w[W.LINK_COUNT])
        self._keep(W.SLOTS, np.zeros(count, memory.SLOT))
        self._keep(W.NODES, np.zeros(count * self._layout.hops, memory.NODE))
        events = int(self.w[W.PROCESS_COUNT]) + count + int(self.w[W.PE_COUNT]) + links
        events += int(self.w[W.PROCESS_COUNT]) if self._layout.costs.sharing is not None else 0
        events += int(self.w[W.QUOTA_COUNT])
        self._keep(W.QUEUE, np.zeros(events + 1, memory.QUEUE))
        shares = self.w[W.CONTENTION] != 0
        self._keep(W.REQUESTS, np.zeros(count if shares else 0, memory.ENTRY))
        self._keep(W.FILLING, np.zeros(count + links if shares else 0, memory.ENTRY))

    def _place(self, configuration: int, starts: Ints) -> None:
        """Processes on their PEs."""
        layout, tables = self._layout, self._layout.services
        placement = layout.costs.placement[configuration]
        pes = self._kept[W.PES]
        counts = np.bincount(placement, minlength=pes.size)
        alone = (counts <= layout.room) & (pes["quota"] == NONE)
        pes["first"], pes["alone"] = np.cumsum(counts) - counts, alone
        pes["table"], pes["start"] = tables.of_pe, starts
        processes = self._kept[W.PROCESSES]
        processes["pe"] = placement
        processes["keeps_time"] = layout.costs.columns.polls & ~alone[placement]

    def _place_quotas(self) -> None:
        """Control groups, and which PEs they hold."""
        quotas, pes = self._layout.costs.quotas, self._kept[W.PES]
        pes["quota"] = NONE
        if quotas is None:
            return
        made, sizes = np.zeros(quotas.budgets.size, memory.QUOTA), [len(members) for members in quotas.members]
        made["budget"], made["period"] = quotas.budgets, quotas.periods
        made["first"], made["end"] = np.cumsum(sizes) - sizes, np.cumsum(sizes)
        members = np.concatenate(quotas.members).astype(np.int64)
        pes["quota"][members] = np.repeat(np.arange(made.size), sizes)
        self._keep(W.QUOTAS, made)
        self._keep(W.QUOTA_MEMBERS, members)
        self.w[W.QUOTA_COUNT] = made.size

    def _place_sharing(self) -> None:
        """What all configurations have in common of sharing domains."""
        self.w[[W.DIRTY_DOMAIN, W.DIRTY_GROUP]] = NONE
        sharing, pes = self._layout.costs.sharing, self._kept[W.PES]
        self._grouped: tuple[int, bytes] | None = None
        if sharing is None:
            return
        self._keep(W.GROUP_TARGETS, np.zeros(int(self.w[W.PROCESS_COUNT]), memory.ENTRY))
        self._keep(W.TABLE_FIRST, _straight(sharing.first))
        self._keep(W.SHARES, np.require(sharing.shares, np.int32, ["C", "A"]))
        self._keep(W.PRESENT, np.zeros(sharing.slots.size, dtype=np.int64))
        self._keep(W.PRESSED, np.zeros(sharing.slots.size, dtype=np.int64))
        loads = [(place, load) for place, load in enumerate(sharing.loads) if load is not None]
        self._keep(W.LOAD_KNOTS, np.concatenate([_NONE, *(load.knots for _, load in loads)]))
        self._keep(W.LOAD_VALUES, np.concatenate([_NONE, *(load.values for _, load in loads)]))
        at = 0
        for place, load in loads:
            pes[place]["load_first"], pes[place]["load_after"] = at, at + load.knots.size
            pes[place]["load_end"], pes[place]["load_cycles"] = load.end, load.cycles
            at += load.knots.size
        pes["cores"] = self._layout.cores
        self.w[[W.DOMAIN_COUNT, W.SHARING_SLOTS]] = len(sharing.domains), sharing.slots.shape[1]

    def _group(self, configuration: int, starts: Ints) -> None:
        """Processes in groups by what they keep beside others."""
        layout, sharing = self._layout, self._layout.costs.sharing
        if sharing is None:
            return
        pes, processes = self._kept[W.PES], self._kept[W.PROCESSES]
        unloaded = np.array([load is None for load in sharing.loads])
        free = (pes["alone"] == 1) & unloaded & (starts == 0)  # so without a quota
        inside = sharing.inside[configuration]
        pes["domains"], pes["free"] = inside, free
        pes["alone"] = (pes["alone"] == 1) & ~inside
        placement = layout.costs.placement[configuration]
        processes["keeps_time"] = layout.costs.columns.polls & (pes["alone"][placement] == 0)
        if self._grouped == (configuration, free.tobytes()):
            return
        self._grouped = configuration, free.tobytes()
        made = grouped(sharing, configuration, placement, free)
        processes["group"] = made.group
        pes["group_first"], pes["group_end"] = made.group_first, made.group_first + made.group_count
        for place, values in (
            (W.GROUPS, made.groups), (W.DOMAINS, made.domains), (W.MEMBERS, made.members), (W.LOADED, made.loaded),
            (W.SHARING_SLOTS_OF, made.slots), (W.DEMANDS, made.demands), (W.TABLE_OF, made.tables),
            (W.LOAD_DEMANDS, made.load_demands),
        ):  # fmt: skip
            self._keep(place, values)
        self.w[W.GROUP_COUNT] = made.groups.size

    def _charge(self, configuration: int, replication: int) -> None:
        """The costs of a run."""
        costs = self._layout.costs
        for place, values in ((W.UNITS, costs.units), (W.ROUTE, costs.route)):
            self.w[place] = _at(values, configuration)
        for place, values in ((W.TICKS, costs.ticks), (W.NOMINAL, costs.nominal_ticks)):
            self.w[place] = _at(values, configuration, replication)
        tables = self._kept[W.TABLES]
        for number, before in enumerate(costs.farm_ticks):
            tables["before"][number] = _at(before, configuration, replication)
            if tables["data"][number]:
                tables["data_rows"][number] = _at(costs.data_rows[number], configuration)


def _at(values: Ints, *places: int) -> int:
    """Address of a part of an array, whose leading axes may have one entry for all."""
    steps = sum(place * step(values, axis) for axis, place in enumerate(places))
    return int(values.ctypes.data) + 8 * steps


def _straight(values: Ints) -> Ints:
    return np.require(values, np.int64, ["C", "A"])

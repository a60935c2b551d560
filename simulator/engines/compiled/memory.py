"""What the event engine keeps in memory: records of processes, messages, PEs and links, found through one array `w`.

Numba hands every array of a call over as seven numbers, so that calls with twenty arrays cost more than what they do.
Here `w` holds the addresses of the record arrays (`W.PROCESSES` and so on) next to the state that exists once
(`W.NOW`, ...); `processes(w)[p].row` then reads a field. `workspace.Workspace` owns the arrays and keeps them alive.
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype, from_dtype

from simulator.base.arrays import Floats, Ints
from simulator.engines.compiled.cache import callee
from simulator.engines.compiled.service import ServiceTables

Words = Ints
NONE = -1
"""No process, slot, node, row, link ...; `next` fields end with it."""
OUTSIDE = -2
"""In a `next_dirty` field: not in the list."""


class W(IntEnum):
    """Places in `w`."""

    # Addresses of record arrays
    QUEUE = 0
    OPERATIONS = 1
    PROCESSES = 2
    SLOTS = 3
    CHANNELS = 4
    INBOXES = 5
    MESSAGES = 6
    PES = 7
    TARGETS = 8
    LINKS = 9
    NODES = 10
    BARRIERS = 11
    FARMS = 12
    TABLES = 13
    PULLS = 14
    REQUESTS = 15
    FILLING = 16
    ASKING = 17
    GROUPS = 18
    DOMAINS = 19
    # Addresses of a run's costs (int64), and of its log (0: none is kept)
    NOMINAL = 20
    COMPUTATION = 21
    TICKS = 22
    UNITS = 23
    ROUTE = 24
    ROUTE_FIRST = 25
    ROUTE_LINKS = 26
    BEGAN = 27
    ENDED = 28
    GROUP_TARGETS = 29
    # Addresses of what `ServiceTables` holds, in its order
    SERVICES = 80
    # Addresses of what `Grouping` holds of sharing domains (int64), and of what presses
    SHARING_SLOTS_OF = 100
    DEMANDS = 101
    TABLE_OF = 102
    TABLE_FIRST = 103
    SHARES = 104
    LOAD_DEMANDS = 105
    MEMBERS = 106
    LOADED = 107
    LOAD_KNOTS = 108
    LOAD_VALUES = 109
    PRESENT = 110
    PRESSED = 111
    # Addresses of control groups with quotas, and of their PEs (int64)
    QUOTAS = 112
    QUOTA_MEMBERS = 113
    # Addresses of record arrays, again
    HANDLES = 114
    # Sizes
    PROCESS_COUNT = 30
    SLOT_COUNT = 31
    PE_COUNT = 32
    LINK_COUNT = 33
    CHANNEL_COUNT = 34
    INBOX_COUNT = 35
    BARRIER_COUNT = 36
    FARM_COUNT = 37
    HOPS = 38
    POLLS = 39
    CONTENTION = 40
    GROUP_COUNT = 41
    DOMAIN_COUNT = 42
    SHARING_SLOTS = 43
    QUOTA_COUNT = 44
    HANDLE_COUNT = 45
    # State
    NOW = 50
    STATUS = 51
    FAULT = 52
    LIVE = 53
    QUEUED = 54
    FREE_SLOT = 55
    READY = 56
    DIRTY_PE = 57
    DIRTY_LINK = 58
    STARTING = 59
    PULLED = 60
    REQUESTED = 61
    ASKED = 62
    EPOCH = 63
    FLOWS = 64
    UNFIXED = 65
    PE_FAULT = 66
    PE_STATUS = 67
    EAGER_LEFT = 68
    SPARE_SLOTS = 69
    DIRTY_DOMAIN = 70
    DIRTY_GROUP = 71
    GROUP_FAULT = 72
    DIRTY_QUOTA = 73
    COUNT = 80
    END = 120


STATE = range(int(W.NOW), int(W.COUNT))
"""Places that every run begins with afresh."""


def _record(**fields: str) -> np.dtype[np.void]:
    return np.dtype(list(fields.items()), align=True)


QUEUE = _record(tick="i8", id="i8", place="i8")
"""Place 0 is unused; the first ones are a heap by tick with 4 children each; `place` is that of the id here."""
ENTRY = _record(key="i8", second="i8", value="i8")
"""What lies in a small heap, least (key, second) first."""
OPERATION = _record(kind="i1", eager="i1", partner="i4", out="i4", into="i4")
"""`out`, `into`: channel of what is sent and received; `into` below -1 is `-2 - inbox`. Of FARM `into` is the place in
it and `out` the row of its nominal ticks. `partner` of what is posted, and of WAIT: its request, as of who waits."""
PROCESS = _record(
    row="i8", end="i8", pe="i8", clock="i8", parts="i8", latest="i8", next="i8",
    asking="i1", polling="i1", pulling="i1", calling="i1", keeps_time="i1", joined="i8",
    loop_end="i8", loop_size="i8", turns="i8", passed="i8",
    busy="i8", computed="i8", finish="i8", first="i8", unit="i8", unit_end="i8", inbox="i8",
    all_turns="i8", all_first="i8", group="i8",
)  # fmt: skip
"""`clock`: up to when the process is known, now or ahead of now; `latest`: the latest end so far of parts of its
operation; `turns`: how often it still goes round in its loop, `passed`: what its row is less than in the whole program;
`calling`: whether its event only says that its clock is reached; `keeps_time`: whether it is never ahead;
`pulling`: what it waits for in a farm, see `events`.
What is read most stands in front, here and in what follows: with thousands of processes memory decides the speed."""
SLOT = _record(
    row="i8", number="i8", sender="i8", receiver="i8", next="i8", queued="i1", eager="i1", moving="i1",
    posted="i8", over="i8",
    left="i8", rate="i8", since="i8", target="i8", limit="i8", group="i8", following="i8",
    mark="i8", filled="i8", shared="i8", fixed_by="i8", fixed_next="i8",
)  # fmt: skip
"""A message or disk transfer, `number` being its row in the whole program, `over` its end once that is known.
`sender`, `receiver`: who waits for its end, process `p`, or a request `h` of a process, counted behind all processes.
Slot `p` is process `p`'s SEND, EXCHANGE or READ_WRITE, then there is one for each request; those behind are eager."""
HANDLE = _record(process="i8", posted="i8", over="i8", next="i8", waited="i1")
"""A request of a process: `over` its end once that is known, `waited` whether its process waits for it."""
CHANNEL = _record(head="i8", tail="i8", waiting="i8", last="i8", inbox="i8", receiver="i8")
"""`head` to `tail`: messages that nobody has received; `waiting` to `last`: who waits for one."""
INBOX = _record(first="i8", size="i8")
"""Unmatched messages that a receive from anyone may take: a heap in `MESSAGES` from `first` on."""
PE_STATE = _record(
    alone="i1", table="i8", start="i8", first="i8", running="i8", polling="i8", m="i8", next_dirty="i8",
    served="i8", settled="i8", base="i8", begin="i8", end="i8", rate="f8", load="f8",
    domains="i1", free="i1", load_cycles="i1", cores="i8", load_now="i8", load_first="i8", load_after="i8",
    load_end="i8", group_first="i8", group_end="i8",
    stands="i1", quota="i8", runnable="i8",
)  # fmt: skip
"""`begin`, `end`, `load`: the piece of its trace that the PE is in, `end` -1 if none is known; `rate`, `base`: share of
one process now, and what it has attained since the beginning of the piece or, if none is known, of the trace.
`domains` and what follows: of PEs in sharing domains; `free`: whether each of its processes always has a core.
`stands`: whether its control group (`quota`, NONE for none) has used its quota; `runnable`: processes when that was
settled."""
QUOTA = _record(
    budget="i8", period="i8", phase="i8", used="i8", settled="i8", stands="i1", first="i8", end="i8", next_dirty="i8"
)
"""`used`: in the period under way, when it was `settled`; `first` to `end`: its PEs in `QUOTA_MEMBERS`."""
GROUP = _record(
    high="i8", low="i8", share="i8", mark="i8", settled="i8", first="i8", running="i8", planned="i8", planned_low="i8",
    m="i8", pe="i8", process="i8", next_dirty="i8", most="i8",
)  # fmt: skip
"""See `neighbours`: attained by each of its processes, and by one of `m` of its PE (`mark`), when it was `settled`;
`planned`: the target its event is for; `most`: the largest."""
DOMAIN = _record(
    total="i8", kind="i8", running="i8", next_dirty="i8", first="i8", end="i8", loaded_first="i8", loaded_end="i8"
)
"""`total`: pressure of all; `first` to `end`: its groups in `MEMBERS`, and its PEs with load in `LOADED`."""
LINK = _record(
    capacity="i8", rate="i8", since="i8", served="i8", mark="i8", free="i8", level="i8",
    count="i8", head="i8", tail="i8", crossing="i8", members="i8", next_dirty="i8", unfixed="i8", following="i8",
    fixed_next="i8", busy="i1",
)  # fmt: skip
NODE = _record(next="i8", previous="i8", slot="i8")
BARRIER = _record(expected="i8", missing="i8", waiting="i8", latest="i8")
FARM = _record(next_unit="i8", table="i8", notes="i8", free="i8")
"""`notes`: address of what its rule notes; `free`: from when on its pool serves others."""
TABLE = _record(
    units="i8", processes="i8", rule="i8", pull="i8", serve="i8", before="i8", data="i8", data_rows="i8", chunks="i8",
    notes="i8", notes_size="i8",
)  # fmt: skip
"""`before`: address of the nominal ticks (row, units + 1) of this run; `data`: of the ticks of data (row, `chunks`), 0
without data, and `data_rows` of the row of each place; `notes`: address of what the rule notes in the beginning."""
MANY = 1 << 40


def _view(place: int, kind: Any) -> Any:
    """A function of `w` that gives the array whose address stands at a place."""
    number, array = int(place), types.Array(from_dtype(np.dtype(kind)), 1, "C")

    @intrinsic
    def view(typing_context: Any, w: Any) -> Any:  # noqa: ARG001 - Numba's signature
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = context.make_array(signature.args[0])(context, builder, arguments[0])
            index = context.get_constant(types.intp, number)
            return _array_at(context, builder, array, builder.load(builder.gep(words.data, [index])))

        return array(w), generate

    return view


def _array_at(context: Any, builder: Any, array: Any, address: Any) -> Any:
    """An array without end at an address."""
    made = context.make_array(array)(context, builder)
    size = context.get_constant(types.intp, np.dtype(as_dtype(array.dtype)).itemsize)
    populate_array(
        made,
        data=builder.inttoptr(address, made.data.type),
        shape=[context.get_constant(types.intp, MANY)],
        strides=[size],
        itemsize=size,
        meminfo=None,
    )
    return made._getvalue()  # noqa: SLF001 - Numba's way


@intrinsic
def _numbers_at(typing_context: Any, address: Any) -> Any:  # noqa: ARG001 - Numba's signature
    array = types.int64[::1]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return _array_at(context, builder, array, arguments[0])

    return array(types.int64), generate


@intrinsic
def _floats_at(typing_context: Any, address: Any) -> Any:  # noqa: ARG001 - Numba's signature
    array = types.float64[::1]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return _array_at(context, builder, array, arguments[0])

    return array(types.int64), generate


numbers_at: Any = _numbers_at
"""The int64 array at an address."""
floats_at: Any = _floats_at
"""The float64 array at an address."""
queue = _view(W.QUEUE, QUEUE)
operations = _view(W.OPERATIONS, OPERATION)
processes = _view(W.PROCESSES, PROCESS)
slots = _view(W.SLOTS, SLOT)
handles = _view(W.HANDLES, HANDLE)
channels = _view(W.CHANNELS, CHANNEL)
inboxes = _view(W.INBOXES, INBOX)
messages = _view(W.MESSAGES, ENTRY)
pes = _view(W.PES, PE_STATE)
targets = _view(W.TARGETS, ENTRY)
links = _view(W.LINKS, LINK)
nodes = _view(W.NODES, NODE)
barriers = _view(W.BARRIERS, BARRIER)
farms = _view(W.FARMS, FARM)
tables = _view(W.TABLES, TABLE)
pulls = _view(W.PULLS, ENTRY)
requests = _view(W.REQUESTS, ENTRY)
filling = _view(W.FILLING, ENTRY)
asking = _view(W.ASKING, np.dtype(np.int64))
nominal = _view(W.NOMINAL, np.dtype(np.int64))
computation = _view(W.COMPUTATION, np.dtype(np.int64))
ticks = _view(W.TICKS, np.dtype(np.int64))
units = _view(W.UNITS, np.dtype(np.int64))
route = _view(W.ROUTE, np.dtype(np.int64))
route_first = _view(W.ROUTE_FIRST, np.dtype(np.int64))
route_links = _view(W.ROUTE_LINKS, np.dtype(np.int64))
began = _view(W.BEGAN, np.dtype(np.int64))
ended = _view(W.ENDED, np.dtype(np.int64))
groups = _view(W.GROUPS, GROUP)
domains = _view(W.DOMAINS, DOMAIN)
group_targets = _view(W.GROUP_TARGETS, ENTRY)
sharing_slots = _view(W.SHARING_SLOTS_OF, np.dtype(np.int64))
demands = _view(W.DEMANDS, np.dtype(np.int64))
table_of = _view(W.TABLE_OF, np.dtype(np.int64))
table_first = _view(W.TABLE_FIRST, np.dtype(np.int64))
shares = _view(W.SHARES, np.dtype(np.int32))
load_demands = _view(W.LOAD_DEMANDS, np.dtype(np.int64))
members = _view(W.MEMBERS, np.dtype(np.int64))
loaded = _view(W.LOADED, np.dtype(np.int64))
load_knots = _view(W.LOAD_KNOTS, np.dtype(np.int64))
load_values = _view(W.LOAD_VALUES, np.dtype(np.int64))
present = _view(W.PRESENT, np.dtype(np.int64))
pressed = _view(W.PRESSED, np.dtype(np.int64))
quotas = _view(W.QUOTAS, QUOTA)
quota_members = _view(W.QUOTA_MEMBERS, np.dtype(np.int64))
_tables = tuple(
    _view(W.SERVICES + place, np.float64 if hint is Floats else np.int64)
    for place, hint in enumerate(ServiceTables.__annotations__.values())
)
(
    _of_pe, _pieces, _times, _values, _after_end, _rule, _of_processes, _cores, _first, _knots, _attained, _last,
    _tick_s, _slices,
) = _tables  # fmt: skip


@callee
def services(w: Words) -> ServiceTables:
    """The service tables; a call with all their arrays costs more than to look them up."""
    return ServiceTables(
        _of_pe(w), _pieces(w), _times(w), _values(w), _after_end(w), _rule(w), _of_processes(w), _cores(w), _first(w),
        _knots(w), _attained(w), _last(w), _tick_s(w), _slices(w),
    )  # fmt: skip

"""Rows of operations -> `Columns`: loops unrolled, collectives as messages, arrays instead of Python loops."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.base.machine import check_room
from simulator.programs.collectives import expand
from simulator.programs.columns import (
    DISTRIBUTIONS,
    MODES,
    RULES,
    Columns,
    FarmTable,
    Kind,
    SelfScheduling,
    Slot,
    UnitSpread,
)
from simulator.programs.program import (
    NOBODY,
    Barrier,
    Broadcast,
    Collective,
    Compute,
    Custom,
    Delay,
    Exchange,
    Farm,
    Gather,
    Group,
    Loop,
    Numbers,
    Operation,
    PostRecv,
    PostSend,
    Program,
    ReadWrite,
    Recv,
    Reduce,
    Row,
    Scatter,
    Send,
    Wait,
    WaitUntil,
    Whole,
)

_ZERO, _NOBODY = np.zeros(()), np.asarray(NOBODY)
PLACE_BYTES = 70
"""Memory of an operation: its columns, first of a row of processes, then of all."""
DEFAULTS = {"kind": 0, "partner": -1, "source": -1, "tag": 0, "amount": 0.0, "size": 0.0}
COLUMNS = {"kind": np.int8, "partner": np.int32, "source": np.int32, "tag": np.int32, "amount": float, "size": float}


@dataclass
class _Meetings:
    """Barriers or farms so far: the k-th one of a group in one process's row is that of every other's."""

    operations: list[Operation] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    known: dict[Group, list[int]] = field(default_factory=dict)
    """Numbers of each group's meetings, in its order."""

    def numbers(self, group: Group, first: int, count: int, operation: Barrier | Farm) -> list[int]:
        """Numbers of the `first`-th and following meetings of a group."""
        known = self.known.setdefault(group, [])
        for number in known[first : first + count]:
            if self.operations[number] is not operation and self.operations[number] != operation:
                raise ScenarioError(f"program: farm of {len(group)} processes: two of them differ; give one for all")
        new = first + count - len(known)
        if new > 0:
            known += range(len(self.groups), len(self.groups) + new)
            self.groups += [group] * new
            self.operations += [operation] * new
        return known[first : first + count]


@dataclass(frozen=True)
class _Repeated:
    """The places of a loop."""

    iterations: int
    plan: "list[Slot | _Repeated]"
    width: int


@dataclass
class _Assembly:
    """What is shared while the rows of one program are assembled."""

    processes: int
    barriers: _Meetings = field(default_factory=_Meetings)
    farms: _Meetings = field(default_factory=_Meetings)
    customs: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    everyone: Group = ()


def assemble(program: Program) -> Columns:
    """The primitive operations of a program."""
    if program.assembled is not None:
        return program.assembled
    processes = len(program.operations)
    if not processes:
        raise ScenarioError("program: it has no processes; give at least one")
    state = _Assembly(processes, everyone=tuple(range(processes)))
    sharing: dict[int, list[int]] = {}
    for process, row in enumerate(program.operations):
        sharing.setdefault(id(row), []).append(process)
    blocks = []
    for members in sharing.values():
        row = program.operations[members[0]]
        parts = _roots_apart(np.array(members, dtype=np.int64), row)
        blocks += [(ids, _dense(state, ids, row)) for ids in parts]
    return _columns(state, program, blocks)


def _roots_apart(ids: Ints, row: Row) -> list[Ints]:
    """Processes that share a row, the roots of its linear collectives for themselves."""
    found = list(_linear_roots(row))
    if not found:
        return [ids]
    is_root = np.isin(ids, np.concatenate(found))
    return [part for part in (ids[is_root], ids[~is_root]) if part.size]


def _linear_roots(row: Row) -> Iterator[Ints]:
    for operation in row:
        if isinstance(operation, Loop):
            yield from _linear_roots(operation.body)
        elif isinstance(operation, Broadcast | Scatter | Gather | Reduce) and operation.algorithm in (
            "linear",
            "posted",
        ):
            yield np.asarray(operation.root, dtype=np.int64).reshape(-1)


def _dense(state: _Assembly, ids: Ints, row: Row) -> dict[str, NDArray[Any]]:
    """One row for the processes that share it; each column (process, place), empty places of kind NONE."""
    plan = _plan(state, ids, row, (), {})
    width = _width(plan)
    what = f"program: {ids.size} processes with {width} operations each"
    check_room(what, ids.size * width * PLACE_BYTES, instead="fewer processes, or steps of a loop, need less")
    block = {name: np.zeros((ids.size, width), kind) for name, kind in COLUMNS.items()}
    block["partner"].fill(-1)
    block["source"].fill(-1)
    _fill(block, plan)
    return block


def _plan(
    state: _Assembly, ids: Ints, row: Row, shape: tuple[int, ...], counts: dict[tuple[str, Group], int]
) -> "list[Slot | _Repeated]":
    """The places of a row in order."""
    plan: list[Slot | _Repeated] = []
    for operation in row:
        if isinstance(operation, Loop):
            if operation.iterations < 0:
                raise ScenarioError(f"program: loop: it has {operation.iterations} iterations; give at least 0")
            what = f"program: a loop of {operation.iterations} iterations in {ids.size} processes"
            turns = math.prod((*shape, operation.iterations)) * ids.size
            check_room(what, float(turns) * PLACE_BYTES, instead="fewer processes or iterations need less")
            inner = _plan(state, ids, operation.body, (*shape, operation.iterations), counts)
            plan.append(_Repeated(operation.iterations, inner, _width(inner)))
        else:
            plan += _slots(state, ids, operation, shape, counts)
    return plan


def _width(plan: "list[Slot | _Repeated]") -> int:
    return sum(part.iterations * part.width if isinstance(part, _Repeated) else 1 for part in plan)


def _fill(block: dict[str, NDArray[Any]], plan: "list[Slot | _Repeated]") -> None:
    """Write places into columns (process, iterations..., place); fields that hold the column's default are skipped."""
    at = 0
    for part in plan:
        if isinstance(part, _Repeated):
            end = at + part.iterations * part.width
            inside = {}
            for name, column in block.items():
                piece = column[..., at:end]
                inside[name] = piece.reshape(*piece.shape[:-1], part.iterations, part.width)  # a view: one axis in two
            _fill(inside, part.plan)
            at = end
            continue
        for name, default in DEFAULTS.items():
            value = getattr(part, name)
            if np.ndim(value) or value != default:
                block[name][..., at] = value
        at += 1


@dataclass(frozen=True)
class _Place:
    """Where operations stand: in which processes' row, in which loops, after how many meetings."""

    state: _Assembly
    ids: Ints
    shape: tuple[int, ...]
    counts: dict[tuple[str, Group], int]

    def numbers(self, values: Numbers | Whole) -> Floats:
        """Values of each of the processes; (process, iterations...) or one for all."""
        return self._each(np.asarray(values, dtype=np.float64))

    def partners(self, values: Whole) -> Ints:
        """Processes; as `numbers`."""
        return self._each(np.asarray(values, dtype=np.int64))

    def _each(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (iterations..., process) as (process, iterations...), of these processes only."""
        if values.ndim == 0:
            return values
        shape = (*self.shape, self.state.processes)
        try:
            full = np.broadcast_to(values, shape)
        except ValueError:
            wanted = f"one that fits (iterations..., process) = {shape}"
            raise ScenarioError(f"program: an array has the shape {values.shape}; give {wanted}") from None
        return np.moveaxis(full[..., self.ids] if self.ids.size < self.state.processes else full, -1, 0)

    def group(self, group: Group | None) -> Group:
        """A group that exists and has all these processes in it."""
        processes = self.state.processes
        if group is None:
            return self.state.everyone
        missing = set(self.ids.tolist()) - set(group)
        if missing:
            raise ScenarioError(
                f"program: process {min(missing)} is not in its group; give groups that hold their processes"
            )
        if max(group) >= processes or min(group) < 0 or len(set(group)) < len(group):
            raise ScenarioError(f"program: {group} is no group; give processes 0 to {processes - 1}, once each")
        return group


def _slots(
    state: _Assembly, ids: Ints, operation: Operation, shape: tuple[int, ...], counts: dict[tuple[str, Group], int]
) -> list[Slot]:
    """The primitive operations of one operation that is no loop."""
    place = _Place(state, ids, shape, counts)
    if isinstance(operation, Collective):
        members = np.array(place.group(operation.group), dtype=np.int64)
        slots = expand(operation, ids, members, shape)  # their requests are none of the program's own
        return [replace(one, source=np.where(one.kind >= Kind.POST_SEND, -2 - one.source, one.source)) for one in slots]
    if type(operation) not in _PRIMITIVES:
        raise ScenarioError(f"program: {operation!r} is no operation; take one of simulator.programs.program")
    return [_PRIMITIVES[type(operation)](place, operation)]


def _exchange(place: _Place, operation: Exchange) -> Slot:
    """One side may be nobody: then it is a plain message."""
    to, source = place.partners(operation.to), place.partners(operation.source)
    size_bytes = place.numbers(operation.size_bytes)
    kinds = np.where(to == NOBODY, np.where(source == NOBODY, Kind.NONE, Kind.RECV), Kind.EXCHANGE)
    kinds = np.where((source == NOBODY) & (to != NOBODY), Kind.SEND, kinds).astype(np.int8)
    sent, mode = np.where(to == NOBODY, 0.0, size_bytes), np.where(to == NOBODY, 0.0, _mode(operation))
    return Slot(
        kinds, np.where(to == NOBODY, source, to), np.where(to == NOBODY, -1, source), sent, mode, operation.tag
    )


def _message(kind: Kind, place: _Place, operation: Send | Recv | PostSend | PostRecv, partner: Whole) -> Slot:
    """A message or a receive, left out where its partner is nobody."""
    there, size_bytes = place.partners(partner), place.numbers(getattr(operation, "size_bytes", 0.0))
    request = _request(place, getattr(operation, "request", NOBODY))
    kinds = np.where(there == NOBODY, Kind.NONE, kind).astype(np.int8)
    return Slot(kinds, there, request, size_bytes, _mode(operation), operation.tag)


def _wait(place: _Place, operation: Wait) -> Slot:
    request = _request(place, operation.request)
    return Slot(np.where(request == NOBODY, Kind.NONE, Kind.WAIT).astype(np.int8), _NOBODY, request, _ZERO, _ZERO)


def _mode(operation: Operation) -> Floats:
    mode = getattr(operation, "mode", "threshold")
    if mode not in MODES:
        raise ScenarioError(f"program: {mode!r} is no mode of a message; take {', '.join(MODES)}{meant(mode, MODES)}")
    return np.asarray(float(MODES.index(mode)))


def _request(place: _Place, values: Whole) -> Ints:
    request = place.partners(values)
    if np.any(request < NOBODY):
        raise ScenarioError(f"program: {request.min()} is no number of a request; give whole numbers of at least 0")
    return request


def _custom(place: _Place, operation: Custom) -> Slot:
    place.state.customs.append((operation.name, dict(operation.arguments)))
    return _slot(np.asarray(Kind.CUSTOM), partner=np.asarray(len(place.state.customs) - 1))


_PRIMITIVES: dict[type, Callable[[_Place, Any], Slot]] = {
    Compute: lambda place, one: _with_amount(Kind.COMPUTE, place.numbers(one.volume), place.numbers(one.size)),
    Send: lambda place, one: _message(Kind.SEND, place, one, one.to),
    Recv: lambda place, one: _message(Kind.RECV, place, one, one.source),
    Exchange: _exchange,
    PostSend: lambda place, one: _message(Kind.POST_SEND, place, one, one.to),
    PostRecv: lambda place, one: _message(Kind.POST_RECV, place, one, one.source),
    Wait: _wait,
    Barrier: lambda place, one: _meeting(place, place.state.barriers, Kind.BARRIER, one),
    Farm: lambda place, one: _meeting(place, place.state.farms, Kind.FARM, one),
    WaitUntil: lambda place, one: _slot(np.asarray(Kind.WAIT_UNTIL), amount=place.numbers(one.time_s)),
    Delay: lambda place, one: _with_amount(Kind.DELAY, place.numbers(one.duration_s)),
    ReadWrite: lambda place, one: _with_amount(Kind.READ_WRITE, place.numbers(one.size_bytes)),
    Custom: _custom,
}
"""What makes the one primitive operation of each operation that is neither a loop nor a collective."""


def _meeting(place: _Place, meetings: _Meetings, kind: Kind, operation: Barrier | Farm) -> Slot:
    """A barrier or farm, another one in every iteration."""
    group = place.group(operation.group)
    done = place.counts.get((kind.name, group), 0)
    count = int(np.prod(place.shape, dtype=np.int64))
    place.counts[kind.name, group] = done + count
    numbers = np.array(meetings.numbers(group, done, count, operation), dtype=np.int64).reshape(place.shape)
    return _slot(np.asarray(kind), partner=numbers[np.newaxis])


def _with_amount(kind: Kind, amount: Floats, size: Floats = _ZERO) -> Slot:
    """An operation that is left out where its amount is 0."""
    return _slot(np.where(amount != 0, kind, Kind.NONE), amount=amount, size=size)


def _slot(kind: NDArray[Any], *, partner: Ints = _NOBODY, amount: Floats = _ZERO, size: Floats = _ZERO) -> Slot:
    return Slot(kind.astype(np.int8), partner, _NOBODY, amount, size)


def _columns(state: _Assembly, program: Program, blocks: list[tuple[Ints, dict[str, NDArray[Any]]]]) -> Columns:
    """All rows, process after process, empty places left out."""
    used = [np.flatnonzero(block["kind"]) for _, block in blocks]
    counts = np.zeros(state.processes, dtype=np.int64)
    for (ids, block), keep in zip(blocks, used, strict=True):
        width = block["kind"].shape[1]
        counts[ids] = width if keep.size == ids.size * width else np.count_nonzero(block["kind"], axis=1)
    first = np.concatenate(([0], np.cumsum(counts)))
    columns: dict[str, Any] = {
        name: np.empty(first[-1], kind) for name, kind in (*COLUMNS.items(), ("index", np.int32))
    }
    for (ids, block), keep in zip(blocks, used, strict=True):
        alone, whole = len(blocks) == 1, keep.size == block["kind"].size
        block["index"] = np.tile(np.arange(block["kind"].shape[1], dtype=np.int32), ids.size)
        place = slice(None) if alone else np.concatenate([np.arange(first[i], first[i + 1]) for i in ids])
        for name, column in block.items():
            found = column.reshape(-1) if whole else column.reshape(-1).take(keep)
            if alone:  # then the rows stand in order already
                columns[name] = found
            else:
                columns[name][place] = found
    tables: dict[tuple[int, Group], int] = {}
    for operation, group in zip(state.farms.operations, state.farms.groups, strict=True):
        tables.setdefault((id(operation), group), len(tables))
    farms = [
        tables[id(operation), group]
        for operation, group in zip(state.farms.operations, state.farms.groups, strict=True)
    ]
    by_id = {id(operation): operation for operation in state.farms.operations}
    sizes = np.array([len(group) for group in state.barriers.groups], dtype=np.int32)
    footprints = np.array(program.footprints_bytes, dtype=np.int64)
    made = Columns(
        first,
        **columns,
        barriers=sizes,
        farms=np.array(farms, dtype=np.int32),
        farm_tables=tuple(_farm(by_id[key], group, place) for place, (key, group) in enumerate(tables)),
        customs=tuple(state.customs),
        footprints_bytes=footprints,
        polls=program.polls,
        doubt=program.doubt,
        noise=program.noise,
    )
    made.check()
    return made


def _farm(operation: Operation, group: Group, number: int) -> FarmTable:
    if not isinstance(operation, Farm):
        raise TypeError(operation)
    volumes = np.asarray(operation.volumes, dtype=np.float64)
    if volumes.ndim != 1 or not np.all(np.isfinite(volumes)) or np.any(volumes < 0):
        raise ScenarioError("program: farm: volumes: give one finite number of at least 0 for each unit")
    numbers = {name: getattr(operation, name) for name in ("pull_s", "serve_s", "unit_bytes")}
    wrong = [f"{name} {value:g}" for name, value in numbers.items() if not (math.isfinite(value) and value >= 0)]
    if operation.chunk < 1 or wrong:
        found = " and ".join([f"chunk is {operation.chunk}", *(wrong or [f"pull_s {operation.pull_s:g}"])])
        raise ScenarioError(f"program: farm: {found}; give at least 1 and at least 0")
    _check_rule(operation.scheduling, volumes.size, len(group))
    _check_spread(operation.spread)
    return FarmTable(
        volumes,
        operation.size,
        operation.chunk,
        operation.pull_s,
        group,
        operation.scheduling,
        operation.serve_s,
        operation.unit_bytes,
        operation.spread,
        number,
    )


def _check_rule(told: SelfScheduling, units: int, processes: int) -> None:
    """Refuse a rule that is none, or is told what it cannot use."""
    where = "program: farm: scheduling"
    if told.rule not in RULES:
        raise ScenarioError(f"{where}: {told.rule!r} is no rule; take {', '.join(RULES)}{meant(told.rule, RULES)}")
    if told.least < 1 or told.last < 1 or told.first < 0 or (told.first and told.first < told.last):
        found = f"least is {told.least}, first {told.first} and last {told.last}"
        raise ScenarioError(f"{where}: {found}; give at least 1, and a first chunk of at least the last one")
    if not (math.isfinite(told.assumed_cv) and told.assumed_cv >= 0):
        raise ScenarioError(f"{where}: assumed_cv is {told.assumed_cv:g}; give a finite number of at least 0")
    if told.rule != "static":
        return
    if len(told.parts) != processes or min(told.parts) < 0:
        raise ScenarioError(f"{where}: {len(told.parts)} parts; give each of {processes} processes one of at least 0")
    if sum(told.parts) != units:
        found = f"the parts hand out {sum(told.parts)} units and there are {units}"
        raise ScenarioError(f"{where}: {found}; give parts that add up to them")


def _check_spread(spread: UnitSpread | None) -> None:
    """Refuse a distribution that is none, or cannot have such a deviation."""
    if spread is None:
        return
    known, cv = DISTRIBUTIONS, spread.cv
    if spread.distribution not in known:
        found = f"{spread.distribution!r} is no distribution"
        raise ScenarioError(f"program: farm: {found}; take {', '.join(known)}{meant(spread.distribution, known)}")
    if not (math.isfinite(cv) and cv > 0):
        raise ScenarioError(f"program: farm: cv is {cv:g}; give a finite number above 0")
    if spread.distribution == "exponential" and cv != 1:
        raise ScenarioError(f"program: farm: cv is {cv:g}; an exponential distribution has 1, take gamma for others")
    if spread.distribution == "uniform" and 3 * cv * cv > 1:
        raise ScenarioError(f"program: farm: cv is {cv:g}; a uniform distribution above 0 has 0.577 at most")

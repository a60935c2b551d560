"""Parallel templates: how the steps of a software execution graph are divided among processes, and what they send."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Flags, Ints
from simulator.base.errors import ScenarioError
from simulator.programs.applications.work import Team
from simulator.programs.program import NOBODY, AllReduce, Broadcast, Compute, Exchange, Loop, Operation, Recv, Row, Send

EVERYWHERE = ("P", "total")
"""Names that every formula of a template may use: processes that take part, and all units."""
STEP_NAMES = ("units", "iteration")
"""Names that formulas of steps may use too: a process's units, and the number of the iteration from 0 on."""
Often = Callable[[int], Mapping[str, float]]
"""Processes that take part -> how often one of them does each, per iteration; an estimate for choosing partitions."""
# Master and workers: process 0 sends each other one its input, all compute, it collects what they send back.
#
# How much each one does is the partition's matter. Units that the next free process pulls are the application `farm`.
TO_WORKER, TO_MASTER = 0, 1
"""Tags of the two kinds of messages."""


class Stage(Protocol):
    """The processes of one configuration, and what steps and messages cost there."""

    @property
    def team(self) -> Team:
        """Processes with units."""

    @property
    def iterations(self) -> int:
        """How often the whole is done."""

    @property
    def grid_rows(self) -> int:
        """Rows of the grid of processes, where the template has one."""

    def compute(self, step: str, **names: ArrayLike) -> tuple[Compute, ...]:
        """A step on each process's own PE, nothing if the scenario names no graph for it; (process,) or iterations."""

    def size_bytes(self, message: str, **names: ArrayLike) -> Ints:
        """Payload of a message, by the process that sends it; (process,), or (iteration, process)."""

    def sends(self, message: str) -> bool:
        """Whether the message is sent at all: one of 0 bytes by its formula is none."""


@dataclass(frozen=True)
class Template:
    """A way to be parallel."""

    name: str
    steps: tuple[str, ...]
    """Parts of the computation that are graphs; the first one is needed, the others can be left out."""
    messages: Mapping[str, tuple[str, ...]]
    """Messages, and the names in addition to `EVERYWHERE` that the formula of each may use."""
    rows: Callable[[Stage], tuple[Row, ...]]
    computes: Often
    handles: Often
    step_names: tuple[str, ...] = STEP_NAMES
    has_master: bool = False


def repeated(iterations: int) -> Ints:
    """The numbers of iterations, as the leading axis of what differs between them; (iteration, 1)."""
    return np.arange(iterations, dtype=np.int64)[:, np.newaxis]


# Multiphase: in each phase every process computes its part, then all combine their results (numerical integration).
def _multiphase(stage: Stage) -> tuple[Row, ...]:
    """`iterations` phases of one computation and an all-reduce of `combine` bytes."""
    body: list[Operation] = [*stage.compute("phase")]
    if stage.sends("combine") and stage.team.size > 1:
        sizes = stage.size_bytes("combine")
        body.append(AllReduce(sizes[..., 0], group=stage.team.group))
    row: Row = (Loop(stage.iterations, tuple(body)),)
    return tuple(row if units else () for units in stage.team.units.tolist())


MULTIPHASE = Template(
    "multiphase",
    ("phase",),
    {"combine": ("iteration",)},
    _multiphase,
    computes=lambda _: {"phase": 1},
    handles=lambda processes: {"combine": (processes - 1).bit_length()},
)


# Butterfly: each process computes its part, then in round k exchanges with the one 2**k away and merges (merge sort).
#
# With G processes and m the largest power of two up to G, the processes from place m on first send what they have to
# the one m places before them, which merges it, and get as much back in the end; the others go through log2 m rounds.
# Everyone keeps as much as it has: a merge takes both halves in and leaves each partner its own amount.
def _butterfly(stage: Stage) -> tuple[Row, ...]:
    """`local`, then the rounds of an exchange of `exchange` bytes and `merge`."""
    team, units = stage.team, stage.team.units
    place, most = team.place, 2 ** ((team.size).bit_length() - 1)
    body: list[Operation] = [*stage.compute("local", units=units, partner=units, round=0)]
    held = units
    beyond, before = place >= most, (place >= 0) & (place < team.size - most)
    fold_to, fold_from = (
        np.where(which, team.process(place + step), NOBODY) for which, step in ((beyond, -most), (before, most))
    )
    sent = _sent(stage, units, 0)
    if team.size > most:
        theirs = np.where(before, units[fold_from], 0)
        if stage.sends("exchange"):
            body += [Send(fold_to, sent), Recv(fold_from)]
        body += _only(stage.compute("merge", units=held, partner=np.maximum(theirs, 1), round=0), before)
        held = held + theirs
    for number in range(most.bit_length() - 1):
        inside = (place >= 0) & (place < most)
        partner = np.where(inside, team.process(place ^ 2**number), NOBODY)
        if stage.sends("exchange"):
            body.append(Exchange(partner, partner, _sent(stage, held, number)))
        theirs = np.maximum(held[partner], 1)
        body += _only(stage.compute("merge", units=held, partner=theirs, round=number), inside)
    if team.size > most and stage.sends("exchange"):
        back = np.where(before, sent[fold_from], 0)
        body += [Send(fold_from, back, 1), Recv(fold_to, 1)]
    row: Row = (Loop(stage.iterations, tuple(body)),)
    return tuple(row if count else () for count in units.tolist())


def _sent(stage: Stage, held: Ints, number: int) -> Ints:
    return stage.size_bytes("exchange", units=held, round=number)


def _only(computes: tuple[Compute, ...], which: Flags) -> list[Operation]:
    """A computation of some processes only."""
    return [Compute(np.where(which, compute.volume, 0.0), compute.size) for compute in computes]


BUTTERFLY = Template(
    "butterfly",
    ("merge", "local"),
    {"exchange": ("units", "round")},
    _butterfly,
    computes=lambda processes: {"local": 1, "merge": (processes - 1).bit_length()},
    handles=lambda processes: {"exchange": (processes - 1).bit_length()},
    step_names=("units", "partner", "round"),
)


# Row-column broadcast: processes in a grid; each iteration one of every row and column broadcasts (matrix product).
#
# The grid has R = `grid_rows` rows and takes the processes row by row, those without units too, which take no part. In
# each row the processes with units take turns to broadcast along it, iteration by iteration, in each column likewise,
# then all compute. With one row there are no broadcasts along columns.
def _row_column_broadcast(stage: Stage) -> tuple[Row, ...]:
    """`iterations` times both broadcasts, of `row` and `column` bytes, and `step`."""
    units, down = stage.team.units, stage.grid_rows
    if units.size % down:
        raise ScenarioError(f"partition: it has {units.size} processes; give a multiple of grid_rows = {down}")
    grid, turns = np.arange(units.size).reshape(down, -1), np.arange(stage.iterations)
    compute = stage.compute("step")
    sizes_bytes = {
        name: np.broadcast_to(stage.size_bytes(name), (stage.iterations, units.size))
        for name in ("row", "column")
        if stage.sends(name)
    }

    def broadcast(name: str, line: Ints) -> list[Operation]:
        members = line[units[line] > 0]
        if members.size < 2 or name not in sizes_bytes:
            return []
        root = members[turns % members.size]
        return [Broadcast(root, sizes_bytes[name][turns, root], group=tuple(members.tolist()))]

    def row_of(process: int) -> Row:
        i, j = divmod(process, grid.shape[1])
        body = (*broadcast("row", grid[i]), *broadcast("column", grid[:, j]), *compute)
        return (Loop(stage.iterations, body),)

    return tuple(row_of(process) if count else () for process, count in enumerate(units.tolist()))


ROW_COLUMN_BROADCAST = Template(
    "row_column_broadcast",
    ("step",),
    {"row": ("units", "iteration"), "column": ("units", "iteration")},
    _row_column_broadcast,
    computes=lambda _: {"step": 1},
    handles=lambda _: {"row": 1, "column": 1},
)


def _master_worker(stage: Stage) -> tuple[Row, ...]:
    """`prepare` at the master, `input` bytes to each worker, `work`, `result` bytes back, `finish` at the master."""
    units, total = stage.team.units, int(stage.team.units.sum())
    workers = np.flatnonzero(units[1:]) + 1
    work = stage.compute("work")
    to_all: list[Operation] = []
    from_all: list[Operation] = []
    receives: list[Operation] = []
    answers: list[Operation] = []
    if stage.sends("input"):
        sizes = stage.size_bytes("input")[..., workers, np.newaxis]
        to_all = [Loop(workers.size, (Send(workers[:, np.newaxis], sizes, TO_WORKER),))]
        receives = [Recv(0, TO_WORKER)]
    if stage.sends("result"):
        from_all = [Loop(workers.size, (Recv(workers[:, np.newaxis], TO_MASTER),))]
        answers = [Send(0, stage.size_bytes("result"), TO_MASTER)]
    before, after = (stage.compute(step, units=np.full(units.size, total)) for step in ("prepare", "finish"))
    own = work if units[0] else ()
    master: Row = (Loop(stage.iterations, (*before, *to_all, *own, *from_all, *after)),)
    worker: Row = (Loop(stage.iterations, (*receives, *work, *answers)),)
    return (master, *(worker if count else () for count in units[1:].tolist()))


MASTER_WORKER = Template(
    "master_worker",
    ("work", "prepare", "finish"),
    {"input": ("units", "iteration"), "result": ("units", "iteration")},
    _master_worker,
    computes=lambda _: {"work": 1},
    handles=lambda _: {"input": 1, "result": 1},
    has_master=True,
)


# Stencil: processes in a chain exchange halos with both neighbours, then compute, in every iteration.
def _stencil(stage: Stage) -> tuple[Row, ...]:
    """`iterations` times `halo` bytes down and up the chain, and `step`; at its ends only what exists."""
    team = stage.team
    above, under = team.process(team.place - 1), team.process(team.place + 1)
    body: list[Operation] = []
    if stage.sends("halo"):
        halo = stage.size_bytes("halo")
        body += [Exchange(under, above, halo), Exchange(above, under, halo)]
    row: Row = (Loop(stage.iterations, (*body, *stage.compute("step"))),)
    return tuple(row if units else () for units in team.units.tolist())


STENCIL = Template(
    "stencil",
    ("step",),
    {"halo": ("units", "iteration")},
    _stencil,
    computes=lambda _: {"step": 1},
    handles=lambda _: {"halo": 2},
)


TEMPLATES: dict[str, Template] = {
    template.name: template for template in (MULTIPHASE, BUTTERFLY, ROW_COLUMN_BROADCAST, MASTER_WORKER, STENCIL)
}
"""By name."""

"""The jobs of a rank: parallel programs by name that compute what a kernel was measured for."""

import json
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.bench.worker import Jobs
from simulator.calibration.kernels import KERNELS, kernel, operands, stencil
from simulator.calibration.kernels.operands import Matrix
from simulator.calibration.kernels.plain import CLOSE, PLAIN, is_right
from simulator.calibration.kernels.table import SIZED_KERNELS
from simulator.calibration.pingpong.ends import StreamChannel
from simulator.programs.applications.work import Shape

if TYPE_CHECKING:
    from simulator.scheduling.balance import Balancer

Report = dict[str, float]
"""What a rank says of its run, besides its times."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class RealProgram:
    """What runs, who does how much of it, and where."""

    name: str
    """One of `PROGRAMS`: the application of that name."""
    kernel: str
    parameters: Mapping[str, Any]
    units: tuple[int, ...]
    """Of each rank; only a master may have none."""
    places: tuple[tuple[int, ...], ...]
    """The logical processors that each rank may use."""
    balance: str = ""
    """Where units move while it runs: the balancer's state before the first iteration, as it is saved."""
    every: int = 0


@dataclass(frozen=True)
class Seat:
    """One rank of a program: what it knows and whom it can reach."""

    program: RealProgram
    rank: int
    channels: Mapping[int, StreamChannel]
    """To rank 0 and to the ranks before and after it, or from rank 0 to all."""
    pool: int
    """File descriptor of which all ranks share the position."""

    @property
    def units(self) -> int:
        """Of this rank."""
        return self.program.units[self.rank]

    @property
    def first(self) -> int:
        """The first of its units."""
        return sum(self.program.units[: self.rank])


class Part(Protocol):
    """What one rank does of a program."""

    def ready(self) -> None:
        """Make again what a run overwrites; not timed."""

    def run(self) -> Usage:
        """Do this rank's part once; what its computation cost."""

    def check(self) -> Report:
        """Check this rank's answer after a run; not timed."""


class Room:
    """Arrays that the parts of one rank take in turns, since one of them runs at a time; pages are there once made."""

    def __init__(self) -> None:
        self._rows: dict[str, Matrix] = {}
        self._made = dict[str, object]()

    def rows(self, name: str, rows: int, columns: int) -> Matrix:
        """So many whole rows; what is in them is what the last part left there."""
        kept = self._rows.get(name)
        if kept is None or kept.shape[0] < rows or kept.shape[1] != columns:
            self._rows[name] = kept = np.ones((rows, columns))  # ones, not zeros: the pages must be there
        return kept[:rows]

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What is made when it is first asked for."""
        if name not in self._made:
            self._made[name] = make()
        return cast("Made", self._made[name])


class Stopwatch:
    """Adds up what stretches of computation cost."""

    def __init__(self) -> None:
        self.total = Usage()

    def timed(self, work: Callable[[], object]) -> None:
        """Do some work, whose cost counts."""
        before = Usage.now()
        work()
        self.total += Usage.now() - before


class Product:
    """One rank's rows of C = A B; the master has all of A, B and C: it sends B and rows of A, and collects."""

    def __init__(self, seat: Seat, room: Room) -> None:
        self._seat, self._room = seat, room
        self._n = int(seat.program.parameters["n"])
        self._multiply = kernel(seat.program.kernel).multiply
        self._edges = np.concatenate(([0], np.cumsum(seat.program.units)))

    @property
    def _master(self) -> bool:
        return not self._seat.rank

    def ready(self) -> None:
        """Operands at the master, room at the others, and a C that is wrong."""
        n = self._n
        rows = n if self._master else self._seat.units
        self._a = self._room.once("a", lambda: operands.left(n, n)) if self._master else self._room.rows("a", rows, n)
        self._b = self._room.once("b", lambda: operands.right(n)) if self._master else self._room.rows("b", n, n)
        self._c = self._room.rows("c", rows, n)
        self._c.fill(1.0)

    def run(self) -> Usage:
        """Distribute, multiply, collect; or receive, multiply, send back."""
        watch, workers = Stopwatch(), range(1, len(self._seat.program.units)) if self._master else ()
        for rank in workers:
            self._send(rank, self._b)
            self._send(rank, self._part(self._a, rank))
        if not self._master:
            self._receive(0, self._b)
            self._receive(0, self._a)
        if rows := self._seat.units:
            watch.timed(lambda: self._multiply(self._a[:rows], self._b, self._c[:rows]))
        for rank in workers:
            self._receive(rank, self._part(self._c, rank))
        if not self._master:
            self._send(0, self._c)
        return watch.total

    def check(self) -> Report:
        """Compare three rows of C with their definition, so that a fast wrong run cannot pass."""
        for row in (0, self._n // 2, self._n - 1) if self._master else ():
            if not np.allclose(self._c[row], (operands.left(self._n, 1, first=row) @ self._b)[0], rtol=CLOSE):
                raise ValueError(f"row {row} of the product is wrong")
        return {}

    def _part(self, matrix: Matrix, rank: int) -> Matrix:
        return matrix[self._edges[rank] : self._edges[rank + 1]]

    def _send(self, peer: int, payload: Matrix) -> None:
        self._seat.channels[peer].send(payload.data.cast("B"))

    def _receive(self, peer: int, payload: Matrix) -> None:
        self._seat.channels[peer].receive(payload.data.cast("B"))


class Owners:
    """Which rows each rank has, the same known to all, and how rows come to others between iterations."""

    def __init__(self, seat: Seat, row_units: int = 1) -> None:
        self._seat, self._row_units = seat, row_units
        last = len(seat.program.units) - 1
        self.above = seat.channels[seat.rank - 1] if seat.rank else None
        self.under = seat.channels[seat.rank + 1] if seat.rank < last else None
        self.moving = bool(seat.program.balance)

    def begin(self) -> None:
        """As the program says it."""
        self.edges = [0, *accumulate(units // self._row_units for units in self._seat.program.units)]
        self.moves, self._balancer = 0, _balancer_of(self._seat.program.balance)

    @property
    def own(self) -> tuple[int, int]:
        """The first row of this rank and the end."""
        rank = self._seat.rank
        return self.edges[rank], self.edges[rank + 1]

    @property
    def place(self) -> slice:
        """Where they lie in this rank's arrays: of all rows where these may move, else of its own."""
        first, end = self.own
        return slice(first, end) if self.moving else slice(0, end - first)

    def room(self, room: Room, name: str, n: int) -> Matrix:
        """An array of n columns with a place for them; where rows move, the system backs those that it has had."""
        if self.moving:
            return room.once(f"all {name}", lambda: np.empty((n, n)))
        first, end = self.own
        return room.rows(name, end - first, n)

    def run(self, rounds: int, go: Callable[[Stopwatch, int, int], Sequence[Matrix]]) -> Usage:
        """Go through all rounds, some at a time: first and end of them; between two times rows may move.

        `go` answers the arrays whose rows are to move.
        """
        watch, done = Stopwatch(), 0
        every = rounds if self._balancer is None else self._seat.program.every
        while done < rounds:
            count, before_s = min(every, rounds - done), watch.total.wall_s
            arrays = go(watch, done, done + count)
            done += count
            if self._balancer is not None and done < rounds:
                self._decide(self._balancer, watch.total.wall_s - before_s, arrays)
        return watch.total

    def _decide(self, balancer: "Balancer", seconds: float, arrays: Sequence[Matrix]) -> None:
        """Rank 0 hears from all, and says what each has from now on; all ranks then know."""
        ranks = len(self._seat.program.units)
        units, own = np.zeros(ranks, dtype=np.int64), np.array([seconds])
        if self._seat.rank:
            self._seat.channels[0].send(own.data.cast("B"))
            self._seat.channels[0].receive(units.data.cast("B"))
        else:
            times = [seconds]
            for rank in range(1, ranks):
                self._seat.channels[rank].receive(own.data.cast("B"))
                times.append(float(own[0]))
            balancer.update(times)
            units[:] = balancer.units
            for rank in range(1, ranks):
                self._seat.channels[rank].send(units.data.cast("B"))
        edges = [0, *accumulate(units.tolist())]
        if edges != self.edges:
            self._move(edges, arrays)
            self.edges = edges
            self.moves += 1

    def _move(self, edges: Sequence[int], arrays: Sequence[Matrix]) -> None:
        """Rows that change their rank, from neighbour to neighbour: first to higher ranks, then to lower ones."""
        before, rank = self.edges, self._seat.rank
        for direction, source, to in ((1, self.above, self.under), (-1, self.under, self.above)):
            near, far = (rank, rank + 1) if direction > 0 else (rank + 1, rank)
            for channel, edge, sends in ((source, near, False), (to, far, True)):
                first, end = sorted((before[edge], edges[edge]))
                if channel is None or (before[edge] - edges[edge]) * direction <= 0:
                    continue
                for array in arrays:
                    payload = array[first:end].data.cast("B")
                    if sends:
                        channel.send(payload)
                    else:
                        channel.receive(payload)


class Strip:
    """One rank's rows of the five-point stencil; rows at its edges go to both neighbours in each iteration."""

    def __init__(self, seat: Seat, room: Room) -> None:
        self._seat, self._room, self._owners = seat, room, Owners(seat)
        self._n, self._steps = int(seat.program.parameters["n"]), int(seat.program.parameters["iterations"])
        self._sweep = stencil.sweeper()

    def ready(self) -> None:
        """The points as they begin; next to the strip the border, which a neighbour's row takes the place of."""
        self._owners.begin()
        self._borders = self._room.rows("edges", 2, self._n)
        self._borders.fill(stencil.BORDER)
        self._arrays = [self._owners.room(self._room, name, self._n) for name in ("old", "new")]
        first, end = self._owners.own
        for array in self._arrays:
            array[self._owners.place] = stencil.start(self._n, end - first, first=first)

    @property
    def rows(self) -> stencil.Strip:
        """Its rows of the points as they are now."""
        return self._arrays[0][self._owners.place]

    def run(self) -> Usage:
        """In each iteration both exchanges, then all points; between some of them rows may move."""
        return self._owners.run(self._steps, self._iterate)

    def _iterate(self, watch: Stopwatch, begun: int, end: int) -> Sequence[Matrix]:
        over, below = self._borders
        above, under = self._owners.above, self._owners.under
        for _ in range(begun, end):
            old, new = (array[self._owners.place] for array in self._arrays)
            _exchange(under, old[-1], above, over)
            _exchange(above, old[0], under, below)
            watch.timed(partial(self._sweep, over, old, below, new))
            self._arrays.reverse()
        return self._arrays[:1]

    def check(self) -> Report:
        """Compare the first, a middle and the last row of the strip with the closed form."""
        first, end = self._owners.own
        for row in (first, (first + end) // 2, end - 1):
            expected = stencil.start(self._n, 1, first=row, steps=self._steps)[0]
            if not np.allclose(self.rows[row - first], expected, rtol=CLOSE):
                raise ValueError(f"row {row} of the stencil is wrong after {self._steps} iterations")
        return {"moves": self._owners.moves}


class Panels:
    """One rank's rows of C = A B by panels, in place: panels of B go round from the rank that has their rows."""

    def __init__(self, seat: Seat, room: Room) -> None:
        self._seat, self._room = seat, room
        self._n, self._nb = int(seat.program.parameters["n"]), int(seat.program.parameters["nb"])
        self._owners = Owners(seat, self._n)
        self._add = kernel(seat.program.kernel).add

    def ready(self) -> None:
        """Its rows of A and B, and a C of zeros."""
        n, owners = self._n, self._owners
        owners.begin()
        first, end = owners.own
        self._a, self._b, self._c = (owners.room(self._room, name, n) for name in ("rows a", "rows b", "rows c"))
        self._a[owners.place] = operands.left(n, end - first, first=first)
        self._b[owners.place] = operands.right(n, end - first, first=first)
        self._c[owners.place] = 0.0
        self._panel = self._room.rows("panel", min(self._nb, n), n)

    @property
    def rows(self) -> Matrix:
        """Its rows of C."""
        return self._c[self._owners.place]

    def run(self) -> Usage:
        """For each panel its broadcast, then its product; between some panels rows may move."""
        return self._owners.run(-(-self._n // self._nb), self._multiply)

    def _multiply(self, watch: Stopwatch, begun: int, end: int) -> Sequence[Matrix]:
        """Panels are cut where they pass from one rank to the next."""
        owners, last = self._owners, min(end * self._nb, self._n)
        cuts = sorted({*range(begun * self._nb, last, self._nb), *owners.edges, last})
        cuts = [cut for cut in cuts if begun * self._nb <= cut <= last]
        for first, after in pairwise(cuts):
            owner = bisect_right(owners.edges, first) - 1
            panel = self._broadcast(owner, first, after)
            part = self._a[owners.place, first:after], panel, self._c[owners.place]
            watch.timed(partial(self._add, *part))
        return self._a, self._b, self._c

    def _broadcast(self, owner: int, first: int, after: int) -> Matrix:
        """Rows of B along the ring of ranks, from their owner on."""
        rank, ranks = self._seat.rank, len(self._seat.program.units)
        distance, panel = (rank - owner) % ranks, self._panel[: after - first]
        if not distance:
            begins = self._owners.place.start + first - self._owners.own[0]
            panel = self._b[begins : begins + after - first]
        else:
            self._seat.channels[(rank - 1) % ranks].receive(panel.data.cast("B"))
        if distance < ranks - 1:
            self._seat.channels[(rank + 1) % ranks].send(panel.data.cast("B"))
        return panel

    def check(self) -> Report:
        """Compare the first, a middle and the last of its rows of C with their definition."""
        first, end = self._owners.own
        for row in (first, (first + end) // 2, end - 1):
            if not np.allclose(self.rows[row - first], operands.product_row(self._n, row), rtol=CLOSE):
                raise ValueError(f"row {row} of the product is wrong")
        return {"moves": self._owners.moves}


def _balancer_of(state: str) -> "Balancer | None":
    if not state:
        return None
    from simulator.scheduling.balance import Balancer  # few programs move units

    return Balancer.restore(state)


def _exchange(to: StreamChannel | None, sent: stencil.Row, source: StreamChannel | None, received: stencil.Row) -> None:
    """Send to one rank and receive from another at once; at the ends of the chain only what exists."""
    there, back = sent.data.cast("B"), received.data.cast("B")
    if to is not None and source is not None:
        StreamChannel(to.ends[0], source.ends[1]).exchange(there, back)
    elif to is not None:
        to.send(there)
    elif source is not None:
        source.receive(back)


class Hand:
    """One rank of a farm: it takes the next chunk of units from a pool whenever it is free.

    The pool is no process: it is the position in an open file that all ranks share, which the system moves on for one
    rank at a time (POSIX 2.9.7, for regular files). A unit is one or more runs of the kernel, all of the same size.
    """

    def __init__(self, seat: Seat, room: Room) -> None:
        parameters, unit = seat.program.parameters, SIZED_KERNELS[seat.program.kernel]
        n = unit.n_of(parameters["size"])
        self._seat, self._count, self._chunk = seat, int(parameters["units"]), int(parameters.get("chunk", 1))
        self._runs = round(parameters["volume"] / unit.volume(n))
        self._prepared = room.once("unit", lambda: unit.prepare(n))
        if not room.once("right", lambda: is_right(unit.name, n, self._prepared.run())):
            raise ValueError(f"kernel {unit.name}: what it answers for n = {n} is wrong")
        self._report: Report = {}

    def ready(self) -> None:
        """Put the pool back to the first unit; every rank does so before any begins."""
        os.lseek(self._seat.pool, 0, os.SEEK_SET)

    def run(self) -> Usage:
        """Take chunks until nothing is left."""
        watch, pulls, pull_s, done, places = Stopwatch(), 0, 0.0, 0, 0
        while True:
            before = time.perf_counter()
            first = os.lseek(self._seat.pool, self._chunk, os.SEEK_CUR) - self._chunk
            pull_s += time.perf_counter() - before
            pulls += 1
            if first >= self._count:
                break
            taken = min(self._chunk, self._count - first)
            watch.timed(partial(self._repeat, taken * self._runs))
            done += taken
            places += first
        self._report = {"pulls": pulls, "pull_s": pull_s, "units": done, "places": places}
        return watch.total

    def check(self) -> Report:
        """What it did, for `agree`; its results were compared with plain NumPy's when the rank was made."""
        return self._report

    def _repeat(self, runs: int) -> None:
        for _ in range(runs):
            self._prepared.run()


def _farm_fault(kernel_name: str, parameters: Mapping[str, Any], _grids: Collection[Shape]) -> str | None:
    """Why no run of a kernel is a farm's unit; None if one is."""
    more = [name for name in parameters if name not in ("units", "volume", "size", "chunk", "pull")]
    if more and (more != ["rule"] or parameters["rule"] != "ss"):
        return f"the real farm has chunks of one size and units without data; leave {', '.join(more)} out"
    unit, size, volume = SIZED_KERNELS[kernel_name], parameters["size"], parameters["volume"]
    n = unit.n_of(size)
    runs = volume / unit.volume(n)
    if unit.size(n) == size and round(runs) >= 1 and abs(runs - round(runs)) <= 1e-6 * runs:
        return None
    nearest = f"the nearest run is n = {n}: `size: {unit.size(n)}`, `volume: {unit.volume(n):.17g}` or a multiple"
    return f"a farm's unit of size {size} and volume {volume:g} is no run of {kernel_name}; {nearest}"


def _panels_fault(_kernel_name: str, parameters: Mapping[str, Any], grids: Collection[Shape]) -> str | None:
    """Why panels cannot go round; None if they can."""
    if parameters.get("broadcast", "ring") != "ring":
        return f"matmul_2d really broadcasts in a ring, not by {parameters['broadcast']}; leave broadcast out"
    wide = [columns for _, columns in grids if columns > 1]
    if wide:
        return (
            f"matmul_2d really runs on one column of processes, not on {wide[0]}; "
            "give grid_rows, or the configuration's grid, as many rows as processes"
        )
    return None


def agree(program: RealProgram, reports: Sequence[Report]) -> str | None:
    """What is wrong with the chunks that all ranks took together; None if each unit was done once."""
    units, chunk = int(program.parameters["units"]), int(program.parameters.get("chunk", 1))
    done, places = (sum(one[name] for one in reports) for name in ("units", "places"))
    if (done, places) == (units, sum(range(0, units, chunk))):
        return None
    return f"the farm has {units} units, of which the ranks did {done:.0f}"


@dataclass(frozen=True)
class RealKind:
    """A program that really runs."""

    part: Callable[[Seat, Room], Part]
    kernels: Collection[str]
    fault: Callable[[str, Mapping[str, Any], Collection[Shape]], str | None] = lambda *_: None
    """Why it cannot run with a kernel, parameters, and processes on some grids."""
    agree: Callable[[RealProgram, Sequence[Report]], str | None] = lambda _program, _reports: None
    """What is wrong with what all ranks report together."""


PROGRAMS = {
    "matmul": RealKind(Product, KERNELS),
    "matmul_2d": RealKind(Panels, KERNELS, _panels_fault),
    "stencil": RealKind(Strip, (stencil.KERNEL.name,)),
    "farm": RealKind(Hand, PLAIN, _farm_fault, agree),
}
"""By the name of the application."""


def program_fault(name: str, kernel: str, parameters: Mapping[str, Any], grids: Collection[Shape] = ()) -> str | None:
    """Why an application cannot really run, in one sentence; None if it can.

    `grids` are those that its processes form, of an application that knows grids.
    """
    if name not in PROGRAMS:
        have = f"{', '.join(list(PROGRAMS)[:-1])} and {list(PROGRAMS)[-1]} have"
        return f"{name} has no real program here; {have}, others run by --command"
    known = PROGRAMS[name]
    if kernel in known.kernels:
        return known.fault(kernel, parameters, grids)
    some = "kernel" if len(known.kernels) == 1 else "kernels"
    return f"{name} really runs with the {some} {', '.join(sorted(known.kernels))}, not with {kernel!r}"


@dataclass(frozen=True)
class RankRun:
    """One run of a rank's part."""

    start: float
    """By its own clock, as the end is."""
    end: float
    compute: Usage
    report: Report


class Rank:
    """What a rank keeps between commands: its channels, and what is prepared."""

    def __init__(self, channels: dict[int, StreamChannel], pool: int) -> None:
        self._channels, self._pool = channels, pool
        self.forget()

    def forget(self) -> Done:
        """Free everything that was prepared."""
        self._parts: dict[int, tuple[Part, list[int]]] = {}
        self._room = Room()
        return Done()

    def prepare_program(self, program: Mapping[str, Any], number: int, rank: int) -> Done:
        """Take a seat in a program; programs prepared before stay, and share their arrays with it."""
        seat = Seat(RealProgram(**program), rank, self._channels, self._pool)
        self._parts[number] = PROGRAMS[program["name"]].part(seat, self._room), list(program["places"][rank])
        return Done()

    def ready(self, number: int) -> Done:
        """Go where a program's rank is, and make again what its last run overwrote."""
        part, cpus = self._parts[number]
        os.sched_setaffinity(0, cpus)
        part.ready()
        return Done()

    def run(self, number: int, start: float) -> RankRun:
        """Wait for the moment at which all ranks start, and do this rank's part; its answer is checked afterwards."""
        part, _ = self._parts[number]
        time.sleep(max(0.0, start - time.perf_counter()))
        begun = time.perf_counter()
        used = part.run()
        end = time.perf_counter()
        return RankRun(begun, end, used, part.check())


def jobs(channels: str, pool: str) -> Jobs:
    """A rank with channels to others, `{"PEER": NUMBER}`, and the file whose position all ranks share."""
    rank = Rank({int(peer): StreamChannel(number, number) for peer, number in json.loads(channels).items()}, int(pool))
    return {
        "forget": rank.forget,
        "prepare program": rank.prepare_program,
        "ready": rank.ready,
        "run program": rank.run,
    }

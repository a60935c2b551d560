"""HPL, the LU factorisation of a matrix of order n on a grid of processes; by default 1 x P, columns dealt in cycles.

Step k of K = ceil(n / nb), with m = n - k nb rows left and a panel of w columns (nb, the last one what is left):

| step | `phases: main` | `phases: all`, in floating point operations as HPL's own algorithm has them |
|---|---|---|
| the panel's owner factors it | m w**2 | the LU of m x w: sum over j < w of (m - 1 - j) (1 + 2 (w - 1 - j)) |
| the panel is broadcast from its owner | 8 m w bytes | 8 (m w + w + 1) bytes: with the pivots and a flag |
| w rows change places in each of a process's c columns | nothing | 2 w c words moved |
| each process updates its c columns behind the panel | 2 w m c | solving w (w - 1) c, product 2 (m - w) w c |
| back substitution, from the last block to the first | nothing | see below |

With all phases the right-hand side is one more column, behind all others, at the process of block n // nb (counted
from 0). The back substitution then begins with the right-hand side at the owner of the last block, 8 n bytes. Step by
step the owner solves for the w unknowns of its block, w**2 operations, subtracts them from the (G - 1) nb rows above
(at least nb, if there are as many), 2 w each, sends those to the owner of the block before, and then subtracts them
from all rows further up (`HPL_pdtrsv.c`, with G processes that take part): a chain of K messages. All in all
2/3 n**3 + 3/2 n**2 - 7/6 n operations, whatever nb is, which HPL counts as 2/3 n**3 + 3/2 n**2. Nothing is looked
ahead (HPL's depth 0).

Everything runs at the speed of one kernel, the update's. What is slower takes `panel_speed`, `solve_speed` (back
substitution) or `swap_speed` (words moved) times that speed, so its volume counts as 1 / so much. The problem size of a
computation is the elements that it reads and writes: m w for a panel, m (w + c) for an update, w times its rows in the
back substitution. Memory: `main` 8 n (columns + nb) bytes; `all` as HPL allocates it, 8 (n + 1) (columns + 1) and one
panel of 8 (n nb + nb + 1).

**Grids of several rows**, R x Q (with `phases: main`): blocks of nb x nb are dealt out in cycles along rows and
columns, the same number for each process. In step k, with r rows left and c columns behind the panel at a process:

1. the Q-th part of the processes that stands in the panel's grid column factors it: for each of its w columns r w
   operations by each, then an all-reduce of 8 (2 w + 4) bytes among its R processes, which finds the pivot and
   exchanges its row (`HPL_pdmxswp.c`);
2. each of them broadcasts its 8 r w bytes along its grid row;
3. in each grid column the pivots' rows, 8 w c bytes, are combined among its R processes (HPL's binary exchange);
4. each process updates its part: 2 w r c operations on r (w + c) elements.

All in all the same operations as with one row. A process with r rows and c columns holds 8 r (c + nb) bytes.

Parameters of `hpl` from the input file of the benchmark itself: HPL.dat, 31 lines of a value and what it means.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from simulator.base import units
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.programs.applications.block_columns import BlockColumns
from simulator.programs.applications.parameters import BROADCAST, Counted, Parameters, choice, order, positive, whole
from simulator.programs.applications.work import Shape, Team, Work, shapes
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    NOBODY,
    AllReduce,
    Broadcast,
    BroadcastAlgorithm,
    Compute,
    Exchange,
    Loop,
    Operation,
    Program,
)

if TYPE_CHECKING:
    from simulator.platform.named_files import NamedFiles  # a far host has no such room

Phases = Literal["main", "all"]
Waiting = Literal["yielding", "polling"]
WORD_BYTES = 8
KEY = "hpl_dat"
BROADCASTS = {0: "ring", 1: "modified_ring", 2: "two_rings", 4: "scatter_ring"}
"""HPL's numbers of the broadcasts that are simulated."""
_LISTS = {"Ns": (5, 6), "NBs": (7, 8), "Ps": (10, 11), "Qs": (10, 12), "BCASTs": (22, 23), "DEPTHs": (24, 25)}
"""Lines of the number of values and of the values; HPL reads its file by line."""
_CHOICES = {"n": "Ns", "nb": "NBs", "broadcast": "BCASTs"}
_NEEDED = 25
_LIMIT_BYTES = 2**20


@dataclass(frozen=True)
class Hpl(Work):
    """An LU factorisation; a partition is column blocks per cycle, 1 for each process in HPL itself."""

    matrix: BlockColumns
    broadcast: BroadcastAlgorithm
    phases: Phases
    panel_speed: float
    """Of the update's."""
    solve_speed: float
    """Of the update's, in the back substitution."""
    swap_speed: float
    """Words moved while the update does one operation."""
    waiting: Waiting

    @property
    def units(self) -> int:
        """Column blocks; a partition may also add up to a divisor or to any smaller number."""
        return self.matrix.count

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - the same for any number
        """Column blocks."""
        return self.matrix.count

    def grids(self, processes: int) -> tuple[Shape, ...]:
        """All for the main phases; all phases are those of one row."""
        return shapes(processes)[: None if self.phases == "main" else 1]

    def fitting(self, partition: tuple[int, ...], grid: Shape | None = None) -> tuple[int, ...]:
        """Any on one row, equal shares on a grid of several."""
        return partition if grid is None or grid[0] == 1 else (1,) * len(partition)

    @property
    def volume(self) -> float:
        """Operations of all processes; slower ones count as those of the update that take as long."""
        m, w = self._rows_and_widths
        if self.phases == "main":
            return float(np.sum(self._panels + self._per_column * (m - w)))
        above = self.matrix.n - m
        substitution = float(np.sum(w**2 + 2 * w * above)) / self.solve_speed
        return float(np.sum(self._panels + self._per_column * (m - w + 1))) + substitution

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many average blocks, all steps in one computation, at the size of the blocks in the first step."""
        each = self.volume / self.units
        return lambda units: Compute(units * each, self.matrix.n * self.matrix.nb * units)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Every panel, once."""
        return tuple(self._panels_bytes.tolist()) if units else ()

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without blocks takes no part."""
        if configuration.grid is not None and configuration.grid[0] > 1:
            return self._on_grid(configuration, configuration.grid)
        matrix, count = self.matrix, len(configuration.partition)
        dealt = matrix.owners(configuration, blocks=matrix.count + 1)
        owners, last = dealt[: matrix.count], dealt[matrix.n // matrix.nb]
        team = Team(np.array(configuration.partition, dtype=np.int64))
        m, w = matrix.left, matrix.widths
        panel = Compute(matrix.of_owner(owners, self._panels, count), (m * w)[:, np.newaxis])
        behind = matrix.after(owners, w, count)
        if self.phases == "all":
            behind[:, last] += 1
        update = Compute(
            self._per_column[:, np.newaxis] * behind,
            m[:, np.newaxis] * (w[:, np.newaxis] + behind),
        )
        broadcast = Broadcast(owners, self._panels_bytes, self.broadcast, team.group)
        row: tuple[Operation, ...] = (Loop(matrix.count, (panel, broadcast, update)),)
        if self.phases == "all":
            row += self._back_substitution(owners, int(last), team)
        columns = np.bincount(owners, weights=w, minlength=count).astype(np.int64)
        return team.program(row, self._footprints_bytes(columns), polls=self.waiting == "polling")

    def _on_grid(self, configuration: Configuration, grid: Shape) -> Program:
        """The operations on a grid of several rows."""
        shares, matrix = configuration.partition, self.matrix
        if min(shares) < 1 or max(shares) - min(shares) > 1:
            where = f"configuration {configuration.name}: partition"
            raise ScenarioError(f"{where}: a grid of several rows has equal shares: write equal, or 1 for each process")
        blocks, widths = np.arange(matrix.count), matrix.widths
        behind = [matrix.after(blocks % parts, widths, parts) for parts in grid]
        left = behind[0] + matrix.of_owner(blocks % grid[0], widths, grid[0])
        dealt = [np.bincount(blocks % parts, weights=widths, minlength=parts) for parts in grid]
        held = np.outer(dealt[0], dealt[1] + matrix.nb).astype(np.int64).reshape(-1)
        rows = tuple(
            self._grid_row(place, grid, left[:, place[0]], behind[1][:, place[1]]) for place in np.ndindex(grid)
        )
        return Program(rows, tuple((WORD_BYTES * held).tolist()), self.waiting == "polling")

    def _grid_row(self, place: tuple[int, ...], grid: Shape, left: Floats, behind: Floats) -> tuple[Operation, ...]:
        """What the process at a place does: steps in cycles of the grid's columns, then those that fill no cycle."""
        rows, columns = grid
        across = tuple(place[0] * columns + column for column in range(columns))
        down = tuple(row * columns + place[1] for row in range(rows))

        def step(number: slice, root: int, width: int) -> tuple[Operation, ...]:
            r, c = left[number, np.newaxis], behind[number, np.newaxis]
            column = Compute(r[..., np.newaxis] * width / self.panel_speed, r[..., np.newaxis] * width)
            pivot = AllReduce(WORD_BYTES * (2 * width + 4), "recursive_doubling", down)
            panel = (Loop(width, (column, pivot)),) if root == place[1] else ()
            panel_bytes, rows_bytes = ((WORD_BYTES * width * side[:, 0]).astype(np.int64) for side in (r, c))
            return (
                *panel,
                Broadcast(across[root], panel_bytes, self.broadcast, across),
                AllReduce(rows_bytes, "recursive_doubling", down),
                Compute(2 * width * r * c, r * (width + c)),
            )

        matrix = self.matrix
        cycles = matrix.n // matrix.nb // columns
        whole = cycles * columns
        body = [step(slice(root, whole, columns), root, matrix.nb) for root in range(columns)] if cycles else []
        rest = [
            Loop(1, step(slice(number, number + 1), number % columns, int(matrix.widths[number])))
            for number in range(whole, matrix.count)
        ]
        return Loop(cycles, tuple(operation for steps in body for operation in steps)), *rest

    @property
    def _rows_and_widths(self) -> tuple[Floats, Floats]:
        return self.matrix.left.astype(np.float64), self.matrix.widths.astype(np.float64)

    @property
    def _panels(self) -> Floats:
        """Volume of each panel; (K,)."""
        m, w = self._rows_and_widths
        if self.phases == "main":
            return m * w**2 / self.panel_speed
        divisions = w * (m - 1) - w * (w - 1) / 2
        products = (m - w) * w * (w - 1) + (w - 1) * w * (2 * w - 1) / 3
        return np.asarray((divisions + products) / self.panel_speed)

    @property
    def _per_column(self) -> Floats:
        """Volume of updating one column behind each panel; (K,)."""
        m, w = self._rows_and_widths
        if self.phases == "main":
            return 2.0 * w * m
        return np.asarray(w * (w - 1) + 2 * (m - w) * w + 2 * w / self.swap_speed)

    @property
    def _panels_bytes(self) -> Ints:
        m, w = self.matrix.left, self.matrix.widths
        return WORD_BYTES * (m * w + (w + 1 if self.phases == "all" else 0))

    def _footprints_bytes(self, columns: Ints) -> Ints:
        n, nb = self.matrix.n, self.matrix.nb
        if self.phases == "main":
            return WORD_BYTES * n * (columns + nb)
        return WORD_BYTES * ((n + 1) * (columns + 1) + n * nb + nb + 1)

    def _back_substitution(self, owners: Ints, right_hand_side: int, team: Team) -> tuple[Operation, ...]:
        """From the last block to the first."""
        matrix, count, processes = self.matrix, self.matrix.count, team.units.size
        w, above = matrix.widths[::-1, np.newaxis], matrix.first[::-1, np.newaxis]
        near = np.minimum(above, max(team.size - 1, 1) * matrix.nb)
        solves = matrix.of_owner(owners, np.full(count, 1 / self.solve_speed), processes)[::-1]
        before = np.concatenate(([owners[0]], owners[:-1]))  # nothing is above the first block
        to, source = _partners(owners[::-1], before[::-1], processes)
        begin, end = _partners(np.array([right_hand_side]), owners[-1:], processes)
        body = (
            Compute(solves * w**2, w * w),
            Compute(solves * 2 * w * near, w * near),
            Exchange(to, source, WORD_BYTES * near),
            Compute(solves * 2 * w * (above - near), w * (above - near)),
        )
        return Exchange(begin[0], end[0], WORD_BYTES * matrix.n), Loop(count, body)


def _partners(sends: Ints, receives: Ints, processes: int) -> tuple[Ints, Ints]:
    """Whom each process sends to and receives from where one sends to another, in each of K steps; (K, process)."""
    steps = np.arange(sends.size)
    to, source = (np.full((sends.size, processes), NOBODY, dtype=np.int64) for _ in range(2))
    to[steps, sends], source[steps, receives] = receives, sends
    same = sends == receives
    to[same], source[same] = NOBODY, NOBODY
    return to, source


def _idle(parameters: Parameters) -> list[str]:
    """What is wrong with parameters that are for other phases."""
    if parameters.get("phases") == "all":
        return []
    found = [name for name in ("solve_speed", "swap_speed") if name in parameters]
    return [
        f"application: parameters: {name} is for what phases: main leaves out; leave it out, or write phases: all"
        for name in found
    ]


APPLICATION = Counted(
    "hpl",
    lambda n, nb, **others: Hpl(BlockColumns(n, nb), **others),
    {
        "n": order("order of the matrix"),
        "nb": whole(meaning="columns of a block"),
        "broadcast": choice(get_args(BroadcastAlgorithm), "ring", BROADCAST),
        "phases": choice(get_args(Phases), "main", "`main`: panels, broadcasts, updates; `all`: all that HPL does"),
        "panel_speed": positive(1.0, "speed of panels over that of the update"),
        "solve_speed": positive(
            1.0, meaning="speed of the back substitution over that of the update; with `phases: all`"
        ),
        "swap_speed": positive(
            math.inf,
            meaning="words of row swaps per second over the update's speed; with `phases: all`; no time if left out",
        ),
        "waiting": choice(
            get_args(Waiting),
            "yielding",
            "what a process does that waits: `yielding` leaves its PE, `polling` does not",
        ),
    },
    faults=_idle,
    chosen=("nb", "broadcast", "waiting"),
)


def with_hpl_dat(parameters: Parameters, named: "NamedFiles") -> tuple[dict[str, float | str], tuple[str, ...]]:
    """Parameters with those of the HPL.dat that they name in its place, and what is to be known of it.

    What is said next to it holds in place of the file's: so one of several values is chosen.
    """
    if KEY not in parameters:
        return dict(parameters), ()
    from simulator.base import files  # workers of kernels load this module and have no need of it

    path = str(parameters[KEY])
    lines = files.read_text(named.path(path), limit_bytes=_LIMIT_BYTES).splitlines()
    if len(lines) < _NEEDED:
        raise ScenarioError(f"{path}: the file has {len(lines)} lines and HPL.dat has 31; name one")
    found = {name: _values(path, lines, name) for name in _LISTS}
    said: dict[str, float | str] = {name: value for name, value in parameters.items() if name != KEY}
    for name, listed in _CHOICES.items():
        if name not in said:
            said[name] = _only(path, found, listed, f"{name} next to {KEY} chooses")
    if "broadcast" not in parameters:
        said["broadcast"] = _broadcast(path, int(said["broadcast"]))
    rows = set(found["Ps"])
    if rows != {1}:
        grids = ", ".join(f"{p} x {q}" for p, q in zip(found["Ps"], found["Qs"], strict=True))
        advice = "write Ps of 1 here, and the grid in the configuration, such as grid: [2, 4]"
        raise ScenarioError(f"{path}:{_LISTS['Ps'][1]}: Ps: the file asks for {grids}: {advice}")
    deep = max(found["DEPTHs"])
    notes = (f"{path}: the look-ahead of {deep} is not simulated",) if deep else ()
    return said, notes


def _values(path: str, lines: list[str], name: str) -> list[int]:
    counted, listed = _LISTS[name]
    (count,) = _integers(path, lines, counted, 1, f"number of {name}")
    if not 1 <= count <= 20:
        raise ScenarioError(f"{path}:{counted}: number of {name} is {count}; give 1 to 20")
    return _integers(path, lines, listed, count, name)


def _integers(path: str, lines: list[str], line: int, count: int, name: str) -> list[int]:
    words = lines[line - 1].split()[:count]
    if len(words) < count or not all(units.to_whole(word) is not None for word in words):
        found = (" ".join(words) or "nothing")[:60]
        raise ScenarioError(f"{path}:{line}: {name}: {found!r} stands there; begin the line with {count} integers")
    return [int(word) for word in words]


def _only(path: str, found: Mapping[str, list[int]], name: str, advice: str) -> int:
    values = sorted(set(found[name]))
    if len(values) > 1:
        shown = ", ".join(map(str, values))
        raise ScenarioError(f"{path}:{_LISTS[name][1]}: {name}: there are {shown}; leave one value: {advice}")
    return values[0]


def _broadcast(path: str, number: int) -> str:
    if number not in BROADCASTS:
        known = ", ".join(f"{one} ({name})" for one, name in BROADCASTS.items())
        raise ScenarioError(f"{path}:{_LISTS['BCASTs'][1]}: BCASTs: {number} is not simulated; take {known}")
    return BROADCASTS[number]

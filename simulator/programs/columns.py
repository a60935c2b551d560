"""A program in its plainest form: the primitive operations of all processes as columns of one table."""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt, Noise

COLLECTIVE_TAG = -1
"""Tag of the messages of collectives; those of programs are 0 or more."""
INTO, OUT = 0, 1
"""What a move to or from a GPU says as its source; moves to and from disks have -1."""
POSTED_MOVE = 3
"""A move that goes on beside computing is a message that its process sends itself, of a mode so much above these."""
RULES = "static", "ss", "gss", "tss", "fac", "fac2", "awf-b", "af"
"""Chunk rules by name, in the order of their numbers in `scheduling.chunks`."""
DISTRIBUTIONS = "exponential", "gamma", "uniform", "lognormal"
"""Of the volumes of units."""


class Kind(IntEnum):
    """What a primitive operation is; its columns are listed in `Columns`."""

    NONE = 0
    """A place that some processes of a shared row leave empty; never in a `Columns`."""
    COMPUTE = 1
    SEND = 2
    RECV = 3
    EXCHANGE = 4
    BARRIER = 5
    FARM = 6
    WAIT_UNTIL = 7
    DELAY = 8
    READ_WRITE = 9
    CUSTOM = 10
    POST_SEND = 11
    POST_RECV = 12
    WAIT = 13


KIND_NAMES = {kind: kind.name.lower() for kind in Kind}
MODES = "threshold", "rendezvous", "eager"
"""How a message is sent, by its number: as the network's eager threshold says, or always so."""
MANY = 2**22
"""Numbers of requests up to which they are counted in a table."""
_EVERY = np.arange(len(Kind))
_SENDS, _RECEIVES, _NUMBERED = (
    np.isin(_EVERY, kinds)
    for kinds in (
        (Kind.SEND, Kind.EXCHANGE, Kind.POST_SEND),
        (Kind.RECV, Kind.EXCHANGE, Kind.POST_RECV),
        (Kind.POST_SEND, Kind.POST_RECV, Kind.WAIT),
    )
)


@dataclass(frozen=True)
class Slot:
    """One primitive operation of several processes; every field broadcasts to (process, iterations...)."""

    kind: NDArray[np.int8]
    partner: Ints
    source: Ints
    amount: Floats
    size: Floats
    tag: int = 0


@dataclass(frozen=True)
class SelfScheduling:
    """Which rule says how many units a pull gets, and what it is told; `scheduling.chunks` defines the rules."""

    rule: str = "ss"
    """One of `RULES`."""
    least: int = 1
    """Units of a chunk at least, under `gss`, `fac`, `fac2`, `awf-b` and `af`."""
    first: int = 0
    """Units of the first chunk under `tss`; 0: half of equal parts, rounded up."""
    last: int = 1
    """Units of the last chunk under `tss`."""
    assumed_cv: float = 0.0
    """Deviation of a unit's time over its mean, as `fac` is told."""
    parts: tuple[int, ...] = ()
    """Units of each process of the group under `static`."""


@dataclass(frozen=True)
class UnitSpread:
    """How volumes of units differ from the given ones: each is multiplied with a draw of mean 1."""

    distribution: str
    """One of `DISTRIBUTIONS`."""
    cv: float = 1.0
    """Deviation over mean: 1 for `exponential`, at most 1 / sqrt(3) for `uniform`."""


@dataclass(frozen=True)
class ComputeSpread:
    """How the computations of a program differ from run to run: by factors on their volumes, of C computations.

    Each is `exp(shared_sd x + own_sd y)` times one of those of its call site; x is drawn for a run, y for each of
    its groups, both from Student's distribution.
    """

    site: Ints
    """Call site of each computation; (C,)."""
    group: Ints
    """Which computations are slow or quick together; (C,)."""
    own_sd: Floats
    """(groups,)."""
    shared_sd: float
    degrees: int
    """Of freedom."""
    pool: Floats
    """Factors of call site after call site, of mean 1 in each."""
    pool_first: Ints
    """Where each call site's begin, and the end."""


@dataclass(frozen=True)
class FarmTable:
    """One farm: what its processes pull."""

    volumes: Floats
    size: float
    chunk: int
    pull_s: float
    processes: tuple[int, ...]
    scheduling: SelfScheduling = field(default_factory=SelfScheduling)
    serve_s: float = 0.0
    unit_bytes: float = 0.0
    spread: UnitSpread | None = None
    number: int = 0
    """Place among the tables of its own program, by which draws of its units are keyed."""


@dataclass(frozen=True)
class Columns:
    """Primitive operations, process after process, each process's in program order; N rows in all.

    | kind | partner | source | amount | size |
    |---|---|---|---|---|
    | COMPUTE | | | volume | problem size |
    | SEND | receiver | | bytes | mode |
    | RECV | sender, or `ANY` | | | |
    | EXCHANGE | receiver | sender | bytes sent | mode |
    | POST_SEND | receiver | request | bytes | mode |
    | POST_RECV | sender | request | | |
    | WAIT | | request | | |
    | BARRIER | index into `barriers` | | | |
    | FARM | index into `farms` | | | |
    | WAIT_UNTIL, DELAY | | | seconds | |
    | READ_WRITE | | -1 of a disk, of a GPU `INTO` or `OUT` | bytes | |
    | CUSTOM | index into `customs` | | | |

    Columns without a meaning hold -1 (partner, source) or 0. The mode is a place in
    `MODES`; requests of collectives are less than -1.
    """

    first: Ints
    """Where each process's rows begin, and the end; (P+1,)."""
    kind: NDArray[np.int8]
    index: NDArray[np.int32]
    """Place among its process's primitive operations, those without effect counted; what messages and logs name."""
    partner: NDArray[np.int32]
    source: NDArray[np.int32]
    tag: NDArray[np.int32]
    amount: Floats
    size: Floats
    barriers: NDArray[np.int32]
    """Processes that each barrier waits for."""
    farms: NDArray[np.int32]
    """Table of each farm; loops meet the same table again and again, each time as a new farm."""
    farm_tables: tuple[FarmTable, ...]
    customs: tuple[tuple[str, dict[str, float]], ...]
    """Name and arguments of each operation of the user's own."""
    footprints_bytes: Ints
    """(P,)."""
    polls: bool
    doubt: Doubt | None = None
    noise: Noise | None = None
    spread: ComputeSpread | None = None
    """How its computations differ, drawn in each replication; None: they are as they are."""

    @property
    def processes(self) -> int:
        """P."""
        return int(self.first.size - 1)

    @property
    def directions(self) -> NDArray[np.int8]:
        """Of moves to and from GPUs `INTO` or `OUT`, -1 of all other operations; (N,)."""
        found = np.full(self.kind.size, -1, dtype=np.int8)
        moved, posted = self.kind == Kind.READ_WRITE, (self.kind == Kind.POST_SEND) & (self.size >= POSTED_MOVE)
        found[moved], found[posted] = self.source[moved], self.size[posted] - POSTED_MOVE
        return found

    @property
    def process(self) -> NDArray[np.int32]:
        """The process of each row; (N,)."""
        return np.repeat(np.arange(self.processes, dtype=np.int32), np.diff(self.first))

    @property
    def sends(self) -> NDArray[np.bool_]:
        """Which rows send a message; (N,)."""
        return _SENDS[self.kind]

    @property
    def receives(self) -> NDArray[np.bool_]:
        """Which rows receive a message; (N,)."""
        return _RECEIVES[self.kind]

    @property
    def senders(self) -> NDArray[np.int32]:
        """Of rows that receive, from whom; (N,)."""
        return np.where(self.kind == Kind.EXCHANGE, self.source, self.partner)

    def eager(self, threshold_bytes: float) -> NDArray[np.bool_]:
        """Which rows send a message without waiting for its receiver; (N,)."""
        small = self.amount <= (threshold_bytes or -1)  # at 0 no message is small, not even one without bytes
        return self.sends & np.where(self.size == 0, small, self.size >= MODES.index("eager"))

    def requests(self) -> tuple[Ints, Ints]:
        """Rows that open or wait for a request, and the number of it among those of all processes; both (rows,)."""
        rows = np.flatnonzero(_NUMBERED[self.kind])
        if not rows.size:
            return rows, rows
        request = self.source[rows].astype(np.int64)
        least = int(request.min())
        span = int(request.max()) - least + 1
        keys = self.process[rows] * np.int64(span) + request - least
        if self.processes * span > MANY:
            return rows, np.unique(keys, return_inverse=True)[1]
        used = np.zeros(self.processes * span, dtype=np.bool_)
        used[keys] = True
        return rows, (np.cumsum(used) - 1)[keys]

    def check(self) -> None:
        """Refuse what no engine could run."""
        if self.amount.size and not (self.amount.min() >= 0 and self.amount.max() < np.inf):  # NaN fails both
            row = int(np.argmax(~np.isfinite(self.amount) | (self.amount < 0)))
            raise ScenarioError(f"{self.place(row)}: it is {self.amount[row]:g}; give a finite number of at least 0")
        if not self.kind.size:
            return
        for column, kinds in ((self.partner, _SENDS | _RECEIVES), (self.source, _EVERY == Kind.EXCHANGE)):
            if int(column.max()) < self.processes:  # the usual case, in one pass
                continue
            wrong = kinds[self.kind] & (column >= self.processes)
            if np.any(wrong):
                row = int(np.argmax(wrong))
                known = f"give 0 to {self.processes - 1}"
                raise ScenarioError(f"{self.place(row)}: there is no process {column[row]}; {known}")
        self._check_requests()

    def _check_requests(self) -> None:
        """Refuse posts and waits that do not take turns, and receives from anyone that are posted."""
        rows, number = self.requests()
        if not rows.size:
            return
        nobody = rows[(self.kind[rows] == Kind.POST_RECV) & (self.partner[rows] < 0)]
        if nobody.size:
            raise ScenarioError(f"{self.place(nobody[0])}: it names no process; post receives from named ones only")
        order = np.argsort(number, kind="stable")
        last = np.append(np.diff(number[order]) > 0, True)
        waits = self.kind[rows[order]] == Kind.WAIT
        closed = np.append(True, waits[:-1] | last[:-1])
        faults = (
            (waits & closed, "is not open; post it before it is waited for"),
            (~waits & ~closed, "is still open; wait for it before it is posted again"),
            (~waits & last, "is never waited for; add a wait"),
        )
        if found := [(int(rows[order[wrong]].min()), what) for wrong, what in faults if np.any(wrong)]:
            row, what = min(found)
            raise ScenarioError(f"{self.place(row)}: request {self.source[row]} {what}")

    def place(self, row: int) -> str:
        """A row, for messages."""
        process = int(np.searchsorted(self.first, row, side="right") - 1)
        return f"program: process {process}, operation {self.index[row]} ({KIND_NAMES[Kind(self.kind[row])]})"

"""What the ranks of an MPI program did, call by call, as columns; a folder holds it.

Collectives stay collectives: which messages they are made of is chosen when a recording is simulated. Wildcards are
recorded as who it was. Of several recordings of one program the calls are the same and are kept once; what the ranks
computed between them is kept of each.
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats, Ints
from simulator.base.documents import Record, by_field, read_format
from simulator.base.errors import ScenarioError

FORMAT = 1
WRITER = "apportion mpi record"
DESCRIPTION, ACTIONS = "recording.json", "actions.npz"
MAX_BYTES = 4 << 30
"""Of the file of actions."""


class Action(IntEnum):
    """What a rank did; see `Recording` for the columns of each."""

    COMPUTE = 0
    SLEEP = 1
    SEND = 2
    RECV = 3
    EXCHANGE = 4
    POST_SEND = 5
    POST_RECV = 6
    WAIT = 7
    BARRIER = 8
    BCAST = 9
    REDUCE = 10
    ALLREDUCE = 11
    SCAN = 12
    EXSCAN = 13
    GATHER = 14
    SCATTER = 15
    ALLGATHER = 16
    ALLTOALL = 17
    ALLTOALLV = 18
    REDUCE_SCATTER = 19


COLLECTIVES = range(Action.BARRIER, Action.REDUCE_SCATTER + 1)
ROOTED = (Action.BCAST, Action.REDUCE, Action.GATHER, Action.SCATTER)


PARTNERED = (Action.SEND, Action.RECV, Action.POST_SEND, Action.POST_RECV, *ROOTED)
NUMBERED = (Action.POST_SEND, Action.POST_RECV, Action.WAIT, Action.ALLTOALLV)


@dataclass(frozen=True)
class Described(Record):
    """What a recording says besides its actions."""

    program: str
    """The command that was run, or the file that was imported."""
    library: str = ""
    """MPI library and version."""
    host: str = ""
    """Machine on which the ranks ran."""
    sites: tuple[str, ...] = ()
    """Call sites by number, such as `solve+0x1f2 (MPI_Recv)`."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """Calls that the recorder does not understand, and how often they were made: the program cannot be simulated."""
    warnings: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Recording:
    """Actions of all ranks, rank after rank, each rank's in order; N actions, P ranks, C computations, K recordings.

    | action | partner | source | amount |
    |---|---|---|---|
    | COMPUTE | | | CPU seconds, the median of the recordings |
    | SLEEP | | | seconds |
    | SEND | receiver | | bytes |
    | RECV | sender | | bytes |
    | EXCHANGE | receiver, -1 nobody | sender, -1 nobody | bytes sent |
    | POST_SEND | receiver | request | bytes |
    | POST_RECV | sender | request | bytes |
    | WAIT | | request | |
    | BARRIER | | | |
    | BCAST | root | | bytes of the whole |
    | REDUCE | root | | bytes of one rank's data |
    | ALLREDUCE, SCAN, EXSCAN | | | bytes of one rank's data |
    | GATHER, SCATTER | root | | bytes of this rank's part |
    | ALLGATHER | | | bytes of this rank's part |
    | ALLTOALL | | | bytes for each rank of the communicator |
    | ALLTOALLV | | row of `parts` | bytes that this rank sends in all |
    | REDUCE_SCATTER | | | bytes of this rank's part of the result |

    Partners and roots are ranks of the world. Columns without a meaning hold -1 (partner, source) or 0. A request is a
    small number of its rank, free again after its wait.
    """

    first: Ints
    """Where each rank's actions begin, and the end; (P+1,)."""
    action: NDArray[np.int8]
    partner: NDArray[np.int32]
    source: NDArray[np.int32]
    tag: NDArray[np.int32]
    communicator: NDArray[np.int32]
    """Place in `communicators`; 0 is the world."""
    mode: NDArray[np.int8]
    """Of what is sent: 0 standard or ready, 1 synchronous, 2 buffered."""
    amount: Floats
    site: NDArray[np.int32]
    """Place in `described.sites`, of a computation that of the call that ends it; -1 unknown."""
    computed_s: Floats
    """CPU seconds of each computation in each recording; (K, C)."""
    members_first: Ints
    """Where the ranks of each communicator begin in `members`, and the end."""
    members: Ints
    """Ranks of the world in the order of the communicator."""
    parts_first: Ints
    """Where each row of `parts` begins, and the end."""
    parts: Floats
    """Bytes for each rank of the communicator of an ALLTOALLV."""
    memory_bytes: Ints
    """The most memory that each rank held; 0 unknown; (P,)."""
    clock_s: Floats
    """Seconds by the clock that each rank took in each recording, 0 unknown; (K, P)."""
    described: Described

    @classmethod
    def of(cls, first: Ints, action: NDArray[np.int8], described: Described, **columns: Any) -> Self:
        """One of the columns that say something; those left out hold nothing, and the only communicator is the world.

        Raises ScenarioError if they do not fit each other.
        """
        count, ranks = action.size, first.size - 1
        computing = np.asarray(columns.get("amount", np.zeros(count)))[action == Action.COMPUTE]
        columns.setdefault("computed_s", computing[np.newaxis])
        usual: dict[str, Any] = {
            **{name: np.full(count, -1, np.int32) for name in ("partner", "source", "site")},
            **{name: np.zeros(count, np.int32) for name in ("tag", "communicator")},
            "mode": np.zeros(count, np.int8),
            "amount": np.zeros(count),
            "members_first": np.array([0, ranks]),
            "members": np.arange(ranks),
            "parts_first": np.zeros(1, np.int64),
            "parts": np.zeros(0),
            "memory_bytes": np.zeros(ranks, np.int64),
            "clock_s": np.zeros((len(columns["computed_s"]), ranks)),
        }
        made = cls(first=first, action=action, described=described, **usual | columns)
        made.check(described.program)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recording):
            return NotImplemented
        alike = self.described == other.described
        return alike and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in COLUMNS)

    __hash__ = None  # type: ignore[assignment]

    @property
    def ranks(self) -> int:
        """P."""
        return int(self.first.size - 1)

    @property
    def rank(self) -> NDArray[np.int32]:
        """The rank of each action; (N,)."""
        return np.repeat(np.arange(self.ranks, dtype=np.int32), np.diff(self.first))

    @property
    def computing_s(self) -> Floats:
        """CPU seconds that each rank computed, the median of the recordings; (P,)."""
        computing = np.where(self.action == Action.COMPUTE, self.amount, 0.0)
        return np.bincount(self.rank, weights=computing, minlength=self.ranks).astype(np.float64)

    def group(self, communicator: int) -> Ints:
        """Ranks of the world in a communicator."""
        return self.members[self.members_first[communicator] : self.members_first[communicator + 1]]

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """What a folder holds; see `read`."""
        return cls.read(Path(folder) / DESCRIPTION, Path(folder) / ACTIONS)

    @classmethod
    def read(cls, description: Path, actions: Path) -> Self:
        """What the two files of a folder hold.

        Raises ScenarioError if it holds no recording, or one of another format, cut off or damaged.
        """
        from simulator.base import files  # workers that import applications read no file

        described = read_format(Described, files.read_json(description), description, newest=FORMAT, writer=WRITER)
        data = files.read_bytes(actions, limit_bytes=MAX_BYTES)
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                columns = {name: arrays[name] for name in COLUMNS}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ScenarioError(f"{actions}: it is cut off or damaged; record the program again") from error
        made = cls(**columns, described=described)
        made.check(actions)
        return made

    def save(self, folder: str | Path) -> None:
        """Write it into a folder, the actions first."""
        from simulator.base import files  # workers that import applications read no file

        files.make_folder(Path(folder))
        packed = io.BytesIO()
        np.savez(packed, allow_pickle=False, **{name: getattr(self, name) for name in COLUMNS})
        files.write_bytes(Path(folder) / ACTIONS, packed.getvalue())
        document = {"format": FORMAT, "kind": "recording"} | by_field(self.described)
        files.write_json(Path(folder) / DESCRIPTION, document)

    def check(self, place: str | Path) -> None:
        """Refuse columns that do not fit each other: see `load`."""
        actions, ranks = self.action.size, self.ranks
        lengths = {getattr(self, name).shape for name in BY_ACTION}
        groups, rows = self.members_first.size - 1, self.parts_first.size - 1
        computations = int(np.count_nonzero(self.action == Action.COMPUTE))
        sound = (
            lengths == {(actions,)}
            and ranks > 0
            and self.first[0] == 0
            and self.first[-1] == actions
            and bool(np.all(np.diff(self.first) >= 0))
            and self.computed_s.ndim == 2
            and self.computed_s.shape[1] == computations
            and self.memory_bytes.shape == (ranks,)
            and self.clock_s.shape == (self.computed_s.shape[0], ranks)
            and bool(np.all((self.partner >= -1) & (self.partner < ranks)))
            and bool(np.all(np.isfinite(self.amount) & (self.amount >= 0)))
            and bool(np.all((self.action >= 0) & (self.action < len(Action))))
            and bool(np.all((self.communicator >= 0) & (self.communicator < groups)))
            and bool(np.all((self.members >= 0) & (self.members < ranks)))
            and all(
                _edges(edges, part.size)
                for edges, part in ((self.members_first, self.members), (self.parts_first, self.parts))
            )
            and bool(np.all((self.partner >= 0) | ~np.isin(self.action, PARTNERED)))
            and bool(np.all((self.source >= 0) | ~np.isin(self.action, NUMBERED)))
            and bool(np.all(self.source[self.action == Action.ALLTOALLV] < rows))
            and bool(np.all(self.source[self.action == Action.EXCHANGE] < ranks))
            and bool(np.all((self.tag >= 0) & (self.mode >= 0) & (self.mode <= 2)))
        )
        if not sound:
            raise ScenarioError(f"{place}: its columns do not fit each other; record the program again")

    def with_computing(self, computed_s: Floats) -> "Recording":
        """The same calls with other computing; (K, C) CPU seconds, the median stands in `amount`."""
        amount = self.amount.copy()
        amount[self.action == Action.COMPUTE] = np.median(computed_s, axis=0)
        clock_s = self.clock_s if len(self.clock_s) == len(computed_s) else np.zeros((len(computed_s), self.ranks))
        return replace(self, amount=amount, computed_s=computed_s, clock_s=clock_s)


def _edges(edges: Ints, size: int) -> bool:
    """Whether these are edges of rows of so many numbers."""
    return edges.size > 0 and edges[0] == 0 and edges[-1] == size and bool(np.all(np.diff(edges) >= 0))


COLUMNS = tuple(one.name for one in fields(Recording) if one.name != "described")
BY_ACTION = "action", "partner", "source", "tag", "communicator", "mode", "amount", "site"

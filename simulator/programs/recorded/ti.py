"""SimGrid's time-independent traces: lines `RANK ACTION ARGUMENTS`, in one file or one for each rank, read and written.

As `smpirun -replay` of SimGrid 3.20 to 4.1 takes them (https://simgrid.org/doc/latest/Tutorial_MPI_Applications.html):
everything is on MPI_COMM_WORLD, requests are named by (source, destination, tag), and what is open at the end is waited
for. Capitals of older ones are taken too.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.programs.columns import COLLECTIVE_TAG, Kind
from simulator.programs.columns import Columns as OperationColumns
from simulator.programs.recorded.expansion import expanded, meetings, sizes_of
from simulator.programs.recorded.recording import Action, Described, Recording

LIMIT_BYTES = 4 << 30
MOST_RANKS = 1_000_000
SPEED = 1e9
"""Flop/s that flops are seconds by where nothing else is said."""
SIZES = np.array(
    [8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8], dtype=np.float64
)
"""Bytes of types by number: double, int, char, short, long, float, byte ..."""
DOUBLE, BYTE = 0, 6
SILENT = ("init", "finalize", "comm_size", "comm_split", "comm_dup", "location", "test")
POINT = {"send": Action.SEND, "isend": Action.POST_SEND, "recv": Action.RECV, "irecv": Action.POST_RECV}
ARGUMENTS = {
    **dict.fromkeys(SILENT, 0),
    **dict.fromkeys(("compute", "sleep", "bcast"), 1),
    **dict.fromkeys(POINT, 3),
    **dict.fromkeys(("waitall", "barrier"), 0),
    "wait": 3,
    "sendrecv": 4,
    **dict.fromkeys(("reduce", "allreduce", "scan", "exscan", "alltoall", "gather", "scatter", "allgather"), 2),
}
"""Actions and their arguments at least, but for those of lists."""
PLAIN = {"compute": Action.COMPUTE, "sleep": Action.SLEEP, "barrier": Action.BARRIER, "bcast": Action.BCAST,
         "reduce": Action.REDUCE, "allreduce": Action.ALLREDUCE, "scan": Action.SCAN, "exscan": Action.EXSCAN,
         "alltoall": Action.ALLTOALL, "gather": Action.GATHER, "scatter": Action.SCATTER,
         "allgather": Action.ALLGATHER}  # fmt: skip
LISTS = {"alltoallv": Action.ALLTOALLV, "gatherv": Action.GATHER, "scatterv": Action.SCATTER,
         "allgatherv": Action.ALLGATHER, "reducescatter": Action.REDUCE_SCATTER}  # fmt: skip
FLOPS = ("reduce", "allreduce", "scan", "exscan")
"""Their second argument is what each rank computes afterwards."""
ROOTS = {"bcast": 1, "reduce": 2, "gather": 2, "scatter": 2}
"""Argument that is the root; it is 0 if left out."""
TYPES = {"bcast": 2, "reduce": 3, "allreduce": 2, "scan": 2, "exscan": 2, "alltoall": 2, "gather": 3, "scatter": 4,
         "allgather": 2, "sendrecv": 4, **dict.fromkeys(POINT, 3)}  # fmt: skip
COUNTS = {"scatter": 1, **dict.fromkeys(POINT, 2)}
"""Argument that counts a rank's data; the first of others."""
NAMES = (*ARGUMENTS, *LISTS, "reduce_scatter")
_LISTS = re.compile(
    rb"^([ \t]*\d+[ \t]+(?:(?:all)?gatherv|alltoallv|scatterv|reduce_?scatter))[ \t]+(.*)$", re.MULTILINE
)
_LOCATION = re.compile(rb"^[ \t]*\d+[ \t]+location[ \t].*$", re.MULTILINE)
_WIDTH = 9


@dataclass(frozen=True)
class _Lines:
    """The lines of a trace by rank, each rank's in order; N in all."""

    rank: Ints
    name: NDArray[np.int8]
    """Place in `NAMES`."""
    arguments: Floats
    """NaN where there is none; (N, 7)."""
    lists: Mapping[int, Sequence[float]]
    """Arguments of actions with lists, by line."""

    def of(self, *names: str) -> Ints:
        """Lines with one of some actions."""
        return np.flatnonzero(np.isin(self.name, [NAMES.index(name) for name in names]))


def read_ti(path: str | Path, *, speed: float = SPEED) -> Recording:
    """The recording that a trace tells, or the traces that a file lists."""
    lines = _read(Path(path))
    ranks = int(lines.rank.max(initial=-1)) + 1
    if not ranks:
        raise ScenarioError(f"{path}: it has no action; give a time-independent trace, or a list of such")
    silent = np.flatnonzero(np.bincount(lines.rank, minlength=ranks) == 0)
    if silent.size:
        found = f"rank {silent[0]} has no line, and rank {ranks - 1} has some"
        raise ScenarioError(f"{path}: {found}; give the lines of all ranks, or a list of their files")
    made = _Made(lines, ranks, str(path), speed)
    keys, columns, parts = made.columns()
    order = np.argsort(keys, kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    first = np.concatenate(([0], np.cumsum(np.bincount(lines.rank[keys], minlength=ranks))))
    described = Described(str(path), library="time-independent trace of SimGrid")
    edges = np.concatenate(([0], np.cumsum([len(row) for row in parts], dtype=np.int64)))
    held = np.array([size for row in parts for size in row], dtype=np.float64)
    return Recording.of(first, columns.pop("action"), described, **columns, parts_first=edges, parts=held)


# Reading lines


def _read(path: Path) -> _Lines:
    """The lines of a file, or of those that it lists: names relative to its folder, or to where the command runs."""
    data = files.read_bytes(path, limit_bytes=LIMIT_BYTES)
    begin = [line.split() for line in data[:100_000].splitlines()[:100] if line.strip() and not line.startswith(b"#")]
    if not begin or len(begin[0]) > 1:
        return _sorted([_parsed(path, data)])
    found = []
    for name in data.decode(errors="replace").split("\n"):
        if name.strip() and not name.startswith("#"):
            places = [path.parent / name.strip(), Path(name.strip()), path.parent / Path(name.strip()).name]
            there = next((place for place in places if place.is_file()), places[0])
            found.append(_parsed(there, files.read_bytes(there, limit_bytes=LIMIT_BYTES)))
    if len(found) > 1:  # each rank has a file of its own, in which it takes its own lines
        found = [_where(part, part.rank == rank) for rank, part in enumerate(found)]
    return _sorted(found)


def _where(lines: _Lines, kept: Flags) -> _Lines:
    place = np.cumsum(kept) - 1
    lists = {int(place[row]): values for row, values in lines.lists.items() if kept[row]}
    return _Lines(lines.rank[kept], lines.name[kept], lines.arguments[kept], lists)


def _sorted(parts: Sequence[_Lines]) -> _Lines:
    """All lines, rank after rank."""
    if len(parts) == 1 and np.all(np.diff(parts[0].rank) >= 0):
        return parts[0]
    rank = np.concatenate([part.rank for part in parts])
    order = np.argsort(rank, kind="stable")
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    begins = np.cumsum([0, *(part.rank.size for part in parts)])
    lists = {
        int(place[begin + row]): values
        for begin, part in zip(begins.tolist(), parts, strict=False)
        for row, values in part.lists.items()
    }
    name = np.concatenate([part.name for part in parts])[order]
    return _Lines(rank[order], name, np.concatenate([part.arguments for part in parts])[order], lists)


def _parsed(path: Path, data: bytes) -> _Lines:
    """The lines of one file, in its order."""
    import pandas as pd  # only here: it is slow to import

    words, whole = list[bytes](), data

    def shortened(found: re.Match[bytes]) -> bytes:
        words.append(found[2])
        return found[1]

    data = data.lower()  # capitals of old traces
    if any(name in data for name in (b"gatherv", b"alltoallv", b"scatterv", b"scatter")):
        data = _LISTS.sub(shortened, data)
    if b"location" in data:
        data = _LOCATION.sub(b"", data)
    kinds: Any = {0: np.int32, 1: "category"} | dict.fromkeys(range(2, _WIDTH), np.float64)
    about: Any = {"sep": r"\s+", "header": None, "names": list(range(_WIDTH)), "comment": "#"}
    try:
        read = pd.read_csv(io.BytesIO(data), dtype=kinds, **about)
        code_of = [NAMES.index(str(name)) for name in read[1].cat.categories]
        lists = [[float(word) for word in one.split()] for one in words]
    except (ValueError, OverflowError) as error:
        raise _fault(path, whole) from error
    name = np.array([*code_of, -1], np.int8)[read[1].cat.codes.to_numpy()]
    name[name == NAMES.index("reduce_scatter")] = NAMES.index("reducescatter")
    rank, arguments = read[0].to_numpy().astype(np.int64), read[list(range(2, _WIDTH))].to_numpy()
    lines = _Lines(rank, name, arguments, {})
    rows = lines.of(*LISTS)
    few = any(np.any(np.isnan(arguments[lines.of(one), count - 1])) for one, count in ARGUMENTS.items() if count)
    if few or len(rows) != len(lists) or np.any((rank < 0) | (rank >= MOST_RANKS) | (name < 0)):
        raise _fault(path, whole)
    return replace(lines, lists=dict(zip(rows.tolist(), lists, strict=True)))


def _fault(path: Path, data: bytes) -> ScenarioError:
    """What is wrong with the first line that is no action."""
    known = sorted({*ARGUMENTS, *LISTS})
    for number, line in enumerate(data.splitlines(), 1):
        words = line.decode(errors="replace").split("#")[0].split()
        if not words:
            continue
        where, name = f"{path}: line {number}", words[1].lower().replace("_scatter", "scatter") if words[1:] else ""
        if not (words[0].isdigit() and int(words[0]) < MOST_RANKS):
            return ScenarioError(f"{where}: {words[0]!r} is no rank; give lines RANK ACTION ARGUMENTS")
        if name not in known:
            close = meant(name, known)
            return ScenarioError(
                f"{where}: {name!r} is no action of a time-independent trace{close or '; leave it out'}"
            )
        if name == "location":
            continue
        try:
            numbers = [float(word) for word in words[2:]]
        except ValueError:
            return ScenarioError(f"{where}: {name}: an argument is no number: {' '.join(words[2:])}")
        if len(numbers) < ARGUMENTS.get(name, 2) or (name not in LISTS and len(numbers) > _WIDTH - 2):
            return ScenarioError(f"{where}: {name} has {len(numbers)} arguments, and takes {ARGUMENTS.get(name, 2)}")
    return ScenarioError(f"{path}: it is no time-independent trace of SimGrid")


# Lines as actions

Columns = dict[str, NDArray[Any]]


@dataclass
class _Made:
    """What lines become."""

    lines: _Lines
    ranks: int
    path: str
    speed: float
    default: Ints = field(init=False)
    """Type that each rank counts by where none is said."""

    def columns(self) -> tuple[Ints, Columns, list[list[float]]]:
        """The line of each action, their columns, and parts of all-to-alls; actions of one line in order."""
        lines, nothing, parts = self.lines, np.zeros(0, np.int64), list[list[float]]()
        blocks = [(nothing, _block(nothing, Action.COMPUTE))]
        begun = lines.of("init")
        self.default = np.full(self.ranks, BYTE)
        self.default[lines.rank[begun[~np.isnan(lines.arguments[begun, 0])]]] = DOUBLE
        for name, action in {**POINT, **PLAIN}.items():
            if (rows := lines.of(name)).size:
                blocks.append((rows, self._plain(name, action, rows)))
        if (rows := lines.of("sendrecv")).size:
            arguments = lines.arguments[rows]
            amount = np.floor(arguments[:, 0]) * self._type_bytes(rows, 4)
            ends = {"partner": self._ranks(rows, arguments[:, 1]), "source": self._ranks(rows, arguments[:, 3])}
            blocks.append((rows, _block(rows, Action.EXCHANGE, amount=amount, **ends)))
        blocks += [(np.array([row]), self._listed(row, parts)) for row in lines.lists]
        blocks += self._flops()
        blocks += self._waits(blocks)
        keys = np.concatenate([rows for rows, _ in blocks])
        return keys, {name: np.concatenate([block[name] for _, block in blocks]) for name in blocks[0][1]}, parts

    def _plain(self, name: str, action: Action, rows: Ints) -> Columns:
        """Actions with few arguments."""
        arguments, more = self.lines.arguments[rows], dict[str, Any]()
        if name in ("compute", "sleep", "barrier"):
            scale = 1 / self.speed if name == "compute" else 1.0
            return _block(rows, action, amount=0 * rows if name == "barrier" else arguments[:, 0] * scale)
        amount = np.floor(arguments[:, COUNTS.get(name, 0)]) * self._type_bytes(rows, TYPES[name])
        if name in POINT:
            more = {"tag": arguments[:, 1], "partner": arguments[:, 0]}
            if np.any(wild := (more["tag"] < 0) | (("recv" in name) & (more["partner"] < 0))):
                what = "it is from any source or of any tag, and the trace does not say whose it was"
                raise self._wrong(int(rows[np.argmax(wild)]), f"{what}; name both, or record with apportion mpi record")
            more["partner"] = self._ranks(rows, more["partner"])
        elif name in ROOTS:
            more["partner"] = self._ranks(rows, np.nan_to_num(arguments[:, ROOTS[name]]))
        return _block(rows, action, amount=np.maximum(0, amount), **more)

    def _listed(self, row: int, parts: list[list[float]]) -> Columns:
        """An action with counts for each rank; `parts` takes those of an all-to-all."""
        lines, rows, count = self.lines, np.array([row]), self.ranks
        name, values = NAMES[lines.name[row]], lines.lists[row]
        rank, own = int(lines.rank[row]), 1 if name in ("gatherv", "allgatherv", "alltoallv") else 0
        needed = own + count + {"scatterv": 1, "reducescatter": 1, "alltoallv": 1 + count}.get(name, 0)
        if len(values) < needed:
            raise self._wrong(row, f"{name} has {len(values)} arguments, {needed} for {count} ranks; complete it")
        root = int(values[needed]) if name in ("gatherv", "scatterv") and len(values) > needed else 0
        at = needed + (name in ("gatherv", "scatterv")) + (name == "scatterv")
        numbers = [values[at]] if len(values) > at else []
        type_bytes = float(self._bytes_of(rows, np.array(numbers or [np.nan]))[0])
        partner = self._ranks(rows, np.array([root])) if name in ("gatherv", "scatterv") else np.full(1, -1)
        if name == "alltoallv":
            parts.append([np.floor(value) * type_bytes for value in values[1 : 1 + count]])
            return _block(rows, LISTS[name], amount=np.array([sum(parts[-1])]), source=np.array([len(parts) - 1]))
        place = {"gatherv": 0, "allgatherv": 0, "scatterv": count, "reducescatter": rank}[name]
        return _block(rows, LISTS[name], amount=np.floor(np.array([values[place]])) * type_bytes, partner=partner)

    def _flops(self) -> list[tuple[Ints, Columns]]:
        """What ranks compute after reductions."""
        rows = self.lines.of(*FLOPS)
        flops = self.lines.arguments[rows, 1]
        scattered = self.lines.of("reducescatter")
        more = np.array([self.lines.lists[row][self.ranks] for row in scattered.tolist()])
        rows, flops = np.concatenate((rows, scattered)), np.concatenate((flops, more))
        rows, flops = rows[flops > 0], flops[flops > 0]
        return [(rows, _block(rows, Action.COMPUTE, amount=flops / self.speed))] if rows.size else []

    def _waits(self, blocks: Sequence[tuple[Ints, Columns]]) -> list[tuple[Ints, Columns]]:
        """Waits for requests, which are numbered; the posts in the blocks get their numbers."""
        lines = self.lines
        posts, waits = lines.of("isend", "irecv"), lines.of("wait")
        ends = np.searchsorted(lines.rank, np.arange(self.ranks), side="right") - 1
        source, destination, tag = lines.arguments[waits, :3].T.astype(np.int64)  # that each wait names
        named = np.asarray((source * self.ranks + destination) << 32 | tag)
        over = _waited(lines, posts, waits, self._channels(posts, blocks), named, ends)
        ahead = np.searchsorted(posts, over) - np.arange(posts.size)
        number = np.arange(posts.size) % max(1, int(ahead.max(initial=1)))
        for rows, block in blocks:
            posted = np.isin(block["action"], (Action.POST_SEND, Action.POST_RECV))
            if posted.any():
                block["source"] = np.where(posted, number[np.searchsorted(posts, rows).clip(max=posts.size - 1)], -1)
        order = np.argsort(over, kind="stable")
        return [(over[order], _block(over[order], Action.WAIT, source=number[order]))] if posts.size else []

    def _channels(self, posts: Ints, blocks: Sequence[tuple[Ints, Columns]]) -> Ints:
        """Source, destination and tag of each post, as one number."""
        lines = self.lines
        source, destination, tag = lines.rank[posts].copy(), lines.rank[posts].copy(), np.zeros(posts.size, np.int64)
        for rows, block in blocks:
            for action, end in ((Action.POST_SEND, destination), (Action.POST_RECV, source)):
                if np.any(block["action"] == action):
                    at = np.searchsorted(posts, rows)
                    end[at], tag[at] = block["partner"], block["tag"]
        return np.asarray((source * self.ranks + destination) << 32 | tag)

    def _ranks(self, rows: Ints, values: Floats | Ints) -> Ints:
        """Ranks that there are."""
        wrong = ~((values >= 0) & (values < self.ranks) & (values == np.floor(values)))
        if np.any(wrong):
            at = int(np.argmax(wrong))
            raise self._wrong(int(rows[at]), f"there is no rank {values[at]:g}; the trace has 0 to {self.ranks - 1}")
        return values.astype(np.int64)

    def _type_bytes(self, rows: Ints, column: int) -> Floats:
        """Bytes of the type that an argument names, by default that of the rank."""
        return self._bytes_of(rows, self.lines.arguments[rows, column])

    def _bytes_of(self, rows: Ints, numbers: Floats) -> Floats:
        given = np.where(np.isnan(numbers), self.default[self.lines.rank[rows]], numbers).astype(np.int64)
        if np.any(wrong := (given < 0) | (given >= SIZES.size)):
            at = int(np.argmax(wrong))
            raise self._wrong(int(rows[at]), f"there is no type {given[at]}; give 0 to {SIZES.size - 1}")
        return SIZES[given]

    def _wrong(self, row: int, what: str) -> ScenarioError:
        """A fault of a line, which is named by its rank, as several files may hold them."""
        lines = self.lines
        number = row - int(np.searchsorted(lines.rank, lines.rank[row])) + 1
        return ScenarioError(f"{self.path}: rank {lines.rank[row]}, action {number} ({NAMES[lines.name[row]]}): {what}")


def _block(rows: Ints, action: Action, **columns: Any) -> Columns:
    """Columns of actions of one kind."""
    found: Columns = {"action": np.full(rows.size, action, np.int8), "amount": np.zeros(rows.size)}
    for name, usual in (("partner", -1), ("source", -1), ("tag", 0)):
        found[name] = np.asarray(columns.get(name, np.full(rows.size, usual)), np.int32)
    return found | {"amount": np.asarray(columns.get("amount", found["amount"]), np.float64)}


def _waited(lines: _Lines, posts: Ints, waits: Ints, channels: Ints, named: Ints, ends: Ints) -> Ints:
    """The line in which each post is waited for: a wait that names its channel, the next `waitall`, or the last one.

    A wait takes the oldest post of its channel that is open, and none if there is none.
    """
    calls = lines.of("waitall")
    rows, keys = np.concatenate((posts, waits)), np.concatenate((channels, named))
    epoch, is_wait = np.searchsorted(calls, rows), np.arange(rows.size) >= posts.size
    order = np.lexsort((rows, keys, epoch, lines.rank[rows]))
    begins = np.ones(order.size, np.bool_)
    for values in (keys, epoch, lines.rank[rows]):
        begins[1:] &= values[order][1:] == values[order][:-1]
    begins[1:] = ~begins[1:]
    group, steps = np.cumsum(begins) - 1, np.where(is_wait[order], 1, -1)
    lacking = _counted(steps, begins)
    most = np.maximum.accumulate(np.maximum(lacking, 0) + group * (rows.size + 1)) - group * (rows.size + 1)
    before = np.where(begins, 0, np.concatenate(([0], most[:-1]))) if order.size else most
    used = is_wait[order] & (most <= before)
    place = {True: _counted(used.astype(np.int64), begins), False: _counted((steps < 0).astype(np.int64), begins)}
    matches = [
        group[which] * (rows.size + 1) + place[kind][which] for kind, which in ((True, used), (False, steps < 0))
    ]
    over = np.append(calls, lines.rank.size)[np.searchsorted(calls, posts)]
    over = np.minimum(over, ends[lines.rank[posts]])
    found = np.searchsorted(matches[1], matches[0])
    over[order[steps < 0][found]] = rows[order[used]]
    return np.asarray(over)


def _counted(values: Ints, begins: Flags) -> Ints:
    """Running sums within groups."""
    sums = np.cumsum(values)
    offsets = (sums - values)[begins]
    return np.asarray(sums - offsets[np.cumsum(begins) - 1]) if sums.size else sums


# Writing


def write_ti(recording: Recording, path: Path, *, speed: float = SPEED) -> list[Path]:
    """Write a list of traces and a trace for each rank beside it; what was written, the list first.

    Collectives of all ranks stay what they are, those of some become messages. Computing is flops at `speed`.
    """
    folder = path.with_name(f"{path.name}_files")
    names = [folder / f"rank-{rank}.txt" for rank in range(recording.ranks)]
    files.make_folder(folder)
    for name, lines in zip(names, _lines_of(recording, speed), strict=True):
        files.write_pieces(name, lines)
    files.write_text(path, "".join(f"{name}\n" for name in names))
    return [path, *names]


def _lines_of(recording: Recording, speed: float) -> Iterator[list[str]]:
    """The lines of each rank."""
    found = expanded(recording)
    columns, named = found.columns, _named_collectives(recording)
    edges = np.searchsorted(found.action, np.arange(recording.action.size + 1)).tolist()
    tag = np.where(columns.tag == COLLECTIVE_TAG, int(columns.tag.max(initial=0)) + 1, columns.tag)
    rows = (columns.kind, columns.partner, columns.source, tag, columns.amount, _received(columns))
    kind, partner, source, tags, amount, received = (column.tolist() for column in rows)
    for rank, (begin, end) in enumerate(pairwise(recording.first.tolist())):
        lines, open_as = [f"{rank} init\n"], dict[int, str]()
        for action in range(begin, end):
            if action in named:
                lines.append(f"{rank} {named[action]}\n")
                continue
            for at in range(edges[action], edges[action + 1]):
                what, other, request, label, much = kind[at], partner[at], source[at], tags[at], amount[at]
                if what == Kind.COMPUTE:
                    said = f"compute {much * speed!r}"
                elif what == Kind.DELAY:
                    said = f"sleep {much!r}"
                elif what == Kind.WAIT:
                    said = f"wait {open_as.pop(request)}"
                elif what == Kind.EXCHANGE and label == 0:
                    said = f"sendRecv {int(much)} {other} {received[at]} {request} {BYTE} {BYTE}"
                elif what == Kind.EXCHANGE:
                    got = f"{rank} irecv {request} {label} {received[at]}\n{rank} send {other} {label} {int(much)}\n"
                    said = f"wait {request} {rank} {label}"
                    lines.append(got)
                else:
                    count = received[at] if what in (Kind.RECV, Kind.POST_RECV) else int(much)
                    said = f"{TOLD[what]} {other} {label} {count}"
                    if what in (Kind.POST_SEND, Kind.POST_RECV):
                        ends = (rank, other) if what == Kind.POST_SEND else (other, rank)
                        open_as[request] = f"{ends[0]} {ends[1]} {label}"
                lines.append(f"{rank} {said}\n")
        yield [*lines, f"{rank} finalize\n"]


def _received(columns: OperationColumns) -> Ints:
    """Bytes that each operation receives: those of the message of its channel that is as many-th."""
    process, both, found = columns.process, columns.kind == Kind.EXCHANGE, np.zeros(columns.kind.size, np.int64)
    sends = np.flatnonzero(np.isin(columns.kind, (Kind.SEND, Kind.POST_SEND)) | both)
    recvs = np.flatnonzero(np.isin(columns.kind, (Kind.RECV, Kind.POST_RECV)) | both)
    sources = np.where(both, columns.source, columns.partner)[recvs]
    sent = sends[np.lexsort((columns.tag[sends], columns.partner[sends], process[sends]))]
    got = recvs[np.lexsort((columns.tag[recvs], process[recvs], sources))]
    if sent.size == got.size:
        found[got] = columns.amount[sent]
    return found


TOLD = {Kind.SEND: "send", Kind.RECV: "recv", Kind.POST_SEND: "isend", Kind.POST_RECV: "irecv"}


def _named_collectives(recording: Recording) -> dict[int, str]:
    """Collectives of all ranks in their order, by action."""
    found = dict[int, str]()
    for meeting in meetings(recording):
        if not np.array_equal(meeting.members, np.arange(recording.ranks)):
            continue
        sizes, root = sizes_of(recording, meeting).astype(np.int64), meeting.root
        for turn, rows in enumerate(meeting.rows.T.tolist()):
            here = sizes[..., turn].tolist()
            for rank, row in enumerate(rows):
                found[row] = _said(meeting.action, here, rank, root)
    return found


ALIKE = {
    Action.BARRIER: "barrier",
    Action.BCAST: "bcast {own} {root}",
    Action.REDUCE: "reduce {own} 0 {root}",
    **{one: f"{one.name.lower()} {{own}} 0" for one in (Action.ALLREDUCE, Action.SCAN, Action.EXSCAN)},
    Action.ALLTOALL: "alltoall {own[0]} {own[0]}",
    Action.GATHER: "gather {own} {own} {root}",
    Action.SCATTER: "scatter {own} {own} {root}",
    Action.ALLGATHER: "allgather {own} {own}",
}
UNLIKE = {
    Action.GATHER: "gatherv {own} {every} {root}",
    Action.SCATTER: "scatterv {every} {own} {root}",
    Action.ALLGATHER: "allgatherv {own} {every}",
    Action.ALLTOALLV: "alltoallv {sent} {owns} {received} {got}",
    Action.REDUCE_SCATTER: "reducescatter {every} 0",
}
"""Of ranks with parts of unlike size."""


def _said(action: Action, sizes: list[Any], rank: int, root: int) -> str:
    """A collective with its arguments; `sizes` of all ranks."""
    own, got = sizes[rank], [row[rank] for row in sizes] if action == Action.ALLTOALLV else []
    form = UNLIKE.get(action, "") if sizes != [own] * len(sizes) or action not in ALIKE else ""
    words = {"every": _words(sizes), "owns": _words(own), "got": _words(got)}
    sums = {"sent": sum(own) if got else 0, "received": sum(got)}
    return (form or ALIKE[action]).format(own=own, root=root, **words, **sums)


def _words(numbers: Any) -> str:
    return " ".join(map(str, numbers)) if isinstance(numbers, list) else ""

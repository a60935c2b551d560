"""What the recorder wrote of one rank, and the rank's actions made of it: what limits is cut off, who came is known."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.programs.recorded.recording import MAX_BYTES, Action

ROW = np.dtype(
    [("kind", "u1"), ("mode", "u1"), ("flags", "u2")]
    + [(name, "i4") for name in ("partner", "source", "tag", "communicator", "site")]
    + [("amount", "i8"), ("cpu_ns", "i8")]
)
FIRST, WILDCARD, CHOSEN, LEFT = 1, 2, 4, 8
"""Flags of a row: the first of a call; a receive from anybody; a wait for any of several; nobody waited for it."""
PARTS, PCONTROL, END = 100, 101, 102
ENDED = b"APPREND1"
POSTS = Action.POST_SEND, Action.POST_RECV
Columns = dict[str, NDArray[Any]]


class Site(NamedTuple):
    """Where a call comes from."""

    call: str
    offset: str
    """Into the object, in hexadecimal digits."""
    symbol: str
    """With what is behind it; begins with `-` where none is known."""
    place: str
    """File of the object."""


@dataclass(frozen=True)
class RankFile:
    """Rows of a rank, and what its text says."""

    rows: NDArray[Any]
    facts: Mapping[str, int]
    """Such as `memory_bytes`."""
    host: str
    library: str
    groups: tuple[tuple[int, ...], ...]
    """Ranks of the world of each communicator, in the order in which they were made; empty between two groups."""
    sites: tuple[Site, ...]
    unknown: Mapping[str, int]


@dataclass(frozen=True)
class RankActions:
    """Actions of a rank by column; A actions, C of them computations."""

    columns: Columns
    """As in `Recording`, communicators and sites numbered as in the rank's file."""
    loose: NDArray[np.bool_]
    """Actions that may differ from recording to recording: who came, and which of several ended first."""
    computed_s: Floats
    parts: Floats
    parts_sizes: Ints
    clock_s: float
    unknown: Mapping[str, int]


def read_rank(path: Path) -> RankFile:
    """Read what a rank left."""
    data = files.read_bytes(path, limit_bytes=MAX_BYTES)
    length = int(np.frombuffer(data[-16:-8], "u8")[0]) if data[-8:] == ENDED else -1
    if length < 0 or length % ROW.itemsize or length > len(data) - 16:
        rank = path.name.removeprefix("rank-")
        raise ScenarioError(
            f"rank {rank}: its recording is cut off, for it ended before MPI_Finalize or could not be written; "
            "mend the program or make room, then record it again"
        )
    said: dict[str, list[str]] = {}
    for line in data[length:-16].decode("utf-8", "replace").splitlines():
        key, _, rest = line.partition(" ")
        said.setdefault(key, []).append(rest)
    unknown = [line.split(" ", 1) for line in said.pop("unknown", [])]
    sites = {int(line.split(" ", 1)[0]): Site(*line.split(" ", 4)[1:]) for line in said.pop("site", [])}
    groups = [tuple(map(int, line.split()[1:])) for line in said.pop("comm", [])]
    (host,), (library,), (ranks,) = said.pop("host"), said.pop("library"), said.pop("ranks")
    facts = {key: int(one) for key, (one,) in said.items()} | {"ranks": int(ranks.split()[1])}
    return RankFile(
        np.frombuffer(data[:length], ROW),
        facts,
        host,
        re.sub(r"\s+", " ", library),
        tuple(groups),
        tuple(sites[number] for number in range(len(sites))),
        {name: int(count) for count, name in unknown},
    )


def actions_of(rank: RankFile) -> RankActions:
    """The actions that are kept; a computation stands before the call that ended it."""
    rows = rank.rows.copy()
    on, clock_ns = _kept(rows, rank.facts["clock_ns"])
    acts = on & (rows["kind"] < PARTS)
    unknown = dict(rank.unknown)
    if lost := _pair(rows, acts):
        unknown["receives from anybody that nobody waited for"] = lost
    computes = on & ((rows["flags"] & FIRST) > 0)
    end = np.cumsum(computes.astype(np.int64) + acts)
    action_at, compute_at = end[acts] - 1, end[computes] - 1 - acts[computes]
    size = int(end[-1]) if rows.size else 0
    columns: Columns = {name: np.full(size, -1, np.int32) for name in ("partner", "source", "communicator", "site")}
    columns |= {"tag": np.zeros(size, np.int32), "mode": np.zeros(size, np.int8)}
    columns |= {"action": np.full(size, Action.COMPUTE, np.int8), "amount": np.zeros(size)}
    for name, own in (("action", "kind"), *((one, one) for one in columns if one != "action")):
        columns[name][action_at] = rows[own][acts]
    columns["site"][compute_at] = rows["site"][computes]
    loose = np.zeros(size, np.bool_)
    loose[action_at] = (rows["flags"][acts] & (WILDCARD | CHOSEN)) > 0
    parts, sizes = _parts(rows[on])
    return RankActions(columns, loose, rows["cpu_ns"][computes] * 1e-9, parts, sizes, clock_ns * 1e-9, unknown)


def _kept(rows: NDArray[Any], clock_ns: int) -> tuple[NDArray[np.bool_], int]:
    """Rows between MPI_Pcontrol(1) and (0), if it was called at all, and their nanoseconds by the clock."""
    marks = np.flatnonzero(rows["kind"] == PCONTROL)
    levels = rows["partner"][marks] > 0
    states = np.concatenate([[not levels.any()], levels])
    times = np.concatenate([[0], rows["amount"][marks], [clock_ns]])
    on = states[np.searchsorted(marks, np.arange(rows.size))]
    return on, int(np.diff(times)[states].sum())


def _pair(rows: NDArray[Any], acts: NDArray[np.bool_]) -> int:
    """Give each posted receive who came, and each wait the fate of its post; how many receives nobody knows of."""
    kind = rows["kind"]
    places = np.flatnonzero((kind == Action.WAIT) | np.isin(kind, POSTS))
    places = places[np.argsort(rows["source"][places], kind="stable")]
    posts, waits = places[0::2], places[1::2]
    acts[waits] = acts[posts]  # what was posted is waited for, wherever the part that is kept ends
    came = (kind[posts] == Action.POST_RECV) & (rows["partner"][waits] >= 0)
    for name in ("partner", "tag", "amount"):
        rows[name][posts[came]] = rows[name][waits[came]]
        rows[name][waits] = -1 if name == "partner" else 0
    return int(np.count_nonzero(acts[posts] & (rows["partner"][posts] < 0)))


def _parts(rows: NDArray[Any]) -> tuple[Floats, Ints]:
    """Bytes for each rank of each ALLTOALLV, and how many there are of each."""
    more, calls = rows["kind"] == PARTS, rows["kind"] == Action.ALLTOALLV
    raw = np.ascontiguousarray(rows[more]).view("i8").reshape(-1, ROW.itemsize // 8)
    counts = rows["partner"][more].astype(np.int64)
    held = np.arange(4) < counts[:, None]
    sizes = np.bincount(np.cumsum(calls)[more] - 1, weights=counts, minlength=int(calls.sum())).astype(np.int64)
    return raw[:, 1:][held].astype(np.float64), sizes

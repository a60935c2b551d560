"""GOAL (LogGOPSim, ATLAHS) as text: graphs of sends, receives and calculations of each rank, in nanoseconds.

Operations that do not depend on each other are begun in the order of the file: messages by requests, which are waited
for where something `requires` them, and calculations one after the other, as a rank is one processor.
"""

import heapq
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.programs.recorded.recording import Action, Described, Recording

LIMIT_BYTES, MOST_RANKS = 4 << 30, 1_000_000
_DO = re.compile(
    r"(\w+):\s*(?:(send|recv)\s+(\d+)b\s+(?:to|from)\s+(-?\d+)(?:\s+tag\s+(\d+))?|calc\s+(\d+))(?:\s+(?:cpu|nic)\s+\d+)*$"
)
_NEEDS = re.compile(r"(\w+)\s+(i?requires)\s+(\w+)$")
_ORDER = "operations of a graph that do not depend on each other are begun in the order of the file"


@dataclass
class _Rank:
    """The graph of a rank."""

    operations: list[tuple[Action, int, int, float]] = field(default_factory=list)
    """Action, partner, tag, bytes or seconds."""
    names: dict[str, int] = field(default_factory=dict)
    after: dict[int, list[int]] = field(default_factory=dict)
    """What has to have ended before each."""
    begun: dict[int, list[int]] = field(default_factory=dict)
    """What has to have begun."""


def read_goal(path: str | Path) -> Recording:
    """The recording that a file in GOAL tells."""
    ranks = _read(Path(path))
    rows, first = list[tuple[Action, int, int, int, float]](), [0]
    for number, rank in enumerate(ranks):
        rows += _in_order(rank, f"{path}: rank {number}")
        first.append(len(rows))
    action, partner, source, tag, amount = zip(*rows, strict=True) if rows else ((),) * 5
    columns: dict[str, Any] = {"partner": partner, "source": source, "tag": tag}
    described = Described(str(path), library="GOAL", warnings=(_ORDER,))
    return Recording.of(
        np.array(first),
        np.array(action, np.int8),
        described,
        **{name: np.array(values, np.int32) for name, values in columns.items()},
        amount=np.array(amount, np.float64),
    )


def _read(path: Path) -> list[_Rank]:
    ranks, here, count = list[_Rank](), None, None
    for number, line in enumerate(files.read_text(path, limit_bytes=LIMIT_BYTES).split("\n"), 1):
        said, where = re.sub(r"//.*|/\*.*?\*/|#.*", "", line).strip().rstrip(";"), f"{path}: line {number}"
        begins = re.fullmatch(r"(num_ranks|rank)\s+(\d+)\s*\{?", said)
        if begins and begins[1] == "num_ranks":
            count = int(begins[2])
            if not 0 < count <= MOST_RANKS:
                raise ScenarioError(f"{where}: num_ranks is {count}; give 1 to {MOST_RANKS}")
            ranks = [_Rank() for _ in range(count)]
        elif begins:
            if int(begins[2]) >= len(ranks):
                raise ScenarioError(f"{where}: there is no rank {begins[2]}; num_ranks says {count or 'nothing'}")
            here = ranks[int(begins[2])]
        elif said and said not in ("{", "}"):
            _add(here, said, where, len(ranks))
    if count is None:
        raise ScenarioError(f"{path}: it has no num_ranks; give a file in GOAL's text form")
    return ranks


def _add(rank: _Rank | None, said: str, where: str, count: int) -> None:
    """An operation, or what one requires."""
    if rank is not None and (does := _DO.match(said)):
        name, verb, size, end, tag, duration = does.groups()
        if verb is None:
            made = Action.COMPUTE, -1, 0, float(duration) / 1e9
        elif not 0 <= int(end) < count:
            what = "it is from any source, and who it was is not said" if end == "-1" else f"there is no rank {end}"
            raise ScenarioError(f"{where}: {said}: {what}; name a rank of 0 to {count - 1}")
        else:
            kind = Action.POST_SEND if verb == "send" else Action.POST_RECV
            made = kind, int(end), int(tag or 0), float(size)
        rank.names[name] = len(rank.operations)
        rank.operations.append(made)
    elif rank is not None and (needs := _NEEDS.match(said)):
        missing = [name for name in (needs[1], needs[3]) if name not in rank.names]
        if missing:
            raise ScenarioError(f"{where}: {said}: there is no operation {missing[0]} before; give one that there is")
        among = rank.after if needs[2] == "requires" else rank.begun
        among.setdefault(rank.names[needs[1]], []).append(rank.names[needs[3]])
    else:
        raise ScenarioError(f"{where}: {said[:60]!r} is neither an operation nor a dependency in GOAL")


def _in_order(rank: _Rank, where: str) -> list[tuple[Action, int, int, int, float]]:
    """The actions of a rank: action, partner, request, tag, amount."""
    count = len(rank.operations)
    needs = [rank.after.get(one, []) + rank.begun.get(one, []) for one in range(count)]
    lacking, before = [len(set(some)) for some in needs], [list[int]() for _ in range(count)]
    for one, some in enumerate(needs):
        for other in set(some):
            before[other].append(one)
    ready = [one for one in range(count) if not lacking[one]]
    rows, open_as, spare, posted = list[tuple[Action, int, int, int, float]](), dict[int, int](), list[int](), 0
    done = 0
    while ready:
        one = heapq.heappop(ready)
        for other in rank.after.get(one, []):
            if other in open_as:
                rows.append((Action.WAIT, -1, open_as[other], 0, 0.0))
                heapq.heappush(spare, open_as.pop(other))
        action, partner, tag, amount = rank.operations[one]
        request = -1
        if action != Action.COMPUTE:
            request, posted = (heapq.heappop(spare), posted) if spare else (posted, posted + 1)
            open_as[one] = request
        rows.append((action, partner, request, tag, amount))
        done += 1
        for other in before[one]:
            lacking[other] -= 1
            if not lacking[other]:
                heapq.heappush(ready, other)
    if done < count:
        raise ScenarioError(f"{where}: its operations wait for each other in a circle; take one dependency out")
    return rows + [(Action.WAIT, -1, request, 0, 0.0) for request in open_as.values()]

"""What is in a recording, in numbers: calls, computing, waiting, who talks to whom, what repeats, call sites."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.base.arrays import Ints
from simulator.base.documents import Record
from simulator.programs.recorded.recording import Action, Recording

SENDS = (Action.SEND, Action.EXCHANGE, Action.POST_SEND)
TRIED = 24
"""Calls, made unlike often, whose distances are looked at as lengths of an iteration."""


@dataclass(frozen=True)
class CallFacts:
    """A kind of call."""

    call: str
    count: int
    bytes: float
    """Sent by it; of a collective each rank's own part."""


@dataclass(frozen=True)
class TalkFacts:
    """Messages from one rank to another, collectives left out."""

    source: int
    to: int
    messages: int
    bytes: float


@dataclass(frozen=True)
class RepeatFacts:
    """Ranks whose calls repeat alike; 0 iterations: nothing does."""

    ranks: int
    iterations: int
    calls: int
    """Of an iteration."""


@dataclass(frozen=True)
class SiteFacts:
    """A call site, and what is computed before its calls."""

    site: str
    computations: int
    computing_s: float
    median_s: float
    runs_differ: float | None
    """Standard deviation of its computing from run to run, over the mean; None where there is one run."""


@dataclass(frozen=True)
class RecordingFacts(Record):
    """What is in a recording; lists have the most first."""

    program: str
    library: str
    host: str
    ranks: int
    recordings: int
    actions: int
    calls: tuple[CallFacts, ...]
    computing_s: tuple[float, ...]
    """Of each rank, the median of the recordings."""
    waiting: float | None
    """Share of the time by the clock that ranks did not compute; None where there was no clock."""
    memory_bytes: tuple[int, ...]
    talks: tuple[TalkFacts, ...]
    repeats: tuple[RepeatFacts, ...]
    sites: tuple[SiteFacts, ...]
    unknown: Mapping[str, int]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, recording: Recording) -> "RecordingFacts":
        """Those of a recording."""
        said = recording.described
        at = recording.action == Action.COMPUTE
        known = recording.clock_s.sum()
        return cls(
            said.program,
            said.library,
            said.host,
            recording.ranks,
            len(recording.computed_s),
            recording.action.size,
            _calls(recording),
            tuple(recording.computing_s.tolist()),
            float(1 - recording.computed_s.sum() / known) if np.all(recording.clock_s > 0) else None,
            tuple(recording.memory_bytes.tolist()),
            _talks(recording),
            _repeats(recording, ~at),
            _sites(recording, np.flatnonzero(at)),
            dict(said.unknown),
            said.warnings,
        )


def _calls(recording: Recording) -> tuple[CallFacts, ...]:
    counts = np.bincount(recording.action, minlength=len(Action))
    silent = np.isin(recording.action, (Action.RECV, Action.POST_RECV, Action.WAIT))
    sizes = np.bincount(recording.action, weights=np.where(silent, 0, recording.amount), minlength=len(Action))
    kinds = [kind for kind in Action if kind > Action.SLEEP and counts[kind]]
    found = [CallFacts(kind.name.lower(), int(counts[kind]), float(sizes[kind])) for kind in kinds]
    return tuple(sorted(found, key=lambda one: (-one.bytes, -one.count)))


def _talks(recording: Recording) -> tuple[TalkFacts, ...]:
    at = np.flatnonzero(np.isin(recording.action, SENDS) & (recording.partner >= 0))
    pairs = recording.rank[at].astype(np.int64) * recording.ranks + recording.partner[at]
    found, place, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    sizes = np.bincount(place.reshape(-1), weights=recording.amount[at], minlength=found.size)
    ends = zip(*divmod(found, recording.ranks), counts, sizes, strict=True)
    talks = [TalkFacts(int(one), int(other), int(count), float(size)) for one, other, count, size in ends]
    return tuple(sorted(talks, key=lambda one: (-one.bytes, -one.messages, one.source, one.to)))


def _repeats(recording: Recording, calls: "np.typing.NDArray[np.bool_]") -> tuple[RepeatFacts, ...]:
    """How often the calls of ranks repeat, ranks that are alike together."""
    columns = (recording.action, recording.partner, recording.tag, recording.communicator, recording.amount)
    code = np.zeros(recording.action.size, np.int64)
    for column in (*columns, recording.site):  # a number for each unlike call
        values = np.unique(column, return_inverse=True)[1].reshape(-1)
        code = np.unique(code * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].reshape(-1)
    found: Counter[tuple[int, int]] = Counter()
    for begin, end in zip(recording.first[:-1].tolist(), recording.first[1:].tolist(), strict=True):
        found[_period(code[begin:end][calls[begin:end]])] += 1
    return tuple(RepeatFacts(ranks, *found_as) for found_as, ranks in found.most_common())


def _period(codes: Ints) -> tuple[int, int]:
    """Iterations of the longest stretch that repeats, and calls of one; (0, 0) if none does."""
    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    often, kinds = np.unique(counts, return_index=True)
    tried, best, periods = kinds[often >= 3], (0, 0, 0), dict[int, None]()
    for kind in tried[:: 1 + tried.size // TRIED].tolist():
        periods[int(np.median(np.diff(np.flatnonzero(place.reshape(-1) == kind))))] = None
    for period in periods:
        same = np.concatenate(([False], codes[period:] == codes[:-period], [False]))
        edges = np.flatnonzero(np.diff(same))
        if edges.size:
            iterations = int(np.diff(edges)[::2].max()) // period + 1
            best = max(best, (iterations * period if iterations > 1 else 0, -period, iterations))
    return (best[2], -best[1]) if best[0] else (0, 0)


def _sites(recording: Recording, at: Ints) -> tuple[SiteFacts, ...]:
    sites, place = np.unique(recording.site[at], return_inverse=True)
    place = place.reshape(-1)
    runs = np.array([np.bincount(place, weights=row, minlength=sites.size) for row in recording.computed_s])
    found = []
    for number, site in enumerate(sites.tolist()):
        blocks = recording.amount[at[place == number]]
        mean = float(runs[:, number].mean())
        differ = float(runs[:, number].std(ddof=1)) / mean if len(runs) > 1 and mean > 0 else None
        name = recording.described.sites[site] if site >= 0 else "unknown"
        found.append(SiteFacts(name, blocks.size, float(blocks.sum()), float(np.median(blocks)), differ))
    return tuple(sorted(found, key=lambda one: -one.computing_s))

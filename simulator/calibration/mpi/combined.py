"""One recording of the files of all ranks, and of several runs of one program: the same calls, a spread of times."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.calibration.mpi.rank_file import Columns, RankActions, RankFile, actions_of, read_rank
from simulator.programs.recorded.recording import BY_ACTION, COLLECTIVES, Action, Described, Recording

UNEQUAL = 0.05
"""Share of a process's CPU time outside of the recorded thread that is warned of."""
LEAST_UNEQUAL_S = 0.01
SENDS = Action.SEND, Action.EXCHANGE, Action.POST_SEND
RECEIVES = Action.RECV, Action.EXCHANGE, Action.POST_RECV


@dataclass(frozen=True)
class Run:
    """One run of a program as a recording of its own, and what may differ in the next."""

    recording: Recording
    loose: np.ndarray[Any, np.dtype[np.bool_]]


def read_run(folder: Path, described: Described) -> Run:
    """The files of all ranks as one recording.

    Raises ScenarioError with what is missing.

    `described`: what is known besides: program, provenance.
    """
    ranks = _read_ranks(folder)
    own = [actions_of(one) for one in ranks]
    lengths = [one.columns["action"].size for one in own]
    joined = {name: np.concatenate([one.columns[name] for one in own]) for name in BY_ACTION}
    sites = _number_sites(joined, lengths, ranks)
    groups = _number_groups(joined, lengths, ranks)
    unknown = sum((Counter(one.unknown) for one in own), Counter[str]())
    said = replace(
        described,
        library=ranks[0].library,
        host=", ".join(sorted({one.host for one in ranks})),
        sites=sites,
        unknown=dict(sorted(unknown.items())),
        warnings=tuple(_warnings(ranks)),
        provenance={**described.provenance, "recorder": _recorder(ranks)},
    )
    recording = _recording(joined, own, groups, said, [one.facts["memory_bytes"] for one in ranks])
    recording.check(folder)
    if not unknown:
        _check_matched(recording)
    return Run(recording, np.concatenate([one.loose for one in own]))


def _read_ranks(folder: Path) -> list[RankFile]:
    there = {path.name: path for path in folder.iterdir()}
    if (other := there.get("other-library")) is not None:
        raise ScenarioError(
            f"the program is one of {files.read_text(other).strip()}, and mpicc is of another MPI; "
            "give the mpicc that it was built with by --mpicc"
        )
    if "another-program" in there:
        raise ScenarioError("the command runs several MPI programs one after another; record each by itself")
    left = [path for name, path in there.items() if name.startswith("rank-")]
    if not left:
        raise ScenarioError(
            "no rank called MPI_Init with the recorder in place: the command runs no MPI program that is linked "
            "dynamically; give the launcher and the program, such as mpiexec -n 4 ./program"
        )
    found = [read_rank(path) for path in sorted(left, key=lambda path: int(path.name.removeprefix("rank-")))]
    if missing := sorted(set(range(found[0].facts["ranks"])) - {int(path.name.removeprefix("rank-")) for path in left}):
        raise ScenarioError(f"rank {missing[0]} left no recording here; write to a folder that all hosts share")
    return found


def _recording(
    joined: Columns, own: Sequence[RankActions], groups: list[tuple[int, ...]], described: Described, memory: list[int]
) -> Recording:
    computed = np.concatenate([one.computed_s for one in own])
    sizes = np.concatenate([one.parts_sizes for one in own])
    joined["source"][joined["action"] == Action.ALLTOALLV] = np.arange(sizes.size)
    recording = Recording(
        first=_ends([one.columns["action"].size for one in own]),
        **joined,
        computed_s=computed[None, :],
        members_first=_ends([len(one) for one in groups]),
        members=np.array([rank for one in groups for rank in one], np.int64),
        parts_first=_ends(sizes),
        parts=np.concatenate([one.parts for one in own]),
        memory_bytes=np.array(memory, np.int64),
        clock_s=np.array([[one.clock_s for one in own]]),
        described=described,
    )
    return recording.with_computing(recording.computed_s)


def _ends(sizes: Sequence[int] | Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)


def _number_groups(joined: Columns, lengths: list[int], ranks: list[RankFile]) -> list[tuple[int, ...]]:
    """Number communicators alike for all ranks: each is known by its members and how many these had before."""
    world = tuple(range(len(ranks)))
    numbers = {(world, 0): 0}
    begin, column = 0, joined["communicator"]
    for length, rank in zip(lengths, ranks, strict=True):
        before = Counter[tuple[int, ...]]()
        names = []
        for group in rank.groups:
            names.append((group, before[group]))
            before[group] += 1
        part = column[begin : begin + length]
        used = np.unique(part[part >= 0])
        to = np.zeros(len(names), np.int32)
        for one in used:
            to[one] = numbers.setdefault(names[one], len(numbers))
        part[:] = np.where(part >= 0, to[part], 0)
        begin += length
    return [group for group, _ in numbers]


def _number_sites(joined: Columns, lengths: list[int], ranks: list[RankFile]) -> tuple[str, ...]:
    """Number call sites alike for all ranks, those that are used."""
    column, begin, used = joined["site"], 0, []
    for length, rank in zip(lengths, ranks, strict=True):
        part = column[begin : begin + length]
        used.append([rank.sites[one] for one in np.unique(part[part >= 0])])
        begin += length
    named = _named({site for own in used for site in own})
    numbers: dict[str, int] = {}
    begin = 0
    for length, own in zip(lengths, used, strict=True):
        part = column[begin : begin + length]
        to = np.array([*(numbers.setdefault(named[site], len(numbers)) for site in own), -1], np.int32)
        part[:] = to[np.where(part >= 0, np.searchsorted(np.unique(part[part >= 0]), part), len(own))]
        begin += length
    return tuple(numbers)


Site = tuple[str, str, str, str]


def _named(sites: set[Site]) -> dict[Site, str]:
    """Sites as `solve.c:12 (MPI_Recv)` where the program says its lines, else by symbol or object."""
    lines: dict[tuple[str, str], str] = {}
    if (tool := shutil.which("addr2line")) is not None:
        for place in {site[3] for site in sites if site[3].startswith("/")}:
            offsets = sorted({site[1] for site in sites if site[3] == place})
            before = [f"0x{int(offset, 16) - 1:x}" for offset in offsets]  # the call ends where it returns to
            found = subprocess.run(
                [tool, "-f", "-C", "-e", place, *before], capture_output=True, text=True, check=False
            )
            said = found.stdout.splitlines()
            for offset, function, line in zip(offsets, said[0::2], said[1::2], strict=False):
                lines[place, offset] = _line(function, line, offset)
    return {site: f"{lines.get((site[3], site[1])) or _symbol(site)} ({site[0]})" for site in sites}


def _line(function: str, line: str, offset: str) -> str:
    """`solve.c:12`, or the function where there is no line; empty where neither is known."""
    name = line.partition(" ")[0].rpartition("/")[2]
    if not name.startswith("?") and not name.endswith((":0", ":?")):
        return name
    return "" if function.startswith("?") else f"{function} at 0x{offset}"


def _symbol(site: Site) -> str:
    _, offset, symbol, place = site
    return symbol if not symbol.startswith("-") else f"{Path(place).name} at 0x{offset}"


def _recorder(ranks: list[RankFile]) -> dict[str, Any]:
    """What the recorder says of itself: its own cost of a call, taken off, and CPU time that was polling."""
    return {
        "cost_of_a_call_s": float(np.median([one.facts["floor_ns"] for one in ranks])) * 1e-9,
        "polled_s": sum(one.facts["polled_ns"] for one in ranks) * 1e-9,
    }


def _warnings(ranks: list[RankFile]) -> Iterable[str]:
    unequal = []
    for rank, one in enumerate(ranks):
        process_s, thread_s = one.facts["process_ns"] * 1e-9, one.facts["thread_ns"] * 1e-9
        if process_s - thread_s > max(UNEQUAL * process_s, LEAST_UNEQUAL_S):
            unequal.append(f"rank {rank}: {process_s - thread_s:.2g} of {process_s:.2g} s")
    if unequal:
        more = f" and {len(unequal) - 1} more ranks" if len(unequal) > 1 else ""
        yield (
            f"{unequal[0]}{more}: CPU time of further threads, which the recording leaves out; "
            "run with one thread a rank (OMP_NUM_THREADS=1)"
        )
    if left := sum(int(np.count_nonzero(one.rows["flags"] & 8)) for one in ranks):
        yield f"{left} requests were never waited for; they end with the program"


def _check_matched(recording: Recording) -> None:
    """Refuse what cannot be the whole: messages that nobody sent or received, collectives that not all called.

    Raises ScenarioError with the first that does not match.
    """
    hint = "were calls of MPI missed, or does MPI_Pcontrol not stand where no message is on its way?"
    count = Counter[tuple[int, ...]]()
    for kinds, sign in ((SENDS, 1), (RECEIVES, -1)):
        at = np.flatnonzero(np.isin(recording.action, kinds))
        own, other = recording.rank[at], recording.partner[at].copy()
        swapped = (recording.action[at] == Action.EXCHANGE) & (sign < 0)
        other[swapped] = recording.source[at][swapped]
        ways = (own, other) if sign > 0 else (other, own)
        keys, counts = np.unique(
            np.stack([*ways, recording.tag[at], recording.communicator[at]], axis=1), axis=0, return_counts=True
        )
        for key, number in zip(keys.tolist(), counts.tolist(), strict=True):
            count[tuple(key)] += sign * number
    for (source, to, tag, _), left in count.items():
        if left:
            what = "sent and not received" if left > 0 else "received and not sent"
            raise ScenarioError(f"messages from rank {source} to {to} with tag {tag}: {abs(left)} {what}; {hint}")
    _check_collectives(recording, hint)


def _check_collectives(recording: Recording, hint: str) -> None:
    at = np.flatnonzero(np.isin(recording.action, COLLECTIVES))
    order = np.lexsort((at, recording.rank[at], recording.communicator[at]))
    at = at[order]
    keys = np.stack([recording.communicator[at], recording.rank[at]], axis=1)
    new = np.flatnonzero(np.any(np.diff(keys, axis=0, prepend=-1) != 0, axis=1))
    calls: dict[int, dict[int, bytes]] = {}
    for begin, end in pairwise([*new, at.size]):
        part = at[begin:end]
        said = np.stack([recording.action[part].astype(np.int32), recording.partner[part]]).tobytes()
        calls.setdefault(int(keys[begin, 0]), {})[int(keys[begin, 1])] = said
    for communicator, by_rank in calls.items():
        members = recording.group(communicator).tolist()
        for rank in members:
            if by_rank.get(rank) != by_rank.get(members[0]):
                raise ScenarioError(f"ranks {members[0]} and {rank} do not call the same collectives in turn; {hint}")


def combined(runs: Sequence[Run]) -> Recording:
    """One recording of several runs of the same calls; computations that took nothing in any are left out.

    Raises ScenarioError with the first difference, where the program did not do the same.
    """
    first, warnings = runs[0], dict.fromkeys(runs[0].recording.described.warnings)
    for number, other in enumerate(runs[1:], 2):
        warnings |= dict.fromkeys([*other.recording.described.warnings, *_compared(first, other, number)])
    recordings = [one.recording for one in runs]
    computed = np.concatenate([one.computed_s for one in recordings])
    whole = replace(
        recordings[0],
        memory_bytes=np.max([one.memory_bytes for one in recordings], axis=0),
        clock_s=np.concatenate([one.clock_s for one in recordings]),
        described=replace(recordings[0].described, warnings=tuple(warnings)),
    )
    return _without_nothing(whole, computed)


def _without_nothing(whole: Recording, computed: Floats) -> Recording:
    keep = np.ones(whole.action.size, np.bool_)
    keep[whole.action == Action.COMPUTE] = some = computed.max(axis=0) > 0
    columns: Any = {name: getattr(whole, name)[keep] for name in BY_ACTION}
    before = _ends(keep.astype(np.int64))
    return replace(whole, **columns, first=before[whole.first]).with_computing(computed[:, some])


def _compared(first: Run, other: Run, number: int) -> list[str]:
    """Warnings of what differs and may, such as who came; refuses all else."""
    one, two = first.recording, other.recording
    if one.ranks != two.ranks:
        raise ScenarioError(
            f"recording 1 is of {one.ranks} ranks and recording {number} of {two.ranks}; record them again"
        )
    end, loose = (
        min(one.action.size, two.action.size),
        first.loose[: other.loose.size] | other.loose[: first.loose.size],
    )
    chosen = bool(np.any(one.action[first.loose] == Action.WAIT))
    unlike = np.zeros(end, np.bool_)
    who = np.zeros(end, np.bool_)
    for name in ("action", "communicator", "mode", "partner", "tag", "source", "amount"):
        counts = (one.action[:end] != Action.COMPUTE) if name == "amount" else np.ones(end, np.bool_)
        differs = counts & (getattr(one, name)[:end] != getattr(two, name)[:end])
        may = loose if name in ("partner", "tag", "amount") else np.zeros(end, np.bool_)
        if name == "source" and chosen:
            may = one.action[:end] <= Action.WAIT
        unlike |= differs & ~may
        who |= differs & may
    at = int(np.argmax(unlike)) if unlike.any() else end
    lengths = np.flatnonzero(np.diff(one.first) != np.diff(two.first))
    if lengths.size or at < end or not np.array_equal(one.parts, two.parts):
        raise ScenarioError(_difference(one, two, number, at, lengths))
    said = "who came to receives from anybody, or what ended first of several, differs between recordings"
    return [f"{said}: the first of them is taken"] if who.any() else []


def _difference(one: Recording, two: Recording, number: int, at: int, lengths: Ints) -> str:
    advice = "a recording holds one course of a program: have it do the same each time, or record it with --times 1"
    rank = int(one.rank[at]) if at < one.action.size else int(lengths[0]) if lengths.size else 0
    if lengths.size and (rank > lengths[0] or at >= one.action.size):
        rank = int(lengths[0])
        counts = [int(np.diff(each.first)[rank]) for each in (one, two)]
        return f"rank {rank} has {counts[0]} actions in recording 1 and {counts[1]} in recording {number}; {advice}"
    at = min(at, one.action.size - 1)
    site, place = one.described.sites[one.site[at]] if one.site[at] >= 0 else "?", at - int(one.first[rank])
    return f"rank {rank}, action {place}, {site}: recordings 1 and {number} differ there; {advice}"

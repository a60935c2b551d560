"""One recording of the files of all ranks, and of several runs of one program: the same calls, a spread of times."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.calibration.mpi.rank_file import LEFT, Columns, RankActions, RankFile, Site, actions_of, read_rank
from simulator.programs.recorded.recording import BY_ACTION, COLLECTIVES, Action, Described, Recording

UNEQUAL, LEAST_UNEQUAL_S = 0.05, 0.01
"""CPU time of a process outside of the recorded thread that is warned of: share, and seconds."""
BUSY = 0.06
"""How far the mean of recordings is above their median on a busy machine; on a quiet one up to 0.04 (NPB, 2 ranks)."""
SENDS = Action.SEND, Action.EXCHANGE, Action.POST_SEND
RECEIVES = Action.RECV, Action.EXCHANGE, Action.POST_RECV
HINT = "were calls of MPI missed, or does MPI_Pcontrol stand where messages are on their way?"
ONE_COURSE = "a recording holds one course of a program: have it do the same each time, or record it with --times 1"
WHO = "who came to receives from anybody, or which of several ended first, differs: the first recording is taken"


@dataclass(frozen=True)
class Run:
    """One run of a program as a recording of its own, and which actions may differ in the next."""

    recording: Recording
    loose: NDArray[np.bool_]


def read_run(folder: Path, described: Described) -> Run:
    """The files of all ranks as one recording.

    `described`: what is known besides: program, provenance.
    """
    ranks = _read_ranks(folder)
    own = [actions_of(one) for one in ranks]
    joined = {name: np.concatenate([one.columns[name] for one in own]) for name in BY_ACTION}
    first = _ends([one.columns["action"].size for one in own])
    sites = _number_sites(np.split(joined["site"], first[1:-1]), ranks)
    groups = _number_groups(np.split(joined["communicator"], first[1:-1]), ranks)
    unknown = sum((Counter(one.unknown) for one in own), Counter[str]())
    said = replace(
        described,
        library=ranks[0].library,
        host=", ".join(sorted({one.host for one in ranks})),
        sites=sites,
        unknown=dict(sorted(unknown.items())),
        warnings=tuple(_warnings(ranks)),
        provenance={
            **described.provenance,
            "cost_of_a_call_s": float(np.median([one.facts["floor_ns"] for one in ranks])) * 1e-9,
            "polled_s": sum(one.facts["polled_ns"] for one in ranks) * 1e-9,
        },
    )
    recording = _recording(joined, own, groups, said, [one.facts["memory_bytes"] for one in ranks])
    recording.check(folder)
    if not unknown:
        _check_messages(recording)
        _check_collectives(recording)
    return Run(recording, np.concatenate([one.loose for one in own]))


def _read_ranks(folder: Path) -> list[RankFile]:
    there = {path.name: path for path in folder.iterdir()}
    if (other := there.get("other-library")) is not None:
        raise ScenarioError(
            f"the program is one of {' '.join(files.read_text(other).split())}, and mpicc is of another MPI; "
            "give the mpicc that it was built with by --mpicc"
        )
    if "another-program" in there:
        raise ScenarioError("the command runs several MPI programs one after another; record each by itself")
    left = {int(name.removeprefix("rank-")): path for name, path in there.items() if name.startswith("rank-")}
    if not left:
        raise ScenarioError(
            "no rank called MPI_Init with the recorder in place: the command runs no MPI program that is linked "
            "dynamically; give the launcher and the program, such as mpiexec -n 4 ./program"
        )
    found = [read_rank(left[rank]) for rank in sorted(left)]
    if missing := sorted(set(range(found[0].facts["ranks"])) - set(left)):
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


def _number_groups(columns: Sequence[Ints], ranks: list[RankFile]) -> list[tuple[int, ...]]:
    """Number communicators alike for all ranks: each is known by its members and how many these had before."""
    numbers = {(tuple(range(len(ranks))), 0): 0}
    for column, rank in zip(columns, ranks, strict=True):
        used, before = set(np.unique(column).tolist()), Counter[tuple[int, ...]]()
        to = np.zeros(len(rank.groups) + 1, np.int32)  # the last one is of computations, -1
        for place, group in enumerate(rank.groups):
            if place in used:
                to[place] = numbers.setdefault((group, before[group]), len(numbers))
            before[group] += 1
        column[:] = to[column]
    return [group for group, _ in numbers]


def _number_sites(columns: Sequence[Ints], ranks: list[RankFile]) -> tuple[str, ...]:
    """Number call sites alike for all ranks."""
    named, numbers = _named({site for rank in ranks for site in rank.sites}), dict[str, int]()
    for column, rank in zip(columns, ranks, strict=True):
        to = [numbers.setdefault(named[site], len(numbers)) for site in rank.sites]
        column[:] = np.array([*to, -1], np.int32)[column]
    return tuple(numbers)


def _named(sites: set[Site]) -> dict[Site, str]:
    """Sites as `solve.c:12 (MPI_Recv)` where the program says its lines, else by symbol or object."""
    lines: dict[tuple[str, str], str] = {}
    if (tool := shutil.which("addr2line")) is not None:
        for place in {site.place for site in sites} - {"-"}:
            offsets = sorted({site.offset for site in sites if site.place == place})
            before = [f"0x{int(offset, 16) - 1:x}" for offset in offsets]  # what is said is where the call returns to
            words = [tool, "-f", "-C", "-e", place, *before]
            said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
            for offset, function, line in zip(offsets, said[0::2], said[1::2], strict=False):
                lines[place, offset] = _line(function, line, offset)
    return {site: f"{lines.get((site.place, site.offset)) or _symbol(site)} ({site.call})" for site in sites}


def _line(function: str, line: str, offset: str) -> str:
    """`solve.c:12`, or the function where there is no line; empty where neither is known."""
    name = line.partition(" ")[0].rpartition("/")[2]
    if not name.startswith("?") and not name.endswith((":0", ":?")):
        return name
    return "" if function.startswith("?") else f"{function} at 0x{offset}"


def _symbol(site: Site) -> str:
    return site.symbol if not site.symbol.startswith("-") else f"{Path(site.place).name} at 0x{site.offset}"


def _warnings(ranks: list[RankFile]) -> Iterable[str]:
    outside = [((one.facts["process_ns"] - one.facts["thread_ns"]) * 1e-9, one.facts["process_ns"]) for one in ranks]
    unequal = [
        f"rank {rank}: {own:.2g} s"
        for rank, (own, whole_ns) in enumerate(outside)
        if own > max(UNEQUAL * whole_ns * 1e-9, LEAST_UNEQUAL_S)
    ]
    if unequal:
        more = f" and {len(unequal) - 1} more ranks" if len(unequal) > 1 else ""
        yield (
            f"{unequal[0]}{more}: CPU time of further threads, which the recording leaves out; "
            "run with one thread a rank (OMP_NUM_THREADS=1)"
        )
    if left := sum(int(np.count_nonzero(one.rows["flags"] & LEFT)) for one in ranks):
        yield f"{left} requests were never waited for; they end with the program"


def _check_messages(recording: Recording) -> None:
    """Refuse messages that are sent and not received, or received and not sent."""
    ways = []
    for kinds, sign in ((SENDS, 1), (RECEIVES, -1)):
        at = np.flatnonzero(np.isin(recording.action, kinds))
        own, other = recording.rank[at], recording.partner[at]
        if sign < 0:
            own, other = np.where(recording.action[at] == Action.EXCHANGE, recording.source[at], other), own
        ways.append(np.stack([own, other, recording.tag[at], recording.communicator[at], np.full(at.size, sign)]))
    whole = np.concatenate(ways, axis=1)
    keys, of = np.unique(whole[:-1], axis=1, return_inverse=True)
    left = np.bincount(of.ravel(), whole[-1], keys.shape[1])
    for at in np.flatnonzero(left)[:1]:
        source, to, tag, _ = keys[:, at]
        what = "sent and not received" if left[at] > 0 else "received and not sent"
        raise ScenarioError(f"messages from rank {source} to {to} with tag {tag}: {abs(left[at]):g} {what}; {HINT}")


def _check_collectives(recording: Recording) -> None:
    """Refuse collectives that not all ranks of a communicator call in the same order."""
    at = np.flatnonzero(np.isin(recording.action, COLLECTIVES))
    at = at[np.lexsort((at, recording.rank[at], recording.communicator[at]))]
    keys = np.stack([recording.communicator[at], recording.rank[at]])
    calls = {
        (int(recording.communicator[part[0]]), int(recording.rank[part[0]])): (
            recording.action[part].tobytes() + recording.partner[part].tobytes()
        )
        for part in np.split(at, 1 + np.flatnonzero(np.any(np.diff(keys) != 0, axis=0)))
        if part.size
    }
    for communicator in {one for one, _ in calls}:
        members = recording.group(communicator).tolist()
        for rank in members:
            if calls.get((communicator, rank)) != calls.get((communicator, members[0])):
                raise ScenarioError(f"ranks {members[0]} and {rank} do not call the same collectives in turn; {HINT}")


def combined(runs: Sequence[Run]) -> Recording:
    """One recording of several runs of the same calls; computations that took nothing in any are left out.

    A computation is the median of its recordings. Beside other work on the cores the mean of three is 14 % too long
    (root mean square over CG, MG, IS and LU of NPB), the median 7 %, the least 3 %; on quiet cores the median is right
    within 2 %, while the least is 3 to 8 % too short, as it leaves out what varies in every run.
    """
    warnings = dict.fromkeys(runs[0].recording.described.warnings)
    for number, other in enumerate(runs[1:], 2):
        warnings |= dict.fromkeys([*other.recording.described.warnings, *_compared(runs[0], other, number)])
    recordings = [one.recording for one in runs]
    computed = np.concatenate([one.computed_s for one in recordings])
    if (above := computed.mean(axis=0).sum() / max(np.median(computed, axis=0).sum(), 1e-12) - 1) > BUSY:
        warnings[f"the mean of the recordings is {above:.0%} above their median: record on a quiet machine"] = None
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
    return replace(whole, **columns, first=_ends(keep.astype(np.int64))[whole.first]).with_computing(computed[:, some])


def _compared(first: Run, other: Run, number: int) -> list[str]:
    """Warnings of what differs and may, such as who came."""
    one, two = first.recording, other.recording
    if one.ranks != two.ranks:
        raise ScenarioError(f"recording 1 has {one.ranks} ranks and recording {number} {two.ranks}; record them again")
    end = min(one.action.size, two.action.size)
    loose = first.loose[:end] | other.loose[:end]
    # where a wait is for any of several, which number a request gets is chance too
    chance = loose | (bool(np.any(one.action[first.loose] == Action.WAIT)) & (one.action[:end] <= Action.WAIT))
    may = {"partner": loose, "tag": loose, "amount": loose | (one.action[:end] == Action.COMPUTE), "source": chance}
    unlike, who = np.zeros(end, np.bool_), False
    for name in ("rank", "action", "communicator", "mode", *may):
        differs = getattr(one, name)[:end] != getattr(two, name)[:end]
        allowed = may.get(name, np.zeros(end, np.bool_))
        unlike |= differs & ~allowed
        who |= bool(np.any(differs & allowed & (one.action[:end] != Action.COMPUTE)))
    if unlike.any() or one.action.size != two.action.size or not np.array_equal(one.parts, two.parts):
        at = int(np.argmax(unlike)) if unlike.any() else end - 1
        longer = min(one, two, key=lambda each: int(each.rank[at]))
        rank, site = int(longer.rank[at]), longer.described.sites[longer.site[at]]
        where = f"rank {rank}, action {at - int(longer.first[rank])}, {site}"
        raise ScenarioError(f"{where}: from there on recordings 1 and {number} differ; {ONE_COURSE}")
    return [WHO] if who else []

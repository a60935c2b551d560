"""Timelines for a page: runs of some configurations in small, what their makespans wait for, and when."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import RunSet, Scenario, critical_path, load_profiles, messages_of, path_parts, run

MOST_BARS = 20_000
"""Bars of all timelines of a page."""
MOST_MESSAGES = 4_000
MOST_STEPS = 4_000
"""Steps of critical paths."""
MOST_OPERATIONS = 400_000
"""Operations of a configuration beyond which it is not looked at."""
MOMENTS = 10_000_000
"""Parts of the makespan that times are told in."""
MOST_PARTS = 40
MOST_LOADS = 6_000
"""Points of all loads of a page."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Bars:
    """Operations as arrays, process after process, each by its begin; times in moments."""

    process: Ints
    kind: Ints
    start: Ints
    end: Ints
    count: Ints
    """Operations in each."""


def median_replication(runs: RunSet, configuration: str) -> int:
    """The replication whose makespan is nearest the median, the first of several."""
    makespans = runs.of(configuration)
    return int(np.argmin(np.abs(makespans - np.median(makespans))))


def timelines(scenario: Scenario, runs: RunSet, names: Sequence[str], *, replication: int) -> list[dict[str, Any]]:
    """One entry per configuration: its bars, critical path, messages and what its makespan waits for, as plain data.

    Times are whole numbers of moments, `MOMENTS` to a makespan, so that a page stays small; see `_timeline`.

    Parameters
    ----------
    scenario
        With the configurations.
    runs
        Of it: for its seed, and how many replications there are.
    names
        Of the configurations, the one to show first in front; those that are too long are left out.
    replication
        Which one: the same of each, so that the draws are the same.
    """
    by_name = {configuration.name: configuration for configuration in scenario.configurations}
    chosen = scenario.with_configurations(tuple(by_name[name] for name in names))
    logged = run(chosen, replications=1, seed=runs.seed, first_replication=replication, log_replications=1)
    kept = [place for place in range(len(names)) if len(logged.logs[place, 0]) <= MOST_OPERATIONS]
    share = max(1, len(kept))
    return [
        {
            "configuration": names[place],
            "replication": replication,
            "replications": int(runs.makespan_ticks.shape[1]),
            **_timeline(chosen, logged, place, bars=MOST_BARS // share, lines=MOST_MESSAGES // share),
            "loads": _loads(chosen, logged, place, replication=replication, most=MOST_LOADS // share),
        }
        for place in kept
    ]


def _timeline(scenario: Scenario, runs: RunSet, place: int, *, bars: int, lines: int) -> dict[str, Any]:
    """Rows of whole numbers, to be read in groups.

    `bars`: of each process, per bar its kind (twice, and 1 more if several operations are drawn as one), how long after
    the last one's end it begins, how long it lasts. `path`: process, begin, end. `messages`: sender, begin, receiver,
    end.
    """
    log, makespan = runs.logs[place, 0], int(runs.makespan_ticks[place, 0])
    configuration = scenario.configurations[place]
    kinds = list(dict.fromkeys(entry.operation for entry in log))
    every = _moments(log, kinds, makespan)
    drawn = _merged(every, bars)
    messages, left_out = _messages(scenario, runs, place, lines)
    used = list(dict.fromkeys(configuration.placement))
    return {
        "makespan_s": makespan * runs.tick_s,
        "moments": MOMENTS,
        "pes": [scenario.platform.pes[pe].name for pe in used],
        "processes": [used.index(pe) for pe in configuration.placement],
        "kinds": kinds,
        "bars": _flat(drawn, len(configuration.placement)),
        "operations": len(log),
        "merged": int(drawn.count[drawn.count > 1].sum()),
        "path": _path(scenario, runs, place),
        "messages": messages,
        "messages_left_out": left_out,
        "waits_for": _waits_for(scenario, runs, place),
        "spent": _spent(scenario, runs, place),
    }


def _scaled(ticks: Any, makespan: int) -> Ints:
    return np.rint(np.asarray(ticks, dtype=np.float64) * (MOMENTS / max(1, makespan))).astype(np.int64)


def _moments(log: Sequence[Any], kinds: Sequence[str], makespan: int) -> _Bars:
    code = {kind: number for number, kind in enumerate(kinds)}
    rows = np.array(
        [(entry.process, code[entry.operation], entry.start_ticks, entry.end_ticks) for entry in log], dtype=np.int64
    ).reshape(-1, 4)
    rows = rows[rows[:, 3] > rows[:, 2]]
    order = np.lexsort((rows[:, 3], rows[:, 2], rows[:, 0]))
    process, kind, start, end = rows[order].T
    return _Bars(process, kind, _scaled(start, makespan), _scaled(end, makespan), np.ones(process.size, dtype=np.int64))


def _merged(bars: _Bars, most: int) -> _Bars:
    """At most so many: neighbours of one process and kind that are near each other become one, ever further ones."""
    order = np.lexsort((bars.start, bars.kind, bars.process))
    process, kind, start, end, count = (
        getattr(bars, name)[order] for name in ("process", "kind", "start", "end", "count")
    )
    gap = MOMENTS // 16_000
    first = np.ones(process.size, dtype=np.bool_)
    while process.size and first.sum() > most and gap <= 2 * MOMENTS:
        same = (process[1:] == process[:-1]) & (kind[1:] == kind[:-1])
        first[1:] = ~(same & (start[1:] - end[:-1] <= gap))
        gap *= 2
    starts = np.flatnonzero(first)
    if starts.size == process.size:
        return bars
    ends = np.maximum.reduceat(end, starts)
    found = _Bars(process[starts], kind[starts], start[starts], ends, np.add.reduceat(count, starts))
    order = np.lexsort((found.end, found.start, found.process))
    return _Bars(found.process[order], found.kind[order], found.start[order], found.end[order], found.count[order])


def _flat(bars: _Bars, processes: int) -> list[list[int]]:
    found = []
    for process in range(processes):
        own = np.flatnonzero(bars.process == process)
        code = 2 * bars.kind[own] + (bars.count[own] > 1)
        gap = bars.start[own] - np.concatenate([[0], bars.end[own][:-1]])
        found.append(np.stack([code, gap, bars.end[own] - bars.start[own]], axis=1).reshape(-1).tolist())
    return found


def _path(scenario: Scenario, runs: RunSet, place: int) -> list[int]:
    """The critical path: steps of one process that follow each other as one, short ones joined where there are many."""
    makespan = int(runs.makespan_ticks[place, 0])
    joined: list[list[int]] = []
    for step in critical_path(scenario, runs, place, 0):
        if joined and joined[-1][0] == step.operation.process:
            joined[-1][2] = step.to_ticks
        elif step.to_ticks > step.from_ticks:
            joined.append([step.operation.process, step.from_ticks, step.to_ticks])
    rows = np.array(joined, dtype=np.int64).reshape(-1, 3)
    if rows.shape[0] > MOST_STEPS:  # the longest ones; what is between them is too short to be seen
        longest = np.argsort(rows[:, 1] - rows[:, 2], kind="stable")[:MOST_STEPS]
        rows = rows[np.sort(longest)]
    rows[:, 1:] = _scaled(rows[:, 1:], makespan)
    found: list[int] = rows.reshape(-1).tolist()
    return found


def _messages(scenario: Scenario, runs: RunSet, place: int, most: int) -> tuple[list[int], int]:
    """Those that take longest, by their beginning, and how many there are more."""
    every = messages_of(scenario, runs, place, 0)
    makespan = int(runs.makespan_ticks[place, 0])
    longest = sorted(every, key=lambda one: (one.start_ticks - one.end_ticks, one.start_ticks, one.sender))[:most]
    longest.sort(key=lambda one: (one.start_ticks, one.sender, one.receiver))
    rows = np.array(
        [(one.sender, one.start_ticks, one.receiver, one.end_ticks) for one in longest], dtype=np.int64
    ).reshape(-1, 4)
    rows[:, 1::2] = _scaled(rows[:, 1::2], makespan)
    found: list[int] = rows.reshape(-1).tolist()
    return found, len(every) - len(longest)


def _loads(scenario: Scenario, runs: RunSet, place: int, *, replication: int, most: int) -> list[dict[str, Any]]:
    """Of PEs that take part: from which moment on what load is there; the first ones where they are too many."""
    makespan, pes = int(runs.makespan_ticks[place, 0]), scenario.platform.pes
    used = {pe for pe in scenario.configurations[place].placement if pes[pe].load is not None}
    each = max(12, most // max(1, len(used)))
    own = replace(scenario, seed=runs.seed)
    profiles = load_profiles(own, replication=replication, end_s=makespan * runs.tick_s, most=each)
    found = []
    for pe in sorted(used)[: most // each]:
        times, values = profiles[pes[pe].name]
        moments = _scaled(times / runs.tick_s, makespan).tolist()
        rule = "" if (load := pes[pe].load) is None else load.rule
        found.append({"pe": pes[pe].name, "rule": rule, "times": moments, "values": np.round(values, 4).tolist()})
    return found


def _waits_for(scenario: Scenario, runs: RunSet, place: int) -> list[dict[str, Any]]:
    """Parts of the critical path with their share of the makespan, largest first; small ones beyond many left out."""
    total_s = int(runs.makespan_ticks[place, 0]) * runs.tick_s
    parts = path_parts(scenario, runs, place, 0)[:MOST_PARTS]
    return [{**asdict(part), "share": part.seconds / total_s if total_s else 0.0} for part in parts]


def _spent(scenario: Scenario, runs: RunSet, place: int) -> list[dict[str, Any]]:
    """What each process gets and does, in this replication."""
    configuration = scenario.configurations[place]
    busy, finish = runs.busy_ticks[place][0], runs.finish_ticks[place][0]
    return [
        {
            "process": process,
            "pe": scenario.platform.pes[pe].name,
            "units": units,
            "busy_s": int(busy[process]) * runs.tick_s,
            "waiting_s": int(finish[process] - busy[process]) * runs.tick_s,
            "done_s": int(finish[process]) * runs.tick_s,
        }
        for process, (pe, units) in enumerate(zip(configuration.placement, configuration.partition, strict=True))
    ]

"""Timelines for a page: runs of some configurations in small, what their makespans wait for, and when."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import Message, Part, RunSet, Scenario, Step, load_profiles, run, ties, waited_for

MOST_BARS = 20_000
"""Bars of all timelines of a page."""
MOST_MESSAGES = 4_000
MOST_STEPS = 4_000
"""Steps of critical paths."""
MOST_OPERATIONS = 150_000
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
    middle = np.median(makespans)
    return int(ties.first_least(np.abs(makespans - middle), floor=ties.SAME * float(middle)))


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
        Of the configurations, the one to show first in front; of those that are too long only this is told.
    replication
        Which one: the same of each, so that the draws are the same.
    """
    by_name = {configuration.name: configuration for configuration in scenario.configurations}
    share = max(1, len(names))
    found = []
    for name in names:
        chosen = replace(scenario.with_configurations((by_name[name],)), truths=runs.truth_count)
        logged = run(chosen, replications=1, seed=runs.seed, first_replication=replication, log_replications=1)
        head = {"configuration": name, "replication": replication, "replications": int(runs.makespan_ticks.shape[1])}
        operations = len(logged.logs[0, 0])
        if operations > MOST_OPERATIONS:
            found.append({**head, "operations": operations, "left_out": True})
        else:
            found.append({**head, **_timeline(chosen, logged, replication, share=share)})
    return found


def _timeline(scenario: Scenario, runs: RunSet, replication: int, *, share: int) -> dict[str, Any]:
    """Rows of whole numbers, to be read in groups, for the only configuration.

    `bars`: of each process, per bar its kind (twice, and 1 more if several operations are drawn as one), how long after
    the last one's end it begins, how long it lasts. `path`: process, begin, end. `messages`: sender, begin, receiver,
    end.

    Parameters
    ----------
    share
        Of a page's bounds.
    """
    log, makespan = runs.logs[0, 0], int(runs.makespan_ticks[0, 0])
    configuration = scenario.configurations[0]
    kinds = list(dict.fromkeys(entry.operation for entry in log))
    drawn = _merged(_moments(log, kinds, makespan), MOST_BARS // share)
    waited = waited_for(scenario, runs, 0, 0, first_replication=replication)
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
        "path": _path(waited.path, makespan, MOST_STEPS // share),
        "messages": _messages(waited.messages, makespan, MOST_MESSAGES // share),
        "messages_left_out": max(0, len(waited.messages) - MOST_MESSAGES // share),
        "waits_for": _waits_for(waited.parts, makespan * runs.tick_s),
        "loads": _loads(scenario, runs, replication, MOST_LOADS // share),
        "spent": _spent(scenario, runs),
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
    """At most about so many: in stretches of time, ever longer ones, short bars of a process are joined by kind.

    In such a stretch the kinds follow each other, each as long as it took in all: amounts stay right, places do not.
    """
    if bars.process.size <= most:
        return bars
    stretch, lasts = MOMENTS // 16_384, bars.end - bars.start
    while True:
        cell = np.where(lasts < stretch, bars.start // stretch, -1 - np.arange(lasts.size))  # long ones stay alone
        _, group, place = np.unique(
            np.stack([bars.process, cell, bars.kind], axis=1), axis=0, return_index=True, return_inverse=True
        )
        if group.size <= most or stretch >= MOMENTS:
            break
        stretch *= 2
    place = place.reshape(-1)
    start = np.full(group.size, np.iinfo(np.int64).max)
    np.minimum.at(start, place, bars.start)
    total = np.bincount(place, weights=lasts, minlength=group.size).astype(np.int64)
    count = np.bincount(place, minlength=group.size)
    process, kind, cells = bars.process[group], bars.kind[group], cell[group]
    order = np.lexsort((start, cells, process))
    process, kind, cells, start, total, count = (part[order] for part in (process, kind, cells, start, total, count))
    start = _one_after_another(process, cells, start, total, count)
    order = np.lexsort((start, process))
    return _Bars(process[order], kind[order], start[order], (start + total)[order], count[order])


def _one_after_another(process: Ints, cells: Ints, start: Ints, total: Ints, count: Ints) -> Ints:
    """Starts of bars, sorted by process, cell and start: in cells where anything is joined, without overlap."""
    head = np.concatenate([[True], (process[1:] != process[:-1]) | (cells[1:] != cells[:-1])])
    heads = np.flatnonzero(head)
    group = np.cumsum(head) - 1
    before = np.cumsum(total) - total
    laid = start[heads][group] + before - before[heads][group]
    joined = np.maximum.reduceat(count, heads)[group] > 1
    return np.where(joined, laid, start)


def _flat(bars: _Bars, processes: int) -> list[list[int]]:
    found = []
    for process in range(processes):
        own = np.flatnonzero(bars.process == process)
        code = 2 * bars.kind[own] + (bars.count[own] > 1)
        gap = bars.start[own] - np.concatenate([[0], bars.end[own][:-1]])
        found.append(np.stack([code, gap, bars.end[own] - bars.start[own]], axis=1).reshape(-1).tolist())
    return found


def _path(path: Sequence[Step], makespan: int, most: int) -> list[int]:
    """The critical path: steps of one process that follow each other as one, the longest ones where there are many."""
    joined: list[list[int]] = []
    for step in path:
        if joined and joined[-1][0] == step.operation.process:
            joined[-1][2] = step.to_ticks
        elif step.to_ticks > step.from_ticks:
            joined.append([step.operation.process, step.from_ticks, step.to_ticks])
    rows = np.array(joined, dtype=np.int64).reshape(-1, 3)
    if rows.shape[0] > most:  # what is between the longest is too short to be seen
        longest = np.argsort(rows[:, 1] - rows[:, 2], kind="stable")[:most]
        rows = rows[np.sort(longest)]
    rows[:, 1:] = _scaled(rows[:, 1:], makespan)
    found: list[int] = rows.reshape(-1).tolist()
    return found


def _messages(every: Sequence[Message], makespan: int, most: int) -> list[int]:
    """Those that take longest, by their beginning."""
    longest = sorted(every, key=lambda one: (one.start_ticks - one.end_ticks, one.start_ticks, one.sender))[:most]
    longest.sort(key=lambda one: (one.start_ticks, one.sender, one.receiver))
    told = [(one.sender, one.start_ticks, one.receiver, one.end_ticks) for one in longest]
    rows = np.array(told, dtype=np.int64).reshape(-1, 4)
    rows[:, 1::2] = _scaled(rows[:, 1::2], makespan)
    found: list[int] = rows.reshape(-1).tolist()
    return found


def _loads(scenario: Scenario, runs: RunSet, replication: int, most: int) -> list[dict[str, Any]]:
    """Of PEs that take part: from which moment on what load is there; the first ones where they are too many."""
    makespan, pes = int(runs.makespan_ticks[0, 0]), scenario.platform.pes
    used = {pe for pe in scenario.configurations[0].placement if pes[pe].load is not None}
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


def _waits_for(parts: Sequence[Part], total_s: float) -> list[dict[str, Any]]:
    """Parts of the critical path with their share of the makespan, largest first; small ones beyond many left out."""
    return [{**asdict(part), "share": part.seconds / total_s if total_s else 0.0} for part in parts[:MOST_PARTS]]


def _spent(scenario: Scenario, runs: RunSet) -> list[dict[str, Any]]:
    """What each process gets and does, in this replication."""
    configuration = scenario.configurations[0]
    busy, finish = runs.busy_ticks[0][0], runs.finish_ticks[0][0]
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

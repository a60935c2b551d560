"""Timelines: runs of some configurations in small, what their makespans wait for, and the section that shows them."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advisor import wording
from simulator import (
    Message,
    RunSet,
    Scenario,
    Step,
    blocks,
    documents,
    load_profiles,
    plots,
    run,
    ties,
    waited_for,
)

MOST_BARS = 20_000
"""Bars of all timelines of a page."""
MOST_MESSAGES = 4_000
MOST_STEPS = 4_000
"""Steps of critical paths."""
MOST_PROCESSES = 32
"""Processes that are drawn one by one; of more, nodes are."""
MOST_OPERATIONS = 150_000
"""Operations of a configuration beyond which it is not looked at."""
MOMENTS = 10_000_000
"""Parts of the makespan that times are counted in."""
MOST_PARTS = 40
"""Of the critical path; the largest stand first."""
MOST_LOADS = 6_000
"""Points of all loads of a page."""
HEADING = "One replication in time"
LEAST_SHARE = 0.02
"""Of the makespan, below which the sentence about waits is silent."""
MOST_NAMED = 2
"""PEs that this sentence names."""
MOST_ROWS = 12
BAD = 0.95
"""Share of all runs that a bad one takes longer than."""
WORDS = {
    "computing": "computing",
    "farm": "working for a farm",
    "disk": "disk",
    "asleep": "asleep",
    "barrier": "at a barrier",
}

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Waited:
    """What one PE, link or disk contributes to the critical path; see `simulator.Part`."""

    what: str
    where: str
    seconds: float
    held_up_s: float
    steps: float
    share: float
    """Of the makespan."""

    @property
    def who(self) -> str:
        """What the makespan waits for, in words."""
        if self.what == "message":
            return f"messages {self.where if self.where.startswith('within ') else f'over {self.where}'}"
        return f"{self.where} {WORDS.get(self.what, self.what)}"


@dataclass(frozen=True)
class LoadInTime:
    """From which moment on what load a PE has."""

    pe: str
    rule: str
    times: list[int]
    values: list[float]


@dataclass(frozen=True)
class Timeline:
    """One configuration in one replication; times are whole numbers of moments, `MOMENTS` to a makespan.

    Rows of whole numbers are to be read in groups. `bars`: of each process, per bar its kind (twice, and 1 more if
    several operations are drawn as one), how long after the last one's end it begins, how long it lasts. `path`:
    process, begin, end. `messages`: sender, begin, receiver, end.
    """

    configuration: str
    replication: int
    replications: int
    makespan_s: float
    moments: int
    pes: tuple[str, ...]
    nodes: tuple[str, ...]
    """That of each of `pes`."""
    processes: tuple[int, ...]
    """The PE of each, as a place in `pes`."""
    kinds: tuple[str, ...]
    bars: list[list[int]]
    operations: int
    merged: int
    path: list[int]
    messages: list[int]
    messages_left_out: int
    waits_for: tuple[Waited, ...]
    loads: tuple[LoadInTime, ...]

    @property
    def second(self) -> float:
        """Seconds in a moment."""
        return self.makespan_s / self.moments


@dataclass(frozen=True)
class TooLong:
    """A configuration with too many operations to be followed one by one."""

    configuration: str
    replication: int
    replications: int
    operations: int
    left_out: Literal[True] = True


@dataclass(frozen=True)
class _Bars:
    """Operations as arrays, process after process, each by its begin; times in moments."""

    process: Ints
    kind: Ints
    start: Ints
    end: Ints
    count: Ints
    """Operations in each."""


def replication_near(runs: RunSet, configuration: str, share: float = 0.5) -> int:
    """The replication whose makespan is nearest the one that this share of all is below, the first of several."""
    makespans = runs.of(configuration)
    wanted = np.quantile(makespans, share)
    return int(ties.first_least(np.abs(makespans - wanted), floor=ties.SAME * float(wanted)))


def timelines(
    scenario: Scenario, runs: RunSet, names: Sequence[str], *, replication: int
) -> tuple[Timeline | TooLong, ...]:
    """One per configuration: its bars, critical path, messages and what its makespan waits for.

    `scenario`: with the configurations.
    `runs`: of it: for its seed, and how many replications there are.
    `names`: of the configurations, the one to show first in front.
    `replication`: which one: the same of each, so that the draws are the same.
    """
    by_name = {configuration.name: configuration for configuration in scenario.configurations}
    share = max(1, len(names))
    found: list[Timeline | TooLong] = []
    for name in names:
        chosen = runs.drawn(scenario.with_configurations((by_name[name],)))
        logged = run(chosen, replications=1, first_replication=replication, log_replications=1)
        which = name, replication, int(runs.makespan_ticks.shape[1])
        if len(logged.logs[0, 0]) > MOST_OPERATIONS:
            found.append(TooLong(*which, len(logged.logs[0, 0])))
        else:
            found.append(_timeline(chosen, logged, which, share=share))
    return tuple(found)


def _timeline(scenario: Scenario, runs: RunSet, which: tuple[str, int, int], *, share: int) -> Timeline:
    """Of the only configuration."""
    log, makespan, replication = runs.logs[0, 0], int(runs.makespan_ticks[0, 0]), which[1]
    configuration = scenario.configurations[0]
    kinds = list(dict.fromkeys(entry.operation for entry in log))
    drawn = _merged(_moments(log, kinds, makespan), MOST_BARS // share)
    waited = waited_for(scenario, runs, 0, 0, first_replication=replication)
    used, total_s = list(dict.fromkeys(configuration.placement)), makespan * runs.tick_s
    return Timeline(
        *which,
        makespan_s=total_s,
        moments=MOMENTS,
        pes=tuple(scenario.platform.pes[pe].name for pe in used),
        nodes=tuple(scenario.platform.pes[pe].node for pe in used),
        processes=tuple(used.index(pe) for pe in configuration.placement),
        kinds=tuple(kinds),
        bars=_flat(drawn, len(configuration.placement)),
        operations=len(log),
        merged=int(drawn.count[drawn.count > 1].sum()),
        path=_path(waited.path, makespan, MOST_STEPS // share),
        messages=_messages(waited.messages, makespan, MOST_MESSAGES // share),
        messages_left_out=max(0, len(waited.messages) - MOST_MESSAGES // share),
        waits_for=tuple(Waited(**asdict(part), share=part.seconds / total_s) for part in waited.parts[:MOST_PARTS]),
        loads=_loads(scenario, runs, replication, MOST_LOADS // share),
    )


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
    """At most about so many: in stretches of time, ever longer ones, short bars of a process are joined by kind."""
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
    ends = [(one.sender, one.start_ticks, one.receiver, one.end_ticks) for one in longest]
    rows = np.array(ends, dtype=np.int64).reshape(-1, 4)
    rows[:, 1::2] = _scaled(rows[:, 1::2], makespan)
    found: list[int] = rows.reshape(-1).tolist()
    return found


def _loads(scenario: Scenario, runs: RunSet, replication: int, most: int) -> tuple[LoadInTime, ...]:
    """Of PEs that take part: from which moment on what load is there; the first ones where they are too many."""
    makespan, pes = int(runs.makespan_ticks[0, 0]), scenario.platform.pes
    used = {pe for pe in scenario.configurations[0].placement if pes[pe].load is not None}
    each = max(12, most // max(1, len(used)))
    profiles = load_profiles(runs.drawn(scenario), replication=replication, end_s=makespan * runs.tick_s, most=each)
    found = []
    for pe in sorted(used)[: most // each]:
        times, values = profiles[pes[pe].name]
        moments = _scaled(times / runs.tick_s, makespan).tolist()
        rule = "" if (load := pes[pe].load) is None else load.rule
        found.append(LoadInTime(pes[pe].name, rule, moments, np.round(values, 4).tolist()))
    return tuple(found)


# Shown


def timeline_section(every: Sequence[Timeline | TooLong]) -> blocks.Section:
    """Timelines to zoom into, and the critical path in words and numbers."""
    shown = [one for one in every if isinstance(one, Timeline)]
    long = tuple(
        blocks.Text(f"{one.configuration} has {one.operations:,} operations: too many to be followed one by one.")
        for one in every
        if isinstance(one, TooLong)
    )
    return blocks.Section("timeline", HEADING, (*(_blocks(shown) if shown else ()), *long))


def _blocks(shown: Sequence[Timeline]) -> Iterator[blocks.Block]:
    first, *others = shown
    which = f"replication {first.replication} of {first.replications}"
    drawn = first.replications > 1
    nearest = f"{which}, the one nearest the median of {first.configuration}" if drawn else which
    yield blocks.Text(f"{first.configuration}: {waits_text(first.waits_for)}.")
    same = "; the same draws for every configuration" if others and drawn else ""
    yield blocks.Text(f"This is {nearest}{same}.", quiet=True)
    many = max(len(one.processes) for one in shown) > MOST_PROCESSES
    said = f"{len(first.processes)} processes{', gathered' if many else ''}"
    caption = f"Simulated run of {first.configuration}; {said}: height: part of a row's processes that compute."
    drawn_run = plots.runs([run_rows(first, first.configuration, most=MOST_PROCESSES)])
    still = blocks.Figure(replace(drawn_run, title="Timeline of one replication"), caption)
    data = {"timelines": [_widget(one) for one in shown], "moments": first.moments}
    yield still if many else blocks.Widget("gantt", "Timeline", data, (still,))
    for one in shown:
        waits = waits_table(one.waits_for, f"What the predicted makespan of {one.configuration} waits for")
        yield waits if one is first else blocks.Folded(f"{one.configuration}: {waits_text(one.waits_for)}", (waits,))


def _widget(one: Timeline) -> dict[str, Any]:
    """What the script reads."""
    plain = documents.to_dict(one)
    names = {"configuration": wording.clean(one.configuration), "pes": [wording.clean(name) for name in one.pes]}
    loads = [{**load, "pe": wording.clean(load["pe"])} for load in plain["loads"]]
    left = {"replications", "moments", "waits_for", "nodes"}
    return {name: value for name, value in plain.items() if name not in left} | names | {"loads": loads}


def _bars_of(one: Timeline, process: int) -> Iterator[tuple[str, int, int]]:
    """Kind, begin and end of each bar of a process."""
    at = 0
    for code, gap, lasts in zip(*[iter(one.bars[process])] * 3, strict=True):
        start, at = at + gap, at + gap + lasts
        yield one.kinds[code // 2], start, at


def run_rows(one: Timeline, title: str, *, most: int, mean_s: float | None = None, full: bool = True) -> plots.Run:
    """A run for `plots.runs`: processes, or means over PEs, nodes or stretches of them, in at most so many rows.

    `mean_s`: of all runs.
    `full`: whether it has the colour of what is advised.
    """
    moments = float(one.moments)
    rows = [
        plots.RunRow(
            name,
            *(
                np.mean([_covered(one, process, moments, computing=computing) for process in own], axis=0)
                for computing in (True, False)
            ),
        )
        for name, own in _grouped(one, most).items()
    ]
    return plots.Run(title, one.makespan_s, tuple(rows), mean_s, full)


def _covered(one: Timeline, process: int, moments: float, *, computing: bool) -> Any:
    """Which part of each stretch of time a process computes, or does something else."""
    bars = [(start, end) for kind, start, end in _bars_of(one, process) if (kind in plots.COMPUTING) is computing]
    return plots.coverage_of(bars, moments)


def _grouped(one: Timeline, most: int) -> dict[str, list[int]]:
    """Processes by the name of their row."""
    count = len(one.processes)
    pes = [one.pes[place] for place in one.processes]
    alone, order = len(set(pes)) == count, sorted(range(count), key=one.processes.__getitem__)
    if count <= most:
        return {pes[place] if alone else f"{pes[place]}, process {place}": [place] for place in order}
    found: dict[str, list[int]] = {}
    for named in (pes, [one.nodes[place] for place in one.processes]):
        found = {}
        for place in order:
            found.setdefault(named[place], []).append(place)
        if len(found) <= most:
            return found
    names = list(found)
    edges = [round(part * len(names) / most) for part in range(most + 1)]
    stretches = [names[low:high] for low, high in itertools.pairwise(edges)]
    return {
        own[0] if len(own) == 1 else f"{own[0]} … {own[-1]}": [place for name in own for place in found[name]]
        for own in stretches
    }


# What a makespan waits for, in words


def waits_text(parts: Sequence[Waited]) -> str:
    """What the makespan waits for, in one sentence; the table has all of it."""
    messages = [part for part in parts if part.what == "message"]
    named = [(part.share, part.who) for part in parts if part.what != "message"][:MOST_NAMED]
    if messages:
        who = messages[0].who if len(messages) == 1 else f"messages over {len(messages)} links"
        named.append((sum(part.share for part in messages), who))
    named.sort(reverse=True)
    said = [f"{wording.percent(share)} {who}" for share, who in named if share >= LEAST_SHARE or share == named[0][0]]
    return ", ".join(said).replace(" % ", " % of the makespan is ", 1) or "nothing took any time"


def waits_table(parts: Sequence[Waited], caption: str) -> blocks.Table:
    """The parts of the critical path, largest first."""
    rest = parts[MOST_ROWS:]
    shown = [(part.who, part, wording.digits(part.steps, 1)) for part in parts[:MOST_ROWS]]
    if rest:
        keys = ("seconds", "held_up_s", "steps", "share")
        sums = Waited("", "", *(sum(getattr(part, key) for part in rest) for key in keys))
        shown.append((f"{len(rest)} more", sums, f"{sums.steps:.0f}"))
    rows = [
        [
            name,
            wording.percent(part.share, 1),
            wording.duration(part.seconds),
            wording.duration(part.held_up_s or None),
            steps,
        ]
        for name, part, steps in shown
    ]
    return blocks.table(
        caption,
        ["what", "of the makespan", "time", "held up", "steps"],
        rows,
        note="The chain of operations that ends last, back to the start: each waited for the one before it. A "
        "message counts for the link of its route that had most to carry for its bandwidth meanwhile. Held up: longer "
        "than with the links, or the PE, to itself.",
    )

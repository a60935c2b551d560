"""Timelines in the Trace Event Format, which Perfetto and Chrome open: messages as flows, loads as counters.

| event | what it is |
|---|---|
| `M` | a process per node (and one for the network's links), a thread per process of the program, PE by PE |
| `X` | an operation, what it waited for another process within it |
| `s`, `f` | a message, from within what sends it to within what receives it |
| `C` | load (or availability) of a PE; messages under way on a link, transfers on a node's disk |

Sources: "Trace Event Format" (Google); Perfetto's `json_trace_parser_impl.cc` and `slice_tracker.cc` for what it makes
of it: threads are named by tid alone, flows bind to the slice that was opened last, what overlaps without nesting is
dropped.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.programs.columns import KIND_NAMES, Kind
from simulator.results.timelines.counters import load_points, messages_on_links, points_of_each
from simulator.results.timelines.happened import NAMES, OF_KIND, Happened, View, details, grouped

Ticks = Ints


NS_PER_US = 1000.0
"""Perfetto keeps `floor(1000 * ts)` and `floor(1000 * dur)` apart, in nanoseconds."""
BLOCK = 2**16
LAST = 1
"""Phase of events of a tick that come after those in the order of their operations."""


@dataclass(frozen=True)
class Slices:
    """Slices of one track, which lie side by side; (slice,)."""

    begin: Ticks
    end: Ticks
    first: Ticks
    """The operation that it is, the first of several."""
    count: Ticks
    """Operations that it stands for: several only where they all took no time at one instant."""


def slices_of(run: Happened, rows: Ticks) -> Slices:
    """The operations of one process, those that took no time gathered where several share an instant."""
    instant = run.begin[rows] == run.end[rows]
    follows = np.zeros(rows.size, dtype=np.bool_)
    follows[1:] = instant[1:] & instant[:-1] & (run.begin[rows[1:]] == run.begin[rows[:-1]])
    heads = np.flatnonzero(~follows)
    return Slices(run.begin[rows[heads]], run.end[rows[heads]], rows[heads], np.diff(np.append(heads, rows.size)))


# Ticks as the microseconds of trace files: numbers that readers round, and that nest all the same.


def moments_us(ticks: Ticks, tick_s: float) -> Floats:
    """Microseconds since the start; a later tick is never an earlier number."""
    per_us = 1e-6 / tick_s
    found = ticks / round(per_us) if per_us >= 1 else ticks * (tick_s * 1e6)
    return np.asarray(found, dtype=np.float64)


def durations_us(begin: Ticks, end: Ticks, tick_s: float, *, within: tuple[Floats, Floats] | None = None) -> Floats:
    """Microseconds from `begin` to `end`, shortened where rounding would lead past the end.

    What a reader gets by adding up is never after `moments_us(end)`: as floats, nor as Perfetto's nanoseconds, which
    are cut off on both sides. So what begins at `end` begins after what ends there.

    `within`: starts and durations of slices that these lie in: as they were rounded, so that these do not stick out.
    """
    start, stop = moments_us(begin, tick_s), moments_us(end, tick_s)
    found = moments_us(end - begin, tick_s)
    last = np.trunc(stop * NS_PER_US)
    if within is not None:
        stop = np.minimum(stop, within[0] + within[1])
        last = np.minimum(last, np.trunc(within[0] * NS_PER_US) + np.trunc(within[1] * NS_PER_US))
    room = np.maximum(0.0, last - np.trunc(start * NS_PER_US))
    for _ in range(8):  # two rounded numbers and a rounded sum are off by some last places
        late = start + found > stop
        wide = np.trunc(found * NS_PER_US) > room
        shorter = np.where(late, np.minimum(stop - start, found - np.spacing(stop)), found)
        shorter = np.where(wide, np.minimum((room + 1) / NS_PER_US, np.nextafter(shorter, 0)), shorter)
        found = np.maximum(shorter, 0.0)
    return found


def just_before_us(ticks: Ticks, start: Floats, duration: Floats, tick_s: float) -> Floats:
    """Microseconds of a tick within slices, before their ends wherever these are not their starts."""
    last = np.nextafter(start + duration, -np.inf)
    return np.maximum(start, np.minimum(moments_us(ticks, tick_s), last))


@dataclass(frozen=True)
class Table:
    """Events of one kind, ordered by what they have: tick, order within it, operation, order within that; (event,)."""

    tick: Ints
    phase: Ints
    row: Ints
    sub: int
    line: Callable[[int], str]


def document(events: Iterable[str], about: Mapping[str, Any]) -> Iterator[str]:
    """The text of a trace, a line per event; plain data that a reader finds under `otherData` first."""
    yield f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about, allow_nan=False)},"traceEvents":['
    between = "\n"
    for one in events:
        yield between + one
        between = ",\n"
    yield "\n]}\n"


def events(view: View) -> Iterator[str]:
    """All events of a run, one JSON object each; those of slices and flows ascend."""
    yield from _names(view)
    yield from _counters(view)
    tables = _flows(view)
    for process, rows in grouped(view.run.process):
        tables += [_slices(view, process, rows), *_parts(view, process, rows)]
    keys = [np.concatenate([getattr(table, name) for table in tables]) for name in ("row", "phase", "tick")]
    sizes = [table.tick.size for table in tables]
    sub, number = np.repeat([table.sub for table in tables], sizes), np.repeat(np.arange(len(tables)), sizes)
    first = np.cumsum(sizes) - sizes
    order = np.lexsort((sub, *keys))
    makers = [table.line for table in tables]
    for start in range(0, order.size, BLOCK):  # as lists, millions would take more memory than the run's log
        rows = order[start : start + BLOCK]
        for which, index in zip(number[rows].tolist(), (rows - first[number[rows]]).tolist(), strict=True):
            yield makers[which](index)


def _names(view: View) -> Iterator[str]:
    nodes = [*view.platform.node_names, "network"] if view.platform.network.links else list(view.platform.node_names)
    for number, name in enumerate(nodes):
        pid = view.first_pid + number
        yield event("M", "process_name", pid, args={"name": f"{view.prefix}{name}"})
        yield event("M", "process_sort_index", pid, args={"sort_index": pid})
    alone = np.bincount(view.run.pe, minlength=len(view.platform.pes)) == 1
    for rank, process in enumerate(np.argsort(view.run.pe, kind="stable").tolist()):
        pe, tid = int(view.run.pe[process]), view.first_tid + process
        name = view.platform.pes[pe].name + ("" if alone[pe] else f", process {process}")
        yield event("M", "thread_name", view.pid[pe], tid=tid, args={"name": name})
        yield event("M", "thread_sort_index", view.pid[pe], tid=tid, args={"sort_index": view.first_tid + rank})


def _counters(view: View) -> Iterator[str]:
    loaded = [(number, pe.name, pe.load) for number, pe in enumerate(view.platform.pes) if pe.load is not None]
    links = messages_on_links(view.run, points_of_each(len(view.platform.network.links)))
    most = points_of_each(len(loaded))
    for number, name, load in loaded:
        times_s, values = load_points(load.trace, view.load_starts_s[number], view.end_s, most)
        key = "available" if load.rule == "given" else "load"
        yield from counter(view.pid[number], name, key, times_s * 1e6, values)
    nodes_from = 2 * len(view.platform.network.links)
    gpus_from = nodes_from + len(view.platform.node_names)
    for link, (ticks, values) in links.items():
        pid = view.network_pid if link < nodes_from else view.first_pid + link - nodes_from
        if link >= gpus_from:
            pid = view.pid[int((view.platform.host_links.of_pe == link - gpus_from).any(axis=1).argmax())]
        yield from counter(pid, view.link(link), "messages", moments_us(ticks, view.run.tick_s), values)


def counter(pid: int, name: str, key: str, times_us: Floats, values: Floats) -> Iterator[str]:
    """A counter's events: each value holds from its time on."""
    head = f'{{"ph":"C","name":{json.dumps(name)},"pid":{pid},"ts":'
    middle = f',"args":{{{json.dumps(key)}:'
    for ts, value in zip(times_us.tolist(), values.tolist(), strict=True):
        yield f"{head}{ts!r}{middle}{value!r}}}}}"


def _slices(view: View, process: int, rows: Ints) -> Table:
    run, slices, ends = view.run, slices_of(view.run, rows), view.track(process)
    start = moments_us(slices.begin, run.tick_s).tolist()
    lasting = durations_us(slices.begin, slices.end, run.tick_s).tolist()

    def line(place: int) -> str:
        name, category, args = _described(view, int(slices.first[place]), int(slices.count[place]))
        head = f'{{"ph":"X","name":{json.dumps(name)},"cat":"{category}",{ends}'
        return f'{head},"ts":{start[place]!r},"dur":{lasting[place]!r},"args":{args}}}'

    return Table(slices.begin, np.zeros_like(slices.first), slices.first, 0, line)


def _parts(view: View, process: int, rows: Ints) -> list[Table]:
    """Within operations: until the last process that they waited for was ready, and the message that came then."""
    run = view.run
    rows = rows[run.ready[rows] > run.begin[rows]]
    outer = moments_us(run.begin[rows], run.tick_s), durations_us(run.begin[rows], run.end[rows], run.tick_s)
    got = np.isin(rows, run.arrived) & (run.ready[rows] < run.end[rows])
    coming = rows[got]
    waits = durations_us(run.begin[rows], run.ready[rows], run.tick_s, within=outer)
    moves = durations_us(run.ready[coming], run.end[coming], run.tick_s, within=(outer[0][got], outer[1][got]))
    others, ends = run.waited_for[rows].tolist(), view.track(process)

    def line(name: str, category: str, start: list[float], lasting: list[float]) -> Callable[[int], str]:
        def made(place: int) -> str:
            which = f"{name}{others[place]}" if category == "waiting" else name
            times = f'"ts":{start[place]!r},"dur":{lasting[place]!r}'
            return f'{{"ph":"X","name":"{which}","cat":"{category}",{ends},{times}}}'

        return made

    wait = line("wait for process ", "waiting", outer[0].tolist(), waits.tolist())
    move = line("message", "message", moments_us(run.ready[coming], run.tick_s).tolist(), moves.tolist())
    return [
        Table(run.begin[rows], np.zeros_like(rows), rows, 2, wait),
        Table(run.ready[coming], np.zeros_like(coming), coming, 3, move),
    ]


def _flows(view: View) -> list[Table]:
    run = view.run
    sends, receives, tick_s = run.sends, run.arrived, run.tick_s
    out = moments_us(run.begin[sends], tick_s).tolist()
    begin = moments_us(run.begin[receives], tick_s)
    lasting = durations_us(run.begin[receives], run.end[receives], tick_s)
    arrival = np.maximum(run.end[receives] - 1, run.begin[receives])
    into = np.maximum(just_before_us(arrival, begin, lasting, tick_s), out).tolist()
    instant = run.end[receives] == run.begin[receives]

    of_process = [view.track(process) for process in range(run.pe.size)]
    source, target = run.process[sends].tolist(), run.process[receives].tolist()
    size_bytes = run.columns.amount[sends].tolist()

    def head(kind: str, message: int) -> str:
        return f'{{"ph":"{kind}","name":"message","cat":"message","id":{view.first_flow + message}'

    def begin_line(message: int) -> str:
        ends = {"from": source[message], "to": target[message]}
        args = _json({**ends, "bytes": size_bytes[message], "route": view.route(int(sends[message]))})
        return f'{head("s", message)},{of_process[source[message]]},"ts":{out[message]!r},"args":{args}}}'

    def end_line(message: int) -> str:
        return f'{head("f", message)},{of_process[target[message]]},"ts":{into[message]!r},"bp":"e"}}'

    return [
        Table(run.begin[sends], np.zeros_like(sends), sends, 1, begin_line),
        Table(arrival, np.where(instant, 0, LAST), receives, 1, end_line),
    ]


def _described(view: View, row: int, count: int) -> tuple[str, str, str]:
    """Name, category and details of an operation, or of several that took no time."""
    run = view.run
    args = {"process": run.process[row], "operation": run.columns.index[row]}
    if count > 1:
        kinds = {KIND_NAMES[Kind(kind)] for kind in run.columns.kind[row : row + count].tolist()}
        args["last_operation"] = run.columns.index[row + count - 1]
        return f"{count} x {kinds.pop() if len(kinds) == 1 else 'operation'}", "message", _json(args)
    kind = int(run.columns.kind[row])
    args |= details(view, row, kind)
    if run.critical[row]:
        args["critical_us"] = float(moments_us(run.critical[row], run.tick_s))
    return (
        view.customs[int(run.columns.partner[row])] if kind == Kind.CUSTOM else NAMES[kind],
        OF_KIND[kind],
        _json(args),
    )


def _json(args: Mapping[str, Any]) -> str:
    """An object of numbers, texts and truths: five times as fast as an encoder for millions."""
    return "{" + ",".join([f'"{name}":{_value(value)}' for name, value in args.items()]) + "}"


def _value(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    return "true" if value is True else str(value)


@lru_cache(maxsize=2**16)
def _text(value: str) -> str:
    return json.dumps(value)


def event(ph: str, name: str, pid: int, *, tid: int | None = None, args: Mapping[str, Any]) -> str:
    """One event without a time of its own."""
    found = {"ph": ph, "name": name, "pid": pid} | ({} if tid is None else {"tid": tid}) | {"args": dict(args)}
    return json.dumps(found, separators=(",", ":"))

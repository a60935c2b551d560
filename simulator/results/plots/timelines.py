"""Timeline (Gantt chart): what each process did when, in one replication."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from simulator.base import units
from simulator.base.figures import INK, NOTHING, PAPER, Drawing, Entry, label, name_rows, number, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS: Final = 1200
_MOST_ROWS: Final = 48
_LANES: Final = {"compute": (0.0, 0.66), "send": (-0.19, 0.28), "recv": (0.19, 0.28)}
"""Where a bar's middle lies in its row, and how high it is: kinds differ in shape as well as in colour."""
_WORDS: Final = {"recv": "receive"}
_INSTANT: Final = ("post_send", "post_recv")
"""Operations that take no time."""


class _Bar(NamedTuple):
    process: int
    start_s: float
    end_s: float
    operation: str
    pe: str


def timeline(entries: Sequence[Entry], *, path: Sequence[tuple[int, float, float]] = ()) -> Drawing:
    """Draw who computed, sent and received when: a row per process, full bars for computing, half ones for messages.

    `entries`: one per operation: `process`, `pe`, `operation`, `start_s`, `end_s`; the first processes of many.
    `path`: steps of the critical path: process, begin and end in seconds.
    """
    every = _bars(entries)
    if not every:
        return NOTHING
    rows = {process: row for row, process in enumerate(sorted({bar.process for bar in every})[:_MOST_ROWS])}
    start_s, end_s = min(bar.start_s for bar in every), max(bar.end_s for bar in every)
    shown = _shown([bar for bar in every if bar.process in rows])
    titles = {
        f"bar-{place}": f"{bar.pe}: {_WORDS.get(bar.operation, bar.operation)} "
        f"{units.show_duration(bar.end_s - bar.start_s)}, from {bar.start_s:.4g} s to {bar.end_s:.4g} s"
        for place, (bar, _) in enumerate(shown)
    }

    def draw(axes: "Axes") -> None:
        _draw(axes, shown, rows=rows)
        _draw_path(axes, [step for step in path if step[0] in rows], rows=rows)
        _finish(axes, every, rows, ends=(start_s, end_s))

    said = [f"makespan {units.show_duration(end_s - start_s)}", *_tell(every, list(rows)[:16])]
    heights = 1.1 + 0.36 * max(len(rows), 2), 0.7 + 0.17 * max(len(rows), 2)
    return Drawing("timeline", "Timeline of one replication", {"all": draw}, "; ".join(said), heights, titles)


def _bars(timeline: Sequence[Entry]) -> list[_Bar]:
    return sorted(bar for entry in timeline if (bar := _bar(entry)) is not None)


def _finish(axes: "Axes", every: Sequence[_Bar], rows: Mapping[int, int], *, ends: tuple[float, float]) -> None:
    """The end, the names of rows and what is below them."""
    pes = {bar.process: bar.pe for bar in reversed(every)}
    alone = len(set(pes.values())) == len(pes)
    axes.axvline(ends[1], color=INK, lw=0.9, ls=(0, (1, 2)))
    axes.set_xlim(ends[0], ends[1] + ((ends[1] - ends[0]) * 0.01 or 1.0))
    fewer = "" if len(rows) == len(pes) else f" (the first {len(rows)} of {len(pes)} processes)"
    names = [pes[p] if alone else f"{pes[p]}, process {p}" for p in rows]
    name_rows(axes, names, below=f"time in s{fewer}", ends=(len(rows) - 0.45, -0.55))


def _bar(entry: Entry) -> _Bar | None:
    start, end, process = (number(entry.get(key)) for key in ("start_s", "end_s", "process"))
    if start is None or end is None or end < start or entry.get("operation") in _INSTANT:
        return None
    return _Bar(int(process or 0), start, end, label(entry.get("operation")), label(entry.get("pe")))


def _shown(bars: Sequence[_Bar]) -> list[tuple[_Bar, int]]:
    """Bars as they are drawn, each with the number of its kind: computing first, messages next."""
    merged = _merged(bars)
    known = {bar.operation for bar in merged}
    kinds = [*(kind for kind in _LANES if kind in known), *sorted(known - set(_LANES))]
    return sorted(((bar, kinds.index(bar.operation)) for bar in merged), key=lambda entry: entry[1])


def _draw(axes: "Axes", shown: Sequence[tuple[_Bar, int]], *, rows: Mapping[int, int]) -> None:
    """One artist per bar."""
    for place, (bar, kind) in enumerate(shown):
        shift, height = _LANES.get(bar.operation, (0.0, 0.4))
        colour = series(kind)
        (patch,) = axes.barh(
            rows[bar.process] + shift,
            bar.end_s - bar.start_s,
            height,
            bar.start_s,
            color=colour,
            edgecolor=colour,
            lw=0.4,  # the edge keeps a bar visible that is thinner than a line
            label=_WORDS.get(bar.operation, bar.operation),
        )
        patch.set_gid(f"bar-{place}")


def _draw_path(axes: "Axes", path: Sequence[tuple[int, float, float]], *, rows: Mapping[int, int]) -> None:
    """The critical path as one line along the feet of the bars."""
    if not path:
        return
    times = [time for _, begin, end in path for time in (begin, end)]
    heights = [rows[process] + 0.36 for process, _, _ in path for _ in range(2)]
    axes.plot(times, heights, color=PAPER, lw=4, solid_joinstyle="round")
    axes.plot(times, heights, color=INK, lw=1.6, solid_joinstyle="round", label="critical path")


def _merged(bars: Sequence[_Bar]) -> list[_Bar]:
    """At most about `_MOST_BARS` bars: neighbours of one kind that no reader could tell apart become one."""
    span_s = max(bar.end_s for bar in bars) - min(bar.start_s for bar in bars)
    merged, gap_s = list(bars), span_s / 4000
    while len(merged) > _MOST_BARS and gap_s < 2 * span_s:
        merged, gap_s = _joined(bars, gap_s), gap_s * 2
    return merged


def _joined(bars: Sequence[_Bar], gap_s: float) -> list[_Bar]:
    """Bars of one process and kind that are at most `gap_s` apart, as one."""
    last: dict[tuple[int, str], _Bar] = {}
    closed = []
    for bar in bars:
        key = bar.process, bar.operation
        before = last.get(key)
        if before is not None and bar.start_s - before.end_s <= gap_s:
            last[key] = before._replace(end_s=max(before.end_s, bar.end_s))
        else:
            closed += [before] if before is not None else []
            last[key] = bar
    return sorted([*closed, *last.values()])


def _tell(bars: Sequence[_Bar], processes: Sequence[int]) -> list[str]:
    """How long each process computed and when it was done."""
    parts = []
    for process in processes:
        own = [bar for bar in bars if bar.process == process]
        computed = sum(bar.end_s - bar.start_s for bar in own if bar.operation == "compute")
        done = max(bar.end_s for bar in own)
        parts.append(
            f"process {process} on {own[0].pe} computes for {units.show_duration(computed)}, "
            f"done at {units.show_duration(done)}"
        )
    return parts

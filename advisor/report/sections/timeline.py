"""One replication in time: who did what, when, and what the makespan waits for."""

from collections.abc import Iterator, Sequence
from typing import Any

from advisor import wording
from advisor.report.page import Beside, Block, Figure, Folded, Section, Table, Text, Widget, table
from advisor.report.waits import waits_table, waits_text
from advisor.wording import Document, clean, number

HEADING = "One replication in time"
MOST_OPEN = 16
"""Processes whose table is not folded."""


def section(document: Document) -> Section:
    """Timelines to zoom into, the critical path in words and numbers, and what each process does."""
    every = list(document.get("timelines") or ())
    timelines = [entry for entry in every if entry.get("bars")]
    long = tuple(_too_long(entry) for entry in every if entry.get("left_out"))
    if timelines or long:
        return Section("timeline", HEADING, (*(_blocks(document, timelines) if timelines else ()), *long))
    from simulator import plots

    processes = _recorded(document)
    drawn = plots.gantt_svg(document.get("timeline") or ())
    if not drawn:
        none = Text("No replication was kept.")
        return Section("timeline", HEADING, (none, processes) if processes.rows else (none,))
    caption = "Simulated run of the recommended partition. Gaps: waiting. Dotted: the makespan."
    return Section("timeline", HEADING, (Beside(Figure(drawn, caption), (processes,)),))


def _blocks(document: Document, timelines: Sequence[Document]) -> Iterator[Block]:
    first = timelines[0]
    said = waits_text(first.get("waits_for") or ())
    name = clean(first.get("configuration"))
    which = f"replication {first.get('replication')} of {first.get('replications')}"
    nearest = f"{which}, the one nearest the median of {name}" if (first.get("replications") or 1) > 1 else which
    yield Text(f"{name}: {said}." if said else f"{name}: nothing took any time.")
    same = (
        "; the same draws for every configuration"
        if len(timelines) > 1 and (first.get("replications") or 1) > 1
        else ""
    )
    yield Text(f"This is {nearest}{same}.", quiet=True)
    data = {"timelines": [_shown(entry) for entry in timelines], "moments": first.get("moments")}
    yield Widget("gantt", "Timeline", data, (_still(first),))
    for entry in timelines:
        waits, processes = _tables(document, entry)
        if entry is not first:
            told = waits_text(entry.get("waits_for") or ())
            both = (waits, processes)
            yield Folded(f"{clean(entry.get('configuration'))}: {told or 'nothing took any time'}", both)
        elif len(processes.rows) > MOST_OPEN:
            yield waits
            yield Folded(f"What each of {len(entry['spent'])} processes gets and does", (processes,))
        else:
            yield Beside(waits, (processes,))


def _too_long(entry: Document) -> Text:
    name = clean(entry.get("configuration"))
    return Text(f"{name} has {entry.get('operations'):,} operations: too many to be followed one by one.")


def _shown(entry: Document) -> dict[str, Any]:
    """What the script reads."""
    keys = ("makespan_s", "replication", "processes", "kinds", "bars", "operations", "merged", "path", "messages")
    names = {"configuration": clean(entry.get("configuration")), "pes": [clean(name) for name in entry["pes"]]}
    loads = [{**load, "pe": clean(load.get("pe"))} for load in entry.get("loads") or ()]
    return {key: entry.get(key) for key in (*keys, "messages_left_out")} | names | {"loads": loads}


def _tables(document: Document, entry: Document) -> tuple[Table, Table]:
    name = clean(entry.get("configuration"))
    spent = list(entry.get("spent") or ())
    alone = len({one.get("pe") for one in spent}) == len(spent)
    rows = [
        [
            clean(one.get("pe")) if alone else f"{clean(one.get('pe'))}, process {one.get('process')}",
            str(one.get("units")),
            *(wording.duration(one.get(key)) for key in ("busy_s", "waiting_s", "done_s")),
        ]
        for one in spent
    ]
    head = ["PE", wording.unit_of(document), "computing", "in messages, waiting", "done at"]
    waits = waits_table(entry.get("waits_for") or (), f"What the makespan of {name} waits for")
    return waits, table(f"What each process gets and does: {name}", head, rows)


def _still(entry: Document) -> Block:
    """The figure for paper and for those without scripts."""
    from simulator import plots

    drawn = plots.gantt_svg(list(_operations(entry)), path=list(_path(entry)))
    name = clean(entry.get("configuration"))
    return Figure(drawn, f"Simulated run of {name}. Gaps: waiting. Line: the critical path. Dotted: the makespan.")


def _operations(entry: Document) -> Iterator[dict[str, Any]]:
    second = _second(entry)
    for process, flat in enumerate(entry["bars"]):
        at, pe = 0, entry["pes"][entry["processes"][process]]
        for place in range(0, len(flat), 3):
            code, gap, lasts = flat[place : place + 3]
            start, at = at + gap, at + gap + lasts
            yield {
                "process": process,
                "pe": pe,
                "operation": entry["kinds"][code // 2],
                "start_s": start * second,
                "end_s": at * second,
            }


def _path(entry: Document) -> Iterator[tuple[int, float, float]]:
    second, flat = _second(entry), entry.get("path") or ()
    for place in range(0, len(flat), 3):
        yield flat[place], flat[place + 1] * second, flat[place + 2] * second


def _second(entry: Document) -> float:
    return float(entry["makespan_s"]) / float(entry["moments"])


def _recorded(document: Document) -> Table:
    """What each process gets under the recommended partition, and does in the replication of the timeline."""
    partition = wording.entry_of(document, document.get("recommended")).get("partition") or []
    done: dict[int, list[Document]] = {process: [] for process in range(len(partition))}
    for entry in document.get("timeline") or ():
        if number(entry.get("start_s")) is not None and number(entry.get("end_s")) is not None:
            done.setdefault(int(entry.get("process") or 0), []).append(entry)
    names = dict(enumerate(wording.pe_names(document)))
    names |= {process: clean(own[0].get("pe")) for process, own in done.items() if own}
    alone = len(set(names.values())) == len(names)
    rows = []
    for process, own in sorted(done.items()):
        name = names.get(process, "") if alone else f"{names.get(process, '')}, process {process}"
        units = str(partition[process]) if process < len(partition) else wording.NOTHING
        computing = _spent(own, messages=False)
        messages = _spent(own, messages=True)
        end_s = max((entry["end_s"] for entry in own), default=None)
        rows.append([name, units, *map(wording.duration, (computing, messages, end_s))])
    head = ["PE", wording.unit_of(document), "computing", "in messages", "done at"]
    return table("What each process gets and does", head, rows)


def _spent(own: Sequence[Document], *, messages: bool) -> float | None:
    """Seconds in messages, or in everything else; None where nothing was recorded."""
    chosen = [entry for entry in own if (entry.get("operation") != "compute") is messages]
    return float(sum(entry["end_s"] - entry["start_s"] for entry in chosen)) if own else None

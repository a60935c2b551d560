"""One replication in time: who did what, when."""

from collections.abc import Sequence

from advisor.report import wording
from advisor.report.page import Beside, Figure, Section, Table, Text, table
from advisor.report.wording import Document, clean, number


def section(document: Document) -> Section:
    """The timeline of the recommended configuration, and what each process does in it."""
    from simulator import plots

    heading, processes = "One replication in time", _processes(document)
    drawn = plots.gantt_svg(document.get("timeline") or ())
    if not drawn:
        none = Text("No replication was kept.")
        return Section("timeline", heading, (none, processes) if processes.rows else (none,))
    caption = "Simulated run of the recommended partition. Gaps: waiting. Dotted: the makespan."
    return Section("timeline", heading, (Beside(Figure(drawn, caption), (processes,)),))


def _processes(document: Document) -> Table:
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

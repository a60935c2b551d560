"""A timeline as a table: one row per operation, times in seconds under the names that Batsim's outputs use."""

from collections.abc import Iterator, Sequence
from typing import Any

from simulator.base import files
from simulator.programs.columns import Kind
from simulator.results.timelines.words import NAMES, View, details

COLUMNS = (
    *("configuration", "process", "operation", "kind", "pe", "node"),
    *("starting_time", "execution_time", "finish_time", "waiting_time", "critical_time"),
    *("volume", "size", "to", "from", "bytes", "received_bytes", "route"),
)
"""`waiting_time` is that until the last process waited for was ready, `critical_time` that on the critical path."""
BLOCK = 4096


def table(view: View, *, configuration: str, head: bool) -> Iterator[str]:
    """The rows of a run, process after process, in pieces of a CSV text."""
    run = view.run
    pes = [view.platform.pes[pe] for pe in run.pe.tolist()]
    times = [
        (ticks * run.tick_s).tolist()
        for ticks in (run.begin, run.end - run.begin, run.end, run.ready - run.begin, run.critical)
    ]
    rows: list[Sequence[object]] = [COLUMNS] if head else []
    for row, process in enumerate(run.process.tolist()):
        kind = int(run.columns.kind[row])
        name = view.customs[int(run.columns.partner[row])] if kind == Kind.CUSTOM else NAMES[kind]
        pe = pes[process]
        found: dict[str, Any] = {**details(view, row, kind), "configuration": configuration, "process": process}
        found |= {"operation": int(run.columns.index[row]), "kind": name, "pe": pe.name, "node": pe.node}
        found |= dict(zip(COLUMNS[6:11], (column[row] for column in times), strict=True))
        rows.append([found.get(name, "") for name in COLUMNS])
        if not row % BLOCK:
            yield files.csv_lines(rows)
            rows.clear()
    yield files.csv_lines(rows)

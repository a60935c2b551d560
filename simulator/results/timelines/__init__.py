"""Timelines of simulated runs as files: traces for Perfetto and Chrome, and a table with a row per operation."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.engines.run_set import RunSet
from simulator.programs.columns import Kind
from simulator.results.timelines.chrome import document, events
from simulator.results.timelines.happened import NAMES, View, details, happened
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.truths import draw_one, of_replication

__all__ = ["SUFFIXES", "write_timeline"]

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


SUFFIXES = (".json", ".json.gz", ".csv", ".csv.gz")
"""Names that `write_timeline` knows end in one of these."""


def write_timeline(
    path: Path,
    scenario: Scenario,
    *,
    runs: RunSet,
    configurations: Sequence[str] | None = None,
    replication: int = 0,
    first_replication: int = 0,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write what every process did in one replication; packed if the name ends in `.gz`.

    `.json` is for Perfetto or Chrome, `.csv` a table with a row per operation.

    Raises ScenarioError if a configuration does not exist or the replication was not logged, or for a name of another
    kind; ApportionError if the file cannot be written.

    `configurations`: names of those to write, each with nodes of its own in the viewer; all by default.
    `replication`, `first_replication`: which of the runs, and the number of the first one, as given to `run`.
    """
    if not path.name.endswith(SUFFIXES):
        raise ScenarioError(f"{path}: the ending says no format; give a name that ends in {' or '.join(SUFFIXES)}")
    unknown = sorted(set(configurations or ()) - set(runs.configurations))
    if unknown:
        raise ScenarioError(f"there is no configuration {unknown[0]}; give one of {', '.join(runs.configurations)}")
    chosen = [k for k, name in enumerate(runs.configurations) if configurations is None or name in configurations]
    scenario = of_replication(runs.drawn(scenario), first_replication + replication)
    starts_s = draw_one(scenario, first_replication + replication).load_starts_s[0].tolist()
    views = _views(scenario, runs, chosen, replication=replication, starts_s=starts_s)
    if ".csv" in path.suffixes[-2:]:
        names = [runs.configurations[k] for k in chosen]
        named = enumerate(zip(views, names, strict=True))
        tables = (table(view, configuration=name, head=not number) for number, (view, name) in named)
        files.write_pieces(path, itertools.chain.from_iterable(tables))
        return
    files.write_pieces(path, document(itertools.chain.from_iterable(map(events, views)), about or {}))


def _views(
    scenario: Scenario, runs: RunSet, chosen: Sequence[int], *, replication: int, starts_s: Sequence[float]
) -> Iterator[View]:
    """Each run with ids of its own."""
    pids, first_flow = len(scenario.platform.node_names) + 1, 0
    first_tid = 1 + len(chosen) * pids
    for number, configuration in enumerate(chosen):
        run = happened(scenario, runs, configuration, replication)
        yield View(
            run,
            scenario.platform,
            starts_s,
            first_pid=1 + number * pids,
            first_tid=first_tid,
            first_flow=first_flow,
            prefix="" if len(chosen) == 1 else f"{runs.configurations[configuration]}: ",
        )
        first_flow += run.sends.size
        first_tid += run.pe.size

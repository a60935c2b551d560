"""Where the time of each process went, run by run, as a table."""

from collections.abc import Iterator

from simulator.base import files
from simulator.engines.run_set import RunSet
from simulator.scenario_file.scenario import Scenario

__all__ = ["process_lines"]

COLUMNS = (
    *("configuration", "replication", "seed", "process", "pe", "node", "units"),
    *("busy_s", "waiting_s", "idle_s", "finish_s"),
)


def process_lines(scenario: Scenario, runs: RunSet) -> Iterator[str]:
    """Busy, waiting and idle seconds of each process, which add up to the makespan; a piece of CSV per replication."""
    rows: list[tuple[object, ...]] = [COLUMNS]
    for k, configuration in enumerate(scenario.configurations):
        pes = [scenario.platform.pes[place] for place in configuration.placement]
        who = [(pe.name, pe.node, units) for pe, units in zip(pes, configuration.partition, strict=True)]
        for replication, makespan in enumerate(runs.makespan_ticks[k].tolist()):
            busy, finish = (ticks[k][replication].tolist() for ticks in (runs.busy_ticks, runs.finish_ticks))
            for process, (spent, end) in enumerate(zip(busy, finish, strict=True)):
                seconds = [ticks * runs.tick_s for ticks in (spent, end - spent, makespan - end, end)]
                rows.append((configuration.name, replication, runs.seed, process, *who[process], *seconds))
            yield files.csv_lines(rows)
            rows.clear()

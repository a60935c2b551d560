"""Timelines of simulated runs as files of trace viewers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulator import files
from simulator.errors import ScenarioError
from simulator.results import RunSet
from simulator.scenario import Scenario, draw
from simulator.timelines.chrome import View, events
from simulator.timelines.happened import happened

__all__ = ["SUFFIXES", "write_timeline"]

SUFFIXES = (".json", ".json.gz")
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
    """Write what every process did in one replication, for Perfetto or Chrome; packed if the name ends in `.gz`.

    Parameters
    ----------
    scenario, runs
        What was simulated, and its runs with the log of this replication.
    configurations
        Names of those to write, each with nodes of its own in the viewer; all by default.
    replication, first_replication
        Which of the runs, and the number of the first one, as given to `run`.
    about
        Plain data that a reader finds under `otherData`: provenance.

    Raises
    ------
    ScenarioError
        If a configuration does not exist or the replication was not logged, or for a name of another kind.
    ApportionError
        If the file cannot be written.
    """
    if not path.name.endswith(SUFFIXES):
        raise ScenarioError(f"{path}: a name that ends in {' or '.join(SUFFIXES)} allowed")
    unknown = sorted(set(configurations or ()) - set(runs.configurations))
    if unknown:
        raise ScenarioError(f"configuration {unknown[0]}: not found, {', '.join(runs.configurations)} allowed")
    chosen = [k for k, name in enumerate(runs.configurations) if configurations is None or name in configurations]
    one = replace(scenario, replications=1, seed=runs.seed)
    starts_s = draw(one, first=first_replication + replication).load_starts_s[0].tolist()
    files.write_pieces(path, _chrome(scenario, runs, chosen, replication=replication, starts_s=starts_s, about=about))


def _chrome(
    scenario: Scenario,
    runs: RunSet,
    chosen: Sequence[int],
    *,
    replication: int,
    starts_s: Sequence[float],
    about: Mapping[str, Any] | None,
) -> Iterator[str]:
    """The text of the file, a line per event."""
    import json

    yield f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about or {}, allow_nan=False)},"traceEvents":['
    pids, pes, between, first_flow = len(scenario.platform.node_names) + 1, len(scenario.platform.pes), "\n", 0
    for number, configuration in enumerate(chosen):
        run = happened(scenario, runs, configuration, replication)
        view = View(
            run,
            scenario.platform,
            starts_s,
            first_pid=1 + number * pids,
            first_tid=1 + len(chosen) * pids + number * pes,
            first_flow=first_flow,
            prefix="" if len(chosen) == 1 else f"{runs.configurations[configuration]}: ",
        )
        for event in events(view):
            yield between + event
            between = ",\n"
        first_flow += run.sends.size
    yield "\n]}\n"

"""The logs of the tutorial scenarios as they have always been: every operation's ticks, from both engines.

A change here is a change of what a simulated program means; `pytest tests/golden --accept` takes it, from
the engine of processes.
"""

from pathlib import Path

import pytest

from simulator import load_scenario, run

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios" / "tutorial").glob("*.yaml"))
REPLICATIONS, SEED = 2, 7


def log_text(path, engine):
    """One line per operation: configuration, replication, process, index, kind, first and last tick.

    A replication that is the same as the first is left out.
    """
    runs = run(load_scenario(path), replications=REPLICATIONS, seed=SEED, engine=engine, log_replications=REPLICATIONS)
    lines = [
        f"{runs.configurations[row]},{replication},{e.process},{e.index},{e.operation},{e.start_ticks},{e.end_ticks}"
        for (row, replication), log in sorted(runs.logs.items())
        if not replication or log != runs.logs[row, 0]
        for e in log
    ]
    return "\n".join(["configuration,replication,process,index,operation,start_ticks,end_ticks", *lines, ""])


def golden(path):
    return Path(__file__).parent / f"{path.stem}.csv"


@pytest.mark.parametrize("engine", ["process", "compiled"])
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_log_is_the_one_on_record(accept, path, engine):
    text = log_text(path, engine)
    if accept and engine == "process":
        golden(path).write_text(text, encoding="utf-8")
    assert text == golden(path).read_text(encoding="utf-8")


def test_there_are_tutorials():
    assert len(SCENARIOS) >= 4

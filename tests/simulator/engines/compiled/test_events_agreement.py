"""The compiled engine against the reference engine: the same ticks for every operation of random small programs."""

import numpy as np
import pytest

from simulator.base.errors import SimulationError, TraceError
from simulator.engines import process
from simulator.engines.compiled.run import run
from simulator.engines.costs import TickOverflowError
from simulator.scenario_file.truths import draw
from tests.simulator.engines.compiled.programs import TICK, random_scenario


def outcome(engine, scenario):
    try:
        return engine(scenario, draw(scenario), tick_s=TICK, log_replications=2)
    except (SimulationError, TraceError, TickOverflowError) as error:
        return type(error), str(error)


def differences(seed):
    scenario = random_scenario(np.random.default_rng(seed))
    ours, theirs = outcome(run, scenario), outcome(process.run, scenario)
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        return None if ours == theirs else (ours, theirs)
    same = np.array_equal(ours.makespan_ticks, theirs.makespan_ticks) and ours.logs == theirs.logs
    for name in ("computed_ticks", "busy_ticks", "finish_ticks"):
        mine, others = getattr(ours, name), getattr(theirs, name)
        same &= all(np.array_equal(one, other) for one, other in zip(mine, others, strict=True))
    return None if same else (ours.logs, theirs.logs)


@pytest.fixture(autouse=True)
def only_the_event_path(monkeypatch):
    """Programs that share nothing go the same way as all others."""
    monkeypatch.setattr("simulator.engines.compiled.direct.takes", lambda *_: False)


@pytest.mark.parametrize("block", range(3))
def test_random_programs_end_at_the_same_ticks(block):
    wrong = {seed: found for seed in range(50 * block, 50 * block + 50) if (found := differences(seed)) is not None}
    assert not wrong

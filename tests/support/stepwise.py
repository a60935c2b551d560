"""The SimPy engine beside the simulator that follows the rules tick by tick."""

import pytest
from hypothesis import assume

from simulator.base.errors import ApportionError, ScenarioError, SimulationError, TraceError
from simulator.engines import process
from simulator.engines.costs import TickOverflowError, lower, start_ticks
from tests.support.stepwise_oracle import Stepwise, TooLongError

TICK = 1.0
PREDICTED = "its load leaves nothing for ever"
DIFFER = "two of them differ"
"""A process left a farm out and comes to the next one while others are at the first: refused before it runs."""


def outcome(engine, made, draws):
    """What an engine says of a program, as plain values; or its fault."""
    try:
        runs = engine(made, draws, tick_s=TICK, log_replications=made.replications)
    except (ApportionError, TickOverflowError) as fault:
        return type(fault).__name__, getattr(fault, "lines", ())
    logs = {
        key: sorted((e.process, e.index, e.start_ticks, e.end_ticks) for e in log) for key, log in runs.logs.items()
    }
    arrays = (runs.makespan_ticks, *runs.computed_ticks, *runs.busy_ticks, *runs.finish_ticks)
    return logs, [values.tolist() for values in arrays]


def check_three(made, draws):
    """Both engines say the same, and so does the reader, unless there is no program or it would take too long."""
    from simulator.engines.compiled import run as compiled  # Numba takes a second to import

    expected = outcome(process.run, made, draws)
    assert outcome(compiled.run, made, draws) == expected
    if expected[0] != "ScenarioError":  # a farm whose processes do not agree on it
        try:
            check_one(made, draws)
        except TooLongError:
            assume(False)


def check_one(made, draws, *, tick_s=TICK):
    """Every operation's ticks, or the error's lines."""
    runs, fault = None, None
    try:
        runs = process.run(made, draws, tick_s=tick_s, log_replications=made.replications)
    except (ScenarioError, SimulationError, TraceError) as found:
        fault = found
    if fault is None:
        stepwise(made, draws, runs, tick_s=tick_s)
        return
    assume(PREDICTED not in str(fault) and DIFFER not in str(fault) and not isinstance(fault, TraceError))
    with pytest.raises(SimulationError) as caught:
        stepwise(made, draws, None, tick_s=tick_s)
    assert caught.value.lines == fault.lines


def stepwise(made, draws, runs, *, tick_s=TICK):
    starts = start_ticks(draws, tick_s=tick_s)
    for costs in lower(made, draws, tick_s=tick_s):
        for c, place in enumerate(costs.configurations):
            for r in costs.replications:
                one = Stepwise(costs.scenario, costs, c, r, starts=starts[r].tolist(), tick_s=tick_s)
                makespan = one.run()
                if runs is None:
                    continue
                log = {(e.process, e.index): (e.start_ticks, e.end_ticks) for e in runs.logs[place, r]}
                columns = costs.columns
                keys = zip(columns.process.tolist(), columns.index.tolist(), strict=True)
                expected = {key: one.ends[row] for row, key in enumerate(keys)}
                assert log == expected, f"{log} found, {expected} expected"
                assert runs.makespan_ticks[place, r] == makespan
                assert runs.busy_ticks[place][r].tolist() == one.busy
                assert runs.finish_ticks[place][r].tolist() == one.finish

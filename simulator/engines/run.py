"""Engines: interpreters of one program with one meaning; `run` picks one and records which."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from simulator.base.errors import ScenarioError, UnsupportedProgram
from simulator.engines import process
from simulator.engines.compiled.place import kernels_kept
from simulator.engines.costs import TICKS_S, TickOverflowError, service_table
from simulator.engines.process import CustomOperation, Progress, Sharing
from simulator.engines.run_set import RunSet
from simulator.programs.program import Loop, Row
from simulator.scenario_file.levels import with_level_traces
from simulator.scenario_file.scenario import Scenario, stratum_count, truth_count
from simulator.scenario_file.truths import Draws, draw

__all__ = ["CustomOperation", "Engine", "Progress", "Sharing", "in_time", "made_ready", "may_compile", "run"]

LOADING = 100_000
"""Operations that the `process` engine runs while the compiled one is loaded (two seconds)."""
COMPILING = 500_000
"""Operations that it runs while kernels are compiled, where none are kept yet (ten seconds)."""
COMPILING_S = 30.0
"""Seconds that a budget must have, or nothing is compiled within it: half as many again as all kernels take at most."""
_OTHERS = 4
"""Primitive operations of a process that an operation is counted as; only the order of magnitude matters."""

_seen = 0
"""Operations that were asked for so far: many small scenarios are worth it too."""
_OWN = "operations or sharing of your own"
_time_s: ContextVar[float] = ContextVar("time_s", default=math.inf)


@contextmanager
def in_time(budget_s: float | None) -> Iterator[None]:
    """Within it kernels are compiled only if a budget, and those around it, leave time for answers."""
    token = _time_s.set(_time_s.get() if budget_s is None else min(budget_s, _time_s.get()))
    try:
        yield
    finally:
        _time_s.reset(token)


def may_compile() -> bool:
    """Whether the time allows to compile kernels, or they are kept from before."""
    return _time_s.get() >= COMPILING_S or kernels_kept()


def made_ready(scenario: Scenario, runs: int) -> None:
    """Compile all kernels, if so many runs of a scenario are worth it and none are kept; other processes find them."""
    if may_compile() and worth_compiling(scenario, runs):
        from simulator.engines.compiled.run import compile_all

        compile_all()


def worth_compiling(scenario: Scenario, runs: int | None = None) -> bool:
    """Whether the compiled engine is loaded already, or what was asked for so far is worth loading or compiling it."""
    global _seen  # noqa: PLW0603 - what one process has asked for
    if "simulator.engines.compiled.run" in sys.modules:
        return True
    runs = len(scenario.configurations) * scenario.replications if runs is None else runs
    operations = runs * len(scenario.configurations[0].placement)  # one of each process at the least
    _seen += operations if operations >= LOADING else runs * _operations_of_all(scenario)
    return (_seen >= COMPILING and may_compile()) or (_seen >= LOADING and kernels_kept())


def _operations_of_all(scenario: Scenario) -> int:
    """About how many primitive operations the first configuration's processes have."""
    program = scenario.program(scenario.configurations[0])
    if program.assembled is not None:
        return int(program.assembled.kind.size)
    rows = program.operations
    counts = {id(row): _operations(row) for row in {id(row): row for row in rows}.values()}
    return sum(counts[id(row)] for row in rows)


def _operations(row: Row) -> int:
    """About how many primitive operations one process has."""
    return sum(part.iterations * _operations(part.body) if isinstance(part, Loop) else _OTHERS for part in row)


Engine = Literal["auto", "process", "compiled"]


def run(  # noqa: PLR0913 - all by name
    scenario: Scenario,
    *,
    replications: int | None = None,
    seed: int | None = None,
    first_replication: int = 0,
    only: Sequence[int] | None = None,
    engine: Engine = "auto",
    log_replications: int = 0,
    threads: int | None = None,
    operations: Mapping[str, CustomOperation] | None = None,
    sharing: Sharing = service_table,
    progress: Progress | None = None,
) -> RunSet:
    """Simulate every configuration of a scenario on the same draws.

    Raises ScenarioError if the scenario or the engine's name cannot be used; SimulationError for a deadlock or a
    stalled PE, with names; UnsupportedProgram if `compiled` is asked for what it does not interpret, with the reason.

    `replications`, `seed`, `first_replication`, `only`: in place of the scenario's own; the number of the first (number
    r has the same draws in whichever call, of at most so many as the scenario has); which of these, if no units move.
    `engine`: `process` (SimPy), `compiled` (Numba), or `auto`: `compiled` where it can, once that pays. Results are the
    same.
    `log_replications`, `threads`: keep the operation log of so many first replications; how many threads `compiled` may
    use, all by default.
    `operations`, `sharing`: what `Custom` operations do, by name: functions of a `Context` and the arguments that yield
    the events they wait for; how our processes share a PE, in place of equal shares. Only the engine `process` has
    these.
    """
    scenario = _asked(scenario, engine, replications, seed)
    own = operations is not None or sharing is not service_table
    if any(configuration.repartition is not None for configuration in scenario.configurations):
        fixed = partial(run, engine=engine, threads=threads, operations=operations, sharing=sharing)
        return _with_moves(scenario, first_replication, log_replications, fixed, progress)
    if own and engine == "compiled":
        raise UnsupportedProgram(f"engine compiled: {_OWN} found, the engine process does them")
    draws, kept = draw(scenario, first=first_replication, placed_only=True), {"log_replications": log_replications}
    if only is not None:
        draws, scenario = draws.of(np.array(only)), replace(scenario, replications=len(only))
    if engine == "compiled" or (engine == "auto" and not own and worth_compiling(scenario)):
        first = "simulator.engines.compiled.run" not in sys.modules
        from simulator.engines.compiled.run import compile_all
        from simulator.engines.compiled.run import run as run_compiled

        if first and engine == "auto" and not kernels_kept():
            compile_all()
        with nullcontext() if engine == "compiled" else suppress(UnsupportedProgram):
            found = _at_some_tick(partial(run_compiled, scenario, draws, **kept, threads=threads, progress=progress))
            return replace(found, deterministic=scenario.deterministic, **_draws(draws, scenario))
    run_here = partial(process.run, operations=operations, sharing=sharing, progress=progress)
    found = _at_some_tick(partial(run_here, scenario, draws, **kept))
    # What is the user's own may draw.
    return replace(found, deterministic=scenario.deterministic and not own, **_draws(draws, scenario))


def _with_moves(
    scenario: Scenario, first: int, logged: int, simulate: Callable[..., RunSet], progress: Progress | None
) -> RunSet:
    """All configurations: those with a rule stretch by stretch, the others as they are, on the same draws.

    A log is that of all stretches as one program.
    """
    from simulator.engines.repartition import run_moves, with_moves, written_out

    found, kept, names = {}, {}, [configuration.name for configuration in scenario.configurations]

    def one_run(made: Scenario, number: int, logs: int = 0) -> RunSet:
        return simulate(made, replications=1, first_replication=first + number, log_replications=logs)

    for row, configuration in enumerate(scenario.configurations):
        if configuration.repartition is None:
            continue
        found[configuration.name] = moves = run_moves(scenario, configuration, one_run)
        for number in range(min(logged, len(moves))):
            program = moves[number].program
            kept[row, number] = program, one_run(written_out(scenario, configuration, program), number, 1).logs[0, 0]
    fixed = tuple(replace(configuration, repartition=None) for configuration in scenario.configurations)
    static = simulate(
        scenario.with_configurations(fixed), first_replication=first, log_replications=logged, progress=progress
    )
    return with_moves(static, found, names, kept)


def _check(engine: str, scenario: Scenario) -> None:
    if engine not in get_args(Engine):
        raise ScenarioError(f"engine is {engine!r}; give one of {', '.join(get_args(Engine))}")
    if not scenario.configurations:
        raise ScenarioError("there are no configurations; give at least one")


def _asked(scenario: Scenario, engine: str, replications: int | None, seed: int | None) -> Scenario:
    """The scenario with replications and seed of the call: fewer than its own are some of them, as all draw."""
    _check(engine, scenario)
    count = scenario.replications if replications is None else replications
    seed = scenario.seed if seed is None else seed
    whole = replace(scenario, replications=max(count, scenario.replications))
    truths = truth_count(whole) if whole.doubtful else None
    asked = replace(scenario, replications=count, seed=seed, truths=truths, strata=stratum_count(whole))
    asked = with_level_traces(asked)
    asked.check_memory_needed()
    return asked


def _draws(draws: Draws, scenario: Scenario) -> dict[str, Any]:
    """What a run set says of how it was drawn."""
    found = {"strata": scenario.strata}
    return found if draws.truths is None else {**found, "truths": draws.truths, "truth_count": scenario.truths}


def _at_some_tick(simulate: Callable[..., RunSet]) -> RunSet:
    """Simulate with the finest tick at which no run passes the last one."""
    for tick_s in TICKS_S:
        with suppress(TickOverflowError):
            return simulate(tick_s=tick_s)
    raise ScenarioError("application: a run takes more than 146 years; make it shorter")

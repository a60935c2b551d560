"""Whether the compiled engine saves time: for few operations, loading it takes longer than SimPy needs to run them."""

import sys

from simulator.programs.program import Loop, Row
from simulator.scenario_file.scenario import Scenario

LOADING = 100_000
"""Operations that the `process` engine runs while the compiled one is loaded (two seconds)."""
_OTHERS = 4
"""Primitive operations of a process that an operation is counted as; only the order of magnitude matters."""

_seen = 0
"""Operations that were asked for so far: many small scenarios are worth it too. The cache on disk plays no part, so
that the same command names the same engine every time."""


def worth_compiling(scenario: Scenario) -> bool:
    """Whether the compiled engine is loaded already, or what was asked for so far is worth loading it."""
    global _seen  # noqa: PLW0603 - what one process has asked for
    if "simulator.engines.compiled.run" in sys.modules or _seen >= LOADING:
        return True
    runs = len(scenario.configurations) * scenario.replications
    operations = runs * len(scenario.configurations[0].placement)  # one of each process at the least
    _seen += operations if operations >= LOADING else runs * _operations_of_all(scenario)
    return _seen >= LOADING


def _operations_of_all(scenario: Scenario) -> int:
    """About how many primitive operations the first configuration's processes have."""
    rows = scenario.program(scenario.configurations[0]).operations
    counts = {id(row): _operations(row) for row in {id(row): row for row in rows}.values()}
    return sum(counts[id(row)] for row in rows)


def _operations(row: Row) -> int:
    """About how many primitive operations one process has."""
    return sum(part.iterations * _operations(part.body) if isinstance(part, Loop) else _OTHERS for part in row)

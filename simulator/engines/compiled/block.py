"""What the paths of the compiled engine take and give: a block of runs that share a program, and its times."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.arrays import Flags, Ints
from simulator.base.identity import Same
from simulator.engines.compiled.plan import Rows
from simulator.engines.compiled.service import ServiceTables, service_tables, without_load
from simulator.engines.costs import Costs
from simulator.engines.run_set import LoggedOperation
from simulator.platform.nodes import Platform
from simulator.programs.columns import KIND_NAMES, Columns, Kind
from simulator.scenario_file.scenario import Scenario

KEPT = 256
"""Service tables that are remembered: a search asks for those of the same truths again and again."""
FEW_SAMPLES = 2**14
"""Samples of all traces of a platform up to which they are."""


def _tables(platform: Platform, most: Ints, tick_s: float) -> ServiceTables:
    """The service tables of a platform, of which each PE has so many processes at most."""
    made = _made_again if platform.load_samples <= FEW_SAMPLES else _made
    return made(Same(platform), tuple(most.tolist()), tick_s)


def _made(of: Same[Platform], most: tuple[int, ...], tick_s: float) -> ServiceTables:
    return service_tables(of.value.pes, np.array(most, dtype=np.int64), tick_s=tick_s)


_made_again = lru_cache(maxsize=KEPT)(_made)


@dataclass(frozen=True)
class Loads:
    """The service tables of a scenario, made when they are first asked for."""

    scenario: Scenario
    tick_s: float
    of: "Loads | None" = None
    """The scenario's own, where these are the same PEs without any load."""

    @cached_property
    def without(self) -> "Loads":
        """The same PEs without any load."""
        return Loads(self.scenario, self.tick_s, self)

    @cached_property
    def most(self) -> Ints:
        """The most processes that any configuration places on each PE; (PE,)."""
        count, most = len(self.scenario.platform.pes), np.zeros(len(self.scenario.platform.pes), dtype=np.int64)
        for configuration in self.scenario.configurations:
            np.maximum(most, np.bincount(configuration.placement, minlength=count), out=most)
        return most

    @cached_property
    def alone(self) -> ServiceTables:
        """For one process on each PE."""
        if self.of is not None:
            return without_load(self.of.alone)
        return _tables(self.scenario.platform, np.minimum(self.most, 1), self.tick_s)

    @cached_property
    def shared(self) -> ServiceTables:
        """For every number of processes up to the most."""
        if self.of is not None:
            return without_load(self.of.shared)
        return _tables(self.scenario.platform, self.most, self.tick_s)


@dataclass(frozen=True)
class Block:
    """Runs to do: `Costs`, and what they leave to the platform."""

    scenario: Scenario
    costs: Costs
    starts: Ints
    """Tick of each PE's trace at tick 0, of the block's replications; (replication, PE)."""
    loads: Loads
    log_replications: int
    """So many first replications of the scenario are logged."""
    threads: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Configurations, replications, processes."""
        costs = self.costs
        return len(costs.configurations), len(costs.replications), costs.columns.processes

    @property
    def operations(self) -> int:
        """Of all runs, those of loops as often as they are done one by one."""
        return self.shape[0] * self.shape[1] * int(self.costs.times.sum())

    @property
    def logged(self) -> Iterator[tuple[int, int]]:
        """Runs to log, as places in the block."""
        numbers = self.costs.replications
        logged = [place for place, number in enumerate(numbers) if number < self.log_replications]
        return ((c, r) for c in range(self.shape[0]) for r in logged)

    @cached_property
    def kinds(self) -> Ints:
        """Operations of each kind."""
        return np.bincount(self.costs.columns.kind, minlength=len(Kind))

    @cached_property
    def rows(self) -> Rows:
        """The columns that kernels read."""
        costs, columns = self.costs, self.costs.columns
        rows, number = columns.requests()
        source = columns.source.astype(np.int32)
        source[rows] = number
        return Rows(
            whole(columns.first),
            plain(columns.kind, np.int8),
            plain(columns.partner, np.int32),
            source,
            plain(columns.tag, np.int32),
            plain(costs.eager, np.bool_),
            whole(costs.computation),
            plain(columns.barriers, np.int32),
        )


@dataclass(frozen=True)
class Outcome:
    """What came out of a block."""

    makespan: Ints
    """(configuration, replication)."""
    computed: Ints
    """(configuration, replication, process); see `RunSet`."""
    busy: Ints
    finish: Ints
    fault: Flags
    """Runs that could not be done; the engine that names faults does them again; (configuration, replication)."""
    logs: dict[tuple[int, int], tuple[LoggedOperation, ...]] = field(default_factory=dict)


def plain(values: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """Contiguous, writable and of one type, as kernels need it; a copy only where it must be."""
    return np.require(values, kind, ["C", "A", "W"])


def whole(values: Ints) -> Ints:
    """Int64 in one line."""
    return np.require(values, np.int64, ["C", "A", "W"]).reshape(-1)


def step(values: Ints, axis: int) -> int:
    """From one entry of an axis to the next in a flat contiguous array, 0 where the axis has one entry for all."""
    return 0 if values.shape[axis] == 1 else int(np.prod(values.shape[axis + 1 :]))


def in_parts(do: Callable[[int, int], None], runs: int, threads: int) -> None:
    """Do runs 0 to `runs` in as many parts as there are threads; the parts write to places of their own."""
    parts = min(threads, runs)
    if parts <= 1:
        do(0, runs)
        return
    edges = [runs * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        for done in [pool.submit(do, *edges[part : part + 2]) for part in range(parts)]:
            done.result()


def operations(block: Block, configuration: int, begin: ArrayLike, end: ArrayLike) -> tuple[LoggedOperation, ...]:
    """The log of one run, process after process, each in program order; ticks per row."""
    columns: Columns = block.costs.columns
    names = [pe.name for pe in block.scenario.platform.pes]
    pes = [names[pe] for pe in block.costs.placement[configuration].tolist()]
    kinds = {int(kind): KIND_NAMES[kind] for kind in Kind}
    lines = zip(
        columns.process.tolist(),
        columns.kind.tolist(),
        columns.index.tolist(),
        np.asarray(begin).tolist(),
        np.asarray(end).tolist(),
        strict=True,
    )
    return tuple(LoggedOperation(process, pes[process], kinds[kind], *rest) for process, kind, *rest in lines)

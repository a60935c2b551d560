"""A scenario's configurations and draws lowered to `Costs`, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError
from simulator.engines.costs.computations import bands_have_width, computation_s, farm_ticks
from simulator.engines.costs.memory import lost_s
from simulator.engines.costs.messages import capacities, message_costs
from simulator.engines.costs.ticks import Ticks, to_ticks
from simulator.platform.networks import Contention
from simulator.programs.assembly import assemble
from simulator.programs.columns import Columns, Kind
from simulator.scenario_file.scenario import Draws, Scenario, check_memory

BLOCK = 2**24
"""Most nominal ticks of one block of configurations and replications."""


@dataclass(frozen=True)
class Costs:
    """Some configurations that share a program, and some replications, lowered; N operations, C computations.

    An axis of configurations or replications has length 1 where all are alike.
    """

    columns: Columns
    configurations: tuple[int, ...]
    """Their places in the scenario."""
    replications: range
    """Of the scenario."""
    placement: Ticks
    """PE of each process; (configuration, process)."""
    nominal_ticks: Ticks
    """Ticks of each computation alone and without load; (configuration or 1, replication or 1, C)."""
    computation: Ticks
    """Place of each operation in the last axis of `nominal_ticks`, -1 if it is no COMPUTE; (N,)."""
    ticks: Ticks
    """(configuration or 1, N): DELAY and WAIT_UNTIL as such; of SEND, EXCHANGE and READ_WRITE the time of what is
    sent, or if it is a flow (contention `fair` and a route) its latency, possibly 0; else 0."""
    units: Ticks
    """What a flow has to deliver, possibly 0; (configuration or 1, N)."""
    route: Ticks
    """Row of the routes of what is sent, -1 where it passes no links; (configuration or 1, N)."""
    eager: NDArray[np.bool_]
    """Whether what SEND and EXCHANGE send is eager; (N,)."""
    route_first: Ticks
    """Where each route's links begin in `route_links`, and the end."""
    route_links: Ticks
    """Directed links, disks included; a route names none twice."""
    capacities: Ticks
    """Per directed link: `round(bytes per tick * 2**50)`; all 0 unless contention is `fair`."""
    farm_ticks: tuple[Ticks, ...]
    """Per farm table: nominal ticks of all units before one; (configuration or 1, replication or 1, its processes,
    units + 1). Units `i` up to `j` take `max(1, [j] - [i])`."""
    pull_ticks: tuple[int, ...]
    """Per farm table."""
    contention: Contention


def lower(scenario: Scenario, draws: Draws, *, tick_s: float) -> Iterator[Costs]:
    """The integer costs of all configurations and replications, block by block.

    Parameters
    ----------
    scenario
        What runs where.
    draws
        Axes (replication, PE).
    tick_s
        Seconds per tick.

    Raises
    ------
    ScenarioError
        For programs, routes or memory that the platform cannot offer.
    TickOverflowError
        If an operation alone would pass the last tick.
    """
    varies, count = bands_have_width(scenario), scenario.replications
    for columns, places in _by_program(scenario):
        computations = max(1, int(np.count_nonzero(columns.kind == Kind.COMPUTE)))
        rows = min(count, max(1, BLOCK // computations)) if varies else count
        at_once = max(1, BLOCK // max(columns.kind.size, computations * (rows if varies else 1)))
        for first in range(0, len(places), at_once):
            for start in range(0, count, rows):
                replications = range(start, min(start + rows, count))
                yield _block(scenario, columns, places[first : first + at_once], draws, replications, tick_s=tick_s)


def _by_program(scenario: Scenario) -> list[tuple[Columns, list[int]]]:
    """Programs, assembled once, and the places of the configurations that share each."""
    found: dict[int, tuple[Columns, list[int]]] = {}
    programs = {}  # keeps them alive, so that no two have the same id
    for place, configuration in enumerate(scenario.configurations):
        key = scenario.program_key(configuration)
        if key not in programs:
            program = scenario.program(configuration)
            programs[key] = program
            if id(program) not in found:
                found[id(program)] = (assemble(program), [])
        program = programs[key]
        if len(configuration.placement) != len(program.operations):
            counts = f"{len(configuration.placement)} processes placed, a program of {len(program.operations)}"
            raise ScenarioError(f"configuration {configuration.name}: {counts} found, as many of each allowed")
        found[id(program)][1].append(place)
    return list(found.values())


def _block(
    scenario: Scenario, columns: Columns, places: list[int], draws: Draws, replications: range, *, tick_s: float
) -> Costs:
    platform = scenario.platform
    placement = np.array([scenario.configurations[place].placement for place in places], dtype=np.int64)
    for place in places:
        check_memory(platform, scenario.configurations[place], columns.footprints_bytes)
    positions = draws.band_positions[replications.start : replications.stop]
    computes = np.flatnonzero(columns.kind == Kind.COMPUTE)
    computation = np.full(columns.kind.size, -1, dtype=np.int64)
    computation[computes] = np.arange(computes.size)
    seconds = computation_s(scenario, columns, computes, placement, positions=positions)
    lost = lost_s(scenario, columns, placement)
    if lost is not None:
        seconds = seconds + (columns.amount[computes] * lost[:, columns.process[computes]])[:, np.newaxis]
    sent = message_costs(platform, columns, placement, tick_s=tick_s)
    threshold = platform.network.eager_bytes or -1  # at 0 no message is eager, not even one without bytes
    return Costs(
        columns=columns,
        configurations=tuple(places),
        replications=replications,
        placement=placement,
        nominal_ticks=to_ticks(seconds, tick_s),
        computation=computation,
        ticks=sent.ticks,
        units=sent.units,
        route=sent.route,
        eager=((columns.kind == Kind.SEND) | (columns.kind == Kind.EXCHANGE)) & (columns.amount <= threshold),
        route_first=sent.route_first,
        route_links=sent.route_links,
        capacities=capacities(platform, tick_s=tick_s),
        farm_ticks=tuple(
            farm_ticks(scenario, table, placement, lost, positions=positions, tick_s=tick_s)
            for table in columns.farm_tables
        ),
        pull_ticks=tuple(int(to_ticks(table.pull_s, tick_s)) for table in columns.farm_tables),
        contention=platform.network.contention,
    )

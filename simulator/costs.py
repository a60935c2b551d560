"""A scenario, its configurations and draws as integer ticks: where floats end, for both engines (DESIGN, section 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.configuration import Configuration
from simulator.models.load import AfterEnd, availability
from simulator.platform import PE
from simulator.program import Compute, Recv, Send
from simulator.scenario import Draws, Scenario

Ticks = NDArray[np.int64]

TICKS_S = (1e-12, 1e-9)
"""The tick, and the coarser one that a whole set restarts with if any of its runs would pass `LAST_TICK`."""
LAST_TICK = 2**62


class TickOverflowError(Exception):
    """A run would pass the last tick; the whole set restarts with a coarser one."""


@dataclass(frozen=True)
class ServiceTable:
    """What one of `m` equal processes attains on a PE under load, as integers.

    At tick `t` of piece `k` it has attained `min(attained[k] + floor(rates[k]*(t - knots[k])), attained[k+1])`.
    """

    knots: Ticks
    """First tick of each piece, then the tick where the trace ends; (K+1,)."""
    rates: NDArray[np.float64]
    """Share of the PE in each piece; (K,)."""
    attained: Ticks
    """Nominal ticks attained by each knot; (K+1,)."""
    after_end: AfterEnd


@dataclass(frozen=True)
class ComputeCost:
    """A computation: nominal ticks (alone, without load) per replication."""

    index: int
    nominal_ticks: Ticks


@dataclass(frozen=True)
class MessageCost:
    """One side of a message."""

    index: int
    sends: bool
    partner: int
    tag: int
    ticks: int
    """Its time; 0 on the receiving side, where the sender's holds."""


@dataclass(frozen=True)
class Costs:
    """One configuration of a scenario, lowered."""

    configuration: Configuration
    operations: tuple[tuple[ComputeCost | MessageCost, ...], ...]
    """One row per process; `index` counts in the program as written, dropped operations included."""


def to_ticks(seconds: float, tick_s: float) -> int:
    """Seconds as ticks, rounded half to even, at least one."""
    if seconds > LAST_TICK * tick_s:
        raise TickOverflowError
    return max(1, round(seconds / tick_s))


def lower(scenario: Scenario, configuration: Configuration, draws: Draws, *, tick_s: float) -> Costs:
    """The integer costs of one configuration over all replications.

    Parameters
    ----------
    scenario, configuration
        What runs where.
    draws
        Axes (replication, PE).
    tick_s
        Seconds per tick.
    """
    program = scenario.program(configuration)
    rows = []
    for process, operations in enumerate(program.operations):
        place = configuration.placement[process]
        pe, positions = scenario.platform.pes[place], draws.band_positions[:, place]
        row: list[ComputeCost | MessageCost] = []
        for index, operation in enumerate(operations):
            match operation:
                case Compute(volume=0):
                    pass  # an operation without work is dropped
                case Compute(volume, size):
                    speeds = pe.speed_of(scenario.application.kernel).speed(size, position=positions)
                    row.append(ComputeCost(index, _nominal_ticks(volume / speeds, tick_s)))
                case Send(to, size_bytes, tag):
                    seconds = float(scenario.platform.link.time_s(size_bytes))
                    row.append(MessageCost(index, True, to, tag, to_ticks(seconds, tick_s)))  # noqa: FBT003 - a field
                case Recv(source, tag):
                    row.append(MessageCost(index, False, source, tag, 0))  # noqa: FBT003 - a field
        rows.append(tuple(row))
    return Costs(configuration, tuple(rows))


def service_table(pe: PE, processes: int, *, tick_s: float) -> ServiceTable:
    """How a PE's load shares it with `processes` runnable processes of ours, in ticks from the trace's start."""
    if pe.load is None:
        share = np.full(1, min(1.0, 1.0 / processes))
        return ServiceTable(np.array([0, LAST_TICK]), share, np.array([0, int(share[0] * LAST_TICK)]), "hold")
    trace = pe.load.trace
    knots = np.rint(np.append(trace.times_s, trace.end_s) / tick_s).astype(np.int64)
    rates = availability(trace.values, pe.load.rule, processes=processes)
    steps = np.floor(rates * np.diff(knots)).astype(np.int64)
    return ServiceTable(knots, rates, np.concatenate(([0], np.cumsum(steps))), trace.after_end)


def start_ticks(draws: Draws, *, tick_s: float) -> Ticks:
    """Where in its trace each PE's load starts, in ticks; axes (replication, PE)."""
    return np.rint(draws.load_starts_s / tick_s).astype(np.int64)


def _nominal_ticks(seconds: NDArray[np.float64], tick_s: float) -> Ticks:
    if np.any(seconds > LAST_TICK * tick_s):
        raise TickOverflowError
    return np.maximum(1, np.rint(seconds / tick_s)).astype(np.int64)  # rint rounds half to even

"""What a PE leaves to our processes under its load, as integer tables."""

from dataclasses import dataclass

import numpy as np

from simulator.engines.costs.ticks import LAST_TICK, Floats, Ticks
from simulator.models.load import AfterEnd, availability
from simulator.platform.nodes import PE
from simulator.scenario_file.draws import Draws

ALL_TIME = np.array([0, LAST_TICK])


@dataclass(frozen=True)
class ServiceTable:
    """What one of `m` equal processes attains on a PE under load, as integers.

    At tick `t` of piece `k` it has attained `min(attained[k] + floor(rates[k]*(t - knots[k])), attained[k+1])`.
    """

    knots: Ticks
    """First tick of each piece, then the tick where the trace ends; (K+1,)."""
    rates: Floats
    """Share of the PE in each piece; (K,)."""
    attained: Ticks
    """Nominal ticks attained by each knot; (K+1,)."""
    after_end: AfterEnd


def service_table(pe: PE, processes: int, *, tick_s: float) -> ServiceTable:
    """How a PE's load shares it with `processes` runnable processes of ours, in ticks from the trace's start."""
    if pe.load is None:
        share = min(1.0, pe.cores / processes)
        return ServiceTable(ALL_TIME, np.array([share]), np.array([0, int(share * LAST_TICK)]), "hold")
    trace = pe.load.trace
    knots = np.rint(np.append(trace.times_s, trace.end_s) / tick_s).astype(np.int64)
    rates = availability(trace.values, pe.load.rule, processes=processes, cores=pe.cores)
    steps = np.floor(rates * np.diff(knots)).astype(np.int64)
    return ServiceTable(knots, rates, np.concatenate(([0], np.cumsum(steps))), trace.after_end)


def start_ticks(draws: Draws, *, tick_s: float) -> Ticks:
    """Where in its trace each PE's load starts, in ticks; axes (replication, PE)."""
    return np.rint(draws.load_starts_s / tick_s).astype(np.int64)

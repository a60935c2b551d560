"""Scenario, configurations and draws as integer arrays: the only cost formulas, used by both engines."""

from simulator.engines.costs.lowering import (
    BY_OPERATION,
    BY_ROW,
    Costs,
    Loops,
    ServiceTable,
    lower,
    service_table,
    start_ticks,
)
from simulator.engines.costs.messages import UNITS_PER_BYTE
from simulator.engines.costs.quotas import Quotas
from simulator.engines.costs.sharing import FULL, Sharing
from simulator.engines.costs.ticks import LAST_TICK, TICKS_S, TickOverflowError, Ticks, to_ticks

__all__ = [
    "BY_OPERATION",
    "BY_ROW",
    "FULL",
    "LAST_TICK",
    "TICKS_S",
    "UNITS_PER_BYTE",
    "Costs",
    "Loops",
    "Quotas",
    "ServiceTable",
    "Sharing",
    "TickOverflowError",
    "Ticks",
    "lower",
    "service_table",
    "start_ticks",
    "to_ticks",
]

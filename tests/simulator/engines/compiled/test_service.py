"""Compiled service tables against a plain reference in Python's unbounded integers."""

from bisect import bisect_left, bisect_right
from functools import cache
from math import ceil, floor

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engines.compiled import service
from simulator.engines.compiled.service import NEVER, OVERFLOW, STRIDE, TRACE_ENDED, service_tables
from simulator.engines.costs import LAST_TICK, service_table
from simulator.models.load import LoadTrace
from simulator.platform.nodes import PE, Load

pytestmark = pytest.mark.slow
"""Their kernels take seconds to compile; the agreement of the engines covers them by default."""

TICK = 1e-12


@cache
def kernels():
    """The two functions that kernels call, for Python to call."""
    return tuple(numba.njit(one, error_model="numpy") for one in (at_kernel, when_kernel))


def at_kernel(tables, table, tick):
    return service.attained_at(tables, table, tick)


def when_kernel(tables, table, attained, near):
    return service.tick_when(tables, table, attained, near)


def attained_at(tables, table, tick):
    return kernels()[0](tables, table, tick)


def tick_when(tables, table, attained, near=0):
    return kernels()[1](tables, table, attained, near)


class Reference:
    """The meaning of a table, one step at a time: see `ServiceTable`."""

    def __init__(self, table):
        self.knots, self.rates, self.attained = table.knots.tolist(), table.rates.tolist(), table.attained.tolist()
        self.after_end, self.end, self.total = table.after_end, self.knots[-1], self.attained[-1]

    def at(self, tick):
        laps, inside = divmod(tick, self.end) if self.after_end == "cycle" else (0, tick)
        if inside >= self.end:
            ended = self.after_end == "error" and inside > self.end
            return None if ended else self.total + floor(self.rates[-1] * (inside - self.end))
        piece = bisect_right(self.knots, inside) - 1
        gained = self.attained[piece] + floor(self.rates[piece] * (inside - self.knots[piece]))
        return laps * self.total + min(gained, self.attained[piece + 1])

    def when(self, wanted):
        laps, inside = 0, wanted
        if self.after_end == "cycle":
            if self.total == 0:
                return NEVER
            laps = (wanted - 1) // self.total
            inside = wanted - laps * self.total
        if inside > self.total:
            if self.after_end == "error":
                return TRACE_ENDED
            if self.rates[-1] == 0:
                return NEVER
            missing, begin, rate = inside - self.total, self.end, self.rates[-1]
        else:
            piece = bisect_left(self.attained, inside) - 1
            missing, begin, rate = inside - self.attained[piece], self.knots[piece], self.rates[piece]
        if missing > rate * LAST_TICK:
            return OVERFLOW
        steps = ceil(missing / rate)
        while steps > 1 and floor(rate * (steps - 1)) >= missing:
            steps -= 1
        while floor(rate * steps) < missing:
            steps += 1
        found = laps * self.end + begin + steps
        return found if found < LAST_TICK else OVERFLOW


@st.composite
def loaded(draw):
    """A PE under a load whose pieces are from less than a tick to hours long."""
    count = draw(st.integers(1, 3 * STRIDE + 1))
    unit = draw(st.sampled_from([1, 7, 10**6, 10**13]))
    lengths = draw(st.lists(st.floats(0.3, 20), min_size=count, max_size=count))
    rule = draw(st.sampled_from(["fair", "idle", "given"]))
    loads = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1.5 if rule == "given" else 5)
    values = draw(st.lists(loads, min_size=count, max_size=count))
    knots = np.concatenate(([0.0], np.cumsum(np.array(lengths) * unit * TICK)))
    trace = LoadTrace(
        knots[:-1], np.array(values), float(max(knots[-1], TICK)), draw(st.sampled_from(["cycle", "hold", "error"]))
    )
    return PE("a", "n", {}, Load(trace, rule), cores=draw(st.integers(1, 3)))


@given(pe=loaded(), m=st.integers(1, 4), data=st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_tables_say_what_the_reference_says(pe, m, data):
    tables = service_tables([pe], np.array([m]), tick_s=TICK)
    reference, table = Reference(service_table(pe, m, tick_s=TICK)), int(tables.of_pe[0]) + m - 1
    near = [max(0, knot + step) for knot in reference.knots for step in (-1, 0, 1)]
    ticks = st.sampled_from(near) | st.integers(0, 3 * reference.end)
    for tick in data.draw(st.lists(ticks, min_size=1, max_size=8)):
        expected = reference.at(tick)
        assert attained_at(tables, table, tick) == (TRACE_ENDED if expected is None else expected)
    near = [max(1, total + step) for total in reference.attained for step in (-1, 0, 1)]
    wanted = st.sampled_from(near) | st.integers(1, 3 * reference.total + 5) | st.integers(1, LAST_TICK)
    for attained in data.draw(st.lists(wanted, min_size=1, max_size=8)):
        assert tick_when(tables, table, attained) == reference.when(attained)


@pytest.mark.parametrize("seed", range(12))
def test_long_traces_are_searched_from_any_guess(seed):
    """Pieces of very unlike lengths, so that guesses are wrong by much."""
    rng = np.random.default_rng(seed)
    knots = np.concatenate(([0.0], np.cumsum(np.ceil(rng.pareto(0.7, int(rng.integers(1, 200)) * STRIDE) + 1)))) * TICK
    trace = LoadTrace(knots[:-1], rng.choice([0.0, 0.5, 3.0], knots.size - 1), float(knots[-1]), "cycle")
    pe = PE("a", "n", {}, Load(trace, "fair"))
    tables, reference = service_tables([pe], np.array([1]), tick_s=TICK), Reference(service_table(pe, 1, tick_s=TICK))
    table = int(tables.of_pe[0])
    for share in rng.random(60) ** 3 * 2:
        tick, near = int(share * reference.end), int(rng.integers(0, 3 * reference.end))
        assert attained_at(tables, table, tick) == reference.at(tick)
        attained = max(1, int(share * reference.total))
        assert tick_when(tables, table, attained, near) == reference.when(attained)

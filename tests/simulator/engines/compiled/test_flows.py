"""Compiled max-min flows alone against the rule in plain Python: rates and ends, to the unit and the tick."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulator.engines.compiled.cache import compiled
from simulator.engines.compiled.groups import delivered, ticks_until

pytestmark = pytest.mark.slow
"""Their kernels take seconds to compile; the agreement of the engines covers them by default."""

LAST = 2**62


def wide(rate: int, since: int, ticks: int) -> int:
    """Kernel: what is delivered in so many ticks."""
    return delivered(rate, since, since + ticks)


def inverse(units: int, rate: int, since: int) -> int:
    """Kernel: the least number of ticks for so many units."""
    return ticks_until(units, rate, since)


@given(st.integers(1, 2**61), st.integers(0, 2**61), st.integers(0, 2**61))
@example(2**61, 2**61, 2**61)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_products_of_128_bits(rate, since, ticks):
    exact = (rate * (since + ticks) >> 40) - (rate * since >> 40)
    assert compiled(wide)(rate, since, ticks) % 2**64 == exact % 2**64


@given(st.integers(1, 2**60), st.integers(1, 2**61), st.integers(0, 2**62))
@example(2**60, 1, 0)
@example(1, 2**61, 2**62)
@example(2**24, 2**40, 1)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_least_tick_that_delivers_is_exact(units, rate, since):
    exact = -(-((units + (rate * since >> 40)) * 2**40) // rate) - since
    assert compiled(inverse)(units, rate, since) == min(exact, LAST)

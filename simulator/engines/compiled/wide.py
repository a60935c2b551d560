"""What a flow delivers, to the unit: products of 128 bits in two halves of 64."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from simulator.engines.compiled.cache import subroutine
from simulator.engines.costs import LAST_TICK

SHIFT = np.uint64(40)
"""Rates count 2**-40 units per tick."""
FRACTION = np.uint64(2**40 - 1)
OTHER = np.uint64(24)
ONE = np.uint64(1)
HIGHER = 2.0**64


@intrinsic
def _upper(typing_context: Any, one: Any, other: Any) -> Any:  # noqa: ARG001 - Numba's signature
    """Upper half of a product of two uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


_high: Any = _upper


@subroutine
def delivered(rate: int, since: int, now: int) -> int:
    """`floor(rate * now / 2**40) - floor(rate * since / 2**40)`, modulo 2**64."""
    r, d = np.uint64(rate), np.uint64(now - since)
    high, product = _high(r, d), r * d
    low = product + ((r * np.uint64(since)) & FRACTION)  # of `rate * since` only the fraction decides
    if low < product:
        high += ONE
    return np.int64((high << OTHER) | (low >> SHIFT))


@subroutine
def ticks_until(units: int, rate: int, since: int) -> int:
    """The least number of ticks after `since` in which `units` (at least 1) are delivered; at most LAST_TICK."""
    r, u = np.uint64(rate), np.uint64(units)
    fraction = (r * np.uint64(since)) & FRACTION
    high, low = u >> OTHER, u << SHIFT
    if low < fraction:
        high -= ONE
    low -= fraction  # high, low: 2**40 units less the fraction; the answer is that over the rate, rounded up
    estimate = (np.float64(high) * HIGHER + np.float64(low)) / np.float64(r)
    if estimate > 1.01 * LAST_TICK:
        return LAST_TICK
    steps = np.int64(estimate)
    while True:
        product_high, product_low = _high(r, np.uint64(steps)), r * np.uint64(steps)
        missing_low = low - product_low
        missing_high = np.int64(high - product_high) - (1 if low < product_low else 0)
        # missing: a signed number of 128 bits; 0 or less and more than -rate when `steps` is the answer
        if missing_high > 0 or (missing_high == 0 and missing_low > np.uint64(0)):
            missing = np.float64(missing_high) * HIGHER + np.float64(missing_low)
            steps += max(np.int64(1), np.int64(missing / np.float64(r)))
        elif missing_high < -1 or (missing_high == -1 and np.uint64(0) - missing_low - ONE >= r - ONE):
            surplus = -(np.float64(missing_high) * HIGHER + np.float64(missing_low))
            steps -= max(np.int64(1), np.int64(surplus / np.float64(r)))
        else:
            return min(steps, np.int64(LAST_TICK))

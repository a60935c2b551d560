"""The named naive strategies that every recommendation is compared with."""

from collections.abc import Sequence

import numpy as np

from advisor.partitioners import constant_split, even_split
from simulator import Configuration


def baselines(
    units: int, *, benchmark_speeds: Sequence[float], sustained_speeds: Sequence[float]
) -> list[Configuration]:
    """The baselines for a partition of units over PEs, one process on each, in order.

    Parameters
    ----------
    units
        What is to be divided.
    benchmark_speeds
        What one small benchmark showed on each PE: the constant model.
    sustained_speeds
        Best knowledge of each PE's speed with its load: picks the fastest PE.
    """
    count = len(sustained_speeds)
    alone = [0] * count
    alone[int(np.argmax(sustained_speeds))] = units
    named = {
        "equal": even_split(units, count),
        "constant": constant_split(units, benchmark_speeds),
        "fastest-pe": tuple(alone),
    }
    return [Configuration.one_each(name, partition) for name, partition in named.items()]

"""Where real loads start in their traces, so that few real runs meet light and heavy stretches as often as many would.

A median of three runs that all met a light stretch is off by chance. So a trace's stretches, as long as a run, are put
in order of what they leave to us, and repetitions take them at even distances in that order (stratified sampling, by
the sequence of van der Corput: 1/2, 1/4, 3/4, 1/8, ...): every prefix of the repetitions is about even.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator import LoadTrace, availability

PLACES = 1000
"""Places of a trace that are put in order."""
BASES = (2, 3, 5, 7, 11, 13, 17, 19)
"""Of the sequences of several loads, which are even together; more loads take places by chance."""


def even_starts(
    trace: LoadTrace, *, window_s: float, number: int, generator: np.random.Generator
) -> Callable[[int], float]:
    """Where one load starts in its trace, in seconds, by repetition.

    `trace`: repeated without end, as real competitors do.
    `window_s`: about how long a run lasts.
    `number`: of this load among all of a scenario.
    `generator`: for the places that are looked at.
    """
    places = generator.random(PLACES) * trace.end_s
    left = mean_left(trace, places, window_s)
    ordered = places[np.argsort(left, kind="stable")]
    chances = generator.random(PLACES)

    def start_s(repetition: int) -> float:
        if number < len(BASES):
            where = _van_der_corput(repetition + 1, BASES[number])
        else:
            where = float(chances[repetition % PLACES])
        return float(ordered[int(where * PLACES)])

    return start_s


def mean_left(trace: LoadTrace, starts_s: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
    """Mean share of a PE that the load leaves to one process over a window from each start; of the starts' shape."""
    edges = np.append(trace.times_s, trace.end_s)
    sums = np.concatenate(([0.0], np.cumsum(np.diff(edges) * availability(trace.values, "fair"))))

    def until(t: NDArray[np.float64]) -> NDArray[np.float64]:
        rounds, inside = np.divmod(t, trace.end_s)
        return np.asarray(rounds * sums[-1] + np.interp(inside, edges, sums))

    return np.asarray((until(starts_s + window_s) - until(starts_s)) / window_s)


def _van_der_corput(k: int, base: int) -> float:
    """The k-th number of the sequence: the digits of k mirrored at the point."""
    value, unit = 0.0, 1.0
    while k:
        k, digit = divmod(k, base)
        unit /= base
        value += digit * unit
    return value

"""Synthetic tables of makespans with known truth, to rank."""

import numpy as np

SLOW_PES, FAST_PROCESSES = 8, 6


def hpl_like(*, ratio=4.0, overhead=0.0098, message=0.004):
    """Mean makespans of the 62 configurations of one fast PE (0 to 6 processes) and eight slow ones (0 or 1 each).

    P processes share the work equally; the fast PE is `ratio` times as fast, m processes there take
    `m (1 + overhead (m - 1))` times one's time, messages take `message * P`. With the values given here the second
    best is 0.84 % off, the third 2.8 %.
    """
    means = [
        max(m * (1 + overhead * (m - 1)) / ratio if m else 0, 1.0 if n else 0) / (m + n) + message * (m + n)
        for m in range(FAST_PROCESSES + 1)
        for n in range(SLOW_PES + 1)
        if m + n
    ]
    return np.array(means) / min(means)


def any_hpl_like(generator):
    """Such a table with speed ratio, overhead and cost of messages drawn again."""
    return hpl_like(
        ratio=generator.uniform(2, 6),
        overhead=generator.uniform(0, 0.05),
        message=np.exp(generator.uniform(np.log(0.0005), np.log(0.008))),
    )


def noisy(means, generator, *, variation=0.05, correlation=0.8, replications=200):
    """Makespans of all configurations in paired replications with a coefficient of variation; an objective.

    Two configurations of one replication have the given correlation.
    """
    common = generator.standard_normal(replications)
    own = generator.standard_normal((means.size, replications))
    noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    table = means[:, np.newaxis] * (1 + variation * noise)
    return lambda candidates, replications: table[np.ix_(candidates, replications)]

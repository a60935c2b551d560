"""Fixed standard normal scores: the same spread-out numbers everywhere, without a generator."""

import numpy as np

from simulator.models.process_count.runs import Floats


def normal_scores(pairs: int, count: int) -> Floats:
    """Rows of independent-looking normal scores, each followed by its mirror image; (2*pairs, count).

    Counters mixed by splitmix64, then Box and Muller's transform; mirrored, so that what is linear keeps its mean.
    """
    even = count + count % 2
    mixed = np.arange(1, pairs * even + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    uniform = ((mixed >> np.uint64(11)).astype(float) + 0.5) / 2.0**53
    radius, angle = uniform.reshape(2, -1)
    radius = np.sqrt(-2 * np.log(radius))
    scores = np.concatenate((radius * np.cos(2 * np.pi * angle), radius * np.sin(2 * np.pi * angle)))
    scores = scores.reshape(pairs, even)[:, :count]
    return np.asarray(np.concatenate((scores, -scores)))

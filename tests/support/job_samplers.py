"""Independent samplers of what streams of jobs are drawn from: a job at a time, by Python's own generator.

Written from the published definitions; nothing here comes from the product.
"""

import math
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Lublin and Feitelson's, in the names of their program, for its machine of 128 processors."""

    serial: float
    pow2: float
    u_low: float
    u_med: float
    u_hi: float
    u_prob: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float


BATCH = Constants(
    *(0.2927, 0.6686, 1.2, 5, 7, 0.875, 6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
    *(6.0415, 0.8531, 6.1271, 5.2740, 1.0519),
)
COMBINED = Constants(
    *(0.244, 0.576, 0.8, 4.5, 7, 0.86, 4.2, 0.94, 312, 0.03, -0.0054, 0.78),
    *(10.2303, 0.4871, 8.1737, 3.9631, 1.0225),
)


def gamma_mass(low, high, shape, scale, steps=200):
    """Probability between two bounds, by Simpson's rule on the density."""

    def density(x):
        return math.exp((shape - 1) * math.log(x / scale) - x / scale - math.lgamma(shape)) / scale

    width = (high - low) / steps
    inner = sum((4 if k % 2 else 2) * density(low + k * width) for k in range(1, steps))
    return width / 3 * (density(low) + inner + density(high))


def weights(c):
    """Of the 48 half hours from midnight."""
    found = [0.0] * 48
    for i in range(11, 59):
        found[(i - 1) % 48] = gamma_mass(i - 0.5, i + 0.5, c.anum, c.bnum)
    mean = sum(found) / 48
    return [one / mean for one in found]


def size(c, rng):
    """Processors of a job."""
    u = rng.random()
    if u <= c.serial:
        return 1
    low, high = (c.u_low, c.u_med) if rng.random() <= c.u_prob else (c.u_med, c.u_hi)
    x = rng.uniform(low, high)
    if u <= c.serial + c.pow2:
        x = math.floor(x + 0.5)
    return math.floor(2**x + 0.5)


def run_time(c, processors, rng):
    """Whole seconds."""
    p = min(1.0, max(0.0, c.pa * processors + c.pb))
    g = math.inf
    while g > 12:
        g = rng.gammavariate(c.a1, c.b1) if rng.random() <= p else rng.gammavariate(c.a2, c.b2)
    return math.floor(math.exp(g))


class Arrivals:
    """The loop over half hours: points are owed, buckets pay their weight, the remainder is a part of one."""

    def __init__(self, c, rng):
        self.c, self.rng, self.weights = c, rng, weights(c)
        self.bucket, self.points, self.begun_s = 0, 0.0, 0.0

    def next_s(self):
        g = math.inf
        while g > 13:
            g = self.rng.gammavariate(self.c.aarr * self.c.arar, self.c.barr)
        self.points += math.exp(g) / 1800
        while self.points > self.weights[self.bucket]:
            self.points -= self.weights[self.bucket]
            self.bucket = (self.bucket + 1) % 48
            self.begun_s += 1800
        return self.begun_s + self.points / self.weights[self.bucket] * 1800


def jobs(c, count, seed):
    """Submission (whole seconds), size and run time of each job."""
    rng = random.Random(seed)  # noqa: S311 - another generator than the product's is the point
    clock, found = Arrivals(c, rng), []
    for _ in range(count):
        processors = size(c, rng)
        found.append((math.floor(clock.next_s()), processors, run_time(c, processors, rng)))
    return tuple(zip(*found, strict=True))

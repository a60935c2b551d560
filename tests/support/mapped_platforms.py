"""Platforms to ask one question about, and the question; run as a program it asks it in two processes."""

import os
import sys

import apportion as ap
import numpy as np

SPEEDS = np.random.default_rng(1).uniform(1e9, 20e9, (40, 3))


def platforms(count):
    """Scenarios of unlike platforms, seeds and replications."""
    product, link = ap.Application("matmul", "dgemm", {"n": 300}), ap.Link("10 GbE", "30us", "10 Gbit/s")
    for seed, speeds in enumerate(SPEEDS[:count]):
        pes = (ap.nodes(f"n{place}", speeds={"dgemm": speed}) for place, speed in enumerate(speeds))
        yield ap.Scenario(ap.star(*pes, link=link), product, {"equal": "equal"}, replications=1 + seed % 3, seed=seed)


def fastest(scenario):
    """The speed of the fastest PE, and a line in the file that `COUNTED` names."""
    if "COUNTED" in os.environ:
        handle = os.open(os.environ["COUNTED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{scenario.seed}\n".encode())
        os.close(handle)
    speeds = np.array([pe.speed_of("dgemm").mid.max() for pe in scenario.platform.pes])
    return {"speed": speeds.max(), "of": {"all": speeds}, "seed": np.int64(scenario.seed)}


if __name__ == "__main__":
    from tests.support import mapped_platforms  # workers find the question there, not in __main__

    ap.map(mapped_platforms.fastest, platforms(40), workers=2, folder=sys.argv[1])

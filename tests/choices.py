"""Prints, as JSON, what is chosen from seeded tables with noise from none over rounding to 1 %; no number is printed.

`python -m tests.choices KIND`; see `KINDS`.
"""

import json
import sys
from typing import Any

import numpy as np

from simulator.models.network import NetworkPoints, PacketisedModel, PiecewiseModel, fit_network, make_points
from simulator.models.network.fitted_forms import FittedForm

NOISES = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
NETWORKS = 200


def network_table(seed: int) -> NetworkPoints:
    """Times of equation 5 (even seeds) or of lines, over one distance or several; parameters may be 0."""
    generator = np.random.default_rng(seed)
    hops = [1.0] if seed % 4 < 2 else [1.0, 2.0, 4.0]
    truth, sizes = _packets(generator) if seed % 2 == 0 else _lines(generator, several=len(hops) > 1)
    size, distance = (column.reshape(-1) for column in np.meshgrid(sizes, hops))
    time = truth.time_s(size, distance) * np.exp(NOISES[seed // 4 % len(NOISES)] * generator.standard_normal(size.size))
    return make_points(size, distance, time)


def _packets(generator: np.random.Generator) -> tuple[FittedForm, np.ndarray]:
    alpha, alpha2, beta = generator.choice([0.0, 1.0, 1.0], 3) * generator.uniform(20e-6, 400e-6, 3)
    sizes = np.arange(100.0, 6000.0, 250.0)
    packet = float(generator.choice([1000.0, 1350.0, float(sizes[5])]))  # between two sizes, or just at one
    header = float(generator.choice([0.0, 40.0, 400.0]))
    return PacketisedModel(float(alpha), float(alpha2), float(beta), 0.5e-6, packet, header), sizes


def _lines(generator: np.random.Generator, *, several: bool) -> tuple[FittedForm, np.ndarray]:
    sizes = np.unique(np.round(2.0 ** np.arange(0, 22.1, 1.0)))
    count = int(generator.integers(1, 4))
    breaks = np.sort(generator.choice(sizes[4:-4], count - 1, replace=False))
    gaps = np.sort(generator.uniform(0.2e-9, 3e-9, count))[::-1]
    latencies = [float(generator.choice([0.0, 1.0, 1.0]) * generator.uniform(5e-6, 50e-6))]
    for place, at in enumerate(breaks):  # lines that meet where something was measured, or with a jump
        jump = float(generator.choice([0.0, 20e-6]))
        latencies.append(latencies[-1] + at * (gaps[place] - gaps[place + 1]) + jump)
    further = several * generator.choice([0.0, 1.0], 2)[:, np.newaxis] * np.array([[5e-6], [1e-10]]) * np.ones(count)
    return PiecewiseModel(breaks, np.array(latencies), gaps, further[0], further[1]), sizes


def network() -> list[Any]:
    """Form, what is said about p, faults of each form, and the sizes between which each line ends."""
    found = []
    for seed in range(NETWORKS):
        fit = fit_network(network_table(seed))
        forms = [[form.name, form.faults != (), form.fitted is not None and form.fitted.notes] for form in fit.forms]
        piecewise = fit.form("piecewise").fitted
        assert piecewise is not None
        assert isinstance(piecewise.model, PiecewiseModel)
        ends = np.searchsorted(fit.points.sizes, piecewise.model.breaks_bytes * (1 + 1e-6))
        found.append([fit.chosen, forms, ends.tolist()])
    return found


KINDS = {"network": network}

if __name__ == "__main__":
    print(json.dumps([KINDS[kind]() for kind in sys.argv[1:]]))

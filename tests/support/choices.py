"""Prints, as JSON, what is chosen from seeded tables with noise from none over rounding to 1 %; no number is printed.

`python -m tests.support.choices KIND`; see `KINDS`.
"""

import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from advisor.advise.process_counts.search import Space
from advisor.advise.ranking import rank
from advisor.advise.space import whole_units
from simulator import ties
from simulator.calibration.bands import CutRule, ReplaySource, build
from simulator.models import MemoryTimes, diagnose, fit, fit_process_counts, make_runs, select_model
from simulator.models.memory.forms import Constants
from simulator.models.network import (
    FittedForm,
    NetworkPoints,
    PacketisedModel,
    PiecewiseModel,
    fit_network,
    make_points,
)
from simulator.scenario_file.partitions import by_times
from tests.support import lu_clusters as clusters
from tests.support.known_models import TableModel

NOISES = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
NETWORKS = 40


def shaken(values: np.ndarray, shake: int) -> np.ndarray:
    """As another processor may have them: with other last bits, unless `shake` is 0."""
    noise = np.random.default_rng(shake).integers(-2, 3, values.shape) if shake else np.zeros(values.shape)
    return np.asarray(values * (1 + noise * np.finfo(float).eps))


def network_table(seed: int, shake: int = 0) -> NetworkPoints:
    """Times of equation 5 (even seeds) or of lines, over one distance or several; parameters may be 0."""
    generator = np.random.default_rng(seed)
    hops = [1.0] if seed % 4 < 2 else [1.0, 2.0, 4.0]
    truth, sizes = _packets(generator) if seed % 2 == 0 else _lines(generator, several=len(hops) > 1)
    size, distance = (column.reshape(-1) for column in np.meshgrid(sizes, hops))
    time = truth.time_s(size, distance) * np.exp(NOISES[seed // 4 % len(NOISES)] * generator.standard_normal(size.size))
    return make_points(size, distance, shaken(time, shake))


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


def some_networks(shake: int = 0) -> list[Any]:
    """Of tables from which core types chose otherwise before near numbers were equal."""
    return network(shake, (4, 11, 34, 65, 121, 123, 125, 126, 182, 183))


def network(shake: int = 0, seeds: Sequence[int] = range(NETWORKS)) -> list[Any]:
    """Form, what is said about p, faults of each form, and the sizes between which each line ends."""
    found = []
    for seed in seeds:
        fit = fit_network(network_table(seed, shake))
        forms = [[form.name, form.faults != (), form.fitted is not None and form.fitted.notes] for form in fit.forms]
        piecewise = fit.form("piecewise").fitted
        assert piecewise is not None
        assert isinstance(piecewise.model, PiecewiseModel)
        ends = np.searchsorted(fit.points.sizes, piecewise.model.breaks_bytes * (1 + 1e-6))
        found.append([fit.chosen, forms, ends.tolist()])
    return found


def memory(shake: int = 0) -> list[Any]:
    """Form and number of levels, the sizes between which each ends, and warnings, of tables of one to three levels."""
    found = []
    rows = list(itertools.product([2.0**k for k in range(10, 25, 2)], (0.01, 0.1, 1.0), (1.0, 16.0, 256.0)))
    m, alpha, run = np.array(rows).T
    truths = ([[], [7e-9], [7e-9]], [[], [3e-9], [1e-9]], [[2**17], [2e-9, 30e-9], [0.9e-9, 2e-9]])
    for truth, noise in itertools.product(truths, (0.0, 1e-12, 1e-3)):
        constants = Constants(*(np.array(values, dtype=float) for values in truth))
        points = MemoryTimes(m, alpha, run, np.ones(m.size))
        noisy = 1 + noise * np.random.default_rng(3).standard_normal(m.size)
        selection = select_model(MemoryTimes(m, alpha, run, shaken(constants.times_s(points) * noisy, shake)))
        ends = np.searchsorted(m[::9], selection.chosen.constants.capacities_words)
        kinds = [warning.split(":")[0] for warning in selection.warnings]
        found.append([selection.chosen.name, ends.tolist(), kinds])
    return found


def regression(shake: int = 0) -> list[Any]:
    """Structures kept and their order, and warnings."""
    found = []
    for seed, noise in itertools.product(range(4), NOISES[::4]):
        generator = np.random.default_rng(seed)
        n, p = (column.ravel() for column in np.meshgrid(2.0 ** np.arange(8, 13), [1.0, 2.0, 4.0, 8.0]))
        truths = (1e-6 * n**2 / p, 1e-6 * n**2 / p + 0.01, 1e-6 * n**2 / p + 2e-5 * n, 1e-6 * n**2 / p + 0.01 * p)
        runs = make_runs(
            {"N": n, "P": p}, shaken(truths[seed] * np.exp(noise * generator.standard_normal(n.size)), shake)
        )
        for method in ("default", "ols"):
            model = fit({"t": "N**2/P + N"}, {"t": runs}, method=method)
            structures = [one.structure for one in diagnose(model, {"t": runs})["t"].structures]
            found.append([list(model.warnings), structures])
    a, b = (column.ravel() for column in np.meshgrid([1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 4.0, 8.0]))
    for formula, times_s in (("a*b", a * b), ("a*b + a + b", a * b + a + b), ("a/b + b/a", a / b + b / a)):
        runs = make_runs({"a": a, "b": b}, shaken(1e-3 * times_s, shake))  # what goes for a goes for b: runs are tied
        for method in ("default", "ols"):
            model = fit({"t": formula}, {"t": runs}, method=method)
            found.append(list(model.warnings))
    return found


def process_counts(shake: int = 0) -> list[Any]:
    """Order of all configurations by their estimates, and what is doubted of the best."""
    found = []
    same = (6e-10, 6e-10, 1.2e-9)  # two kinds that are alike
    for noise, seconds in itertools.product((0.0, 1e-13), ((6e-10, 2.2e-9, 1.2e-9), same)):

        def truth(size: Any, allocations: Any, seconds: Any = seconds) -> Any:
            return shaken(clusters.lu(size, allocations, seconds=seconds), shake)

        model = fit_process_counts(clusters.runs_of(clusters.judged(), (400, 800, 1200, 1600), truth, noise=noise))
        estimates = model.estimate(3200.0, clusters.judged())
        order = ties.in_order(estimates.mean_s).tolist()
        found.append([order, [len(doubt) for doubt in estimates.warnings], len(model.warnings)])
    return found


def allocations(shake: int = 0) -> list[Any]:
    """Who takes part in the best allocations by a model, and the order of candidates with equal makespans."""
    found: list[Any] = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        kinds = {f"kind{k}": (3, 3) for k in range(3)}
        loads = generator.integers(1, 4, (3, 1)) * np.arange(1.0, 4.0)
        pe_s = shaken(loads, shake)[:, :, np.newaxis] * 10.0 / np.maximum(np.arange(28), 1)
        space = Space(TableModel(tuple(kinds), pe_s, {}), kinds, 1.0)
        looked = space.looked_at()
        found.append(looked[ties.in_order(space.model.behind(1.0, looked)[0], floor=ties.SAME)[:30]].tolist())
        makespans_s = shaken(generator.choice([1.0, 1.1, 1.2], (12, 1)) * np.ones((12, 60)), shake)
        found.append([entry.candidate for entry in rank(makespans_s, seed=1).ranked])
        times_s = shaken(generator.integers(1, 4, 8) / 4.0, shake)
        found.append(by_times(100, 8, lambda units, each=times_s: units * each))
        found.append(whole_units(shaken(np.full(7, 100 / 7), shake), 100).tolist())
    return found


def measured_sizes(shake: int = 0) -> list[Any]:
    """Sizes that the adaptive builder measures of recorded tables."""
    found = []
    sizes = np.geomspace(3e3, 5e7, 60)
    flat, cliff = np.full(sizes.size, 3e9), 4e9 * np.where(sizes < 1e6, 1.0, 0.4)
    rising, two = 5e9 * sizes / (sizes + 3e4), 4e9 * np.where(sizes < 3e4, 1.0, 0.6) * np.where(sizes < 3e6, 1.0, 0.5)
    for speeds in (flat, cliff, rising, two, 4e9 / (1 + (sizes / 3e6) ** 0.35)):
        for volume in (2 * (sizes / 3) ** 1.5, 5 * sizes * np.log2(sizes)):
            times_s = shaken(volume / speeds, shake)
            built = build(ReplaySource(sizes, volume, times_s, times_s), method="adaptive", rule=CutRule(band=0.05))
            found.append([float(f"{point.size:.6g}") for point in built.points])
    return found


KINDS = {
    "network": network,
    "some_networks": some_networks,
    "memory": memory,
    "regression": regression,
    "process_counts": process_counts,
    "allocations": allocations,
    "measured_sizes": measured_sizes,
}

if __name__ == "__main__":
    print(json.dumps([KINDS[kind]() for kind in sys.argv[1:]]))

"""How models hold the rows that they were made of, and rows held out: `python -m tests.studies.tables_study`.

Made-up tables of each kind of model, exact and noisy, with a cliff, a fall, a plateau or a corner left out. It shares
no code with what is judged, and prints per kind and case which share of rows lies inside of the stated 90 % interval.
"""

import argparse
from collections import defaultdict

import numpy as np

from simulator import calibration
from simulator.calibration.bands import CutRule
from simulator.calibration.bands.source import recorded
from simulator.models.memory.forms import MemoryTimes
from simulator.models.network import fit_network, make_points

LEVEL = 0.9
CASES = ("cliff", "fall", "plateau", "corner")
NOISES = (0.0, 0.01, 0.03, 0.08)
TABLE_WIDTH = DRIFT = 0.05


def speed_truth(draws, case):
    """Speed over size; none of it is a straight line between the rows."""
    power, top, at, depth = draws.uniform(-0.08, 0.08), 1e9, 10 ** draws.uniform(4.5, 6.5), draws.uniform(0.3, 0.8)
    steep = 40.0 if case == "cliff" else draws.uniform(0.5, 1.5)

    def speeds(sizes):
        base = top * (sizes / 1e5) ** power
        if case == "plateau":
            return base / (1 + (at / 30 / sizes) ** steep)
        return base * (1 - depth / (1 + (at / sizes) ** steep))

    return speeds


def network_truth(draws, case):
    """Message times over size; a cliff is a jump where rendezvous begins, a fall one downwards."""
    latency, gap = 10 ** draws.uniform(-6, -4.3), 10 ** draws.uniform(-10, -8.5)
    at, factor = 2 ** draws.uniform(9, 18), draws.uniform(0.3, 0.9)

    def times(sizes):
        line = latency + gap * sizes
        if case == "cliff":
            return np.where(sizes > at, line + draws_jump * latency + gap * at / 2, line)
        if case == "fall":
            return np.where(sizes > at, factor * line, line)
        return np.maximum(line, latency + gap * at) if case == "plateau" else line

    draws_jump = draws.uniform(0.5, 3)
    return times


def memory_truth(draws, case):
    """Times per word over (M, alpha, L) of two to four levels; a fall is gradual, by a power of M."""
    levels = 2 if case == "plateau" else draws.integers(2, 5)
    capacities = np.cumprod(10 ** draws.uniform(1, 1.5, levels - 1)) * 1e3
    latencies = np.cumprod(draws.uniform(2, 5, levels)) * 1e-9
    power = draws.uniform(0.02, 0.06) if case == "fall" else 0.0

    def times(m, alpha, run):
        inside = np.minimum(1.0, capacities[:, None] / m) ** alpha
        shares = np.diff(np.vstack((np.zeros(m.size), inside, np.ones(m.size))), axis=0)
        return (shares * (latencies[:, None] + latencies[:, None] / 8 * (run - 1)) / run).sum(axis=0) * m**power

    return times


def noisy(draws, values, noise):
    return values * np.exp(noise * draws.standard_normal(values.size))


def left_out(draws, case, order):
    """A quarter of the rows inside; the outermost two or, where a corner is left out, three more rows of one end."""
    flags = np.zeros(order.size, dtype=bool)
    inside = np.argsort(order)[1:-1]
    flags[draws.choice(inside, max(1, order.size // 4), replace=False)] = True
    if case == "corner":
        flags[np.argsort(order)[-2:]] = True
    return flags


def one_speed(draws, case, noise):
    """Whether each row given, and each held out, lies inside; these ran on another day, as stated intervals allow."""
    sizes = np.sort(10 ** draws.uniform(3, 7, draws.integers(8, 25)))
    true, out = speed_truth(draws, case)(sizes), left_out(draws, case, sizes)
    times = draws.integers(1, 4) if noise else 1
    rows = np.repeat(np.flatnonzero(~out), times)
    cpu_s = noisy(draws, 2 * sizes[rows] / true[rows], noise)
    source = recorded(sizes[rows], 2 * sizes[rows], cpu_s, cpu_s)
    band = calibration.fit_speed(source, rule=CutRule(band=None if source.repeats else TABLE_WIDTH)).band
    inside, later = [], noisy(draws, true[out], noise) * np.exp(DRIFT * draws.standard_normal())
    for at, speeds in ((sizes[rows], 2 * sizes[rows] / cpu_s), (sizes[out], later)):
        low, high = band.run_interval(at, level=LEVEL)
        inside.append((low * (1 - 1e-9) <= speeds) & (speeds <= high * (1 + 1e-9)))
    return inside


def one_network(draws, case, noise):
    sizes = np.unique(np.round(2.0 ** np.arange(0, draws.integers(18, 24), draws.choice([0.5, 1.0]))))
    time_s, out = noisy(draws, network_truth(draws, case)(sizes), noise), left_out(draws, case, sizes)
    model = fit_network(make_points(sizes[~out], np.ones((~out).sum()), time_s[~out])).model
    inside = []
    for rows in (~out, out):
        found = model.predict(sizes[rows], level=LEVEL)
        inside.append((found.low_s * (1 - 1e-9) <= time_s[rows]) & (time_s[rows] <= found.high_s * (1 + 1e-9)))
    return inside


def one_memory(draws, case, noise):
    """Cells of a grid; a corner is the largest memory at the least locality."""
    axes = np.meshgrid(2.0 ** np.arange(8, 24, 2), [0.01, 0.25, 1.0], [1.0, 16.0, 256.0], indexing="ij")
    m, alpha, run = (axis.reshape(-1) for axis in axes)
    time_s = noisy(draws, memory_truth(draws, case)(m, alpha, run), noise)
    out = draws.random(m.size) < 0.2
    if case == "corner":
        out |= (m >= 2.0**20) & (alpha == 1.0)
    model = calibration.fit_memory(MemoryTimes(m[~out], alpha[~out], run[~out], time_s[~out])).model
    inside = []
    for rows in (~out, out):
        found = model.predict(m[rows], alpha[rows], run[rows], level=LEVEL)
        inside.append((found.low_s * (1 - 1e-9) <= time_s[rows]) & (time_s[rows] <= found.high_s * (1 + 1e-9)))
    return inside


KINDS = {"speed": one_speed, "network": one_network, "memory": one_memory}


def judged(kind, tables, seed=0):
    """(case, noise) -> flags of the rows given and of those held out, of all tables."""
    found = defaultdict(lambda: ([], []))
    for number in range(tables):
        draws = np.random.default_rng((seed, number))
        case, noise = CASES[number % 4], NOISES[number // 4 % 4]
        for kept, flags in zip(found[case, noise], KINDS[kind](draws, case, noise), strict=True):
            kept.extend(flags.tolist())
    return found


def shares(found, wanted=None):
    """Of the rows given and of those held out, of all cases or of one case or noise."""
    kept = [both for key, both in found.items() if wanted is None or wanted in key]
    return [np.mean([flag for both in kept for flag in both[which]]) for which in (0, 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for kind in asked.kind or KINDS:
        found = judged(kind, asked.tables, asked.seed)
        print(f"{kind}: given {shares(found)[0]:.1%}, held out {shares(found)[1]:.1%}")
        for one in (*CASES, *NOISES):
            given, out = shares(found, one)
            print(f"  {one!s:8} given {given:.1%}, held out {out:.1%}")


if __name__ == "__main__":
    main()

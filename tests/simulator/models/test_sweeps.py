"""Words that vector loops sweep: read, written, between sizes, on files, and really measured."""

import numpy as np
import pytest

from simulator import this_machine
from simulator.base.errors import ScenarioError
from simulator.calibration import make_sweep, measure_vectors
from simulator.calibration.kernels.apexmap import fill, sweepers
from simulator.models.memory.correction import fit_correction
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.levels import MemoryLevel, MemoryUse
from simulator.models.memory.model import FitStatistics, MemoryModel, Sweeps
from simulator.models.neighbours import Occupancy
from simulator.models.predicted_speed import KERNEL_USES, cache_uses, moved_s, predicted_speeds, unit_times_s
from simulator.models.speed import SpeedBand
from tests.support.yardstick import cpu_s, plain_loop

SWEEPS = Sweeps(np.array([1e3, 1e5]), np.array([1e-10, 4e-10]), np.array([2e-10, 2e-10]))
LEVELS = (MemoryLevel("L2", 8e4, 2e-9, 1e-9), MemoryLevel("RAM", np.inf, 6e-9, 3e-9))


def model(sweeps=SWEEPS, correction=None):
    trained = ((1e3, 1e6), (0.01, 1.0), (1.0, 4096.0))
    statistics = FitStatistics(40, 0.05, 0.2, None, None)
    return MemoryModel("model 3", LEVELS, correction, 0.05, ((0.5, 0.7), (0.9, 1.6)), trained, statistics, sweeps)


def corrected(factor):
    """Times that are all as many times the levels' own: the correction knows it near the points."""
    cells = np.meshgrid([1e3, 1e4, 1e5, 1e6], [0.25, 0.5, 1.0], [1.0, 16.0, 256.0])
    points = MemoryTimes(*(axis.reshape(-1) for axis in cells), np.ones(36))
    plain = model(None)
    modelled = plain.time_per_word_s(points.m_words, points.alpha, points.run_words)
    return fit_correction(MemoryTimes(points.m_words, points.alpha, points.run_words, factor * modelled), modelled)


def test_words_read_and_written_by_hand():
    """Triad has a word read for each operation and half a word written; between two sizes times go by logarithms."""
    triad, product = KERNEL_USES["triad"], KERNEL_USES["matmul"]
    assert (triad.read_per_unit, triad.written_per_unit, product.read_per_unit) == (1.0, 0.5, 0.5)
    found = SWEEPS.unit_s(triad, [[0.0, 8e3], [8e4, 8e9]])
    assert found.tolist() == [pytest.approx([2e-10, 2e-10]), pytest.approx([3e-10, 5e-10])]
    assert SWEEPS.unit_s(product, 3 * 8e4) == pytest.approx(1e-10)


def test_sweeps_that_make_no_sense():
    one, two = np.array([1.0]), np.array([1.0, 2.0])
    for columns in ((one, two, one), (two, two, -two), (two[::-1], two, two), (one[:0],) * 3):
        with pytest.raises(ValueError, match="sweeps"):
            Sweeps(*columns)
    with pytest.raises(ScenarioError, match=r"written_per_unit: 0.6 is not 0 up to half the 1 accesses_per_unit"):
        MemoryUse(1.0, 1.0, written_per_unit=0.6)


def test_what_a_model_knows_more():
    """Sweeps of what is swept only, a correction of everything, and neither: levels alone, to the bit."""
    swept, looked_up = KERNEL_USES["triad"], MemoryUse(1.0, 0.5)
    both = [(one.knows_more(swept), one.knows_more(looked_up)) for one in (model(None), model())]
    assert both == [(False, False), (True, False)]
    sizes = [1e3, 1e5, 1e7]
    by_levels = predicted_speeds(LEVELS, looked_up, sizes, flop_rate=1e9)
    assert predicted_speeds(LEVELS, looked_up, sizes, flop_rate=1e9, model=model()).tolist() == by_levels.tolist()


def test_a_correction_counts_in_predicted_speeds():
    """All words take 1.5 times what the levels say: so does what they add to the time known."""
    use, wise = MemoryUse(1.0, 0.5, 16.0), model(None, corrected(1.5))
    sizes = np.array([8e3, 8e5, 8e6])
    plain = 1e9 / predicted_speeds(LEVELS, use, sizes, flop_rate=1e8) - 10
    found = 1e9 / predicted_speeds(LEVELS, use, sizes, flop_rate=1e8, model=wise) - 10
    assert plain[1] > 0.3
    assert found.tolist() == pytest.approx((1.5 * plain).tolist(), rel=0.03, abs=0.02)


def test_computing_and_sweeping_overlap():
    """3, 4 and 5 are no triple of exponent 3: c^3 = 5^3 - 4^3; nearer than the time known nothing is faster."""
    times = unit_times_s([1.0, 2.0, 3.0], np.array([1.0, 4.0, 8.0]), at=1, known_s=5.0, exponent=3.0)
    assert times.tolist() == pytest.approx([5, 5, (5**3 - 4**3 + 8**3) ** (1 / 3)])
    known_short = unit_times_s([1.0, 2.0], np.array([4.0, 8.0]), at=0, known_s=3.0, exponent=3.0)
    assert known_short.tolist() == pytest.approx([3, 8])
    assert unit_times_s([1.0, 2.0], np.array([4.0, 8.0]), at=0, known_s=3.0, exponent=1.0).tolist() == [3, 7]


def test_what_a_model_says_moves_with_the_edges():
    use, sizes = KERNEL_USES["matmul"], np.array([2e4, 2e5, 2e6])
    wider = (MemoryLevel("L2", 16e4, 2e-9, 1e-9), LEVELS[1])
    slower = tuple(MemoryLevel(one.name, one.capacity_bytes, 2 * one.latency_s, 2 * one.gap_s) for one in LEVELS)
    here = model().unit_s(use, sizes)
    assert moved_s(LEVELS, LEVELS, use, sizes, model()).tolist() == pytest.approx(here.tolist())
    assert moved_s(LEVELS, wider, use, 2 * sizes, model()).tolist() == pytest.approx(here.tolist())
    assert moved_s(LEVELS, slower, use, sizes, model()).tolist() == pytest.approx((2 * here).tolist())


def test_what_a_kernel_takes_of_a_shared_cache():
    """A product waits 0.05 ns a unit for words near, 0.2 ns far: without the cache all of them are far."""
    shared = (MemoryLevel("L2", 8e4, 2e-9, 1e-9, shared=True), LEVELS[1])
    steps = Sweeps(np.array([1e3, 1e4, 10001.0, 1e6]), np.array([1, 1, 4, 4]) * 1e-10, np.full(4, 1e-10))
    use, computing = KERNEL_USES["matmul"], 2e-10
    near_s, far_s = ((computing**3 + word_s**3) ** (1 / 3) for word_s in (0.5e-10, 2e-10))
    band = SpeedBand(np.array([1e2, 3e4, 3.001e4, 1e6]), *(1 / np.array([near_s, near_s, far_s, far_s]),) * 3)
    found = cache_uses(band, use, measured=shared, changed=shared, model=model(steps))
    inside, outside = found.at("L2", 2e4), found.at("L2", 9e4)
    assert inside.demand == pytest.approx(8 * 2e4 / 3, rel=0.02)
    assert inside.sensitivity == pytest.approx(far_s / near_s - 1, rel=1e-3)
    assert outside.sensitivity == pytest.approx(0, abs=1e-9)
    assert found.at("RAM", 2e4).demand == 0
    # All of the cache kept: its lone speed; nothing of it: what words far away leave.
    law = Occupancy(8e4)
    kept = law.kept(inside, [0.0, 1e12])
    assert kept.tolist() == pytest.approx([1, near_s / far_s], rel=1e-3)
    private = cache_uses(band, use, measured=LEVELS, changed=LEVELS, model=model(steps))
    assert not private.demands


def test_the_loops_read_and_write_what_they_say():
    words, (read, scale) = np.empty(1001), sweepers()
    fill(words)
    total = float(words.sum())
    assert read(words, 3) == 3 * total
    first = words[:500].copy()
    scale(words, 2, 2.0)
    assert np.array_equal(words[500:1000], 2 * first)
    assert np.array_equal(words[:500], first)


@pytest.mark.real
def test_vector_loops_really_run_on_this_machine():
    machine = this_machine()
    plan = make_sweep(machine, max_memory="64KiB")
    found = measure_vectors(plan, machine, budget_s=5.0)
    assert found.m_words.tolist() == [1024, 1536, 2048, 3072, 4096, 6144, 8192]
    assert found.read_s.min() > 0
    assert found.read_s.max() < cpu_s(plain_loop) / 500_000  # vector loops beside multiplications of the interpreter

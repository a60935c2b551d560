"""Models do not contradict the rows that they were made of: order, repetition, scale and further exact rows.

How often rows given and rows held out lie in stated intervals: `tests/studies/tables_study.py`.
"""

import numpy as np
import pytest

from simulator.base.tables import parse_table
from simulator.calibration import fit_speed
from simulator.calibration.bands import CutRule
from simulator.calibration.bands.source import recorded_sizes
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.selection import select_model
from simulator.models.network import fit_network, make_points

SIZES = 2.0 ** np.arange(14, 25)


def cliff(sizes):
    """A speed that falls to a fifth within a quarter of an octave."""
    return 2e9 * (sizes / 2**14) ** -0.05 / (1 + 4 / (1 + (2.0**20.5 / sizes) ** 16))


def speed_table(sizes, speeds):
    rows = "\n".join(f"{size!r},{2 * size!r},{2 * size / speed!r}" for size, speed in zip(sizes, speeds, strict=True))
    return recorded_sizes(parse_table(f"size_elements,volume,cpu_s\n{rows}\n", place="sizes.csv"))


def speed_model(sizes, speeds):
    return fit_speed(speed_table(sizes.tolist(), speeds.tolist()), rule=CutRule(band=0.05))


def test_every_row_of_a_table_of_speeds_is_used_and_lies_in_the_band():
    built = speed_model(SIZES, cliff(SIZES))
    assert built.band.speed(SIZES) == pytest.approx(cliff(SIZES), rel=1e-12)
    assert not any("nothing was measured" in line or "left out" in line for line in built.warnings)


def test_speeds_do_not_hang_on_the_order_of_rows_nor_on_one_that_is_there_twice():
    known, at = speed_model(SIZES, cliff(SIZES)).band, np.geomspace(SIZES[0], SIZES[-1], 97)
    mixed = np.random.default_rng(1).permutation(SIZES)
    assert np.array_equal(speed_model(mixed, cliff(mixed)).band.speed(at), known.speed(at))
    twice = np.append(SIZES, SIZES[4])
    assert speed_model(twice, cliff(twice)).band.speed(at) == pytest.approx(known.speed(at), rel=1e-12)


def test_speeds_scale_with_the_times():
    one, three = (speed_model(SIZES, factor * cliff(SIZES)).band for factor in (1, 3))
    for curve in ("low", "mid", "high"):
        assert getattr(three, curve) == pytest.approx(3 * getattr(one, curve), rel=1e-9)


def test_more_exact_rows_make_speeds_no_worse():
    at, most = np.geomspace(SIZES[0], SIZES[-1], 400), np.inf
    for parts in (1, 2, 4, 8):
        sizes = 2.0 ** np.linspace(14, 24, 10 * parts + 1)
        error = np.abs(np.log(speed_model(sizes, cliff(sizes)).band.speed(at) / cliff(at))).mean()
        assert error < most
        most = error


CLIFF = """size_elements,volume,cpu_s
49152,4194304,0.001127
196608,33554432,0.011027
786432,268435456,0.117179
3145728,2147483648,0.974397
12582912,17179869184,35.426647
"""


def test_a_method_that_is_named_chooses_and_names_the_rows_that_it_contradicts():
    table = recorded_sizes(parse_table(CLIFF, place="cliff.csv"))
    chosen = fit_speed(table, method="adaptive", rule=CutRule(band=0.05))
    assert any("left out: 4 of 5 sizes of the table, 1 of them outside of the band" in line for line in chosen.warnings)
    assert fit_speed(table, rule=CutRule(band=0.05)).band.speed(12582912) == pytest.approx(4.85e8, rel=1e-3)


BYTES, SWITCH = 2.0 ** np.arange(18), 2.0**17


def falling(sizes, factor=0.3):
    """One line of message times, and `factor` of it where MPI changes its protocol."""
    return (2e-6 + 3.6e-10 * sizes) * np.where(sizes > SWITCH, factor, 1)


def network_fit(sizes, times):
    return fit_network(make_points(sizes, np.ones_like(sizes), times))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_a_last_row_that_falls_is_an_outlier_or_a_new_protocol_and_the_interval_holds_both(level):
    sizes = np.append(BYTES, 2 * SWITCH)
    found = network_fit(sizes, falling(sizes)).model.predict(2 * SWITCH, level=level)
    line = 2e-6 + 3.6e-10 * 2 * SWITCH
    assert found.low_s <= 0.3 * line * (1 + 1e-9)
    assert found.high_s >= line * (1 - 1e-3)


@pytest.mark.parametrize("factor", [0.3, 0.6, 1.8])
def test_more_exact_rows_after_a_switch_of_protocol_make_no_fit_worse(factor):
    off = []
    for more in (1, 3, 4, 5, 6):
        sizes = np.append(BYTES, 2 * SWITCH * 2.0 ** np.arange(more))
        times = falling(sizes, factor)
        found = network_fit(sizes, times).model.predict(sizes, level=0.9)
        assert np.all((found.low_s <= times * (1 + 1e-9)) & (times <= found.high_s * (1 + 1e-9)))
        off.append(np.abs(found.mean_s / times - 1).max())
    assert max(off[1:]) < 0.01


def test_message_times_do_not_hang_on_order_repetition_and_scale():
    sizes = np.append(BYTES, 2 * SWITCH * 2.0 ** np.arange(4))
    known, mixed = network_fit(sizes, falling(sizes)).model, np.random.default_rng(1).permutation(sizes)
    for model, factor in (
        (network_fit(mixed, falling(mixed)).model, 1),
        (network_fit(np.append(sizes, sizes[5]), falling(np.append(sizes, sizes[5]))).model, 1),
        (network_fit(sizes, 7 * falling(sizes)).model, 7),
    ):
        assert model.name == known.name
        assert model.time_s(sizes) == pytest.approx(factor * known.time_s(sizes), rel=1e-6)


def memory_times(sizes, scale=1.0):
    """Cells of two levels, as they are."""
    m, alpha, run = (a.reshape(-1) for a in np.meshgrid(sizes, [0.1, 1.0], [1.0, 16.0, 256.0], indexing="ij"))
    inside = np.minimum(1, 4096 / m) ** alpha
    word = (1 + 0.5 * (run - 1)) / run
    return MemoryTimes(m, alpha, run, scale * 1e-9 * (inside + 8 * (1 - inside)) * word)


def test_memory_times_do_not_hang_on_order_repetition_and_scale_and_no_exact_row_makes_them_worse():
    times = memory_times(2.0 ** np.arange(9, 22, 2))
    known, at = select_model(times).model, (times.m_words, times.alpha, times.run_words)
    mixed = np.random.default_rng(1).permutation(len(times))
    more = memory_times(2.0 ** np.arange(9, 22))
    assert known.predict(*at).mean_s == pytest.approx(times.time_s, rel=1e-3)
    for changed, factor in (
        (times.take(mixed), 1),
        (times.take(np.append(mixed, mixed[3])), 1),
        (memory_times(2.0 ** np.arange(9, 22, 2), scale=7), 7),
        (more, 1),
    ):
        assert select_model(changed).model.predict(*at).mean_s == pytest.approx(factor * times.time_s, rel=1e-3)

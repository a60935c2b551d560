"""Models do not contradict the rows that they were made of: order, repetition, scale and further exact rows.

How often rows given and rows held out lie in stated intervals: `tests/studies/tables_study.py`.
"""

import numpy as np
import pytest

from simulator.base.tables import parse_table
from simulator.calibration import fit_speed
from simulator.calibration.bands import CutRule
from simulator.calibration.bands.source import recorded_sizes

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

"""Panels of so many columns: sizes that hardly differ, speeds that do; every halving of the rows is measured."""

from dataclasses import dataclass

import pytest

from simulator.calibration.bands import CutRule, Measurement, build

COLUMNS = 2048


def size_of(rows):
    return COLUMNS * COLUMNS + 2.0 * rows * COLUMNS


@dataclass(frozen=True)
class Panels:
    """Few rows are slow, as of a real matrix product; the size of 32 rows is two thirds of that of 1,024."""

    smallest: float = size_of(32)
    largest: float = size_of(COLUMNS)
    largest_is_memory_limit: bool = False
    panel_sizes: tuple[float, ...] = tuple(size_of(COLUMNS >> times) for times in range(7))

    def cost_s(self, times_s):
        return times_s

    def measure(self, size):
        rows = (size - COLUMNS**2) / 2 / COLUMNS
        time_s = rows * 1e-3 + 0.02
        return Measurement.of_times(size, rows, (time_s,), (time_s,), time_s)


def test_each_halving_of_the_rows_is_measured():
    built = build(Panels(), rule=CutRule(band=0.05))
    assert built.method == "panels"
    few, *others = sorted(Panels().panel_sizes)
    assert [point.size for point in built.points] == [few, *reversed(others)]
    assert built.band.cut(size_of(32)).mid == pytest.approx(32 / 0.052)
    assert built.band.cut(size_of(1024)).mid == pytest.approx(1024 / 1.044)


def test_a_budget_keeps_the_panels_that_take_longest():
    built = build(Panels(), rule=CutRule(band=0.05), budget_s=3.3)
    assert built.points[1].size == size_of(COLUMNS)
    assert 2 <= len(built.points) < 7
    assert any("budget" in line for line in built.incomplete)

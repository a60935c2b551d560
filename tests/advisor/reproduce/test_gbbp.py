"""Table 1 on recorded speeds, its scores and figures, and the load-function study on the shipped trace."""

import numpy as np
import pytest

from advisor.reproduce.gbbp import HISTORIES, SHIPPED, reproduce, score, study
from simulator import files, read_trace
from simulator.calibration.bands import CutRule, ReplaySource, build


@pytest.mark.slow
def test_the_shipped_recording_answers_the_papers_question():
    trace = read_trace(files.shipped("traces", SHIPPED))
    first, *_ = study(trace)
    rows = first.rows
    assert trace.end_s > 3600
    assert [row.history for row in rows] == list(HISTORIES)
    assert all(0 <= row.hit_ratio <= 1 and row.area_s > 0 for row in rows)
    assert rows[-1].hit_ratio > rows[0].hit_ratio
    assert rows[-1].area_s > rows[0].area_s


@pytest.mark.slow
def test_table_1_on_recorded_speeds_meets_the_aims():
    kernels = reproduce().table_1
    assert set(kernels) == {"naive_matmul", "dgemm", "cholesky"}
    for methods in kernels.values():
        assert methods["grid"].points == 20
        assert methods["adaptive"].speedup_over_grid >= 15
        assert methods["adaptive"].mean_error_percent <= 5
        assert methods["adaptive"].max_error_percent <= 15


def recorded():
    sizes = np.geomspace(3e3, 1e7, 40)
    volumes = 2 * (sizes / 3) ** 1.5
    times = volumes / (4e9 / (1 + (sizes / 3e5) ** 0.4))
    return ReplaySource(sizes, volumes, times, times)


def test_scores_compare_with_the_truth_given():
    source = recorded()
    built = {method: build(source, method=method, rule=CutRule(band=0.05)) for method in ("grid", "gbbp", "adaptive")}
    sizes = np.array([1e5, 1e6])
    rows = score(built, sizes, np.array([1.25, 1.0]) * built["grid"].band.speed(sizes))
    assert rows["grid"].speedup_over_grid == 1
    assert rows["grid"].mean_error_percent == pytest.approx(10)
    assert rows["grid"].max_error_percent == pytest.approx(20)
    assert rows["grid"].max_error_at_elements == 1e5
    assert rows["grid"].inside_band_percent == 50
    paid = built["grid"].experimental_s / built["adaptive"].experimental_s
    assert rows["adaptive"].speedup_over_grid == pytest.approx(paid)

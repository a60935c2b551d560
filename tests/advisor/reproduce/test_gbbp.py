import pytest

from advisor.reproduce.gbbp import HISTORIES, held_out, reproduce, study_shipped_trace, text
from simulator import files
from simulator.calibration.bands import METHODS, build, read_recorded_sizes


@pytest.mark.slow
def test_the_shipped_recording_answers_the_papers_question():
    found = study_shipped_trace()
    rows = found["studies"][0]["rows"]
    assert found["duration_s"] > 3600
    assert [row["history"] for row in rows] == list(HISTORIES)
    assert all(0 <= row["hit_ratio"] <= 1 and row["area_s"] > 0 for row in rows)
    assert rows[-1]["hit_ratio"] > rows[0]["hit_ratio"]
    assert rows[-1]["area_s"] > rows[0]["area_s"]


@pytest.mark.slow
def test_the_text_has_a_line_per_history():
    lines = text(reproduce()).splitlines()
    assert sum("%" in line for line in lines) >= len(HISTORIES)


@pytest.mark.slow
def test_table_1_on_recorded_speeds_meets_the_aims():
    kernels = reproduce()["table_1"]["kernels"]
    assert set(kernels) == {"naive_matmul", "dgemm", "cholesky"}
    for methods in kernels.values():
        assert methods["grid"]["points"] == 20
        assert methods["adaptive"]["speedup_over_grid"] >= 15
        assert methods["adaptive"]["mean_error_percent"] <= 5
        assert methods["adaptive"]["max_error_percent"] <= 15


def test_the_held_out_sweep_is_no_builders():
    source = read_recorded_sizes(files.shipped("scenarios", "papers/gbbp_dgemm.csv"))
    sizes = held_out(source)
    assert sizes.size >= 30
    seen = {point.size for method in METHODS for point in build(source, method=method).points}
    assert not seen & set(sizes.tolist())

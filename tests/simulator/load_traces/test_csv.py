import numpy as np
import pytest

from simulator import read_trace
from simulator.base.errors import ScenarioError, TraceError
from simulator.load_traces import trace_text
from tests.support.platforms import trace


def test_round_trip(tmp_path):
    made = trace([0, 0.1, 0.2], [1, 1 / 3, 2], 0.3)
    path = tmp_path / "t.csv"
    path.write_text(trace_text(made, comment="two\nlines"))
    again = read_trace(path)
    assert np.array_equal(again.times_s, made.times_s)
    assert np.array_equal(again.values, made.values)
    assert again.end_s == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,load\n0,1\n1,1\n", "header: 'time,load' found"),
        ("", "header: '' found"),
        ("time_s,load\n0,1\n", "rows: 1 found, at least 2"),
        ("time_s,load\n0,1\n1,x\n", r"t.csv:3: load: 'x' found"),
        ("time_s,load\n0,1\n1,-1\n", r"t.csv:3: load: '-1' found"),
        ("time_s,load\n0,1\n# c\n1,nan\n", r"t.csv:4: load: 'nan' found"),
        ("time_s,load\n0,1\n0,1\n", r"t.csv:3: time_s: 0 found, more than the line before"),
        ("time_s,load\n0,1\n1,1,1\n", r"t.csv:3: 3 columns found"),
    ],
)
def test_bad_traces_name_file_line_and_field(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=message):
        read_trace(path)


def test_a_missing_trace(tmp_path):
    with pytest.raises(ScenarioError, match="no such file"):
        read_trace(tmp_path / "none.csv")

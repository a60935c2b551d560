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
        (
            "time,load\n0,1\n1,1\n",
            (
                "1: the header is 'time,load'; give 'time_s,load' or "
                "'time_s,available', with further columns of other names"
            ),
        ),
        ("", "there is no header; begin with 'time_s,load' or 'time_s,available'"),
        ("time_s,load\n0,1\n", "the number of rows is 1; give at least 2"),
        ("time_s,load\n0,1\n1,x\n", "3: load is 'x'; give a finite number of at least 0"),
        ("time_s,load\n0,1\n1,-1\n", r"3: load is '\-1'; give a finite number of at least 0"),
        ("time_s,load\n0,1\n# c\n1,nan\n", "4: load is 'nan'; give a finite number of at least 0"),
        ("time_s,load\n0,1\n0,1\n", r"3: time_s is 0; give more than the line before \(0\)"),
        ("time_s,load\n0,1\n1,1,1\n", "3: the line has 3 columns; give 2 as in the header"),
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

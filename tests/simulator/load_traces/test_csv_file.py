"""Trace files: several columns, torn lines, gaps, faults."""

import warnings

import pytest

from simulator.base.errors import ScenarioError, TraceError
from simulator.load_traces import TraceWarning, read_table, read_trace, trace_column
from simulator.load_traces.recording import TITLE


def written(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    return path


def test_the_column_is_the_known_one_or_the_one_asked_for(tmp_path):
    path = written(tmp_path, "time_s,load,busy_cpu0\n0,1,0.5\n1,2,0.25\n")
    assert read_trace(path).values.tolist() == [1.0, 2.0]
    assert read_trace(path, column="busy_cpu0").values.tolist() == [0.5, 0.25]
    assert trace_column(path) == "load"
    with pytest.raises(TraceError, match=r"t.csv: column: 'cpu9' found, one of load, busy_cpu0 allowed"):
        read_trace(path, column="cpu9")
    both = written(tmp_path, "time_s,load,available\n0,1,0.5\n1,2,0.25\n")
    with pytest.raises(TraceError, match="column: no choice found, one of load, available allowed"):
        read_trace(both)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s,load\n1,1\n0,1\n", r"t.csv:3: time_s: 0 found, more than the line before \(1\) allowed"),
        ("time_s,busy\n0,1\n1,1\n", r"t.csv:1: header: 'time_s,busy' found"),
        ("time_s,load,load\n0,1,1\n1,1,1\n", r"t.csv:1: header"),
        ("# only a comment\n", "header: '' found"),
        ("time_s,load\ninf,1\n1,1\n", r"t.csv:2: time_s: 'inf' found, a finite number allowed"),
        ("time_s,load\n0,-0.5\n1,1\n", r"t.csv:2: load: '-0.5' found, a finite number of at least 0 allowed"),
    ],
)
def test_faults_name_file_line_and_field(tmp_path, text, message):
    with pytest.raises(TraceError, match=message):
        read_trace(written(tmp_path, text))


def test_a_torn_last_line_is_left_out_with_a_warning(tmp_path):
    path = written(tmp_path, "time_s,load\n0,1\n1,2\n2,")
    with pytest.warns(TraceWarning, match=r"t.csv:4: a torn last line left out"):
        assert read_trace(path).values.tolist() == [1.0, 2.0]


def test_a_last_line_without_an_end_is_kept_if_it_is_whole_but_never_in_a_recording(tmp_path):
    assert read_trace(written(tmp_path, "time_s,load\n0,1\n1,2\n2,0.5")).values.tolist() == [1.0, 2.0, 0.5]
    recorded = written(tmp_path, f"{TITLE}\ntime_s,load\n0,1\n1,2\n2,0.5")
    with pytest.warns(TraceWarning, match="torn last line"):
        assert read_trace(recorded).values.tolist() == [1.0, 2.0]


def test_a_fault_that_is_not_the_last_line_is_no_tear(tmp_path):
    with pytest.raises(TraceError, match=r"t.csv:3: 1 columns found"):
        read_trace(written(tmp_path, "time_s,load\n0,1\n1\n2,1"))


def test_a_gap_in_a_regular_trace_is_warned_of(tmp_path):
    rows = "".join(f"{time},1\n" for time in [*range(20), *range(500, 520)])
    with pytest.warns(TraceWarning, match=r"t.csv:22: time_s: 1 gaps found, the longest 481 s"):
        table = read_table(written(tmp_path, "time_s,load\n" + rows))
    assert table.times_s[20] == 500.0


def test_an_irregular_trace_is_no_trace_with_gaps(tmp_path):
    rows = "".join(f"{time},1\n" for time in (0, 1, 3, 3.5, 100, 101.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_trace(written(tmp_path, "time_s,load\n" + rows)).end_s == 102.5


def test_a_file_too_large_is_refused_with_its_size(tmp_path):
    path = written(tmp_path, "time_s,load\n")
    with path.open("r+b") as stream:
        stream.truncate(2**30)
    with pytest.raises(ScenarioError, match=r"t.csv: a file of 1073741824 bytes found, at most 67108864 bytes allowed"):
        read_trace(path)

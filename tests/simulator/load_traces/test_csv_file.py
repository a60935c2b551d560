"""Trace files: several columns, torn lines, gaps, faults."""

import dataclasses
import datetime
import warnings

import numpy as np
import pytest

from simulator.base.errors import ScenarioError, TraceError
from simulator.load_traces import TraceWarning, read_table, read_trace, trace_column, trace_text
from simulator.load_traces.csv_file import RecordingHead
from simulator.models.load import LoadTrace


def written(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    return path


def test_the_column_is_the_known_one_or_the_one_asked_for(tmp_path):
    path = written(tmp_path, "time_s,load,busy_cpu0\n0,1,0.5\n1,2,0.25\n")
    assert read_trace(path).values.tolist() == [1.0, 2.0]
    assert read_trace(path, column="busy_cpu0").values.tolist() == [0.5, 0.25]
    assert trace_column(path) == "load"
    with pytest.raises(TraceError, match="there is no column 'cpu9'; name one of load, busy_cpu0"):
        read_trace(path, column="cpu9")
    both = written(tmp_path, "time_s,load,available\n0,1,0.5\n1,2,0.25\n")
    with pytest.raises(TraceError, match="the column is not stated; name one of load, available"):
        read_trace(both)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s,load\n0,1\n", "the number of rows is 1; give at least 2"),
        ("time_s,load\n0,1\n# c\n1,nan\n", "4: load is 'nan'; give a finite number of at least 0"),
        ("time_s,load\n1,1\n0,1\n", r"3: time_s is 0; give more than the line before \(1\)"),
        (
            "time_s,busy\n0,1\n1,1\n",
            (
                "1: the header is 'time_s,busy'; give 'time_s,load' or "
                "'time_s,available', with further columns of other names"
            ),
        ),
        ("# only a comment\n", "there is no header; begin with 'time_s,load' or 'time_s,available'"),
        ("time_s,load\ninf,1\n1,1\n", "2: time_s is 'inf'; give a finite number"),
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
    head = RecordingHead("2026-11-21T07:00:00+00:00", 1.0, {}, {"time_s": "start", "load": "mean"}).text()
    recorded = written(tmp_path, f"{head}0,1\n1,2\n2,0.5")
    with pytest.warns(TraceWarning, match="torn last line"):
        assert read_trace(recorded).values.tolist() == [1.0, 2.0]


def test_a_fault_that_is_not_the_last_line_is_no_tear(tmp_path):
    with pytest.raises(TraceError, match="3: the line has 1 columns; give 2 as in the header"):
        read_trace(written(tmp_path, "time_s,load\n0,1\n1\n2,1"))


def test_a_gap_in_a_regular_trace_is_warned_of(tmp_path):
    rows = "".join(f"{time},1\n" for time in [*range(20), *range(500, 520)])
    with pytest.warns(TraceWarning, match=r"t.csv:22: time_s has a gap, the longest 481 s"):
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
    with pytest.raises(ScenarioError, match="the file has 1073741824 bytes and at most 67108864 are read; name a"):
        read_trace(path)


UNEQUAL = "time_s,load\n0,0\n46800,8\n64800,0\n"
"""A day: free up to 13:00, busy up to 18:00, free again."""


def test_a_day_of_unequal_steps_lasts_a_day_if_it_says_so(tmp_path):
    day = read_trace(written(tmp_path, f"# end: 86400\n{UNEQUAL}"))
    assert (day.end_s, day.end_assumed) == (86_400, False)
    assert day.mean() == 8 * 5 / 24
    later = read_trace(written(tmp_path, "time_s,load\n100,0\n200,8\n# end: 700\n"))
    assert (later.times_s.tolist(), later.end_s) == ([0, 100], 600)


def test_an_end_that_nothing_says_is_known_to_be_assumed(tmp_path):
    assumed = read_trace(written(tmp_path, UNEQUAL))
    assert (assumed.end_s, assumed.end_assumed) == (82_800, True)
    for rows in ("0,1\n1,2\n", "0,1\n1,2\n2,0\n", "".join(f"{t * 15 + t % 2 * 0.01},1\n" for t in range(30))):
        assert not read_trace(written(tmp_path, f"time_s,load\n{rows}")).end_assumed


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        (
            "# end: 64800",
            r"t.csv:1: end: '64800' is not a time after that of the last row \(64800\); write its seconds",
        ),
        ("# end: 86400\n# end: 90000", "t.csv:2: end is said in line 1 too; leave one of them out"),
        ("# start: Monday", "t.csv:1: start: 'Monday' is no date and time with a zone"),
    ],
)
def test_what_a_comment_says_of_start_and_end_must_make_sense(tmp_path, comment, message):
    with pytest.raises((TraceError, ScenarioError), match=message):
        read_trace(written(tmp_path, f"{comment}\n{UNEQUAL}"))


def test_a_trace_says_when_it_began(tmp_path):
    """The instant of `time_s` 0, which need not be that of the first row."""
    found = read_trace(written(tmp_path, "# start: 2026-11-21T08:00+01:00\ntime_s,load\n600,0\n1200,1\n"))
    assert found.start_instant.isoformat() == "2026-11-21T08:10:00+01:00"
    assert found.offset_s(datetime.time(8, 15)) == 300


def test_the_last_row_of_a_recording_holds_for_its_interval_also_after_a_gap(tmp_path):
    head = RecordingHead("2026-11-21T07:00:00+00:00", 1.0, {}, {"time_s": "start", "load": "mean"}).text()
    recording = read_trace(written(tmp_path, f"{head}0,1\n1,2\n5,1\n"))
    assert (recording.end_s, recording.end_assumed) == (6, False)
    assert recording.offset_s(datetime.time(8, 0, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))) == 2


def test_a_trace_that_is_written_is_read_back_with_its_start_and_end(tmp_path):
    day = LoadTrace(np.array([0, 46_800, 64_800]), np.array([0, 8, 0]), 86_400)
    begun = dataclasses.replace(day, start_instant=datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC))
    found = read_trace(written(tmp_path, trace_text(begun, comment="mine")))
    assert (found.end_s, found.end_assumed, found.start_instant) == (86_400, False, begun.start_instant)
    regular = LoadTrace(np.arange(3.0), np.ones(3), 3.0)
    assert "end" not in trace_text(regular)

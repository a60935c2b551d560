"""Logs in the Standard Workload Format: what is read, beside a reader of three lines."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import ScenarioError
from simulator.programs.streams import swf
from simulator.programs.streams.swf import read_swf

HEAD = """; Version: 2.2
; Computer: IBM SP2
; UnixStartTime: 893466664
; MaxNodes: 64
; MaxProcs:  128
; Note: THIS IS A CLEANED VERSION OF THE LOG!
;       submit<=2006-12-18 00:00:00 (1434 jobs removed)
; Queue:  0  interactive
; Queue:  2  high priority
; Partition: 1: batch
;
"""
LINES = (
    "    1   0.0  -1  10 4 -1 -1 4 20 -1 1 3 1 -1 0 1 -1 -1",
    "\t2 5 0.5 7.25 2 6.5 -1 2 20 512 0 4 1 7 2 1 -1 -1  ",
)


def plain(text):
    """The oracle."""
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.strip().startswith(";")]
    return np.array(rows, dtype=float).reshape(-1, 18)


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_fields_header_and_names(tmp_path):
    found = read_swf(write(tmp_path / "a.swf", HEAD + "\n".join(LINES)))
    np.testing.assert_array_equal(found.columns, plain("\n".join(LINES)))
    assert (found.ids.tolist(), found.lines.tolist()) == ([1, 2], [12, 13])
    assert (found.machine_processors, found.start_unix_s, found.name) == (128, 893466664.0, "a")
    assert found.names == {"queue": ("interactive", "", "high priority"), "partition": ("", "batch")}
    assert found.of("run time").tolist() == [10, 7.25]


def test_without_processors_the_header_s_nodes_count(tmp_path):
    text = HEAD.replace("; MaxProcs:  128\n", "") + LINES[0]
    assert read_swf(write(tmp_path / "a.swf", text)).machine_processors == 64
    assert read_swf(write(tmp_path / "a.swf", LINES[0])).machine_processors is None


def test_further_fields_that_all_jobs_have_are_left_out_and_that_is_said(tmp_path):
    text = HEAD + "\n\n".join(LINES) + "\n"
    wide = text.replace(LINES[0], f"{LINES[0]} {{1,2}} q_1d").replace(LINES[1], f"{LINES[1]}{{3}}\tq_2d  ")
    found = read_swf(write(tmp_path / "wide.swf", wide))
    np.testing.assert_array_equal(found.columns, plain(text))
    assert found.lines.tolist() == [12, 14]
    assert "2 further fields of each job are not used; the format has 18" in found.notes
    with pytest.raises(ScenarioError, match="12: the line has 20 fields and a job has 18"):
        read_swf(write(tmp_path / "mixed.swf", text.replace(LINES[0], f"{LINES[0]} {{1,2}} q_1d")))


@pytest.mark.parametrize("name", ["a.swf.gz", "a.swf", "a"])
def test_packed_logs_are_known_by_their_content(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress((HEAD + LINES[0]).encode()))
    found = read_swf(path)
    assert found.columns.shape == (1, 18)
    assert found.name == "a"


NUMBERS = st.one_of(st.integers(-1, 10**9).map(str), st.floats(0, 1e6).map(repr), st.sampled_from(["-1", "1e3", "+5"]))
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def logs(draw):
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.integers(0, 5))
        if kind:
            whole = {0, 4, 7, 10, 11, 12, 13, 14, 15, 16}
            cells = [draw(st.integers(-1, 10**6).map(str) if at in whole else NUMBERS) for at in range(18)]
            lines.append(draw(BLANKS).join(["", *cells]) if draw(st.booleans()) else " ".join(cells))
        else:
            lines.append(draw(st.sampled_from(["", "; a comment ; with another", ";", "  ; Note: x", "\t"])))
    return "\n".join([*lines, " ".join(["1"] * 18)]) + draw(st.sampled_from(["", "\n", "\r\n"]))


@settings(max_examples=50, deadline=None)
@given(logs(), st.integers(60, 400))
def test_any_log_is_read_as_by_the_plain_reader_whatever_the_blocks(tmp_path_factory, text, size):
    path = write(tmp_path_factory.mktemp("log") / "a.swf", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf, "_BLOCK_BYTES", size * 8)  # more than the longest line
        found = read_swf(path)
    np.testing.assert_array_equal(found.columns, plain(text))
    places = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() and ";" not in line]
    assert found.lines.tolist() == places


def test_faults_and_headers_have_their_lines_whatever_the_blocks(tmp_path, monkeypatch):
    text = HEAD + f"{LINES[0]}\n" * 30 + "; MaxProcs: 12\n" + "1 2 3\n" + LINES[0].replace("10", "ten")
    monkeypatch.setattr(swf, "_BLOCK_BYTES", 200)
    with pytest.raises(ScenarioError) as told:
        read_swf(write(tmp_path / "a.swf", text))
    assert [line.split(":")[1] for line in told.value.lines] == ["42", "43", "44"]


def test_a_line_without_end_and_a_log_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(swf, "_BLOCK_BYTES", 1000)
    with pytest.raises(ScenarioError, match="a line has more than 1000 bytes"):
        read_swf(write(tmp_path / "a.swf", "1 " * 2000))
    monkeypatch.setattr(swf, "_MOST_BYTES", 5000)
    with pytest.raises(ScenarioError, match="has more than 0 GiB"):
        read_swf(write(tmp_path / "a.swf", f"{LINES[0]}\n" * 200))


DATA = Path(__file__).parents[5] / "shared" / "data" / "jobs" / "swf"


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.swf.gz", "SDSC-SP2-1998-4.2-cln.swf.gz"])
def test_logs_of_the_archive_as_by_the_plain_reader(name):
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not here")
    text = gzip.decompress((DATA / name).read_bytes()).decode("latin-1")
    np.testing.assert_array_equal(read_swf(DATA / name).columns, plain(text))

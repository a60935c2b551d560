"""Finished work in lines: appended in the same time whatever was kept, cut or damaged files gone on with."""

import json
import os
import random

import pytest

from simulator.base.errors import ScenarioError
from simulator.calibration.allocation.campaign import MadeRun, RunTable
from simulator.calibration.allocation.program import MeasuredTimes
from simulator.calibration.bench.journal import Journal, points_kept, read_entries
from simulator.calibration.bench.measurement import Measurement, PointStore
from simulator.calibration.bench.usage import Usage
from tests.support.stored_points import rewrite, stored

SUBJECT = {"what": "a test"}


def point(n, seconds=0.1):
    usage = Usage(seconds * n, seconds * n)
    return Measurement(float(n), 2.0 * n, (usage,), seconds * n, (1,), n=n, ended_by="time cap")


def points_at(path, subject=SUBJECT):
    return PointStore(path, subject=subject, machine=None)


def keep_points(path, count):
    store = points_at(path)
    for n in range(1, count + 1):
        store.keep(point(n))
    store.journal.sync()
    return store


def whole(path):
    """The store, and how many of its points are those that were kept."""
    store = points_at(path)
    assert all(store.points[n] == point(n) for n in store.points)
    return store, sorted(store.points)


class Counted:
    """A file that counts what is written to it."""

    def __init__(self, stream, written):
        self._stream, self._written = stream, written

    def write(self, text):
        self._written.append(len(text))
        return self._stream.write(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)


def test_a_point_costs_the_same_to_keep_whatever_was_kept_before(tmp_path, monkeypatch):
    synced, written = [], []
    monkeypatch.setattr(os, "fsync", synced.append)
    path = tmp_path / "p.json"
    store = keep_points(path, 1)
    store.journal._stream = Counted(store.journal._stream, written)
    synced.clear()
    for n in range(2, 1002):
        store.keep(point(n))
    assert len(written) == 1000
    assert max(written[-10:]) <= max(written[:10]) + 40  # longer numbers, no more
    assert len(synced) <= 100  # not one per point
    store.journal.sync()
    assert len(stored(path)["points"]) == points_kept(path) == 1001


def test_each_point_is_with_the_system_when_it_is_kept(tmp_path):
    store = points_at(tmp_path / "p.json")
    assert not (tmp_path / "p.json").exists()
    for n in range(1, 4):
        store.keep(point(n))
        assert points_kept(tmp_path / "p.json") == n


def test_a_file_cut_anywhere_goes_on_from_what_is_whole(tmp_path):
    keep_points(tmp_path / "p.json", 5)
    text = (tmp_path / "p.json").read_bytes()
    ends = [place for place, byte in enumerate(text) if byte == ord("\n")]
    for cut in sorted({*range(0, len(text), 11), *(end + beside for end in ends[:-1] for beside in (-1, 0, 1))}):
        path = tmp_path / "cut.json"
        path.write_bytes(text[:cut])
        store, found = whole(path)
        left = sum(end <= cut for end in ends[1:])  # a line is whole with or without its end
        assert found == list(range(1, left + 1))
        torn = cut > 0 and cut not in ends and cut - 1 not in ends
        assert bool(store.warnings) is torn, cut
        for n in range(left + 1, 6):
            store.keep(point(n))
        again, found = whole(path)
        assert found == [1, 2, 3, 4, 5]
        assert again.warnings == ()


@pytest.mark.parametrize("seed", range(20))
def test_garbage_at_the_end_and_within_leaves_the_whole_lines(tmp_path, seed):
    path, draw = tmp_path / "p.json", random.Random(seed)  # noqa: S311 - garbage, not secrets
    keep_points(path, 6)
    head, *lines = path.read_bytes().splitlines(keepends=True)
    garbage = draw.choice(
        [draw.randbytes(200), b"\0" * 4096, b'{"point": 3\n', b"[]\n", b'{"key": 9, "point": {"size": NaN}}\n', b"\n{"]
    )
    damaged = draw.randrange(6)
    lines[damaged] = lines[damaged][: draw.randrange(len(lines[damaged]) - 2)] + b"\xff\n"
    path.write_bytes(b"".join([head, *lines]) + garbage)
    store, found = whole(path)
    assert found == [n for n in range(1, 7) if n != damaged + 1]
    (line,) = store.warnings
    assert line.startswith(f"{path}: ")
    assert "going on from the 5 that are whole" in line
    store.keep(point(damaged + 1))
    assert whole(path)[1] == [1, 2, 3, 4, 5, 6]
    assert points_kept(path) == 6


def test_what_holds_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "p.json"
    keep_points(path, 2)
    with pytest.raises(ScenarioError, match="holds points of what a test; name a file of what another, or a new one"):
        points_at(path, {"what": "another"})
    assert points_kept(path) == 2
    for text in ("a,b\n1,2\n", "hello", '{"format": 1, "kind": "sweep"}\n', "[]\n"):
        path.write_text(text)
        with pytest.raises(ScenarioError, match="this file holds no points"):
            points_at(path)
        assert path.read_text() == text


def test_an_older_format_is_refused_by_name(tmp_path):
    """Format 1 was one document, written whole after each point."""
    path = tmp_path / "p.json"
    head = {"format": 1, "kind": "points", "subject": SUBJECT, "machine": None, "ends": None}
    path.write_text(f'{json.dumps(head)[:-1]}, "points": [\n\n], "open": [\n\n]}}\n')
    with pytest.raises(ScenarioError, match=r"p.json: format 1 of points is not read, but format 2; name a new file"):
        points_at(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"point": 3}', ("key: missing key; add it", "finished: missing key; add it", "point: 3 is no object")),
        ('{"ends": {"settings": {}, "found": 1}}', ("ends.found: 1 is no object",)),
        ('{"key": 9, "finished": true, "point": {"size": "9"}}', ("point.size: '9' is not a number",)),
    ],
)
def test_a_line_that_no_crash_tore_is_refused_with_its_keys(tmp_path, line, said):
    path = tmp_path / "p.json"
    keep_points(path, 2)
    with path.open("a") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(ScenarioError) as refused:
        points_at(path)
    for text in said:
        assert any(one.startswith(f"{path}:4: {text}") for one in refused.value.lines), refused.value.lines


def test_a_head_has_the_keys_that_it_needs(tmp_path):
    path = tmp_path / "p.json"
    keep_points(path, 1)
    rewrite(path, head=lambda head: head.update(nonesuch=1))
    with pytest.raises(ScenarioError, match=r"p.json:1: nonesuch: unknown key"):
        points_at(path)


def test_points_measured_anew_replace_those_before(tmp_path):
    store = keep_points(tmp_path / "p.json", 3)
    store.forget(2)
    longer = point(2, seconds=4.5)
    store.keep(longer)
    assert points_at(tmp_path / "p.json").points[2] == longer
    assert store.before == set()


def test_a_table_of_runs_follows_its_journal(tmp_path):
    def table():
        return RunTable(tmp_path / "runs.csv", ["slow"], phases=False, about={"of": "a test"})

    first = table()
    for size in (100.0, 200.0, 300.0):
        first.keep(MadeRun(size, ((1, 1),), 0.6, MeasuredTimes(0.5)))
    first.keep(MadeRun(400.0, ((1, 1),), 0.6, failed="no licence"))
    text = (tmp_path / "runs.csv").read_bytes()
    for left in (text, text[:-5], b""):  # a crash between the two writes
        (tmp_path / "runs.csv").write_bytes(left)
        with (tmp_path / "runs.log.jsonl").open("ab") as stream:
            stream.write(b"\0\0\n{")
        again = table()
        assert (tmp_path / "runs.csv").read_bytes() == text
        assert [size for size, *_ in again.done] == [100, 200, 300]
        assert again.spent_s == pytest.approx(2.4)
        assert any("runs.log.jsonl: " in line for line in again.warnings)
    again.keep(MadeRun(400.0, ((1, 1),), 0.6, MeasuredTimes(0.5)))
    assert [size for size, *_ in table().done] == [100, 200, 300, 400]
    with (tmp_path / "runs.csv").open("ab") as stream:
        stream.write(b"500,0.5,1,1\n")  # a row of a person is not written over
    with pytest.raises(ScenarioError, match=r"runs.csv holds other rows or columns than runs.log.jsonl has runs of"):
        table()


def test_a_full_disk_is_one_line(tmp_path):
    journal = Journal(tmp_path / "j", kind="k", version=1, what="lines", take=print, belongs={})
    journal.keep({"a": 1})

    class Full:
        def write(self, _text):
            raise OSError(28, "No space left on device")

    journal._stream = Full()
    with pytest.raises(Exception, match=r"j: no space left on device"):
        journal.keep({"a": 2})
    assert [entry.get("a") for entry in read_entries(tmp_path / "j")] == [None, 1]

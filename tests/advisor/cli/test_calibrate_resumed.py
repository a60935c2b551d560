"""`apportion calibrate speed` killed half-way by `kill -9` and started again by the same command."""

import json
import signal
import time
from collections import Counter

import pytest

from tests.support.command_line import started
from tests.support.stored_points import counted, disturbed, kept, leads

CALL = ("calibrate", "speed")


def end(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def end_half_way(process, path, count, by=signal.SIGKILL):
    """Send a signal as soon as so many points are on disk; what is there then."""
    limit = time.monotonic() + 60
    while len(kept(path)) < count and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.001)
    process.send_signal(by)
    told = process.communicate(timeout=60)
    assert process.returncode in {-signal.SIGKILL, 130}, told
    assert len(kept(path)) >= count
    return kept(path), told


def cpu_s_of(document, size):
    """The samples of a point, which may hold more than were kept: those that a busy machine disturbed are repeated."""
    (found,) = [point["cpu_s"] for point in document["points"] if point["size_elements"] == size]
    return found


def starts(tmp_path):
    return Counter(int(n) for n in (tmp_path / "log").read_text().split())


@pytest.mark.real
def test_a_killed_command_measures_no_finished_point_twice(tmp_path):
    arguments = (*counted(tmp_path), "--method", "grid", "--json", "-o", "m.json")
    first = started(*CALL, *arguments, cwd=tmp_path)
    while not (found := sorted(tmp_path.glob("*.partial"))) and first.poll() is None:
        time.sleep(0.001)
    before, _ = end_half_way(first, found[0], 3)
    assert found[0].name == "m.json.partial"
    (tmp_path / "log").write_text("")
    done = json.loads(end(started(*CALL, *arguments, cwd=tmp_path)))
    finished = {point["n"] for point in before}
    sizes = [point["size_elements"] for point in done["points"]]
    assert 3 <= len(finished) < len(sizes) == 20
    assert set(starts(tmp_path)) - disturbed(before) == set(sizes) - finished
    assert done["provenance"]["points_reused"] == len(finished)
    assert all(leads(point["samples"], cpu_s_of(done, point["n"])) for point in before)
    assert not list(tmp_path.glob("*.partial"))  # done: the next call measures again


@pytest.mark.real
def test_ctrl_c_says_where_the_points_are(tmp_path):
    arguments = (*counted(tmp_path), "--method", "grid", "-o", "m.json")
    before, told = end_half_way(
        started(*CALL, *arguments, cwd=tmp_path), tmp_path / "m.json.partial", 2, by=signal.SIGINT
    )
    kept_there = f"{len(before)} points are kept in m.json.partial; the same command goes on from there"
    assert told[1] == f"error: interrupted; {kept_there}\n"
    out = end(started(*CALL, *arguments, cwd=tmp_path))
    assert "of them were finished before and not measured again (m.json.partial)" in out

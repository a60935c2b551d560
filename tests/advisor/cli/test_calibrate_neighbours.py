"""`apportion calibrate neighbours`: tables, models shown and asked, real runs killed and gone on with, refusals."""

import json
import os
import signal
import time

import psutil
import pytest

from tests.support.command_line import apportion, apportion_here, check_refused, started
from tests.support.made_up_machine import ratio, visits

WORKER = "simulator.calibration.bench.worker"
TWO = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core only may be used here")


def test_a_table_becomes_a_model_that_is_shown_and_asked(tmp_path):
    (tmp_path / "visits.csv").write_text(visits())
    call = ("calibrate", "neighbours", "--replay", "visits.csv", "--cache", "L3=32MB")
    done = apportion_here(*call, "-o", "m.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "L3 (cache): level L3, capacity 32 MB",
        "memory (memory): capacity ",
        "clock (clock): shares [1.0",
    ):
        assert line in done.stdout
    assert "no interaction" in done.stdout
    shown = apportion_here("show", "m.json", cwd=tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[0] == "m.json: what computations on 4 PEs lose to each other"
    document = json.loads(apportion_here("show", "m.json", "--json", cwd=tmp_path).stdout)
    assert document["kind"] == "neighbours"
    (tmp_path / "at.csv").write_text("subject,size_elements,beside\nmatmul,4e6,own:4e6 sort:4e6\nmatmul,4e7,sort:4e6\n")
    asked = apportion_here("predict", "m.json", "--at", "at.csv", "--json", cwd=tmp_path)
    first, second = json.loads(asked.stdout)["predictions"]
    assert first["ratio"] == pytest.approx(ratio(("matmul", 4e6), (("own", 4e6), ("sort", 4e6))), rel=0.05)
    assert (first["outside_sizes"], second["outside_sizes"]) == (False, True)
    lines = apportion_here("predict", "m.json", "--at", "at.csv", "--full", cwd=tmp_path).stdout.splitlines()
    assert any(line.split()[:1] == ["matmul:4e+07"] and "sort:4e+06" in line for line in lines)
    assert "Warning   1 of 2 outside the sizes measured" in lines


@TWO
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--replay", "good.csv", "--cache", "L3"],
            "--cache is 'L3'; give NAME=SIZE, such as L3=32MiB",
        ),
        (["--command", "true {n}"], "1 --command, 0 --size and 0 --volume do not belong together"),
    ],
)
def test_bad_input_is_one_line(tmp_path, arguments, said):
    (tmp_path / "bad.csv").write_text("subject,size_elements,beside,lone_s,together_s\ntriad,1,triad,1,2\n")
    (tmp_path / "good.csv").write_text("subject,size_elements,beside,lone_s,together_s\ntriad,1,triad:1,1,2\n")
    check_refused(apportion_here("calibrate", "neighbours", *arguments, cwd=tmp_path), said)


def kept(store):
    return [line for line in store.read_text().splitlines() if '"visit"' in line] if store.exists() else []


@TWO
@pytest.mark.real
def test_killed_by_kill_9_it_goes_on(tmp_path):
    call = ("calibrate", "neighbours", "--budget", "30s", "--kernel", "dgemm", "-o", "m.json", "--table", "t.csv")
    first = started(*call, cwd=tmp_path)
    store, limit = tmp_path / "m.json.partial", time.monotonic() + 60
    while len(kept(store)) < 4 and first.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    workers = [child.pid for child in psutil.Process(first.pid).children() if WORKER in child.cmdline()]
    first.send_signal(signal.SIGKILL)
    first.communicate()
    before = kept(store)
    assert len(before) >= 4
    assert len(workers) >= 2
    while any(psutil.pid_exists(pid) for pid in workers) and time.monotonic() < limit:
        time.sleep(0.01)
    assert not any(psutil.pid_exists(pid) for pid in workers)
    done = apportion(*call, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["provenance"]["visits_reused"] == len(before)
    assert not store.exists()
    assert found["pe_count"] >= 2
    assert json.loads((tmp_path / "m.json").read_text())["pairs"] == found["pairs"]
    again = apportion("calibrate", "neighbours", "--replay", "t.csv", cwd=tmp_path)
    assert again.returncode == 0, again.stderr

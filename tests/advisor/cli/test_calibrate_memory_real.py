"""`apportion calibrate memory` and `reproduce apexmap` by real runs: killed, resumed, refused, and what they write."""

import json
import signal
import time

import psutil
import pytest

from tests.support.command_line import apportion, check_refused, started
from tests.support.processes import without_progress

SMALL = ("--max-memory", "32KiB")
READER = "apex"


def visits(path):
    return path.read_text().splitlines()[1:] if path.exists() else []


@pytest.mark.real
def test_a_sweep_killed_by_kill_9_goes_on_and_becomes_a_model(tmp_path):
    arguments = ("calibrate", "memory", *SMALL, "--budget", "60s", "-o", "m.json", "--table", "t.csv")
    first, store = started(*arguments, cwd=tmp_path), tmp_path / "m.json.partial"
    limit = time.monotonic() + 60
    while len(visits(store)) < 8 and first.poll() is None and time.monotonic() < limit:
        time.sleep(0.001)
    readers = [child.pid for child in psutil.Process(first.pid).children() if READER in child.cmdline()]
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    before = visits(store)
    assert len(before) >= 8
    assert readers
    while any(psutil.pid_exists(pid) for pid in readers) and time.monotonic() < limit:
        time.sleep(0.001)
    assert not any(psutil.pid_exists(pid) for pid in readers)
    done = apportion(*arguments, "--json", cwd=tmp_path)
    assert (done.returncode, without_progress(done.stderr)) == (0, [])
    found = json.loads(done.stdout)
    assert found["sweep"]["visits_reused"] == len(before) < found["sweep"]["visits"]
    assert not store.exists()
    assert next(model for model in found["models"] if model["name"] == found["chosen"])["held_out_mean"] > 0
    assert found["chosen"] in {model["name"] for model in found["models"] if model["physical"]}
    assert {one["name"] for one in found["comparison"]} >= {"memory"}
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 1 + len(found["cells"])
    kept = json.loads((tmp_path / "m.json").read_text())
    assert (kept["kind"], kept["models"]) == ("memory", found["models"])


@pytest.mark.real
def test_a_budget_too_small_is_refused_in_one_line(tmp_path):
    done = apportion("calibrate", "memory", *SMALL, "--budget", "1ms", cwd=tmp_path)
    check_refused(done, "--budget: 1 ms is too short; ")

"""`apportion calibrate speed` on kernels and options that do not work: which, in one line; what was measured stays."""

import json
import sys
import time

import pytest

from simulator import this_machine
from tests.support.command_line import apportion_here, check_refused
from tests.support.stored_points import stored

LEVEL = next((c.size_bytes for c in this_machine().caches if c.level == 1 and c.kind != "instruction"), 2**15)
"""The first-level data cache, of which the smallest size fills half: 32 KiB are usual, not the rule."""
FIRST = LEVEL // 2 // 8
QUICK = ("--time-cap", "0.1s")
SPIN = "import sys, time; t = time.process_time() + float(sys.argv[1]) * 2e-6\nwhile time.process_time() < t: pass\n"


def calibrate(*arguments, cwd):
    return apportion_here("calibrate", "speed", *arguments, cwd=cwd)


def command(tmp_path, code, *, size="n"):
    (tmp_path / "app.py").write_text(code)
    return ("--command", f"{sys.executable} -S app.py {{n}}", "--size", size, "--volume", "n", "--max-size", 20_000)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os; os.abort()", f"n = {FIRST}: ended by signal 6: no message; no points were finished"),
        ("while True: pass", f"n = {FIRST}: no end within 0.3 s"),
    ],
    ids=["crashes", "never ends, busy"],
)
def test_a_command_that_does_not_work(tmp_path, code, found):
    begin = time.monotonic()
    check_refused(calibrate(*command(tmp_path, code), *QUICK, "-o", "m.json", cwd=tmp_path), found, code=1)
    assert time.monotonic() - begin < 30  # far from the 60 s of the one that sleeps
    assert not (tmp_path / "m.json").exists()


@pytest.mark.real
def test_a_command_that_does_nothing_is_told(tmp_path):
    sizes = ("--size", "n", "--volume", "n", "--max-size", "1e6", "--method", "gbbp")
    done = calibrate("--command", "true {n}", *sizes, *QUICK, "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert any("it hardly grows" in line for line in json.loads(done.stdout)["warnings"])


@pytest.mark.real
def test_a_crash_half_way_keeps_what_was_measured(tmp_path):
    said = "f = open('log', 'a'); f.write(sys.argv[1] + '\\n'); f.close()"
    crash = f"import os, sys\n{said}\nif len(set(open('log'))) > 4: os.abort()\n"  # at the fifth size, on any machine
    arguments = (*command(tmp_path, crash + SPIN), "--method", "gbbp", "--time-cap", "0.3s", "-o", "m.json")
    done = calibrate(*arguments, cwd=tmp_path)
    check_refused(done, "points are kept in m.json.partial", code=1)
    kept = stored(tmp_path / "m.json.partial")["points"]
    assert len(kept) >= 2
    (tmp_path / "app.py").write_text(SPIN)  # mended
    done = calibrate(*arguments, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["provenance"]["points_reused"] == len(kept)


@pytest.mark.parametrize(
    ("size", "found"),
    [
        ("0*n + 7", "size is 7 for every n; give a size that grows with n"),
        ("__import__('os')", "size:"),
    ],
)
def test_a_size_that_does_not_grow(tmp_path, size, found):
    check_refused(calibrate(*command(tmp_path, SPIN, size=size), *QUICK, cwd=tmp_path), found)


@pytest.mark.real
def test_a_budget_is_kept_to(tmp_path):
    done = calibrate("--kernel", "dgemm", "--method", "gbbp", "--budget", "4s", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["ends_s"] > 0
    assert found["ends_s"] + found["experimental_s"] < 4 + 0.4 * 2  # its last point may take longer than predicted


@pytest.mark.real
def test_what_the_source_doubts_is_a_warning_of_the_model(tmp_path):
    arguments = ("--kernel", "triad", "--method", "gbbp", "--max-size", 6000, "--time-cap", "15ms", "-o", "m.json")
    done = calibrate(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    doubts = [line for line in json.loads((tmp_path / "m.json").read_text())["warnings"] if "unstable: " in line]
    assert doubts
    assert f"warning: {doubts[0]}" in done.stdout.splitlines()

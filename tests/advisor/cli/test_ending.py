"""How commands end: signals from the first import on, streams that are full, closed or gone, limits of the shell."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.support.command_line import APPORTION, ROOT, started

SCENARIO = ROOT / "scenarios" / "tutorial" / "three-pes.yaml"
QUICK = SCENARIO.with_name("first-run.yaml")
SIMULATE = ["simulate", SCENARIO, "--replications", "20000"]
WHATIF = ["whatif", SCENARIO, "--as-is", "--vary", "platform.link.bandwidth=x1,x2,x3", "--workers", "2"]
TRIAD = ["calibrate", "speed", "--kernel", "triad", "--max-size", "6000", "--time-cap", "0.1s"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


def ended(process, limit_s=120):
    out, err = process.communicate(timeout=limit_s)
    return process.returncode, out, err


def shell(line, *arguments, **options):
    """`apportion` with some arguments, where `$@` stands in a line of shell."""
    words = ["bash", "-c", line, "bash", *APPORTION, *map(str, arguments)]
    done = subprocess.run(words, env=ENVIRONMENT, cwd=ROOT, capture_output=True, check=False, timeout=300, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_what_nobody_foresaw_is_no_success():
    fails = "from advisor.cli import commands, main\ncommands.run = lambda _: 1 // 0\nmain()"
    done = subprocess.run([sys.executable, "-c", fails], env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"ZeroDivisionError" in done.stderr


# Signals


def caught(pid):
    """Whether a process has taken over SIGTERM."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    (mask,) = [line.split()[1] for line in lines if line.startswith("SigCgt:")]
    return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)


def signalled(seed, *arguments, longest_s):
    """Start a command and send it a signal, or two in a row, alone or to its group, at a moment drawn with a seed."""
    draw = np.random.default_rng(seed)
    by = signal.Signals(draw.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))
    process = started(*arguments, start_new_session=True)
    while not caught(process.pid) and process.poll() is None:
        time.sleep(0.001)
    time.sleep(draw.random() ** 2 * longest_s)
    sent = [by]
    if process.poll() is None:
        (os.killpg if draw.random() < 0.5 else os.kill)(process.pid, by)
        if draw.random() < 0.5:
            time.sleep(draw.random() * 0.2)
            sent.append(signal.Signals(draw.choice([signal.SIGTERM, signal.SIGINT])))
            process.send_signal(sent[-1])
    code, _, err = ended(process)
    said = [line for line in err.splitlines() if not line.endswith(" left")]
    assert (code, len(said)) in {(0, 0), *((128 + number, 1) for number in sent)}, (sent, err)
    until = time.monotonic() + 30
    while group(process.pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert group(process.pid) == []


def group(leader):
    """Processes of a session that are alive."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.cmdline())
        except (ProcessLookupError, psutil.Error):
            continue
    return found


SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_signal_at_any_moment_is_one_line(seed):
    signalled(seed, *SIMULATE, longest_s=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_signal_while_dask_starts_works_or_ends_is_one_line(seed):
    signalled(seed, *WHATIF, longest_s=15)


def test_signals_are_taken_over_before_anything_heavy_is_imported():
    heavy = ("typer", "rich", "difflib", "simulator.base.errors", "numpy")
    code = f"import sys, advisor.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Standard streams


def test_standard_output_that_is_full_is_one_line():
    said = "error: standard output: no space left on device\n"
    assert shell('"$@" >/dev/full', "simulate", QUICK) == (1, "", said)
    assert shell('"$@" >/dev/full', "--help") == (1, "", said)


def test_standard_error_that_is_full_changes_nothing():
    assert shell('"$@" 2>/dev/full', "check", QUICK)[0] == 0
    assert shell('"$@" 2>/dev/full', "check", "nothing.yaml") == (2, "", "")
    assert shell('"$@" >/dev/full 2>/dev/full', "--help") == (1, "", "")


def test_a_reader_that_leaves_ends_it_silently():
    line = '"$@" | true; echo ${PIPESTATUS[0]}'
    assert shell(line, "check", QUICK) == (0, "141\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("setting", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}])
def test_characters_that_standard_output_lacks_are_replaced(tmp_path, setting):
    path = tmp_path / "odd.yaml"
    path.write_text(QUICK.read_text().replace("name: slow", 'name: "\\u0394\\U0001F600"'))
    plain = ENVIRONMENT | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for more in (["--full"], ["--json"]):
        code, out, err = ended(started("simulate", path, *more, env=plain | setting))
        assert (code, err) == (0, "")
        assert "--json" in more or "?" in out
    assert "\u0394\U0001f600" in json.loads(out)["pes"]
    code, _, err = ended(started("show", "\u0394.json", env=plain | setting))
    assert code == 2
    assert err.count("\n") == 1


# What the shell allows


def limited(*arguments, **limits):
    def lower():
        for name, count in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (count, count))

    return ended(started(*arguments, preexec_fn=lower), 300)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [(TRIAD, 8), pytest.param(WHATIF, 12, marks=pytest.mark.slow)],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_measuring_with_too_few_files_is_one_line(tmp_path, arguments, files):
    code, out, err = limited(*arguments, "-o", tmp_path / "out", NOFILE=files)
    said = [line for line in err.splitlines() if "load " not in line]  # quickstart tells the machine first
    assert (code, out, len(said)) == (1, "", 1)
    assert "too many open files" in said[0]


@pytest.mark.parametrize("arguments", [["simulate", SCENARIO], WHATIF], ids=lambda words: words[0])
def test_a_file_that_may_not_grow_is_one_line(tmp_path, arguments):
    code, out, err = limited(*arguments, "-o", tmp_path / "out", FSIZE=64)
    assert (code in {1, 2}, out, err.count("\n")) == (True, "", 1)
    assert "file too large" in err


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        (["simulate", SCENARIO], 400),
        pytest.param(WHATIF, 800, marks=pytest.mark.slow),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_too_little_memory_is_one_line(tmp_path, monkeypatch, arguments, size):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # on many cores its threads reserve more than what is allowed here
    code, out, err = limited(*arguments, "-o", tmp_path / "out", AS=size * 10**6)
    if code:
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "memory" in err.lower()


@pytest.mark.slow
def test_shared_memory_that_is_missing_is_one_line():
    hidden = 'unshare -m bash -c \'mount -t tmpfs -o ro none /dev/shm && exec "$@"\' bash "$@"'
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mounts of its own may be made here")
    code, out, err = shell(hidden, *WHATIF)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "shared memory that can be written is needed in /dev/shm" in err


def test_a_current_folder_that_was_removed_is_one_line(tmp_path):
    line = f'mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && "$@"'
    said = "the current folder is no longer there: change to one that is, and start the command again"
    assert shell(line, "simulate", SCENARIO) == (2, "", f"error: {said}\n")


def test_without_a_home_or_a_folder_for_temporary_files_it_works():
    environment = {name: text for name, text in ENVIRONMENT.items() if name != "HOME"} | {"TMPDIR": "/nonexistent"}
    code, _, err = ended(started("simulate", SCENARIO, env=environment))
    assert (code, err) == (0, "")

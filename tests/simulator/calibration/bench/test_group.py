"""Workers in groups: what they load, how commands and faults go, that they end."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from simulator import CalibrationError
from simulator.calibration.bench.group import EndedError, Group, LocalWorker, NoAnswerError
from simulator.calibration.bench.launcher import Ended
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.bench.worker import SUBJECTS
from tests.support.processes import relatives

CPUS = sorted(os.sched_getaffinity(0))


def shell(code):
    return {"do": "run", "words": [sys.executable, "-S", "-c", code], "limit_s": 60, "keep_bytes": 100}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_subject_is_a_module_of_ours_that_sets_up_jobs(subject):
    assert callable(importlib.import_module(f"simulator.{SUBJECTS[subject]}").jobs)


@pytest.mark.parametrize(
    ("subject", "uses", "without"),
    [
        ("load", "bisect", {"numpy", "dataclasses", "psutil"}),
        ("command", "simulator.base.machine", {"numpy", "psutil"}),
        ("kernel", "numpy", {"yaml", "pandas", "scipy.stats", "simulator.base.files"}),
    ],
)
def test_a_worker_loads_only_what_it_needs(subject, uses, without):
    """It has to be there in milliseconds."""
    words = [sys.executable, "-X", "importtime", "-m", "simulator.calibration.bench.worker"]
    arguments = [str(os.getpid()), "any", subject, *(["1"] if subject == "load" else [])]
    done = subprocess.run([*words, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert uses in loaded
    assert not (without | {"simulator.calibration.bench.group"}) & loaded


OVERLAPS = """import os, time
begin = time.monotonic()
time.sleep(2)
print([sorted(os.sched_getaffinity(0)), begin, time.monotonic()])"""


def test_each_is_pinned_and_asked_at_once():
    with Group("command", [(CPUS[0],), (CPUS[-1],), ("any",)]) as group:
        said = [json.loads(one.output) for one in group.ask_all(shell(OVERLAPS), Ended)]
    cpus, begins, ends = zip(*said, strict=True)
    assert cpus == ([CPUS[0]], [CPUS[-1]], CPUS)
    assert max(begins) < min(ends)
    assert relatives() == []


def test_libraries_start_no_threads_of_their_own():
    with Group("command", [("any",)]) as group:
        (answer,) = group.ask_all(shell("import os; print(os.environ['OPENBLAS_NUM_THREADS'])"), Ended)
    assert answer.output.strip() == "1"


@pytest.mark.parametrize(
    ("subject", "row", "command", "found"),
    [
        (
            "kernel",
            ("any",),
            {"do": "prepare", "kernel": "nothing", "n": 1},
            r"^kernel 0: ended early: .*'nothing'",
        ),
        ("os", ("any",), {"do": "system"}, r"^os 0: ended early: KeyError: 'os'$"),
        ("load", ("any", "x"), {"do": "rest"}, r"^load 0: ended early: ValueError: could not convert"),
    ],
)
def test_a_fault_is_one_line(subject, row, command, found):
    """Of a job, of the table, and of the set-up; no module is imported that the table does not name."""
    with Group(subject, [row]) as group, pytest.raises(EndedError, match=found) as caught:
        group.ask({0: command}, Done)
    assert len(caught.value.lines) == 1
    assert relatives() == []


def test_last_words_are_words():
    """Open MPI frames what it says in lines of dashes."""
    said = "import sys; sys.exit('-----\\nno rank may be started by root\\n-----\\n')"
    worker = LocalWorker(subprocess.Popen([sys.executable, "-c", said], stderr=subprocess.PIPE))
    worker.wait()
    assert worker.last_words() == "no rank may be started by root"
    worker.forget()


def test_no_answer_in_time():
    with Group("command", [("any",)]) as group:
        with pytest.raises(NoAnswerError, match="command 0: no answer within 0 s"):
            group.ask({0: shell("import time; time.sleep(60)")}, Ended, limit_s=0.2)
        with pytest.raises(NoAnswerError):
            group.answers([0], Ended, limit_s=0.0)
    assert relatives() == []


def test_one_that_is_killed_is_named():
    with Group("command", [("any",)] * 2) as group:
        group.ask_all(shell("pass"), Ended)
        os.kill(max(relatives()), signal.SIGKILL)
        with pytest.raises(CalibrationError, match="command 1: ended early: exit code -9"):
            group.ask_all(shell("pass"), Ended)


def test_a_job_that_goes_on_stops_for_the_next_command():
    with Group("kernel", [("any",)]) as group:
        group.ask({0: {"do": "prepare", "kernel": "triad", "n": 1000, "key": 3, "warm": True}}, Done)
        assert group.ask({0: {"do": "begin", "key": 3}}, Done) == {0: Done()}
        time.sleep(0.2)
        (used,) = group.ask_all({"do": "stop"}, Usage)
        assert used.wall_s > 0.15
        assert group.ask_all({"do": "stop"}, Usage) == [used]


def test_an_answer_of_another_kind_is_refused():
    with Group("command", [("any",)]) as group, pytest.raises(CalibrationError) as caught:
        group.ask_all(shell("pass"), Usage)
    (line,) = caught.value.lines
    assert line.startswith("command 0: its answer does not fit what it was asked: failed: unknown key")


def test_one_that_is_asked_to_end_takes_along_all_that_its_run_started():
    stray = "import subprocess, time; subprocess.Popen(['sleep', '60'], start_new_session=True); time.sleep(60)"
    with Group("command", [("any",)]) as group:
        (worker,) = relatives()
        group.tell(0, shell(stray))
        until = time.monotonic() + 20
        while len(started := psutil.Process(worker).children(recursive=True)) < 2:
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(worker, signal.SIGTERM)
        psutil.Process(worker).wait(10)
    _, left = psutil.wait_procs(started, timeout=2)
    running = [one for one in left if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    for one in running:
        one.kill()
    assert not running


def test_a_command_that_cannot_be_started_on_its_processor_is_named():
    words = [sys.executable, "-m", "simulator.calibration.bench.pin", str(CPUS[0]), "--", "/no/such/program"]
    environment = os.environ | {"PMI_RANK": "0"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert done.stderr == f"pin: /no/such/program on processor {CPUS[0]}: no such file or directory\n"

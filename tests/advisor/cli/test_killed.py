"""SIGTERM, Ctrl-C and `kill -9` while long commands are at work: they go on, nothing finished is done again.

Each moment is drawn with a seed: after so much work was kept, and a little later. What a command keeps is its own:
runs of `allocate run`, simulated runs of `advise`. Points of `whatif`: `test_sweep_killed.py`; those of `calibrate
speed`: `test_calibrate_resumed.py`.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import pytest

from advisor.cli import _run
from simulator.results.files import unsealed
from tests.support.allocation_program import CLUSTER, PROGRAM
from tests.support.command_line import APPORTION, ROOT
from tests.support.processes import without_progress

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
PATIENCE_S = 300
MARK = "APPORTION_TEST_MARK"


@dataclass
class Long:
    """A command that takes a while, in a folder of its own."""

    words: list[object]
    amount: Callable[[], int]
    """How much of it is kept on disk."""
    most: int
    """Of that, up to where each start is ended."""
    again: list[object] = field(default_factory=list)
    """Options of the command that goes on."""
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def start(self, *more: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*APPORTION, *map(str, self.words), *map(str, more)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), MARK: self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def to_end(self, *more: object) -> str:
        process = self.start(*more)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert self.left() == []
        return out + err

    def left(self) -> list[str]:
        """Processes that carry our mark, once those that are ending have had their time."""
        until = time.monotonic() + 30
        while (found := self._marked()) and time.monotonic() < until:
            time.sleep(0.05)
        return found

    def _marked(self) -> list[str]:
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        return found


def ended(long: Long, seed: int, by: signal.Signals) -> None:
    """Start it, end it at a moment after some work was kept, and see how it ends."""
    moment = np.random.default_rng([seed, long.most])
    wanted, later_s = long.amount() + moment.integers(1, long.most), moment.random() * 0.1
    for _ in range(5):  # on a busy machine it may have ended before we look
        process = long.start(*(long.again if long.amount() else ()))
        until = time.monotonic() + PATIENCE_S
        while long.amount() < wanted and process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(later_s)
        if moment.random() < 0.5 and by != signal.SIGKILL:  # as a terminal or a batch system does: to all of them
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, by)
        else:
            process.send_signal(by)
        _, err = process.communicate(timeout=60)
        if process.returncode != 0:
            break
    assert long.amount() >= wanted
    assert long.left() == []
    said = [line for line in without_progress(err) if not line.endswith("left")]
    if by == signal.SIGKILL:
        assert (process.returncode, said) == (-signal.SIGKILL, [])
    else:
        assert process.returncode == 128 + by, err
        assert len(said) == 1, err
        assert "keeps" in said[0] or "kept in" in said[0]


def moments(count: int, *, skip: int = 0) -> list[tuple[int, signal.Signals]]:
    """Seeds, and the signals in turn."""
    return [(seed, SIGNALS[seed % len(SIGNALS)]) for seed in range(skip, skip + count)]


def slow(some: list[tuple[int, signal.Signals]]) -> list:
    return [pytest.param(*moment, marks=pytest.mark.slow) for moment in some]


SLOW_MOMENTS = slow([*moments(1, skip=1), *moments(1, skip=3)])


@pytest.mark.parametrize(("seed", "by"), SLOW_MOMENTS)
def test_allocate_run(tmp_path, seed, by):
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    program, plan, runs = tmp_path / "program.py", tmp_path / "plan.json", tmp_path / "runs.csv"
    program.write_text(PROGRAM.format(log=str(tmp_path / "starts"), body="time.sleep(0.1)"))
    options = ["--sizes", "100,200,300", "--most", "fast=2,slow=2", "--start", "50ms", "--budget", "400ms"]
    assert _run(["fit", "--plan", str(tmp_path / "cluster.yaml"), *options, "-o", str(plan)]) == 0
    command = f"{sys.executable} -S {program} {{N}} {{P}} {{cpus}} {{kinds}}"
    words = ["fit", "--run", plan, "--command", command, "--time", "hpl", "--budget", "60s", "-o", runs]
    long = Long(words, lambda: len(runs.read_text().splitlines()) - 1 if runs.exists() else 0, 6)
    ended(long, seed, by)
    before = runs.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    (tmp_path / "starts").write_text("")
    long.to_end()
    assert runs.read_bytes().startswith(whole)
    again, made = (tmp_path / "starts").read_text().count("\n"), runs.read_bytes().count(b"\n") - whole.count(b"\n")
    assert again == made > 0
    planned = sum(run["repetitions"] for run in json.loads(plan.read_text())["runs"])
    assert runs.read_bytes().count(b"\n") - 1 == planned


def advice_of(folder: Path) -> Long:
    scenario = ROOT / "scenarios" / "tutorial" / "three-pes.yaml"
    options = ["--vary", "both", "--replications", "400", "--runs", "12000"]
    return Long(["advise", scenario, *options, "-o", folder / "out"], lambda: len(searched(folder / "out")), 20)


def searched(folder: Path) -> list[dict]:
    """The answers that a search has kept."""
    lines = [line for path in folder.glob("search-*.partial") for line in path.read_text().splitlines(keepends=True)]
    return [found for line in lines if (found := unsealed(line)) is not None]


def advised(folder: Path) -> dict:
    document = json.loads((folder / "out" / "advice.json").read_text())
    del document["provenance"]["made"]
    for one in document["confirmed"]:
        del one["screened_by"]  # engines are equal; which one is quicker hangs on what is there already
    return document


@pytest.fixture(scope="module")
def whole_advice(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    advice_of(folder).to_end()
    return advised(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "by"), [*moments(1, skip=2), *SLOW_MOMENTS])
def test_advise(tmp_path, whole_advice, seed, by):
    long = advice_of(tmp_path)
    ended(long, seed, by)
    before = searched(tmp_path / "out")
    shapes = [found["runs"]["makespan_ticks"]["shape"] for found in before]
    runs = sum(configurations * replications for configurations, replications in shapes)
    said = long.to_end()
    assert f"{runs} runs were simulated before and are not again" in said
    assert advised(tmp_path) == whole_advice
    assert not list((tmp_path / "out").glob("search-*"))


@pytest.mark.slow
def test_a_search_goes_on_from_what_is_whole(tmp_path, whole_advice):
    """Answers of a call are taken where they are the same call's; a line that was cut or garbled is none."""
    long = advice_of(tmp_path)
    ended(long, 0, signal.SIGKILL)
    (path,) = (tmp_path / "out").glob("search-*.partial")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b"1", b"2")
    path.write_bytes(b"".join(lines) + b'{"hash":"')
    count = len(searched(tmp_path / "out"))
    process = long.start()
    while len(searched(tmp_path / "out")) <= count and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    names = [found["hash"] for found in searched(tmp_path / "out")]
    assert len(names) == len(set(names))
    long.to_end()
    assert advised(tmp_path) == whole_advice

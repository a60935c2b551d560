"""Recordings at the command line: what is in them, taken from traces of other programs, and written as such."""

import json
from dataclasses import replace

import numpy as np
import pytest

from simulator import Recording
from simulator.programs.recorded.recording import Action, Described
from tests.support.recordings import recording

SITES = tuple(f"part{number}.c:{number} (MPI_Send)" for number in range(30))


@pytest.fixture
def run(tmp_path):
    """A recording of two ranks with many call sites, in a folder."""
    rows = [
        [(Action.COMPUTE, {"amount": 1.0 + site, "site": site}),
         (Action.SEND if rank == 0 else Action.RECV, {"partner": 1 - rank, "amount": 1e6, "site": site})]
        for rank in range(2) for site in range(30)
    ]  # fmt: skip
    ranks = [[call for row in rows[begin : begin + 30] for call in row] for begin in (0, 30)]
    said = Described("mpiexec -n 2 ./two", "MPICH 4.0.2", "here", SITES, warnings=("a first thing", "a second thing"))
    made = recording(*ranks, described=said, memory_bytes=np.full(2, 2**20))
    made.save(tmp_path / "run")
    return tmp_path / "run"


def test_a_recording_is_shown_in_twelve_lines(apportion, run):
    code, out, _ = apportion("show", run)
    lines = out.splitlines()
    assert code == 0
    assert len(lines) <= 12
    assert "2 ranks of mpiexec -n 2 ./two (MPICH 4.0.2): 60 calls" in " ".join(lines)
    assert any(line.startswith("Computes  7 min 45 s a rank") for line in lines)
    assert any("0 to 1 28.6 MiB in 30 messages" in line for line in lines)
    assert any("part29.c:29" in line for line in lines)
    assert "part2.c:2" not in out
    whole = apportion("show", run, "--full")[1]
    assert all(site in whole for site in SITES)
    assert "a second thing" in whole


def test_what_cannot_be_simulated_is_said_first(apportion, run):
    made = Recording.load(run)
    replace(made, described=replace(made.described, unknown={"MPI_Put": 4, "MPI_Win_create": 12})).save(run)
    out = " ".join(apportion("show", run)[1].split())
    assert "it cannot be simulated, as these calls are not understood: MPI_Win_create (12), MPI_Put (4)." in out


def test_json_says_all_of_it(apportion, run):
    found = json.loads(apportion("show", run, "--json")[1])
    assert (found["command"], found["ranks"], len(found["sites"])) == ("show", 2, 30)
    assert found["talks"] == [{"source": 0, "to": 1, "messages": 30, "bytes": 3e7}]


def test_a_trace_of_another_program_is_taken_and_written_again(apportion, run, tmp_path):
    code, out, _ = apportion("convert", run, tmp_path / "out.ti")
    assert code == 0
    assert "2 traces of ranks" in out
    code, out, _ = apportion("mpi", "import", tmp_path / "out.ti", "-o", tmp_path / "again")
    assert code == 0
    assert "apportion show" in out
    before, after = Recording.load(run), Recording.load(tmp_path / "again")
    assert np.array_equal(after.action, before.action)
    assert after.amount == pytest.approx(before.amount)
    half = apportion("mpi", "import", tmp_path / "out.ti", "--speed", "2 Gflop/s", "-o", tmp_path / "half", "--json")[1]
    assert json.loads(half)["computing_s"] == pytest.approx((before.computing_s / 2).tolist())


def test_goal_is_taken_by_what_it_says(apportion, tmp_path):
    path = tmp_path / "trace"
    path.write_text("// made\nnum_ranks 1\nrank 0 {\nl1: calc 5000000000\n}\n")
    assert apportion("mpi", "import", path, "-o", tmp_path / "run")[0] == 0
    assert Recording.load(tmp_path / "run").computing_s.tolist() == [5.0]
    code, _, err = apportion("mpi", "import", path, "--speed", "1Gflop/s", "-o", tmp_path / "other")
    assert (code, err) == (2, f"error: --speed: {path} is in GOAL, which says times; leave it out\n")


def test_what_cannot_be_read_is_one_line_and_writes_nothing(apportion, tmp_path):
    path = tmp_path / "trace"
    path.write_text("0 compute 1\n0 comptue 1\n")
    code, out, err = apportion("mpi", "import", path, "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    said = f"{path}: line 2: 'comptue' is no action of a time-independent trace"
    assert err == f"error: {said}; did you mean compute?\n"
    assert not (tmp_path / "run" / "recording.json").exists()
    code, _, err = apportion("convert", tmp_path, tmp_path / "out.ti")
    assert (code, err) == (2, f"error: {tmp_path / 'recording.json'}: no such file or directory\n")
    for speed in ("-1 Gflop/s", "0 flop/s"):
        assert apportion("mpi", "import", path, f"--speed={speed}", "-o", tmp_path / "run")[0] == 2

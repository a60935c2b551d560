"""Sweeps with real processes: workers and schedulers are killed in the middle, and nothing is lost.

The main process is killed in `test_sweep_killed.py`.
"""

import csv
import os
import socket
import subprocess
import sys

import pytest

from simulator import whatif
from simulator.experiments.sweep import local, make_plan, sweep
from tests.support.command_line import ROOT
from tests.support.real_sweeps import (
    COUNT,
    ENVIRONMENT,
    PATIENCE_S,
    finished,
    reasons,
)
from tests.support.sweep_points import POISON, faulty, poisoned, write

pytestmark = pytest.mark.slow


def plan_of(path, ask):
    points = whatif.points([whatif.read_varied(f"application.parameters.n=1310..{1310 + COUNT}")])
    return make_plan(path, points, ask=ask)


def test_the_point_that_kills_its_workers_is_named_and_the_rest_completes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plan = plan_of(write(tmp_path), poisoned)
    found = sweep(plan, lambda: local(2), folder=tmp_path / "out")
    assert reasons(plan, found) == {
        (f"application.parameters.n={POISON}",): "its worker was killed, and once more when it was tried alone"
    }
    assert len(finished(tmp_path / "out")) == len(plan.points) - 1
    with (tmp_path / "out" / "points.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["error"]]
    assert [row["application.parameters.n"] for row in rows] == [str(POISON)]
    again = sweep(plan, lambda: local(1), folder=tmp_path / "out", resume=True)
    assert again.spent["run_now"] == 1
    assert reasons(plan, again) == reasons(plan, found)


def test_the_point_with_an_error_nobody_foresaw_is_named_and_the_rest_completes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plan = plan_of(write(tmp_path), faulty)
    found = sweep(plan, lambda: local(2))
    said = "ZeroDivisionError: something nobody thought of"
    assert reasons(plan, found) == {(f"application.parameters.n={POISON}",): said}
    assert len(found.documents) == len(plan.points) - 1


TRAP = """
import pathlib

pathlib.Path(__file__).with_name("ran").touch()
raise ImportError("code of somebody else")
"""
TWO = """
import sys
from simulator.experiments.sweep import local

if __name__ == "__main__":
    with local(1) as client:
        print(client.submit(len, "ab").result(timeout=60), [path for path in sys.path if "dask-scratch" in path])
"""


def test_code_that_another_user_left_among_temporary_files_is_not_run(tmp_path):
    """Dask's folder there has a name that everybody knows, and what lies in it is found before what is installed."""
    known = tmp_path / "dask-scratch-space"
    known.mkdir()
    known.chmod(0o777)
    for name in ("numpy", "pandas", "msgpack", "tornado"):
        (known / f"{name}.py").write_text(TRAP)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    program = tmp_path / "program.py"
    program.write_text(TWO)
    call = [sys.executable, str(program)]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert not (known / "ran").exists()
    said, paths = done.stdout.split(" ", 1)
    assert said == "2"
    assert str(known) not in paths
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dask-scratch-space", "program.py"]


OUTSIDER = """
import sys
from distributed import Client
from simulator.experiments.sweep import clusters

try:
    Client(sys.argv[1], timeout=2).submit(len, "ab").result(timeout=10)
except Exception as error:
    print("refused")
else:
    print("in")
"""


def outsider(address):
    """What becomes of another process that sends code to a port of Dask's."""
    call = [sys.executable, "-c", OUTSIDER, address]
    done = subprocess.run(call, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return done.stdout.strip()


def test_nobody_else_on_this_machine_is_heard_by_a_sweep(monkeypatch):
    """Neither in Dask's own words nor in ours, without the secret; who says nothing holds nobody up."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with local(1) as client:
        address = client.scheduler.address
        places = [address, *client.scheduler_info()["workers"]]
        silent = [socket.create_connection(("127.0.0.1", int(place.rpartition(":")[2]))) for place in places]
        for place in places:
            assert outsider(place) == "refused"
            assert outsider(f"tcp://127.0.0.1:{place.rpartition(':')[2]}") == "refused"
        assert client.submit(len, "ab").result(timeout=60) == 2
        for connection in silent:
            connection.close()

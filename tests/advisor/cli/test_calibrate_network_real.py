"""`apportion calibrate network --between`: real messages here, killed and resumed, and what it refuses in one line."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from advisor.cli import _run
from simulator import this_machine
from simulator.calibration.bench import group
from simulator.calibration.bench.journal import points_kept
from simulator.calibration.pingpong import campaign

ROOT = Path(__file__).parents[3]
CALL = [sys.executable, "-m", "advisor.cli", "calibrate", "network"]
NETWORK = ("calibrate", "network")
TWO = pytest.mark.skipif(this_machine().pe_count < 2, reason="messages between PEs need two")


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Samples of a tenth and few of them; in a folder of its own."""
    monkeypatch.setattr(campaign, "SAMPLE_S", 0.0005)
    monkeypatch.setattr(campaign, "MOST_SAMPLES", 3)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)


def refused(capsys, arguments, found, code=2):
    assert _run([*NETWORK, *arguments]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("error: ")
    assert found in err


@TWO
@pytest.mark.real
@pytest.mark.usefixtures("quick")
def test_a_link_is_measured_fitted_and_answers(capsys):
    """The document holds all forms; its table is what `--replay` reads."""
    arguments = ["--between", "processes", "--max-bytes", "64B", "--budget", "60s", "--table", "t.csv"]
    assert _run([*NETWORK, *arguments, "-o", "link.json"]) == 0
    told = capsys.readouterr().out
    assert "middle half" in told
    assert "model written to link.json" in told
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["link.json", "t.csv"]  # nothing partial is left
    document = json.loads(Path("link.json").read_text())
    sizes = document["measured"]["sizes"]
    assert [row["size_bytes"] for row in sizes][-1] == 64
    assert all(row["quartiles_s"][0] <= row["one_way_s"] <= row["quartiles_s"][1] for row in sizes)
    assert {model["name"] for model in document["models"]} >= {"hockney", "packetised", "piecewise"}
    rows = Path("t.csv").read_text().splitlines()
    assert rows[0] == "bytes,hops,one_way_s"
    assert [float(row.split(",")[2]) for row in rows[1:]] == [row["one_way_s"] for row in sizes]
    assert _run([*NETWORK, "--replay", "t.csv", "--json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    assert replayed["models"] == document["models"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (
            [],
            (
                "Invalid value: --between or --replay is missing; give "
                "one of --between (real messages) and --replay (a table)"
            ),
        ),
    ],
)
@pytest.mark.usefixtures("quick")
def test_what_cannot_be_measured_is_told_in_one_line(capsys, arguments, found):
    refused(capsys, arguments, found)


@TWO
@pytest.mark.usefixtures("quick")
def test_without_mpi_it_names_the_extra(capsys, monkeypatch):
    if find_spec("mpi4py") is not None:
        monkeypatch.setattr(group.importlib.util, "find_spec", lambda _name: None)
    refused(capsys, ["--between", "mpi"], "mpi4py is not installed; pip install 'apportion[mpi]'")


def samples_in(path):
    return points_kept(path) if path.exists() else 0


@TWO
@pytest.mark.real
def test_killed_half_way_it_goes_on_where_it_was(tmp_path):
    """`kill -9`: no process stays behind, every sample is on disk, and the same command takes none of them again."""
    call = [*CALL, "--between", "processes", "--max-bytes", "1KiB", "--budget", "20s", "-o", "link.json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    begun = subprocess.Popen(call, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    partial, limit = tmp_path / "link.json.partial", time.monotonic() + 30
    while samples_in(partial) < 40 and time.monotonic() < limit:
        time.sleep(0.01)
    children = psutil.Process(begun.pid).children(recursive=True)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    assert len(children) == 2
    assert psutil.wait_procs(children, timeout=10)[1] == []
    kept = samples_in(partial)
    assert kept >= 40
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{kept} samples were taken before" in done.stderr
    assert not partial.exists()
    assert json.loads((tmp_path / "link.json").read_text())["measured"]["samples_reused"] == kept

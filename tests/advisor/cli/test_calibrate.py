"""`apportion calibrate speed`, `show` and `predict` as a user calls them, on recorded tables."""

import json
from pathlib import Path

import pytest

from tests.command_line import apportion_here as apportion

ROOT = Path(__file__).parents[3]
DGEMM = ROOT / "scenarios" / "papers" / "gbbp_dgemm.csv"


@pytest.mark.parametrize("method", ["grid", "gbbp", "adaptive"])
def test_a_replay_gives_one_document(tmp_path, method):
    done = apportion("calibrate", "speed", "--replay", DGEMM, "--method", method, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["experimental_s"] == pytest.approx(sum(point["cost_s"] for point in found["points"]))
    assert isinstance(found["assumptions_violated"], list)
    assert set(found["band"]) == {"sizes", "low", "mid", "high"}


@pytest.mark.slow
def test_a_model_is_written_shown_drawn_and_predicts(tmp_path):
    done = apportion("calibrate", "speed", "--replay", DGEMM, "--method", "gbbp", "-o", "m.json", cwd=tmp_path)
    assert done.returncode == 0
    assert "case b" in done.stdout
    model = json.loads((tmp_path / "m.json").read_text())
    assert {"format", "kind", "model", "provenance", "warnings", "points"} <= set(model)
    assert model["kind"] == "speed"
    done = apportion("show", "m.json", "--plot", "m.svg", "--held-out", DGEMM, cwd=tmp_path)
    assert "held out: " in done.stdout
    assert (tmp_path / "m.svg").read_bytes().startswith(b"<?xml")
    (tmp_path / "at.csv").write_text("size_elements\n3072\n1e6\n")
    done = apportion("predict", "m.json", "--at", "at.csv", "--json", cwd=tmp_path)
    first, second = json.loads(done.stdout)["predictions"]
    cut = next(point["speed"] for point in model["points"] if point["size_elements"] == 3072)
    assert (first["low"], first["mean"], first["high"]) == pytest.approx((cut["low"], cut["mid"], cut["high"]))
    assert second["low"] < second["mean"] < second["high"]
    assert "1e+06 elements" in apportion("predict", "m.json", "--at", "at.csv", cwd=tmp_path).stdout


def test_a_recorded_load_lowers_the_cuts(tmp_path):
    rows = "".join(f"{k},{0.4 + 0.2 * (k % 2)}\n" for k in range(300))
    (tmp_path / "t.csv").write_text("time_s,load\n" + rows)
    load = ("--load", "t.csv", "--window", "60", "--history", "240")
    done = apportion("calibrate", "speed", "--replay", DGEMM, "--method", "grid", *load, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    point = json.loads(done.stdout)["points"][-1]
    ideal = point["volume"] / point["cpu_s"][0]
    assert 0.35 * ideal < point["speed"]["low"] < point["speed"]["high"] < 0.65 * ideal


@pytest.mark.parametrize(
    ("arguments", "code", "found"),
    [
        (("--replay", "bad.csv"), 2, "error: bad.csv:3: size_elements: 5 after 10 found"),
        (("--replay", "none.csv"), 2, "none.csv: no such file"),
        ((), 2, "one of --kernel, --command, --replay allowed"),
        (("--replay", DGEMM, "--method", "best"), 2, "method: 'best' found"),
        (("--replay", DGEMM, "--budget", "1us"), 1, "too small for two points"),
        (("--replay", DGEMM, "--accuracy", "no"), 2, "--accuracy: 'no' found"),
        (("--replay", DGEMM, "--window", "3"), 2, "--window has no effect without --load"),
        (("--replay", DGEMM, "--load", "t.csv"), 2, "--window needed"),
        (("--replay", DGEMM, "--max-size", "10"), 2, "b: 10 elements found, more than a = 3072 allowed"),
    ],
)
def test_bad_input_is_one_line(tmp_path, arguments, code, found):
    (tmp_path / "bad.csv").write_text("size_elements,volume,cpu_s\n10,1,1\n5,1,1\n")
    done = apportion("calibrate", "speed", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert found in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_files_that_hold_no_speed_model_are_refused(tmp_path):
    (tmp_path / "m.json").write_text('{"kind": "speed", "format": 1, "model": {"sizes": [1]}}')
    done = apportion("show", "m.json", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    (tmp_path / "m.json").write_text("[]")
    done = apportion("predict", "m.json", "--at", "m.json", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)

"""`apportion calibrate speed`, `show` and `predict` as a user calls them, on recorded tables."""

import json
import time
from pathlib import Path

import pytest

from simulator import Interrupted
from simulator.calibration import Measurement, Usage, kept
from simulator.calibration.bench.measurement import PointStore
from tests.support.command_line import apportion_here as apportion

ROOT = Path(__file__).parents[3]
DGEMM = ROOT / "scenarios" / "papers" / "gbbp_dgemm.csv"


def rising(path):
    """Speed rises all the way, by far less from one multiple of the smallest size to the next than a cut is wide."""
    sizes = [256 * (8.1e7 / 256) ** (k / 23) for k in range(24)]
    rows = "".join(f"{x!r},{x ** (4 / 3)!r},{x ** (4 / 3) / (1e9 * (x / 256) ** 0.1)!r}\n" for x in sizes)
    path.write_text(f"size_elements,volume,cpu_s\n{rows}")
    return path


@pytest.mark.parametrize("name", ["rising", "dgemm"])
def test_gbbp_ends_soon_and_prints_points_cost_and_accuracy(tmp_path, name):
    table = rising(tmp_path / "t.csv") if name == "rising" else DGEMM.with_name(f"gbbp_{name}.csv")
    began_s = time.process_time()
    done = apportion("calibrate", "speed", "--replay", table, "--method", "gbbp", "-o", "m.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.process_time() - began_s < 5
    model = json.loads((tmp_path / "m.json").read_text())
    head, *lines = done.stdout.splitlines()
    assert head.startswith(f"gbbp: {len(model['points'])} points in ")
    assert head.endswith(" of runs")
    error = model["table_error"]
    told = f"{error['sizes']} sizes, error {error['mean']:.1%} on average, {error['max']:.1%} at most"
    assert f"against the table: {told}" in lines
    assert [line for line in lines if line.startswith("incomplete: ")] == [
        f"incomplete: {limit}" for limit in model["incomplete"]
    ]
    assert model["incomplete"]
    assert "budget" not in done.stdout, "none was given"
    held_out = apportion("show", "m.json", "--held-out", table, cwd=tmp_path).stdout.splitlines()
    assert f"held out: {told}" in held_out


def test_an_interruption_says_what_is_kept_and_how_to_go_on(tmp_path):
    def told(path):
        with pytest.raises(Interrupted) as caught, kept(path):
            raise KeyboardInterrupt
        return str(caught.value)

    assert told(None) == "interrupted; nothing is kept without --output or --store"
    assert told(tmp_path / "none") == "interrupted; no points were finished"
    store = PointStore(tmp_path / "s.jsonl", subject={}, machine=None)
    for n in range(1, 14):
        store.keep(Measurement(float(n), float(n), (Usage(1.0, 1.0),), n=n, ended_by="time cap"))
    store.keep(Measurement(14.0, 14.0, (Usage(1.0, 1.0),), n=14))
    store.journal.close()
    with (tmp_path / "s.jsonl").open("ab") as stream:
        stream.write(b'{"key": 1, "fini')
    assert told(tmp_path / "s.jsonl") == (
        f"interrupted; 13 points are kept in {tmp_path}/s.jsonl; the same command goes on from there"
    )


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
        (("--replay", "none.csv"), 2, "none.csv: no such file"),
        (("--replay", "instant.csv"), 2, "error: instant.csv:3: volume over cpu_s is inf per second; check the units"),
        ((), 2, "Invalid value: the subject is missing; give one of --kernel, --command, --replay"),
        (("--replay", DGEMM, "--method", "best"), 2, "method is 'best'; name one of adaptive, gbbp, grid"),
        (("--replay", DGEMM, "--load", "t.csv"), 2, "Invalid value: --load needs --window; give it"),
        (("--replay", DGEMM, "--max-size", "10"), 2, "b is 10 elements; give more than a, which is 3072"),
    ],
)
def test_bad_input_is_one_line(tmp_path, arguments, code, found):
    (tmp_path / "bad.csv").write_text("size_elements,volume,cpu_s\n10,1,1\n5,1,1\n")
    (tmp_path / "instant.csv").write_text("size_elements,volume,cpu_s\n5,1,1\n10,1e300,1e-300\n")
    done = apportion("calibrate", "speed", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert found in done.stderr
    assert len(done.stderr.splitlines()) == 1

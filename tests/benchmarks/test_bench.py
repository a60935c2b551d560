"""The benchmark's harness: which samples it takes, what it makes of them, and one real run of it."""

import json
import subprocess
import sys

import pytest

from simulator.base.errors import UnsupportedProgram
from tests.benchmarks import bench, engines, simgrid_cpp
from tests.benchmarks.bench import Sample
from tests.benchmarks.scenarios import CASES

pytestmark = pytest.mark.benchmark
CASE = next(case for case in CASES if case.name == "D 64")


def sample(seconds, makespan_s=CASE.makespan_s, cpu_s=None):
    return Sample(seconds, seconds if cpu_s is None else cpu_s, makespan_s)


def test_ratios_are_to_the_fastest_mode_and_to_plain_simpy():
    taken = {
        ("simpy", ""): [sample(4.0), sample(6.0), sample(50.0)],
        ("compiled", ""): [sample(0.5, cpu_s=0.05)],
        ("simgrid", "default"): [sample(3.0)],
        ("simgrid", "Full"): [sample(2.0)],
        ("simgrid-ti", "TI"): [sample(1.0)],
    }
    rows = {row.engine: row for row in bench.rows_of(CASE, taken)}
    assert rows["simgrid"].mode == "Full"
    assert rows["simpy"].median_s == 6.0
    assert {name: row.ratio_to_simgrid for name, row in rows.items()} == pytest.approx(
        {"simpy": 1 / 6, "compiled": 2.0, "simgrid": 0.5, "simgrid-ti": 1.0}
    )
    assert rows["compiled"].ratio_to_simpy == 12.0
    assert rows["compiled"].ratio_to_simgrid_cpu == pytest.approx(20.0)


def test_without_simgrid_there_is_no_ratio_to_it_and_a_wrong_makespan_is_told():
    rows = bench.rows_of(CASE, {("simpy", ""): [sample(1.0), sample(1.0, CASE.makespan_s * 1.00001)]})
    assert rows[0].ratio_to_simgrid is None
    assert not rows[0].agrees


def test_slow_samples_are_taken_less_often_and_engines_take_turns():
    order = []

    def sampler(name, seconds):
        def take():
            order.append(name)
            return sample(seconds)

        return take

    taken = bench.take({("a", ""): sampler("a", 0.1), ("b", ""): sampler("b", 2.0), ("c", ""): sampler("c", 9.0)}, 4)
    assert {name: len(samples) for (name, _), samples in taken.items()} == {"a": 4, "b": 3, "c": 1}
    assert "".join(order) == "abcababa"


def test_an_engine_that_does_not_support_a_scenario_is_left_out(capsys):
    def refuses(_scenario):
        raise UnsupportedProgram("no flows")

    with bench.samplers_for(CASE, {"compiled": refuses, "simpy": engines.IN_PROCESS["simpy"]}, simgrid=set()) as ready:
        assert list(ready) == [("simpy", "")]
    assert "D 64: compiled left out: no flows" in capsys.readouterr().err


def test_a_scenario_that_does_not_fit_is_left_out(monkeypatch):
    big = next(case for case in CASES if case.name == "A 512x1e5")
    monkeypatch.setattr(bench, "ROOM_PER_BYTE", 1e9)
    assert "GB of memory" in bench.missing_room(big)
    assert bench.missing_room(CASE) is None
    monkeypatch.setattr(bench, "ROOM_PER_BYTE", 0)
    assert bench.missing_room(big) is None


def test_quick_takes_the_smallest_of_each_and_unknown_letters_are_refused():
    assert [case.name for case in bench.chosen("B,D", quick=True)] == ["B 16", "D 64"]
    assert len(bench.chosen(None, quick=False)) == len(CASES)
    with pytest.raises(SystemExit, match="--scenarios: X found, A, B, Bbar"):
        bench.chosen("A,X", quick=False)


def test_the_harness_writes_a_list_of_rows(tmp_path):
    """In a process of its own: it binds itself to one core."""
    command = [sys.executable, "-m", "tests.benchmarks.bench", "--scenarios", "B,D", "--quick", "--samples", "2"]
    done = subprocess.run([*command, "-o", tmp_path / "bench.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "bench.json").read_text())
    expected = {("B", "16", "simpy"), ("D", "64", "simpy")}
    if simgrid_cpp.why_not():
        assert "SimGrid" in done.stderr
    else:
        expected |= {("B", "16", "simgrid"), ("D", "64", "simgrid")}
    assert {(row["scenario"], row["size"], row["engine"]) for row in rows} >= expected
    for row in rows:
        assert row["median_s"] > 0
        assert row["agrees"]
        assert row["ratio_to_simpy"] > 0
        assert (row["ratio_to_simgrid"] is None) == bool(simgrid_cpp.why_not())

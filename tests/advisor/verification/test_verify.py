"""Advice put to the test by real runs: what is compared, what is kept, what is refused."""

import contextlib
import json
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from advisor.verification.applications import CommandRuns, parse_command
from advisor.verification.check import NO_RANGE, VerifyPlan, _verified, load_starts, verify
from advisor.verification.interleaved import Verification, run_interleaved
from advisor.verification.places import places_on
from simulator import Application, Configuration, Platform, ScenarioError, SpeedBand, documents, run, this_machine
from simulator.calibration import CommandRanks, RealRun
from simulator.calibration.bench.usage import Usage
from simulator.platform.networks import Link, Network, Star
from tests.support import platforms
from tests.support.command_line import apportion, started
from tests.support.platforms import scenario, trace
from tests.support.rendered import render_html

ROOT = Path(__file__).parents[3]
CPU = this_machine().cores[0].cpu
CPUS = [core.cpu for core in this_machine().cores[:2]]
SCENARIO = """
format: 1
platform:
  nodes:
  - name: here
    pes: [{{name: a, cpu: {cpu}, speeds: {{dgemm: 1 Gunits/s}}}}]
  link: {{latency: 10 us, bandwidth: 1 GB/s}}
application: {{name: matmul, kernel: dgemm, parameters: {{n: 64}}}}
configurations:
  equal: {{partition: equal}}
replications: 20
"""


def pe(name, *given, cpu=None, cores=1, **more):
    return replace(platforms.pe(name, *given, **more), cpu=cpu, cores=cores)


class Made:
    """An application whose times are known."""

    def __init__(self, times):
        self.times, self.order = times, []

    def prepare(self, _configurations):
        self.order.append("prepare")

    def run(self, configuration, beside):
        with beside():
            self.order.append(configuration.name)
        return RealRun(self.times[configuration.name], (Usage(),))


class Quiet:
    """No load."""

    def replayed(self, repetition):
        return contextlib.nullcontext(repetition)


A, B = Configuration("a", (1,), (0,)), Configuration("b", (1,), (0,))


def test_configurations_take_turns_and_at_least_three():
    made = Made({"a": 1.0, "b": 2.0})
    found = run_interleaved(made, Quiet(), [A, B], budget_s=0.0)
    assert made.order == ["prepare", *["a", "b"] * 3]
    assert {name: times.tolist() for name, times in found.measured_s.items()} == {"a": [1.0] * 3, "b": [2.0] * 3}


def test_whole_repetitions_measured_before_are_not_run_again():
    made = Made({"a": 1.0, "b": 2.0})
    before = Verification({"a": np.array([7.0, 8.0]), "b": np.array([9.0, 9.0])})
    found = run_interleaved(made, Quiet(), [A, B], budget_s=0.0, done=before)
    assert made.order == ["prepare", "a", "b"]
    assert found.measured_s["a"].tolist() == [7.0, 8.0, 1.0]


def plan_of(pes, **more):
    made = scenario(pes, 60, replications=20)
    return VerifyPlan(made.with_configurations((Configuration.one_each("equal", (60,)),)), "equal", **more)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (pe("p", load=trace([0.0], [0.5], 1.0), cpu=CPU), "PE p has a load of parts of processes"),
        (pe("p", load=trace([0.0], [1.0], 1.0), rule="idle", cpu=CPU), "PE p has a load of another rule than fair"),
    ],
)
def test_what_cannot_be_run_here_is_refused(given, found):
    with pytest.raises(ScenarioError, match=found):
        plan_of([given]).check()


def test_another_application_needs_a_command():
    plan = plan_of([pe("p", cpu=CPU)])
    other = replace(
        plan.scenario, application=replace(plan.scenario.application, name="ep", parameters={"samples": 100})
    )
    with pytest.raises(
        ScenarioError, match="ep has no real program here; matmul, matmul_2d, stencil and farm have, others run by"
    ):
        VerifyPlan(other, "equal").check()
    VerifyPlan(other, "equal", command=("true",)).check()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("./app {n} {units}", r"place \{n\}, which is unknown"),
        ("./app 'open {units}", "close every quotation"),
        ("", "is empty"),
        ("./app {rank}", r"has no \{units\}"),
    ],
)
def test_a_command_is_checked_before_anything_runs(text, found):
    with pytest.raises(ScenarioError, match=found):
        parse_command(text)


def test_every_rank_runs_its_command_on_its_pe(tmp_path):
    """Two processes on the last PE, none on the first one of a configuration that leaves it out."""
    made = scenario([pe("p", cpu=CPUS[0]), pe("q", cpu=CPUS[-1])], 50)
    said = "*sys.argv[2:], *os.sched_getaffinity(0)"
    script = f"import os, sys; print({said}, file=open('{tmp_path}/' + sys.argv[1], 'w'))"
    words = parse_command(f'{sys.executable} -c "{script}" {{rank}} {{first}} {{units}} {{processes}}')
    wide = Configuration("wide", (0, 20, 30), (0, 1, 1))
    with CommandRanks([CPUS[0]] * 3) as ranks:
        done = CommandRuns(ranks, words, places_on(this_machine(), made)[0], 30.0).run(wide)
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"0": f"0 20 2 {CPUS[-1]}\n", "1": f"20 30 2 {CPUS[-1]}\n"}
    assert done.makespan_s > 0
    assert done.compute == (Usage(), Usage())  # two on one core: what each had of it says nothing of others


@pytest.mark.real
def test_a_command_that_fails_is_one_line(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.format(cpu=CPU))
    done = apportion("verify", path, "--command", "sh -c 'echo no such thing {units} >&2; exit 3'", cwd=tmp_path)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert done.returncode == 1
    assert len(errors) == 1
    assert errors[0].endswith("ended with exit status 3: no such thing 64")


@pytest.mark.real
def test_a_killed_verification_goes_on_where_it_was(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.format(cpu=CPU))
    words = ["verify", path, "--command", "sleep 0.0{units}", "--budget"]
    first = started(*words, "1h", cwd=tmp_path)
    folder, deadline = tmp_path / "out" / "verify", time.monotonic() + 60
    while time.monotonic() < deadline and sum(p.read_text().count("\n") for p in folder.glob("runs-*.jsonl")) < 4:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    (kept,) = folder.glob("runs-*.jsonl")
    with kept.open("a") as stream:
        stream.write('{"key": "torn')
    other = folder / "runs-00000000.jsonl"
    other.write_text("another plan's\n")
    (folder / "verification.json").write_text("{}")
    done = apportion(*words, "1s", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert document["repetitions_reused"] >= 4
    assert document["repetitions"] >= document["repetitions_reused"]
    assert not kept.exists()
    assert other.exists()
    assert (folder / "earlier-1" / "verification.json").read_text() == "{}"


def test_a_file_of_runs_that_holds_something_else_is_refused(tmp_path):
    plan = plan_of([pe("p", 1e9, cpu=CPU)], command=("sleep", "0.0{units}"), budget_s=2.0)
    kept = tmp_path / "runs.jsonl"
    kept.write_text(json.dumps({"key": plan.key, "configuration": "equal", "repetition": 0}) + "\n")
    with pytest.raises(ScenarioError, match=r"runs\.jsonl:1: makespan_s: missing key; add it"):
        verify(plan, kept=kept, on_progress=lambda *_: None)


def test_the_document_names_what_the_prediction_assumes():
    """Two PEs of a node and no loopback: messages between them take the default."""
    made = scenario([pe("a", cpu=0), pe("b", cpu=1)], 64, (32, 32))
    network = Network(Star((Link("l", 1e-6, 1e9),)))
    made = replace(made, platform=Platform(made.platform.pes, network))
    measured = Verification({"c0": np.array([1.0, 1.1, 1.2])})
    document = documents.to_dict(_verified(VerifyPlan(made, "c0"), run(made), measured, reused=0))
    assert any(line.startswith("platform.network.loopback is not given") for line in document["warnings"])


def test_a_pull_that_takes_longer_than_the_scenario_says_is_told():
    parameters = {"units": 60, "volume": 65536, "size": 3072, "pull": "1us"}
    made = scenario([pe("a", cpu=CPU)], 60, (60,))
    plan = VerifyPlan(replace(made, application=Application("farm", "dgemm", parameters)), "c0")

    def told(pull_s):
        return documents.to_dict(
            _verified(plan, run(plan.scenario), Verification({"c0": np.array([1e-2])}, (), (pull_s,)), reused=0)
        )

    assert any("a pull takes 50 us here, and the scenario says 1 us; say" in line for line in told(50e-6)["warnings"])
    assert not any("pull" in line for line in told(1.2e-6)["warnings"])


SHARED = """
format: 1
platform:
  nodes:
  - name: here
    pes: [{{name: a, cpu: {cpu}, cores: {cores}, speeds: {{{kernel}: 1 Gunits/s}}}}]
  link: {{latency: 10 us, bandwidth: 1 GB/s}}
application: {{name: {name}, kernel: {kernel}, parameters: {parameters}}}
configurations:
  as-now: {{partition: {three}, pes: [a, a, a]}}
  alone: {{partition: equal}}
  with-nothing-to-do: {{partition: {idle}, pes: [a, a, a, a]}}
replications: 1
"""
REAL = {
    "matmul": ("dgemm", "{n: 60}", "[10, 20, 30]", "[0, 30, 10, 20]"),
    "stencil": ("stencil", "{n: 60, iterations: 5}", "[10, 20, 30]", "[0, 30, 10, 20]"),
    "farm": ("dgemm", "{units: 60, volume: 65536, size: 3072, chunk: 4, pull: 1us}", "[1, 1, 1]", "[0, 1, 5, 1]"),
    "ep": ("dgemm", "{samples: 60, volume: 1e5}", "[10, 20, 30]", "[0, 30, 10, 20]"),
}


@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_an_advice_with_several_processes_on_a_core_is_really_run(tmp_path, name):
    """From the advice on: more processes than cores, unequal units, and processes that have nothing to do."""
    kernel, parameters, three, idle = REAL[name]
    given = {"cpu": CPU, "cores": len(CPUS), "kernel": kernel, "name": name, "parameters": parameters}
    (tmp_path / "s.yaml").write_text(SHARED.format(**given, three=three, idle=idle))
    assert apportion("advise", "s.yaml", "--vary", "both", "-o", "advice", cwd=tmp_path).returncode == 0
    own = ("--command", "sleep 0.0{units}") if name == "ep" else ()
    done = apportion("verify", "advice", *own, "--budget", "3s", "--json", cwd=tmp_path)
    assert done.returncode in {0, 1}, done.stderr
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    entries = {entry["name"]: entry for entry in document["configurations"]}
    assert entries["as-now"]["processes"] == [3]
    assert entries["with-nothing-to-do"]["processes"] == [4 if name == "matmul" else 3]  # a master is always there
    assert all(min(entry["measured_s"]) > 0 for entry in entries.values())
    assert {sum(entry["processes"]) for entry in entries.values()} >= {1, len(CPUS), 3}  # alone, one per core, as now
    assert {len(entry["measured_s"]) for entry in entries.values()} == {document["repetitions"]}
    assert document["best_measured"] in entries
    assert "one-per-core" in {name for own, entry in entries.items() for name in (own, *entry["also"])}


@pytest.mark.parametrize("replications", [1, 20])
def test_one_replication_and_what_is_not_drawn_predict_no_range(replications):
    """A measured time lies in no range of width zero, and that it does not is no fault of the advice."""
    certain = scenario([pe("a", cpu=CPU)], 64, (64,), replications=replications)
    plan = VerifyPlan(certain, "c0")
    measured = Verification({"c0": np.array([1.0, 1.1, 1.2])})
    document = documents.to_dict(_verified(plan, run(certain), measured, reused=0))
    (entry,) = document["configurations"]
    assert (entry["predicted_interval_s"], entry["interval_holds"]) == (None, None)
    assert document["share_of_intervals_that_hold"] is None
    assert NO_RANGE in document["warnings"]
    page = render_html(document)
    assert "of intervals hold" not in page
    band = SpeedBand(np.array([1.0, 1e9]), *(np.full(2, speed) for speed in (0.8e9, 1e9, 1.2e9)))
    drawn = scenario([pe("a", band, cpu=CPU)], 64, (64,), replications=replications)
    (entry,) = documents.to_dict(_verified(VerifyPlan(drawn, "c0"), run(drawn), measured, reused=0))["configurations"]
    assert (entry["predicted_interval_s"] is None) == (replications == 1)


def test_real_loads_start_as_simulated_ones_do():
    """PEs of one clock together, each repetition again; those that say where they start, there."""
    pes = [pe(name, load=trace([0, 1], [0, 1], 2), cpu=CPU) for name in "abc"]
    pes[2] = replace(pes[2], load=replace(pes[2].load, drawn=False, start_s=0.5))
    starts_s = load_starts(scenario(pes, 64, (64, 0, 0)), window_s=0.1)
    together = [starts_s(0, repetition) for repetition in range(20)]
    assert together == [starts_s(1, repetition) for repetition in range(20)]
    assert (len(set(together)), min(together) >= 0, max(together) < 2) == (20, True, True)
    assert starts_s(2, 7) == 0.5

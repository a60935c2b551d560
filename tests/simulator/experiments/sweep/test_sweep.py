"""Sweeps: plans, results folders, what can be gone on with, and points alone; the worker is a thread here."""

import json
import logging
from dataclasses import replace
from functools import partial

import pytest
from distributed import LocalCluster

from simulator import Interrupted, ScenarioError, load_results, load_scenario, run
from simulator.base.errors import SweepError
from simulator.experiments.sweep import answer_alone, existing, simulated, sweep
from simulator.experiments.sweep.work import answer_batch, hand
from tests.support.sweep_points import N, never, plan_of, thread, write


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    plan = plan_of(write(folder), f"{N}=1200,-5,1600", "platform.link.bandwidth=1Gbit/s,10Gbit/s")
    told = []
    return plan, sweep(plan, thread, folder=folder / "out", progress=lambda *done: told.append(done)), told


def test_every_point_is_what_simulate_says(swept):
    plan, found, told = swept
    assert told[-1] == (7, 7)
    point = plan.points[2]
    assert point.changes == (f"{N}=1200", "platform.link.bandwidth=10Gbit/s")
    runs = run(load_scenario(plan.path, changes=point.changes))
    (entry,) = found.documents[point.hash]["configurations"]
    assert entry["makespan_ticks"] == runs.makespan_ticks[0].tolist()
    assert entry["tick_s"] == runs.tick_s


def test_the_table_has_every_parameter_and_paired_differences(swept):
    plan, _, _ = swept
    frame = load_results(plan.path.parent / "out").to_dataframe()
    assert frame[N].tolist() == [1600, 1200, 1200, -5, -5, 1600, 1600]
    assert frame["platform.link.bandwidth"].tolist() == ["1Gbit/s", *["1Gbit/s", "10Gbit/s"] * 3]
    assert set(frame["seed"]) == {3}
    runs = load_results(plan.path.parent / "out").to_dataframe(replications=True)
    assert len(runs) == 5 * 5
    times = {point: rows["makespan_s"].to_numpy() for point, rows in runs.groupby("point")}
    assert frame["difference_mean_s"][2] == pytest.approx((times[2] - times[0]).mean(), rel=1e-12)
    assert frame["mean_s"][5] == times[0].mean()  # the base again
    assert frame["difference_mean_s"][5] == 0
    assert frame["difference_low_s"].isna()[5]  # five draws that are alike say nothing of the next


def test_points_that_break_the_scenario_are_named(swept):
    plan, found, _ = swept
    assert [point.changes[0] for point in plan.points if point.hash in found.failed] == [f"{N}=-5"] * 2
    assert all("-5" in reason for reason in found.failed.values())
    manifest = json.loads((plan.path.parent / "out" / "manifest.json").read_text())
    assert manifest["failed"] == found.failed
    assert manifest["finished"] == 5


def test_going_on_runs_what_failed_and_nothing_else(swept):
    plan, found, _ = swept
    again = sweep(plan, thread, folder=plan.path.parent / "out", resume=True)
    assert again.spent["run_now"] == 2
    assert again.documents == found.documents


def test_a_torn_file_is_no_result_and_a_wider_sweep_goes_on(swept):
    plan, _, _ = swept
    good = plan_of(plan.path, f"{N}=1200,1600")
    folder = plan.path.parent / "wider"
    first = sweep(good, thread, folder=folder)
    torn = folder / "points" / f"{good.points[1].hash}.json"
    whole = torn.read_bytes()
    torn.write_bytes(whole[:100])
    wider = plan_of(plan.path, f"{N}=1200,1600,1700")
    second = sweep(wider, thread, folder=folder, resume=True)
    assert (first.spent["run_now"], second.spent["run_now"]) == (3, 2)
    assert torn.read_bytes() == whole
    assert list(second.documents) == [point.hash for point in wider.points]
    assert [row["point"] for row in second.rows] == [0, 1, 2, 3]
    with pytest.raises(
        ScenarioError, match="holds a sweep with 1 points that this one lacks; name a folder of this one"
    ):
        sweep(good, never, folder=folder, resume=True)


def test_a_point_alone_has_the_same_bits(swept):
    plan, _, _ = swept
    point = plan.points[2]
    kept = plan.path.parent / "out" / "points" / f"{point.hash}.json"
    assert answer_alone(plan, plan.find(point.hash[:10])) == kept.read_text()
    with pytest.raises(
        ScenarioError, match=r"\-\-only is 'zz', which the hashes of 0 points begin with; give more of the hash"
    ):
        plan.find("zz")


def test_workers_of_dask_answer_the_same(swept):
    plan, found, _ = swept
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **quiet) as cluster:
        again = sweep(plan, partial(existing, cluster.scheduler_address))
    assert again.documents == found.documents
    assert again.failed == found.failed


def test_results_of_another_sweep_are_refused(swept, tmp_path):
    plan, _, _ = swept
    folder = plan.path.parent / "out"
    varied = (f"{N}=1200,-5,1600", "platform.link.bandwidth=1Gbit/s,10Gbit/s")
    with pytest.raises(ScenarioError, match=r"holds results; name another folder, or go on with \-\-resume"):
        sweep(plan, never, folder=folder)
    with pytest.raises(ScenarioError, match="holds a sweep of another seed; name a folder of this one"):
        sweep(plan_of(plan.path, *varied, seed=4), never, folder=folder, resume=True)
    other = write(tmp_path)
    other.write_text(other.read_text().replace("20Gflop/s", "21Gflop/s"))
    with pytest.raises(ScenarioError, match="holds a sweep of another scenario"):
        sweep(plan_of(other, *varied), never, folder=folder, resume=True)
    (write(tmp_path).parent / "load.csv").write_text("time_s,load\n0,0\n0.5,2\n3,0\n")
    with pytest.raises(ScenarioError, match="holds a sweep of another set of files; name a folder of this one"):
        sweep(plan_of(other, *varied), never, folder=folder, resume=True)


def test_what_is_asked_in_place_of_the_scenarios_own(tmp_path):
    plan = plan_of(write(tmp_path), f"{N}=1200", replications=2, seed=9)
    document = json.loads(answer_alone(plan, plan.points[1]))
    assert (document["replications"], document["seed"]) == (2, 9)
    (entry,) = document["configurations"]
    scenario = load_scenario(plan.path, changes=[f"{N}=1200"])
    runs = run(replace(scenario, replications=2, seed=9, strata=scenario.replications))  # as `advise` has it
    assert entry["makespan_ticks"] == runs.makespan_ticks[0].tolist()
    assert plan.points[1].hash != plan_of(plan.path, f"{N}=1200", replications=2, seed=8).points[1].hash


def test_files_that_values_name_travel_and_count(tmp_path):
    path = write(tmp_path)
    (tmp_path / "other.csv").write_text("time_s,load\n0,2\n3,2\n")
    trace = "platform.nodes.slow.pes.0.load.trace"
    plan = plan_of(path, f"{trace}=load.csv,other.csv")
    assert set(plan.inputs) == {"sixteen.yaml", "load.csv", "other.csv"}
    (tmp_path / "other.csv").write_text("time_s,load\n0,1\n3,1\n")
    assert plan_of(path, f"{trace}=load.csv,other.csv").points[2].hash != plan.points[2].hash


@pytest.mark.parametrize("name", ["load.csv", "../traces/load.csv"])
def test_a_machine_without_the_files_gets_copies(tmp_path, name):
    (tmp_path / "here").mkdir()
    (tmp_path / "traces").mkdir()
    path = write(tmp_path / "here")
    (tmp_path / "here" / "load.csv").rename(tmp_path / "here" / name)
    path.write_text(path.read_text().replace("load.csv", name))
    plan = plan_of(path, f"{N}=1200")
    payload, expected = plan.payload(), answer_alone(plan, plan.points[1])
    (tmp_path / "here").rename(tmp_path / "gone")
    (tmp_path / "traces").rename(tmp_path / "gone too")
    hand("name", payload, str(tmp_path / "worker"), 1)
    (answer,) = json.loads(answer_batch("name", [1], simulated))
    assert (answer["errors"], answer["text"]) == ([], expected)


@pytest.mark.parametrize(("stop", "error"), [(KeyboardInterrupt(), Interrupted), (SweepError("gone"), SweepError)])
def test_what_is_finished_is_kept_when_it_is_stopped(swept, tmp_path, stop, error):
    plan, _, _ = swept

    def stopping(done, _of):
        if done == 2:
            raise stop

    good = plan_of(plan.path, f"{N}=1200,1600,1700")
    with pytest.raises(error, match=f"2 of 4 points kept in {tmp_path / 'out'}: --resume goes on"):
        sweep(good, thread, folder=tmp_path / "out", progress=stopping)
    with pytest.raises(
        ScenarioError, match=r"the sweep has finished 2 of 4 points; its command with \-\-resume goes on"
    ):
        load_results(tmp_path / "out")
    assert sweep(good, thread, folder=tmp_path / "out", resume=True).spent["run_now"] == 2

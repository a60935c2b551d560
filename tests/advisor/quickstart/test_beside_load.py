"""What a quickstart plans, puts on the last PE and checks by real pieces; and that it takes all PEs."""

import contextlib
import dataclasses
import json
import time

import numpy as np
import pytest

from advisor.cluster import ClusterWish, advise_cluster, cluster_scenario, real_runs, this_host
from advisor.cluster.real_runs import RealPieces
from advisor.quickstart import MEASURE, PIECES, _kernels, application_order, left_beside, wish_of, with_competitor
from simulator import LoadTrace, SpeedBand, files, read_trace
from simulator.calibration import RealRun, Usage, first_speed, measure_cluster, reach_hosts
from simulator.calibration.hosts import campaign
from tests.advisor.cluster.test_cluster import measured, measured_host
from tests.hosts.test_hosts import stand_in

TRACE = read_trace(files.shipped("traces", "on-off-1-2.csv"))
WISH = ClusterWish(parameters={"n": 600}, seed=1)


def scenario_of(host, folder):
    return cluster_scenario(WISH, measured(host), folder)[0]


def test_an_idle_machine_has_the_competitor_on_its_last_pe_alone(tmp_path):
    scenario = with_competitor(scenario_of(measured_host("a", 1e9, cores=3), tmp_path), TRACE)
    assert [pe.load and pe.load.rule for pe in scenario.platform.pes] == [None, None, "fair"]
    assert scenario.platform.pes[-1].load.trace == TRACE


def test_a_foreign_program_is_on_every_pe_and_the_trace_on_the_last_as_well(tmp_path):
    scenario = with_competitor(scenario_of(measured_host("a", 1e9, cores=3, share=0.5), tmp_path), TRACE)
    loads = [pe.load for pe in scenario.platform.pes]
    assert [load.rule for load in loads] == ["given"] * 3
    assert [load.trace.mean() for load in loads[:2]] == pytest.approx([0.5, 0.5])
    kept = loads[-1].trace
    assert kept.end_s == TRACE.end_s
    assert sorted(set(kept.values.round(9))) == pytest.approx([0.5 / 3, 0.5 / 2])  # with two competitors, and with one
    assert kept.mean() == pytest.approx(0.5 * np.average(1 / (1 + TRACE.values), weights=TRACE.durations_s))


def test_what_was_seen_once_of_a_pe_lasts(tmp_path):
    host = measured_host("a", 1e9, cores=2, share=0.5)
    once = tuple(dataclasses.replace(one, times_s=(3e-6,), share=(0.5,)) for one in host.available)
    scenario = scenario_of(dataclasses.replace(host, available=once), tmp_path)
    assert [pe.load.trace.end_s for pe in scenario.platform.pes] == [1.0, 1.0]


def test_what_is_left_changes_when_either_does():
    left = LoadTrace(np.array([0.0, 1.0]), np.array([1.0, 0.5]), 2.0)
    load = LoadTrace(np.array([0.0, 1.5]), np.array([0.0, 1.0]), 3.0)
    found = left_beside(left, load)
    assert found.times_s.tolist() == [0.0, 1.0, 1.5, 2.0]
    assert found.values.tolist() == [1.0, 0.5, 0.25, 0.5]
    assert found.end_s == 3.0


def test_the_order_of_the_matrices_follows_from_the_budget_and_from_what_each_pe_gets():
    machine, many = (
        dataclasses.replace(measured_host("a", 1e9, cores=cores).about.machine, memory_available_bytes=2**40)
        for cores in (2, 48)
    )
    orders = [application_order(machine, budget_s=budget, speed=3e10, trace=TRACE) for budget in (15, 60, 240)]
    assert orders == sorted(set(orders))
    faster = application_order(many, budget_s=60, speed=3e10, trace=TRACE)
    assert orders[1] < faster < 0.9 * orders[1] * 24 ** (1 / 3)  # B has to reach every PE


@pytest.mark.usefixtures("quick_advice")
def test_a_machine_of_twelve_pes_is_measured_and_advised_in_the_budget(tmp_path):
    budget_s = 12.0
    with stand_in("cores12") as host:
        (about,) = reach_hosts([host], {}, lambda *_: None).values()
        wish = wish_of(about.machine, budget_s=budget_s, seed=1, speed=first_speed(host, about, "dgemm"), trace=TRACE)
        found = measure_cluster(
            [host], {host.name: about}, wish.plan, folder=tmp_path, lost={}, on_progress=lambda *_: None
        )
    answer = advise_cluster(wish, found, tmp_path, loaded=lambda scenario: with_competitor(scenario, TRACE))
    assert found.spent_s <= wish.budget_s == pytest.approx((MEASURE + PIECES) * budget_s)
    assert [one.cpu for one in found.hosts[0].available] == list(range(12))
    assert [pe.load is not None for pe in answer.scenario.platform.pes] == [False] * 11 + [True]
    advised = answer.recommendation.configuration
    units = dict(zip(advised.placement, advised.partition, strict=True))
    assert sum(advised.partition) == wish.application.parameters["n"]
    assert units[0] > 1.5 * units.get(11, 0)


def test_cores_that_are_alike_share_a_speed_and_each_kind_has_its_own(tmp_path):
    host = measured_host("a", 4e9, cores=4)
    kinds = [dataclasses.replace(core, kind="P" if core.cpu < 2 else "E") for core in host.about.topology.cores]
    about = dataclasses.replace(host.about, topology=dataclasses.replace(host.about.topology, cores=tuple(kinds)))
    slow = SpeedBand.from_dict(host.speed["model"]).scaled(0.5).to_dict()
    host = dataclasses.replace(host, about=about, others={"E": host.speed | {"model": slow, "points": []}})
    scenario = scenario_of(host, tmp_path)
    assert [float(pe.speeds["dgemm"].speed(1e5)) for pe in scenario.platform.pes] == pytest.approx([4e9, 4e9, 2e9, 2e9])
    host = dataclasses.replace(host, speed=host.speed | {"points": []})
    names = [pe.name for pe in scenario.platform.pes]
    assert [entry.pe for entry in _kernels(host, scenario)] == [names[0], names[2]]


def test_each_kind_of_core_is_measured_once_and_the_competitor_is_on_beside_messages_alone(tmp_path, monkeypatch):
    kept, budgets_s, speeds = [], [], campaign._speeds

    def noted(host, about, asked, *more):
        budgets_s.append(asked.rest_s(host))
        speeds(host, about, asked, *more)

    monkeypatch.setattr(campaign, "_speeds", noted)

    @contextlib.contextmanager
    def beside():
        kept.append(stages())
        yield
        kept.append(stages())

    def stages():
        lines = (tmp_path / "cluster.jsonl").read_text().splitlines()
        return [entry["stage"] for entry in map(json.loads, lines) if "stage" in entry]

    with stand_in("cores4") as host:
        (about,) = reach_hosts([host], {}, lambda *_: None).values()
        kinds = [dataclasses.replace(core, kind="P" if core.cpu < 2 else "E") for core in about.topology.cores]
        about = dataclasses.replace(about, topology=dataclasses.replace(about.topology, cores=tuple(kinds)))
        plan = dataclasses.replace(WISH, budget_s=6.0).plan
        measure = {"folder": tmp_path, "lost": {}, "on_progress": lambda *_: None, "beside": beside}
        (found,) = measure_cluster([host], {host.name: about}, plan, **measure).hosts
    assert list(found.others) == ["E"]
    assert [one["subject"]["cpu"] for one in (found.speed, found.others["E"])] == [0, 2]
    assert kept == [["speed", "speed of E"], ["speed", "speed of E", "within"]]
    shares = 1 - campaign.TOGETHER - campaign.PANELS - plan.spared  # none for links of a host alone
    assert budgets_s == [pytest.approx(shares * plan.budget_s)]


class SlowRuns:
    """Runs that take much longer than their makespans: what distributing and checking take on many PEs."""

    def prepare(self, configurations):
        pass

    def run(self, configuration):
        time.sleep(0.2)
        usages = tuple(Usage(cpu_s=0.01, wall_s=0.01) for _ in configuration.partition)
        return RealRun(makespan_s=0.01, compute=usages)


def test_real_pieces_end_with_their_share_whatever_runs_take_besides(tmp_path, monkeypatch):
    monkeypatch.setattr(real_runs, "cluster_runs", lambda *_, **__: contextlib.nullcontext(SlowRuns()))
    wish = dataclasses.replace(WISH, budget_s=10.0, pieces=0.1)
    host = measured_host("a", 3e10, cores=2)
    scenario = scenario_of(host, tmp_path)
    pieces = RealPieces(wish, {"a": host.about}, [], tmp_path)
    pieces.correct(scenario, scenario, scenario.configurations, 0.5)
    (runs,) = pieces.runs.values()
    assert len(runs) == real_runs.FEWEST
    assert pieces.left_s < 0.5
    pieces.correct(scenario, scenario, scenario.configurations, 1.0)
    assert len(pieces.runs[scenario.configurations[0]]) == real_runs.FEWEST  # no more fit into what is left


@pytest.mark.real
def test_real_pieces_run_on_one_host(tmp_path):
    wish = dataclasses.replace(WISH, parameters={"n": 128}, budget_s=20.0)
    with this_host() as (host, about):
        known = about[host.name]
        cores = len(known.machine.cores[: known.machine.pe_count])
        made = dataclasses.replace(measured_host(host.name, 3e10, cores=cores), about=known)
        made = dataclasses.replace(
            made,
            available=tuple(
                dataclasses.replace(one, cpu=core.cpu)
                for one, core in zip(made.available, known.machine.cores, strict=False)
            ),
        )
        scenario = scenario_of(made, tmp_path)
        pieces = RealPieces(wish, about, [host], tmp_path)
        pieces.correct(scenario, scenario, scenario.configurations, 1.0)
    assert len(pieces.runs[scenario.configurations[0]]) >= 3

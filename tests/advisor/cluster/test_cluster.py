"""From what was measured of hosts to a scenario, an advice, the line to run it, the page and the text."""

import dataclasses
import json
import shlex
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import TypeAdapter

from advisor.cluster import ClusterWish, advise_cluster, cluster_scenario, node_name, scenario_text
from advisor.cluster.answer import Asked, Ran, _written, cluster_result, run_line
from advisor.cluster.real_runs import RealPieces
from advisor.report.cluster import ClusterResult, cluster_page
from advisor.report.html import render_page
from advisor.verification.asking import check_document
from simulator import Quota, SpeedBand, documents, load_scenario, partitions
from simulator.calibration import About, ClusterPlan, Host, MeasuredCluster, MeasuredHost
from simulator.calibration.hosts import campaign
from simulator.calibration.hosts.campaign import Available, MeasuredPair
from tests.hosts.stand_in import ABOUT
from tests.support.rendered import whole

SIZES = np.array([1e3, 1e5, 1e7])
BYTES = (1, 256, 4096, 2**15, 2**17, 2**19, 2**21)

pytestmark = pytest.mark.usefixtures("quick_advice")


def about(name, cores):
    machine = ABOUT["machine"] | {"host": name, "cores": [{"cpu": n, "siblings": [], "kind": ""} for n in range(cores)]}
    topology = ABOUT["topology"] | {"host": name, "cores": machine["cores"]}
    return TypeAdapter(About).validate_python(ABOUT | {"machine": machine, "topology": topology})


def measured_host(name, speed, *, cores=1, share=1.0, kernel="dgemm"):
    band = SpeedBand(SIZES, *(np.full(3, speed * edge) for edge in (0.98, 1.0, 1.02)))
    document = {"format": 2, "kind": "speed", "kernel": kernel, "model": band.to_dict(), "warnings": []}
    times = tuple(0.25 * number for number in range(8))
    left = tuple(Available(cpu, times, (share,) * 8) for cpu in range(cores))
    within = {size: (1e-6 + size / 5e9,) * 3 for size in BYTES} if cores > 1 else {}
    return MeasuredHost(name, about(name.rpartition("@")[2], cores), document, None, within, left)


def measured(*hosts, rates=None, lost=None):
    names = [host.name for host in hosts]
    rates = rates or dict.fromkeys(names, 1e9)
    pairs = tuple(
        MeasuredPair((one, other), {size: (2e-5 + size / min(rates[one], rates[other]),) * 4 for size in BYTES})
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    )
    return MeasuredCluster(hosts, pairs, lost or {}, 0, 12.0)


def answered(wish, cluster, folder):
    asked = Asked(wish, [host.name for host in cluster.hosts], None, None, folder)
    answer = advise_cluster(wish, cluster, folder)
    return answer, asked, cluster_result(answer, asked, (), Ran())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("unequal")


@pytest.fixture(scope="module")
def unequal(folder, quick_advice):  # noqa: ARG001 - its advice is quick too
    cluster = measured(
        measured_host("fast", 4e9),
        measured_host("me@half", 4e9, share=0.5),
        measured_host("slow", 1e9, cores=2),
        lost={"gone": "nothing was heard of it for 20 s"},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPORTION_STATE", str(folder / "state"))
        return answered(ClusterWish(parameters={"n": 3000}), cluster, folder)


def test_units_follow_speeds_and_what_others_leave(unequal):
    _, _, result = unequal
    units = {one.name: one.units for one in result.hosts}
    assert sum(units.values()) == 3000
    assert units["fast"] == pytest.approx(3000 * 4 / 8, rel=0.2)  # 4 + 4 / 2 + 2 * 1, but for messages
    assert units["me@half"] == pytest.approx(3000 * 2 / 8, rel=0.2)
    assert [one.units_now for one in result.hosts] == [750, 750, 1500]
    gain = result.compared.named("equal").gain
    assert gain.mean > 1.5
    assert gain.low < gain.mean < gain.high


def test_the_scenario_is_the_cluster_and_loads_again(unequal, tmp_path):
    answer, _, _ = unequal
    path = tmp_path / "again.yaml"
    path.write_text(scenario_text(answer))
    again = load_scenario(path)
    assert [pe.node for pe in again.platform.pes] == ["fast", "half", "slow", "slow"]
    assert [pe.cpu for pe in again.platform.pes] == [0, 0, 0, 1]
    assert [None if pe.load is None else pe.load.rule for pe in again.platform.pes] == [None, "given", None, None]
    assert dict(again.application.parameters) == {"n": 3000}
    assert {one.name for one in again.configurations} >= {"equal", answer.recommendation.configuration.name}


@pytest.mark.usefixtures("unequal")
def test_what_was_measured_stays_as_files_that_platform_joins(folder):
    assert sorted(path.name for path in (folder / "calibrations").glob("*.json")) == sorted(
        ["fast.json", "half.json", "slow.json", "link.json", "within.json"]
    )
    assert json.loads((folder / "calibrations" / "half.json").read_text())["topology"]["host"] == "half"


def test_the_advice_that_is_written_can_be_verified(unequal, tmp_path):
    exports = _written(unequal[0], tmp_path)
    check_document(tmp_path)
    advice = json.loads((tmp_path / "advice.json").read_text())
    assert advice["exports"] == exports
    assert {"doubt", "measure_next"} <= advice.keys()


def test_the_line_starts_every_process(unequal):
    answer, asked, result = unequal
    words = shlex.split(run_line(answer, asked))
    processes = sum(one.processes for one in result.hosts)
    assert words[:2] == ["mpiexec", "-f"]
    assert words[-3:] == ["-n", str(processes), "PROGRAM"]


def test_a_command_of_the_users_has_its_units_in_the_line(tmp_path):
    cluster = measured(measured_host("a", 30.0, kernel="command"), measured_host("b", 10.0, kernel="command"))
    wish = ClusterWish(command=("./my app", "--part={units}"), parameters={"units": 1000})
    answer, asked, result = answered(wish, cluster, tmp_path)
    units = [one.units for one in result.hosts]
    assert sum(units) == 1000
    assert units[0] == pytest.approx(750, abs=10)
    said = " : ".join(f"-n 1 './my app' --part={count}" for count in units)
    assert run_line(answer, asked).endswith(said)


def test_alike_hosts_are_one_kind_unlike_links_are_a_link_each_and_unlike_versions_are_said(tmp_path):
    hosts = [measured_host("a", 1e9), measured_host("b", 3e9), measured_host("c", 1.01e9)]
    hosts[1] = dataclasses.replace(hosts[1], about=dataclasses.replace(hosts[1].about, numpy="1.26"))
    cluster = measured(*hosts, rates={"a": 1e9, "b": 9e8, "c": 1e7})
    answer, _, result = answered(ClusterWish(parameters={"n": 500}), cluster, tmp_path)
    assert answer.kinds == (("a", "c"), ("b",))
    assert [one.kind for one in result.hosts] == [1, 2, 1]
    found = [link.bandwidth_bytes_per_s for link in answer.scenario.platform.network.links]
    assert found[1:] == pytest.approx([9e8, 1e7], rel=0.1)
    assert "c has the slowest link" in result.network
    assert any("unlike versions of numpy: 2.0 on a, c; 1.26 on b" in line for line in answer.warnings)


def test_times_of_processes_on_hosts_that_are_alike_are_those_of_each_by_itself(tmp_path):
    hosts = [measured_host(name, 1e9 if name < "c" else 2e9, cores=2) for name in "abcd"]
    rates = {"a": 1e9, "b": 1e7, "c": 1e9, "d": 1e7}
    scenario, *_ = cluster_scenario(ClusterWish(parameters={"n": 280}), measured(*hosts, rates=rates), tmp_path)
    placement = (7, 0, 1, 2, 3, 4, 5, 6)
    work, platform = scenario.application.work, scenario.platform
    counts = np.array([30, 30, 30, 30, 40, 40, 40, 40])
    alone = []
    for pe, count in zip(placement, counts.tolist(), strict=True):
        step, other = work.compute(len(placement))(count), platform.pes[pe]
        messages = platform.message_s(placement[0], pe, np.array(work.messages_bytes(count))).sum()
        alone.append(step.volume / float(other.speeds["dgemm"].speed(step.size)) + messages)
    found = partitions.model_times(scenario, placement, led=False)(counts)
    np.testing.assert_allclose(found[1:], alone[1:], rtol=1e-12)
    assert len(set(found[1:].tolist())) > 4


def test_page_and_text_name_who_is_left_out_and_what_to_run(unequal):
    _, _, result = unequal
    page, text = render_page(cluster_page(result)), whole(cluster_page(result))
    for shown in (page, text):
        assert "gone is left out: nothing was heard of it for 20 s" in shown
        assert "rankfile.mpich" in shown
        assert "me@half: other programs or a quota leave us a part of its PEs: cpu 0 50%" in shown
    assert documents.read(ClusterResult, json.loads(json.dumps(documents.to_dict(result)))) == result


@pytest.mark.parametrize(("share", "load"), [(0.36, None), (0.2, 0.2)])
def test_a_quota_that_the_control_group_says_is_in_the_scenario(tmp_path, share, load):
    """What was left is the quota itself, or less where others have the PE; what PEs give in the mean counts both."""
    machine = {"quota_cores": 0.37, "quota_period_s": 0.05}
    host = measured_host("a", 1e9, share=share)
    of = host.about
    limited = replace(of, machine=replace(of.machine, **machine), topology=replace(of.topology, quota_cores=0.37))
    other = measured_host("b", 1e9)
    cluster = measured(replace(host, about=limited), other)
    answer, _, result = answered(ClusterWish(parameters={"n": 500}), cluster, tmp_path)
    pes = {pe.name: pe for pe in answer.scenario.platform.pes}
    assert (pes["a"].quota, pes["b"].quota) == (Quota(0.37, 0.05), None)
    assert (pes["a"].load and pes["a"].load.trace.mean()) == (load and pytest.approx(load))
    units = {one.name: one.units for one in result.hosts}
    assert units["a"] / units["b"] == pytest.approx(load or 0.37, rel=0.1)


def test_pes_of_a_host_that_seem_to_share_a_core_are_said(tmp_path, monkeypatch):
    shared = "PEs cpu0 and cpu3 (7) seem to share a core: in so many of 12 runs at once they were slow together"
    found = {"_speed": {}, "_within": {}, "_neighbours": {"warnings": ["a busy machine", shared]}}
    for name, document in found.items():
        monkeypatch.setattr(campaign, name, lambda *_, document=document, **__: document)
    one, measured, kept = about("vm", 4), dict[str, MeasuredHost](), SimpleNamespace(stage=lambda *of: of[3]())
    with Host("vm", lambda _, line: ("sh", "-c", line)) as host:
        asked = campaign._Alone(ClusterPlan(), campaign.turns_of({"vm": one}), tmp_path, 0.0, nullcontext)
        campaign._speeds(host, replace(one, numba="0.60"), asked, kept, measured)
    assert measured["vm"].notes == (f"vm: {shared}",)


def test_one_host_needs_no_network(tmp_path):
    _, _, result = answered(ClusterWish(parameters={"n": 500}), measured(measured_host("a", 1e9, cores=2)), tmp_path)
    assert result.network == "one host"
    assert not any("under one kernel" in line for line in result.warnings)
    assert [one.units for one in result.hosts] == [500]


@pytest.mark.parametrize(("host", "node"), [("n1", "n1"), ("me@n1.site", "n1.site"), ("n1:22", "n1-22")])
def test_nodes_are_named_as_scenarios_can_name_them(host, node):
    assert node_name(host) == node
    assert Path(node).name == node


def test_hosts_that_slow_each_other_down_are_as_fast_as_all_are_at_once(tmp_path):
    """Hosts with caches of their own keep their speed; of containers on one machine that is not so."""
    from simulator.calibration.kernels.table import panel_kernel

    wish, kernel = ClusterWish(parameters={"n": 1000}), panel_kernel("dgemm", 1000)
    seconds = {rows: kernel.volume(rows) / 2e9 for rows in (250, 500)}
    slowed = dataclasses.replace(measured_host("slowed", 4e9), at_work_s=seconds)
    alone = dataclasses.replace(measured_host("alone", 4e9), at_work_s={rows: one / 2 for rows, one in seconds.items()})
    assert slowed.kept(wish.plan) == pytest.approx({250: 0.5, 500: 0.5})
    assert alone.kept(wish.plan) == {}
    answer, _, result = answered(wish, measured(slowed, alone), tmp_path)
    speeds = {pe.name: float(pe.speeds["dgemm"].speed(kernel.size(300))) for pe in answer.scenario.platform.pes}
    assert speeds == pytest.approx({"slowed": 2e9, "alone": 4e9}, rel=0.01)
    assert any("slowed then keeps 50% of the speed that it has alone" in line for line in result.warnings)


def test_pieces_of_equal_units_and_then_of_the_advice_correct_what_is_advised(tmp_path):
    cluster, asked = measured(measured_host("a", 4e9), measured_host("b", 4e9)), []

    def check(scenario, believed, configurations, share):
        asked.append((configurations, share))
        half = scenario.platform.pes[1].speeds["dgemm"].scaled(1 / len(asked))
        pes = (believed.platform.pes[0], dataclasses.replace(scenario.platform.pes[1], speeds={"dgemm": half}))
        platform = dataclasses.replace(scenario.platform, pes=pes)
        return dataclasses.replace(scenario, platform=platform), [f"corrected {len(asked)} times"]

    answer = advise_cluster(ClusterWish(parameters={"n": 3000}), cluster, tmp_path, check=check)
    (first, _), (second, rest) = asked
    assert [one.name for one in first] == ["equal"]
    assert len({one.partition for one in second}) == len(second)
    assert rest == 1.0
    assert answer.warnings[-1] == "corrected 2 times"
    made = answer.recommendation.configuration
    units = dict(zip(made.placement, made.partition, strict=True))
    assert units[0] > 1.5 * units.get(1, 0)


def test_no_pieces_are_run_on_more_than_64_hosts(tmp_path):
    pieces = RealPieces(ClusterWish(budget_s=60.0), {f"h{number}": ABOUT for number in range(65)}, (), tmp_path)
    assert pieces.correct(None, None, (), 1.0) == (None, [])

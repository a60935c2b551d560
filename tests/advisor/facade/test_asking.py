"""The module `apportion`: it costs nothing to import, takes paths, names and scenarios, and its answers print."""

import doctest
import json
import sys

import apportion as ap
import numpy as np
import pytest

import advisor
import simulator as sim
from advisor.report.whatif import whatif_page

STENCIL = {"n": 400, "iterations": 20}


def small(configurations=(), **load):
    fast = ap.nodes("fast[1-2]", cores=2, speeds={"stencil": "3 Gflop/s"})
    slow = ap.nodes("slow", cores=2, speeds={"stencil": 1.5e9}, **load)
    platform = ap.star(fast, slow, link=ap.Link("10 GbE", "30us", "10 Gbit/s"))
    return ap.Scenario(platform, ap.Application("stencil", parameters=STENCIL), configurations, replications=10)


@pytest.mark.slow
def test_a_cluster_of_two_kinds_takes_twelve_lines_of_python():
    """4 nodes x 8 cores, 10 GbE, one busy from 13 to 18 h: the program of the module's text says what it shows."""
    (found,) = doctest.DocTestFinder(recurse=False).find(ap, "apportion")
    assert sum(example.source.count("\n") for example in found.examples) == 12
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0


def test_all_calls_take_a_path_a_name_a_folder_and_a_scenario(tmp_path):
    scenario = ap.load("two-cores")
    assert ap.load(scenario) is scenario
    ap.save(scenario.with_draws(5, None), tmp_path / "scenario.yaml")
    for what in (tmp_path / "scenario.yaml", str(tmp_path), scenario.with_draws(5, None)):
        assert repr(ap.load(what)) == "Scenario(matmul on 2 PEs, 2 configurations, 5 replications, seed 7)"
        runs = ap.simulate(what)
        assert np.array_equal(runs.makespan_ticks, ap.simulate(scenario.with_draws(5, None)).makespan_ticks)
    assert repr(ap.load("two-cores", changes={"seed": 3, "replications": 9})).endswith("9 replications, seed 3)")


def test_they_answer_what_simulator_and_advisor_answer():
    scenario = small({"as-now": "one-per-core"})
    assert np.array_equal(ap.simulate(scenario).makespan_ticks, sim.run(scenario).makespan_ticks)
    assert ap.advise(scenario).compared == advisor.recommend(scenario).compared
    path = "platform.network.link.latency"
    found = ap.what_if(scenario, {path: ["x2", "/2"]}, replications=4)
    assert found.sentence == advisor.what_if(scenario, {path: ["x2", "/2"]}, replications=4).sentence
    assert str(found).startswith(found.sentence)


def by_speed(scenario):
    speeds = np.array([float(pe.speed_of("dgemm").mid[-1]) for pe in scenario.platform.pes])
    units = np.floor(scenario.application.work.units * speeds / speeds.sum()).astype(int)
    return [*units[:-1], scenario.application.work.units - units[:-1].sum()]


def all_to_the_first(scenario):
    return [scenario.application.work.units, *[0] * (len(scenario.platform.pes) - 1)]


def test_partitioners_of_ones_own_are_compared_by_name_and_a_bad_one_changes_nothing(tmp_path):
    asked = {"vary": "partition", "replications": 10}
    found = ap.advise("two-cores", strategies=[by_speed], folder=tmp_path / "own", **asked)
    (own,) = (one for one in found.compared.baselines if one.name == "by_speed")
    assert list(own.partition) == by_speed(found.scenario)
    assert "by_speed" in (tmp_path / "own" / "report.html").read_text()
    alone = ap.simulate(found.scenario.with_configurations((sim.Configuration.one_each("mine", own.partition),)))
    assert own.predicted.mean == pytest.approx(alone.of("mine").mean())
    worse = ap.advise("two-cores", strategies=[by_speed, all_to_the_first], **asked)
    assert worse.configuration == found.configuration
    assert worse.predicted == found.predicted


@pytest.mark.parametrize("words", ["scheduling", "partition,scheduling"])
def test_python_and_the_command_line_vary_the_same(apportion, tmp_path, words):
    path = tmp_path / "wide.yaml"
    ap.save(small({"as-now": "one-per-core"}), path)
    printed = json.loads(apportion("advise", path, "--vary", words, "--json")[1])
    found = ap.advise(path, vary=words.split(","))
    assert list(found.varied) == printed["varied"]
    assert printed["recommended"] == found.configuration.name


def test_a_what_if_names_cores_that_the_new_division_leaves_idle():
    found = ap.what_if("three-pes", {"platform.link.bandwidth": ["/1000"]}, advise=True, replications=5).found
    assert found.points[0].advice.idle is None
    assert found.points[1].advice.idle.startswith("2 of 3 cores stay idle: ")
    assert found.points[1].advice.idle in dict(whatif_page(found).facts.items)["Idle"]


def test_answers_print_their_makespan_with_its_interval():
    scenario = small({"as-now": "one-per-core", "mine": [160, 160, 80]}, load=ap.busy("13:00", "18:00", processes=2))
    runs = ap.simulate(scenario, replications=40)
    first, second, third = str(runs).splitlines()
    assert first.startswith(("as-now: ", "mine: "))
    assert " ms (" in first
    assert third.startswith("90 % intervals of the true mean")
    assert repr(runs).startswith(f"RunSet({first.replace(':', '', 1)}, {second.replace(':', '', 1)}; 40 replications")
    advice = ap.advise(scenario)
    answer, predicted = str(advice).splitlines()
    assert answer.startswith("Give 200 rows to each core of fast1")
    assert predicted.startswith("Predicted makespan: mean ")
    assert "; as-now: " in predicted


def test_many_configurations_print_the_fastest_ones():
    units = {f"c{number}": [100 + number, 200, 100 - number] for number in range(9)}
    lines = str(ap.simulate(small(units), replications=1)).splitlines()
    assert len(lines) == 5
    assert lines[3].endswith(", and 5 slower")


def test_costs_of_ones_own_are_simulated_alike_and_advised():
    calls = []

    def costs(units):
        calls.append(units)
        return 0.01 * units + 1e-4 * units**2

    counted = ap.Application.of_costs(costs, units=200, kernel="mine", unit_bytes="8 KiB", result_bytes=64)
    in_order = ap.Application.of_costs(np.linspace(0.01, 0.05, 200), kernel="mine")
    assert calls == list(range(1, 201))
    link = ap.Link("10 GbE", "30us", "1 Gbit/s")
    platform = ap.star(ap.nodes("a", cores=2, speeds={"mine": 1}), ap.nodes("b", speeds={"mine": 3}), link=link)
    for application in (counted, in_order):
        scenario = ap.Scenario(platform, application, {"as-now": "one-per-core"}, replications=2)
        one, other = (ap.simulate(scenario, engine=engine) for engine in ("process", "compiled"))
        assert np.array_equal(one.makespan_ticks, other.makespan_ticks)
        advice = ap.advise(scenario)
        assert advice.baselines["as-now"].mean > 1.2
        with pytest.raises(ap.ScenarioError, match="costs of your own are Python's, and no file holds them; keep"):
            ap.save(scenario, "never.yaml")
    assert len(calls) == 200


def test_units_of_ones_own_in_order_cost_what_the_array_says():
    costs = np.array([1.0, 2.0, 4.0, 8.0])
    platform = ap.uniform(ap.nodes("n[1-2]", speeds={"own": "2units/s"}), link=ap.Link("l", "1us", "1GB/s"))
    application = ap.Application.of_costs(costs)
    runs = ap.simulate(ap.Scenario(platform, application, {"first": [3, 1], "last": [1, 3]}, replications=1))
    assert runs.makespan_s[:, 0].tolist() == [4.0, 7.0]  # (1 + 2 + 4, 8) / 2 and (1, 2 + 4 + 8) / 2


@pytest.mark.real
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measuring is for Linux")
def test_this_machine_is_measured_and_advised(tmp_path):
    scenario = ap.measure("dgemm", parameters={"n": 400}, budget="20s", folder=tmp_path)
    assert len(scenario.platform.pes) == sim.this_machine().pe_count
    assert all(pe.speeds["dgemm"].mid.min() > 1e6 for pe in scenario.platform.pes)
    assert ap.advise(scenario).configuration.partition
    again = ap.measure("dgemm", parameters={"n": 400}, budget="20s", folder=tmp_path)  # nothing is measured twice
    assert sim.dump_scenario(again).splitlines()[:40] == sim.dump_scenario(scenario).splitlines()[:40]

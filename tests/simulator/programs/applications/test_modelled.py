"""A fitted run-time model as the cost of an application: by hand, by engine, from and to files."""

import json

import numpy as np
import pytest

import advisor
from simulator import LinkModel, dump_scenario, load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.load_traces import trace_text
from simulator.models import fit, make_runs
from simulator.platform.nodes import PE, Platform
from simulator.programs.applications import build_program
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute
from simulator.scenario_file.scenario import Application, Scenario
from tests.simulator.platform.platforms import flat, trace

N, PROCESSES = (column.ravel() for column in np.meshgrid([100.0, 200, 400, 800], [1.0, 2, 4, 8]))


def fitted(formula="N/P", truth=lambda n, p: n / p, **more):
    values = {"N": N, "P": PROCESSES} | {name: np.full(len(N), value) for name, value in more.items()}
    used = {name: column for name, column in values.items() if name in formula}
    return fit({"t": formula}, {"t": make_runs(used, truth(N, PROCESSES))}, method="ols")


def modelled(model, speeds, *partitions, parameters=None, loads=None):
    pes = tuple(PE(f"pe{i}", "node", {"reference": flat(s)}, (loads or {}).get(i)) for i, s in enumerate(speeds))
    application = Application("modelled", "reference", parameters or {"N": 400, "units": 100}, model)
    configurations = tuple(Configuration.one_each(f"c{i}", part) for i, part in enumerate(partitions))
    return Scenario(
        Platform.uniform(pes, LinkModel.from_latency(1.0, 1.0)), application, configurations, replications=3
    )


def program(partition, model, parameters=None):
    configuration = Configuration.one_each("c", partition)
    return build_program("modelled", parameters or {"N": 400, "units": 100}, configuration, model=model)


def test_volumes_made_by_hand():
    """T = 400 / P + 10 s: two processes take 210 s with 50 units each, so a unit costs 4.2 s; one process 4.1 s."""
    model = fitted(truth=lambda n, p: n / p + 10)
    both, one = program((75, 25), model), program((0, 100), model)
    assert both.operations == (
        (Compute(pytest.approx(75 * 4.2), 75),),
        (Compute(pytest.approx(25 * 4.2), 25),),
    )
    assert one.operations == ((), (Compute(pytest.approx(410), 100),))


def test_a_model_without_processes_is_that_of_one():
    model = fitted("N", truth=lambda n, _: n + 10)
    assert program((75, 25), model).operations[1] == (Compute(pytest.approx(102.5), 25),)
    assert program((100, 0), model).operations[0] == (Compute(pytest.approx(410), 100),)


def test_equal_shares_on_reference_pes_take_what_the_model_says():
    made = modelled(fitted(), [1.0, 1.0, 0.5], (50, 50, 0), (0, 50, 50), (100, 0, 0))
    np.testing.assert_allclose(run(made).makespan_s[:, 0], [200, 400, 400], rtol=1e-9)


def test_advice_divides_by_speed_and_leaves_out_pes_that_cost_more_than_they_give():
    advice = advisor.recommend(modelled(fitted(), [1.0, 0.25]))
    assert advice.configuration.partition == (80, 20)
    assert advice.baselines["equal"].mean == pytest.approx(2.5, rel=0.01)
    overhead = fitted("N/P + N*P", truth=lambda n, p: n / p + 0.5 * n * p)  # more than one process never pays
    alone = advisor.recommend(modelled(overhead, [1.0, 1.0, 1.0]))
    assert sorted(alone.configuration.partition) == [0, 0, 100]
    assert alone.baselines["equal"].mean > 1


def test_a_scenario_goes_to_a_file_and_back_with_its_model(tmp_path):
    from simulator.platform.nodes import Load

    load = trace([0, 50.0], [0, 1.0], 100.0)
    parameters = {"N": 333.5, "units": 100}
    made = modelled(fitted(), [1.0, 0.5], (60, 40), parameters=parameters, loads={1: Load(load, "fair")})
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.json").write_text(json.dumps(made.application.model.to_dict()))
    (tmp_path / "l.csv").write_text(trace_text(load))
    text = dump_scenario(made, traces={"pe1": "l.csv"}, model="models/m.json")
    (tmp_path / "s.yaml").write_text(text)
    again = load_scenario(tmp_path / "s.yaml")
    assert dump_scenario(again, traces={"pe1": "l.csv"}, model="models/m.json") == text
    assert dict(again.application.parameters) == parameters
    assert isinstance(again.application.parameters["units"], int)
    np.testing.assert_allclose(run(again).makespan_s, run(made).makespan_s, rtol=1e-9)
    assert set(again.inputs) == {"s.yaml", "l.csv", "models/m.json"}
    with pytest.raises(ScenarioError, match="a model and file None found, both or neither"):
        dump_scenario(made, traces={"pe1": "l.csv"})


def test_a_prediction_far_outside_the_runs_carries_its_warning():
    near, far = ({"N": n, "units": 100} for n in (400, 40_000))
    assert modelled(fitted(), [1.0], (100,), parameters=near).warnings == ()
    (line,) = modelled(fitted(), [1.0], (100,), parameters=far).warnings
    assert "N = 40000 is 50 times outside the runs' 100 to 800" in line


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"units": 100}, "parameters: N missing, units found, N, units allowed"),
        ({"N": 400}, "parameters: units missing, N found, N, units allowed"),
        ({"N": 400, "units": 100, "M": 1}, "parameters: M found, N, units allowed"),
        ({"N": 400, "units": 100, "P": 2}, "parameters: P = 2 found, N, units allowed: P is the number of processes"),
        ({"N": 400, "units": 100.0}, "units: 100.0 found, an integer of at least 1 allowed"),
        ({"N": 400, "units": 0}, "units: 0 found, an integer of at least 1 allowed"),
        ({"N": 400, "units": 99}, "100 units together, but units = 99; take 1 away"),
    ],
)
def test_parameters_that_do_not_fit_are_named(parameters, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        program((60, 40), fitted(), parameters)
    assert len(caught.value.lines) == 1


def test_a_model_is_needed_or_not_allowed_and_must_give_a_time():
    with pytest.raises(ScenarioError, match="application: model: none found, a file"):
        program((60, 40), None)
    with pytest.raises(ScenarioError, match="application: model: one found, none allowed with matmul"):
        build_program("matmul", {"n": 4}, Configuration.one_each("c", (4,)), model=fitted())
    falling = fitted("P", truth=lambda _, p: 10 - p)
    with pytest.raises(ScenarioError, match=r"model: -2 s found for 12 processes, a finite time above 0 s allowed"):
        program((10,) * 12, falling, {"units": 120})


SCENARIO = """
format: 1
platform:
  nodes: [{name: n, pes: [{name: a, speeds: {reference: {sizes: [1], low: [1], mid: [1], high: [1]}}}]}]
  link: {latency: 10us, bandwidth: 1Gbit/s}
application: {name: modelled, kernel: reference, model: m.json, parameters: {N: 400, units: 100}}
configurations: {all: {partition: [100]}}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("model: m.json", "model: no.json", "no.json: no such file"),
        ("model: m.json", "model: s.yaml", "s.yaml:2:1: .*JSON"),
        (", model: m.json", "", "application: model: none found"),
        ("N: 400", "N: .inf", "application.parameters.N: inf found"),
        ("N: 400", "N: big", "application.parameters.N: 'big' found, a number allowed"),
        ("N: 400", f"N: 1{'0' * 400}", "application.parameters.N: 1000.* found, a finite number or a text allowed"),
        ("N: 400", "N: -1e3, Q: 1", "parameters: Q found, N, units allowed"),
    ],
)
def test_bad_files_get_one_line_that_names_the_field(tmp_path, old, new, message):
    (tmp_path / "m.json").write_text(json.dumps(fitted().to_dict()))
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO)
    load_scenario(path)
    path.write_text(SCENARIO.replace(old, new))
    with pytest.raises(ScenarioError, match=message) as caught:
        load_scenario(path)
    assert len(caught.value.lines) == 1

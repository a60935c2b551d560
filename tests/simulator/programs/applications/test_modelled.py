"""A fitted run-time model as the cost of an application: by hand, by engine, from and to files."""

import json

import numpy as np
import pytest

from simulator import LinkModel, dump_scenario, load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.base.randomness import stream
from simulator.load_traces import trace_text
from simulator.models import fit, make_runs
from simulator.platform.nodes import PE, Platform
from simulator.programs.applications import build_program
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute
from simulator.scenario_file.scenario import Application, Scenario
from tests.support.applications import PROCESSES, N, fitted
from tests.support.platforms import flat, trace


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


def test_a_scenario_goes_to_a_file_and_back_with_its_model(tmp_path):
    from simulator.platform.nodes import Load

    load = trace([0, 50.0], [0, 1.0], 100.0)
    parameters = {"N": 333.5, "units": 100}
    made = modelled(fitted(), [1.0, 0.5], (60, 40), parameters=parameters, loads={1: Load(load, "fair", drawn=False)})
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
    with pytest.raises(
        ScenarioError, match="application: model: it has a model and the file is None; give both or neither"
    ):
        dump_scenario(made, traces={"pe1": "l.csv"})


def test_a_prediction_far_outside_the_runs_carries_its_warning():
    near, far = ({"N": n, "units": 100} for n in (400, 40_000))
    assert modelled(fitted(), [1.0], (100,), parameters=near).warnings == ()
    (line,) = modelled(fitted(), [1.0], (100,), parameters=far).warnings
    assert "N = 40000 is 50 times outside the runs' 100 to 800" in line


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"units": 100}, "application: parameters: N is missing; take N, units"),
        ({"N": 400, "units": 100, "M": 1}, "application: parameters: M is unknown; take N, units"),
        (
            {"N": 400, "units": 100, "P": 2},
            "application: parameters: P is the number of processes that have units and no parameter; take N, units",
        ),
        ({"N": 400, "units": 100.0}, r"application: parameters: units: it is 100\.0; give an integer of at least 1"),
    ],
)
def test_parameters_that_do_not_fit_are_named(parameters, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        program((60, 40), fitted(), parameters)
    assert len(caught.value.lines) == 1


def test_a_model_is_needed_or_not_allowed_and_must_give_a_time():
    with pytest.raises(
        ScenarioError, match="application: model: it is missing; name a file that `apportion fit` wrote"
    ):
        program((60, 40), None)
    with pytest.raises(ScenarioError, match="application: model: the costs of matmul are counted; leave the model out"):
        build_program("matmul", {"n": 4}, Configuration.one_each("c", (4,)), model=fitted())
    falling = fitted("P", truth=lambda _, p: 10 - p)
    with pytest.raises(ScenarioError, match=r"model: it predicts -2 s for 12 processes, which is no time"):
        program((10,) * 12, falling, {"units": 120})


def in_parts(*, noise=0.0, network="P", seed=1, repetitions=1):
    """Computing takes N / P seconds, messages 3 P, files 5."""
    n, p = np.tile(N, repetitions), np.tile(PROCESSES, repetitions)
    truth = {"compute": n / p, "communication": 3 * p, "io": np.full(len(n), 5.0) + 0 * n}
    formulas = {"compute": "N/P", "communication": network, "io": "N"}
    runs = {
        name: make_runs({"N": n, "P": p}, times * np.exp(noise * stream(seed, name).standard_normal(len(n))))
        for name, times in truth.items()
    }
    return fit(formulas, runs, method="ols" if noise == 0 else "default")


LINKED = """
format: 1
platform:
  nodes:
    - {{name: n, pes: [{{name: a, speeds: {{reference: {speed}}}}}], disk: {{latency: 1ms, bandwidth: {disk}}}}}
    - {{name: m, pes: [{{name: b, speeds: {{reference: {speed}}}}}], disk: {{latency: 1ms, bandwidth: {disk}}}}}
  link: {{latency: 10us, bandwidth: {link}}}
application:
  name: modelled
  kernel: reference
  model: m.json
  parameters: {{N: 400, units: 100, measured_bandwidth: 1Gbit/s, measured_disk_bandwidth: 100MB/s}}
configurations: {{both: {{partition: [50, 50]}}, alone: {{partition: [100, 0]}}}}
replications: {replications}
"""


def linked(tmp_path, model, *, speed=1.0, link="1Gbit/s", disk="100MB/s", replications=4):
    (tmp_path / "m.json").write_text(json.dumps(model.to_dict()))
    constant = f"{{sizes: [1], low: [{speed}], mid: [{speed}], high: [{speed}]}}"
    text = LINKED.format(speed=constant, link=link, disk=disk, replications=replications)
    (tmp_path / "s.yaml").write_text(text)
    return load_scenario(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("changed", "both", "alone"),
    [
        ({}, 200 + 6 + 5, 400 + 3 + 5),
        ({"speed": 2.0}, 100 + 6 + 5, 200 + 3 + 5),
        ({"link": "100Gbit/s"}, 200 + 0.06 + 5, 400 + 3 + 5),
        ({"disk": "50MB/s"}, 200 + 6 + 10, 400 + 3 + 10),
        ({"speed": 4.0, "link": "2Gbit/s", "disk": "1GB/s"}, 50 + 3 + 0.5, 100 + 3 + 0.5),
    ],
)
@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_parts_act_on_what_they_are_named_after(tmp_path, changed, both, alone, engine):
    found = run(linked(tmp_path, in_parts(), **changed), engine=engine)
    np.testing.assert_allclose(found.makespan_s[:, 0], [both, alone], rtol=1e-6)


def test_parts_of_a_machine_that_nothing_is_said_of_scale_with_the_pes():
    made = modelled(in_parts(), [2.0, 2.0], (50, 50))
    np.testing.assert_allclose(run(made).makespan_s[:, 0], [211 / 2], rtol=1e-6)
    lines = [line for line in made.warnings if "measured_" in line]
    named = [line.split("parameter ")[1].split()[0] for line in lines]
    assert named == ["measured_bandwidth", "measured_disk_bandwidth"]


def test_a_node_without_a_disk_is_named():
    parameters = {"N": 400, "units": 100, "measured_disk_bandwidth": "1GB/s"}
    with pytest.raises(ScenarioError, match="node node has no disk, but a part of the run-time model acts on disks"):
        run(modelled(in_parts(), [1.0], (100,), parameters=parameters))


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_doubt_is_drawn_once_per_truth_and_noise_per_run(tmp_path, engine):
    scenario = linked(tmp_path, in_parts(noise=0.05, network="P", repetitions=3), replications=400)
    assert scenario.doubtful
    assert scenario.noisy
    found = run(scenario, engine=engine)
    logs = np.log(found.makespan_s[0]).reshape(10, 40)  # replication r has truth r % 40
    doubt, noise = scenario.application.work.doubt(2), scenario.application.work.noise(2)
    assert np.std(logs - logs.mean(axis=0)) == pytest.approx(noise.sd, rel=0.15)
    expected = np.hypot(float(doubt.sd[0]), noise.sd / np.sqrt(10))
    assert np.std(logs.mean(axis=0)) == pytest.approx(expected, rel=0.25)
    assert set(doubt.sources) == {"sampling", "form", "extrapolation"}
    # Waits for links and disks share it: nothing else is drawn here, so both configurations move together.
    alone = np.log(found.makespan_s[1]).reshape(10, 40).mean(axis=0)
    assert np.corrcoef(alone, logs.mean(axis=0))[0, 1] > 0.95


def test_draws_do_not_depend_on_where_the_files_are(tmp_path):
    found = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        found.append(run(linked(tmp_path / name, in_parts(noise=0.05, repetitions=3))).makespan_ticks)
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"measured_bandwidth": 3}, "measured_bandwidth: 3 cannot be used; give a text above 0 with its unit"),
        (
            {"measured_bandwidth": "fast"},
            "application: parameters: measured_bandwidth: 'fast' is no bandwidth; write one such as 1Gbit/s or 125MB/s",
        ),
        (
            {"measured_latency": "1us"},
            r"application: parameters: measured_latency is unknown; take N, units, measured_bandwidth",
        ),
    ],
)
def test_what_is_said_of_the_measured_machine_is_checked(parameters, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        program((60, 40), in_parts(), {"N": 400, "units": 100} | parameters)
    assert len(caught.value.lines) == 1

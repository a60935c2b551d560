"""Software execution graphs and the application `seg` in files."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from advisor.cli import _run
from simulator import describe_seg, dump_seg, load_scenario, load_seg, run
from simulator.base.errors import ScenarioError
from simulator.base.formula import parse
from simulator.calibration import load_resource_model, save_resource_model
from simulator.models import CostVector, Guess
from simulator.programs.graphs.nodes import Branch, Call, Graph, Loop, Processing, Seg, Sequence, expected_time
from tests.support.graph_bodies import bodies

FOLDER = Path(__file__).parents[3] / "scenarios" / "tutorial"
SHIPPED = sorted((FOLDER / "segs").glob("*.seg.yaml"))
T800 = CostVector.timed()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_graph_is_read_as_it_is_written(path, tmp_path):
    seg = load_seg(path)
    (tmp_path / "again.seg.yaml").write_text(dump_seg(seg))
    assert load_seg(tmp_path / "again.seg.yaml") == seg


def test_the_papers_timing_formulas():
    """Table 3, with N_rows and N_cols in the order of the loops, and 1 - P_edge as what is left."""
    formulas = {path.name.removesuffix(".seg.yaml"): describe_seg(path)["graphs"][0]["formula"] for path in SHIPPED}
    assert formulas == {
        "integration": "t = P_edge*t(v_edge) + (1 - P_edge)*"
        "(N_power*t(v_power) + t(v_vinit) + N_ivals*t(v_srf) + t(v_result))",
        "matmul": "t = N_rows*N_cols*t(v_dtpr)",
        "merge-sort": "t = t(v_init) + N_merge*t(v_merge) + N_tail*t(v_tail) + N_copy*t(v_copy)",
    }


def test_the_papers_component_times():
    """Table 6, CT, in seconds: each formula at one value of its parameters."""
    integration, matmul, merge = (load_seg(FOLDER / "segs" / f"{name}.seg.yaml") for name in
                                  ("integration", "matmul", "merge-sort"))  # fmt: skip
    values = {"P_edge": 0.25, "N_power": 6, "N_ivals": 100}
    expected = 0.25 * 37.0 + 0.75 * (6 * 3.1 + 8.8 + 100 * 23.0 + 7.0)
    assert float(expected_time(integration, values, T800).s) == pytest.approx(expected * 1e-6)
    assert float(expected_time(matmul, {"N_rows": 16, "N_cols": 256}, T800).s) == pytest.approx(16 * 256 * 6.5e-6)
    values = {"N_merge": 10, "N_tail": 3, "N_copy": 13}
    assert float(expected_time(merge, values, T800).s) == pytest.approx((1.5 + 121 + 18 + 13 * 8.9) * 1e-6)
    sort_s = 3 * (1.5 + 6 * 12.1 + 2 * 6.0 + 8 * 8.9) * 1e-6
    assert float(expected_time(merge, {"n": 8}, T800, graph="sort").s) == pytest.approx(sort_s)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies)
def test_any_graph_is_read_as_what_it_means(body, tmp_path):
    """Sequences without a name are flattened, so graphs may differ where their times do not."""
    call = Call("call", "g", (("n", parse("2*n")),), {"poc": {"add": Guess(1.0, 0.5, 3.0)}})
    arms = ((parse("1/n"), body), (parse("1 - 1/n"), Processing("x", {"hllc": {"store": 0.1}})))
    outer = Graph("outer", ("n",), Loop("l", parse("n"), Sequence("", (call, Branch("b", arms)))), parse("8*n"))
    seg = Seg((outer, Graph("g", ("n",), body)))
    path = tmp_path / "any.seg.yaml"
    path.write_text(dump_seg(seg))
    again = load_seg(path)
    assert dump_seg(again) == dump_seg(seg)
    costs = CostVector.from_dict("hllc", {"costs": {"store": 1, "compare": 10, "increment": 100}})
    assert float(expected_time(again, {"n": 4}, costs).s) == float(expected_time(seg, {"n": 4}, costs).s)


def test_a_resource_model_is_kept_in_a_file(tmp_path):
    model = load_resource_model(FOLDER / "segs" / "t800.json")
    save_resource_model(model, tmp_path / "again.json")
    assert load_resource_model(tmp_path / "again.json") == model
    (tmp_path / "bad.json").write_text('{"format": 1, "kind": "resource", "methods": {"poc": {"rate_per_s": -1}}}')
    with pytest.raises(ScenarioError, match=r"bad\.json: methods\.poc\.rate_per_s: -1 is not"):
        load_resource_model(tmp_path / "bad.json")


def test_the_same_graph_on_two_hardware_models_under_two_templates():
    """By hand: 2 * 256**3 flops at 1.5 Mflop/s or 2 Gflop/s over four PEs, and what the templates send."""
    message_s = {1024: 100e-6 + 1024 / 1.25e6, 655360: 100e-6 + 655360 / 1.25e6, 131072: 100e-6 + 131072 / 1.25e6}
    computing = {"t800": 2 * 256**3 / 4 / 1.5e6, "guessed-core": 2 * 256**3 / 4 / 2e9}
    found = {}
    for template in ("broadcast", "master-worker"):
        for hardware in computing:
            change = f"platform.nodes.0.pes.0.resource=segs/{hardware}.json"
            scenario = load_scenario(FOLDER / f"matmul-{template}.yaml", changes=[change])
            found[template, hardware] = float(run(scenario, engine="process").makespan_s[0, 0])
    for hardware, computing_s in computing.items():
        assert found["broadcast", hardware] == pytest.approx(computing_s + 256 * 2 * message_s[1024], rel=1e-9)
    assert found["master-worker", "t800"] > computing["t800"] + 3 * message_s[655360]
    assert len(set(found.values())) == 4


def test_the_resource_model_is_chosen_on_the_command_line(capsys):
    path = str(FOLDER / "matmul-broadcast.yaml")

    def mean_s(*options):
        assert _run(["simulate", path, "--json", "--engine", "process", *options]) == 0
        document = json.loads(capsys.readouterr().out)
        return document["application"]["resource_model"], document["configurations"][0]["makespan_s"]["mean"]

    flops, timed = mean_s(), mean_s("--set", "application.resource_model=ct")
    assert (flops[0], timed[0]) == ("poc", "ct")
    assert timed[1] - flops[1] == pytest.approx(256**3 / 4 * (6.5e-6 - 2 / 1.5e6), rel=1e-6)
    assert _run(["simulate", path, "--set", "application.resource_model=hllc"]) == 2
    said = "error: --set application.resource_model: the resource model T800 has no hllc; take poc, icc, ct\n"
    assert capsys.readouterr().err == said
    assert _run(["simulate", str(FOLDER / "two-cores.yaml"), "--set", "application.resource_model=icc"]) == 2
    assert "error: --set application.resource_model: the key is unknown here; take name" in capsys.readouterr().err


def test_a_graph_is_checked_on_the_command_line(capsys):
    assert _run(["check", str(FOLDER / "segs" / "matmul.seg.yaml"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["graphs"][0]["formula"] == "t = N_rows*N_cols*t(v_dtpr)"
    assert document["methods"] == ["dbc", "poc", "hllc", "ct"]


def test_an_advice_divides_the_units_of_a_graph_by_what_the_pes_can(capsys, tmp_path):
    changes = "pes:\n        - {name: slow, count: 2, resource: segs/t800.json}\n        - {name: swift, resource: "
    text = (FOLDER / "matmul-master-worker.yaml").read_text()
    guess = FOLDER / "segs" / "guessed-core.json"
    text = text.replace("pes:\n        - {name: pe, count: 4, resource: segs/t800.json}", f"{changes}{guess}}}")
    text = text.replace("segs/matmul.seg.yaml", str(FOLDER / "segs" / "matmul.seg.yaml"))
    text = text.replace("segs/t800.json", str(FOLDER / "segs" / "t800.json")).replace("{n: 256}", "{n: 4096}")
    (tmp_path / "mixed.yaml").write_text(text)
    assert _run(["advise", str(tmp_path / "mixed.yaml"), "--json", "--set", "application.resource_model=poc"]) == 0
    advice = json.loads(capsys.readouterr().out)
    assert advice["application"]["resource_model"] == "poc"
    assert sum(advice["partition"]) == 4096
    assert advice["partition"][-1] > 3000

"""What is doubted most is measured again: which model, for how long, what is kept, and what cannot be measured here."""

import json
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from advisor import recommend
from advisor.advise import measured_again
from advisor.advise.explanation.next_measurement import WORTH, Candidate, NextMeasurement
from advisor.advise.measured_again import just_measured, measure_again, measured_first
from simulator import LinkModel, ScenarioError, SpeedBand, load_scenario, this_machine
from simulator.calibration import fit_speed, save_speed_model
from simulator.calibration.bench.measurement import Workload
from simulator.models.doubt import Doubt
from tests.support.platforms import pe, scenario

SCENARIO = """
format: 1
platform:
  nodes:
    - name: here
      pes:
        - {name: one, speeds: {dgemm: {model: models/a.json}}}
        - {name: two, speeds: {dgemm: {model: models/b.json}}}
        - {name: hand, speeds: {dgemm: {sizes: [1e3], low: [8e9], mid: [1e10], high: [1.2e10]}}}
  link: {latency: 30us, bandwidth: 10Gbit/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 300}}
configurations: {equal: {partition: equal}}
replications: 40
"""


def candidate(source, *, what="speed", reduction=0.01, seconds=5.0, share=0.5):
    line = f"apportion calibrate {source}"
    return Candidate(source, what, share, {}, 1.0, seconds, reduction, reduction / seconds, line, (0,))


def found(*candidates):
    return NextMeasurement(None, None, None, 0.02, None, True, candidates, ())


@pytest.fixture
def home(tmp_path):
    """A scenario whose models say that they were measured here."""
    built = fit_speed("gbbp_dgemm.csv", method="gbbp")
    machine = this_machine()
    subject = {"kernel": "dgemm", "cpu": machine.cores[0].cpu}
    built = replace(built, subject=Workload.from_dict(subject), provenance={"machine": machine.to_dict()})
    (tmp_path / "models").mkdir()
    for name in "ab":
        save_speed_model(built, tmp_path / "models" / f"{name}.json")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture
def measured(monkeypatch):
    """In place of real runs, the recorded table; returns what was asked for."""
    asked = []

    def source(plan, _store, budget_s):
        asked.append((plan.document["subject"] | {"line": plan.command}, budget_s))
        return "gbbp_dgemm.csv"

    monkeypatch.setattr(measured_again, "_source", source)
    return asked


@pytest.mark.usefixtures("measured")
def test_the_new_model_lies_beside_the_old_one_which_stays(home):
    before = (home / "models/a.json").read_bytes()
    (again,) = measure_again(home / "s.yaml", found(candidate("models/a.json")), budget_s=10)
    assert again.model == str(home / "models/a-2.json")
    assert again.changes == ('platform.nodes.0.pes.0.speeds.dgemm.model="models/a-2.json"',)
    (more,) = measure_again(home / "s.yaml", found(candidate("models/a.json")), budget_s=10)
    assert more.model == str(home / "models/a-3.json")
    assert (home / "models/a.json").read_bytes() == before
    changed = load_scenario(home / "s.yaml", changes=again.changes, oversized=True)
    assert [one.speeds["dgemm"].source for one in changed.platform.pes] == ["models/a-2.json", "models/b.json", "hand"]
    assert sorted(path.name for path in (home / "models").iterdir()) == ["a-2.json", "a-3.json", "a.json", "b.json"]


def test_the_budget_is_shared_by_what_is_worth_it_and_fits(home, measured):
    two = found(candidate("models/a.json", seconds=5), candidate("models/b.json", seconds=10))
    assert [one.source for one in measure_again(home / "s.yaml", two, budget_s=20)] == [
        "models/a.json",
        "models/b.json",
    ]
    assert [budget_s for _, budget_s in measured] == [pytest.approx(20 / 3), pytest.approx(40 / 3)]
    assert len(measure_again(home / "s.yaml", two, budget_s=14)) == 1
    useless = found(candidate("models/a.json"), candidate("models/b.json", reduction=WORTH / 2))
    assert len(measure_again(home / "s.yaml", useless, budget_s=20)) == 1


@pytest.mark.usefixtures("measured")
def test_what_cannot_be_measured_here_is_passed_over(home):
    later = found(candidate("links.json", what="link"), candidate("speed of hand"), candidate("models/b.json"))
    assert [one.source for one in measure_again(home / "s.yaml", later, budget_s=10)] == ["models/b.json"]


def changed_model(home, **fields):
    path = home / "models/a.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize(
    ("fields", "source", "said"),
    [
        ({}, "speed of hand", "the speed of hand was written by hand; measure it there: apportion calibrate"),
        ({"subject": {}}, "models/a.json", "models/a.json does not say what was run to measure it"),
        ({"provenance": {}}, "models/a.json", r"models/a.json was measured on another machine \(not named\)"),
        (
            {"provenance": {"machine": {"host": "far"}}},
            "models/a.json",
            r"on another machine \(far\); measure it there",
        ),
        (
            {"subject": {"kernel": "dgemm", "cpu": 9999}},
            "models/a.json",
            "on processor 9999, which this process may not",
        ),
    ],
)
def test_what_lies_elsewhere_is_named_with_its_command(home, measured, fields, source, said):
    changed_model(home, **fields)
    with pytest.raises(ScenarioError, match=f"--measure-next: .*{said}"):
        measure_again(home / "s.yaml", found(candidate(source)), budget_s=10)
    assert not measured


def commanded(home, words, **more):
    """A model that says that a command was run to measure it."""
    path = home / "models/a.json"
    cpu = json.loads(path.read_text())["subject"]["cpu"]
    changed_model(home, subject={"command": words, "size": "n", "volume": "n", "cpu": cpu, **more})


def test_a_command_that_a_model_names_is_run_only_if_it_is_repeated(home):
    """Really run, so that a mark would be left."""
    mark = home / "mark"
    commanded(home, ["touch", str(mark), "a b", "{n}"])
    one, other = found(candidate("models/a.json")), found(candidate("models/a.json"), candidate("models/b.json"))
    line = f"touch {mark} 'a b' '{{n}}'"
    for command in (None, "", "touch", f"{line} "):
        with pytest.raises(ScenarioError) as error:
            measure_again(home / "s.yaml", one, budget_s=10, command=command)
        (said,) = error.value.lines
        assert f"models/a.json says to run {line}, and a model may come from anybody; if you agree, add --comm" in said
        assert said.endswith(f"--command {shlex.quote(line)}")
        with pytest.raises(ScenarioError, match=r"models/a\.json says to run"):
            measure_again(home / "s.yaml", other, budget_s=10, command=command or "x")
    assert not mark.exists()


def test_what_is_agreed_to_is_measured_and_what_is_not_is_said(home, measured):
    commanded(home, ["x", "{n}"])
    both, said = found(candidate("models/a.json", seconds=5), candidate("models/b.json", seconds=5)), []
    (again,) = measure_again(home / "s.yaml", both, budget_s=20, tell=said.append)
    assert again.source == "models/b.json"
    assert said[0].startswith("--measure-next: models/a.json says to run x '{n}', and ")
    assert len(measure_again(home / "s.yaml", both, budget_s=20, command="x '{n}'")) == 2
    assert [subject["line"] for subject, _ in measured] == [None, "x '{n}'", None]
    with pytest.raises(ScenarioError, match="--command has no effect: no model to be measured again names a command"):
        measure_again(home / "s.yaml", found(candidate("models/b.json")), budget_s=20, command="x")


@pytest.mark.parametrize("words", ["x {n}", [["x"]], ["x", None]])
@pytest.mark.parametrize("kernel", [{}, {"kernel": "dgemm"}])
def test_a_command_of_another_type_is_none(home, measured, words, kernel):
    commanded(home, words, **kernel)
    with pytest.raises(ScenarioError, match=r"models/a\.json does not say what was run to measure it"):
        measure_again(home / "s.yaml", found(candidate("models/a.json")), budget_s=10, command="x '{n}'")
    assert not measured


def test_nothing_to_measure_and_too_little_time(home):
    with pytest.raises(ScenarioError, match="--measure-next: no model of this scenario states a doubt"):
        measure_again(home / "s.yaml", replace(found(), doubted=False), budget_s=10)
    with pytest.raises(ScenarioError, match="--measure-next: one truth tells nothing of doubt; ask for more repl"):
        measure_again(home / "s.yaml", found(), budget_s=10)
    with pytest.raises(ScenarioError, match="--measure-next: 2 s is too little to measure anything; give at least 4 s"):
        measure_again(home / "s.yaml", found(candidate("models/a.json")), budget_s=2)


def test_right_after_measuring_a_part_of_the_drift_is_gone():
    doubt = Doubt.constant(0.1, sources={"drift": 0.5, "sampling": 0.5})
    band = replace(SpeedBand.constant(1e9), doubt=doubt, source="a-2.json")
    one = scenario(
        [pe("a", band), pe("b", replace(band, source="b.json"))], 100, link=LinkModel.from_latency(1e-9, 1e30)
    )
    fresh = just_measured(one, ["a-2.json"])
    first, second = (pe.speeds["dgemm"].doubt for pe in fresh.platform.pes)
    assert first.sd[0] ** 2 == pytest.approx(0.01 * 0.75)
    assert first.sources == {"drift": pytest.approx(1 / 3), "sampling": pytest.approx(2 / 3)}
    assert second == doubt
    assert fresh.notes[-1].startswith("a-2.json was measured just now: its drift counts for 50% of its variance")


@pytest.mark.real
def test_real_runs_on_this_machine_and_asked_again(tmp_path):
    """Two models of a few seconds, one of them measured again for a few more."""
    (tmp_path / "models").mkdir()
    for name in "ab":
        save_speed_model(fit_speed("dgemm", budget_s=4), tmp_path / "models" / f"{name}.json")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    told = []
    fresh, again = measured_first(
        tmp_path / "s.yaml",
        lambda changes: load_scenario(tmp_path / "s.yaml", changes=changes, oversized=True),
        partial(recommend, confirm=0),
        budget_s=5,
        tell=told.append,
    )
    assert len(told) == len(again.measured) >= 1
    for one in again.measured:
        assert json.loads(Path(one.model).read_text())["subject"]["kernel"] == "dgemm"
        assert 0 < one.seconds < 10
    assert any(pe.speeds["dgemm"].source.endswith("-2.json") for pe in fresh.platform.pes)
    assert again.before.expected_loss >= 0

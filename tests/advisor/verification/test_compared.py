"""What a verification compares and keeps: from the simulated runs and the real ones to `lab history`."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from advisor.verification.allocations import AllocationPredictions
from advisor.verification.check import VerifyPlan, _verified, comparisons, median_ratio
from advisor.verification.interleaved import Verification
from simulator import Scenario, ScenarioError, SpeedBand, documents, run, this_machine
from simulator.calibration import Usage, fit_allocation_table, save_allocation_fit, state_file
from simulator.models.doubt import Doubt, Noise
from tests.conftest import Command
from tests.support import platforms
from tests.support.platforms import scenario
from tests.support.rendered import render_html

CPU = this_machine().cores[0].cpu
TUTORIAL = Path(__file__).parents[3] / "scenarios" / "tutorial"
SIZES = np.array([1.0, 1e9])
SPEED = np.full(2, 1e9)
YAML = """
format: 1
platform:
  nodes:
  - name: here
    pes: [{{name: a, cpu: {cpu}, speeds: {{sleep: {{model: m.json}}}}}}]
  link: {{latency: 10 us, bandwidth: 1 GB/s}}
application: {{name: ep, kernel: sleep, parameters: {{samples: 5}}}}
configurations: {{equal: {{partition: equal}}}}
replications: 100
"""


def certain(doubt: Doubt | None, noise: Noise | None, *, replications: int = 400) -> Scenario:
    band = SpeedBand(SIZES, SPEED, SPEED, SPEED, doubt=doubt, noise=noise, source="m.json")
    pe = replace(platforms.pe("p", band), cpu=CPU)
    return replace(scenario([pe], 60, (60,), replications=replications), inputs={"folder/s.yaml": "x", "m.json": "y"})


def compared(made: Scenario, measured_s: list[float], **more: object):  # type: ignore[no-untyped-def]
    verification = Verification({"c0": np.array(measured_s)}, **more)  # type: ignore[arg-type]
    (one,) = comparisons(made, run(made), verification, level=0.9, command=None)
    return one


def test_the_mean_is_held_by_doubt_and_single_runs_by_noise_too() -> None:
    made = certain(Doubt.constant(0.02), Noise.normal(0.1))
    mean = float(np.mean(run(made).of("c0")))
    one = compared(made, [mean * factor for factor in (0.9, 1.0, 1.1, 1.5)])
    assert one.high_s / one.predicted_s == pytest.approx(np.exp(1.645 * 0.02), rel=0.01)
    assert one.run_high_s / one.predicted_s == pytest.approx(np.exp(1.645 * 0.102), rel=0.03)
    assert (one.runs, one.runs_inside, one.kind, one.model, one.learnt) == (4, 3, "kernel", "m.json", 1.0)


def test_what_was_learnt_before_is_read_from_the_models_doubt() -> None:
    made = certain(Doubt.constant(0.04, sources={"sampling": 0.25, "learnt": 0.75}), None)
    assert compared(made, [1.0] * 3).learnt == pytest.approx(2.0)


def test_a_version_is_that_of_the_speeds_and_not_of_the_file() -> None:
    same, other = certain(Doubt.constant(0.04), None), certain(Doubt.constant(0.05), None)
    pe = same.platform.pes[0]
    named = replace(pe, speeds={name: replace(band, source="elsewhere") for name, band in pe.speeds.items()})
    moved = replace(same, platform=replace(same.platform, pes=(named,)))
    versions = [compared(made, [1.0] * 3).version for made in (same, moved, other)]
    assert versions[0] == versions[1] != versions[2]
    assert compared(moved, [1.0] * 3).model == ""


def test_a_median_differs_from_a_mean_by_noise_alone() -> None:
    truths = np.repeat([0, 1], 1000)
    draws = np.random.default_rng(1).exponential(1.0, 2000)
    assert median_ratio(np.where(truths, 10, 1) * draws, truths) == pytest.approx(np.log(2), rel=0.07)
    assert median_ratio(np.array([1.0, 5.0, 9.0]), np.arange(3)) == 1.0
    assert median_ratio(np.array([1.0, 1.0, 4.0]), None) == 0.5


def test_the_share_that_others_left_is_kept() -> None:
    row = (Usage(cpu_s=0.5, wall_s=1.0),)
    assert compared(certain(Doubt.constant(0.1), None), [1.0] * 3, usages=(row,) * 3).left == 0.5


def test_document_and_page_state_both() -> None:
    made = certain(Doubt.constant(0.02), Noise.normal(0.1))
    mean = float(np.mean(run(made).of("c0")))
    measured = Verification({"c0": mean * np.array([0.9, 1.0, 1.5])})
    document = documents.to_dict(_verified(VerifyPlan(made, "c0"), run(made), measured, reused=0))
    (entry,) = document["configurations"]
    held = document["intervals"]
    assert (held["held"]["held"], held["runs"]["held"], held["runs"]["of"]) == (1, 2, 3)
    assert entry["predicted_interval_s"][0] < entry["predicted_mean_interval_s"][0] < entry["predicted_s"]
    page = render_html(document)
    assert "90 % intervals of the mean held 1 of 1" in page
    assert "90 % intervals of one run held single runs: 2 of 3" in page
    wide = documents.to_dict(_verified(VerifyPlan(made, "c0", level=0.99), run(made), measured, reused=0))
    assert wide["configurations"][0]["predicted_interval_s"][0] < entry["predicted_interval_s"][0]
    assert wide["level"] == 0.99


def test_real_runs_are_kept_and_shown(tmp_path: Path, apportion: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that sleeps for 50 ms: predicted right, then much too fast; another machine's lines do not count."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(YAML.format(cpu=CPU))
    for speed in (83.0, 500.0):  # starting a process takes some milliseconds
        band = SpeedBand(SIZES, *(np.full(2, speed),) * 3, doubt=Doubt.constant(0.2), noise=Noise.normal(0.02))
        Path("m.json").write_text(json.dumps({"format": 2, "kind": "speed", "model": band.to_dict()}))
        code, out, _ = apportion(
            "verify", "s.yaml", "--command", "sleep 0.0{units}", "--budget", "1s", "-o", str(speed)
        )
        assert code == 0
    assert "90 % intervals of the mean held 0 of 1" in out
    path = state_file()
    assert path is not None
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    foreign = json.loads(lines[0])
    foreign["machine"]["host"] = "elsewhere"
    path.write_text("\n".join([*lines, json.dumps(foreign), lines[0][:50]]) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, out, err = apportion("lab", "history", "--json")
    assert "1 line is torn" in err
    document = json.loads(out)
    assert (code, document["comparisons"]) == (0, 2)
    first, second = document["groups"]
    assert (first["kind"], first["subject"], first["model"]) == ("command", "sleep", "m.json")
    assert (first["held"]["held"], second["held"]["held"]) == (1, 0)
    assert first["version"] != second["version"]
    assert first["factor"] == 1.0 < second["factor"]
    path.write_text("\n".join(lines))
    code, out, _ = apportion("lab", "history")
    assert "command sleep, model m.json" in out
    assert "factor to widen by: 1.00" in out


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fitted") / "model.json"
    save_allocation_fit(fit_allocation_table(TUTORIAL / "allocation-runs.csv"), path)
    return path


def test_runs_of_allocations_are_compared_with_a_model(model: Path) -> None:
    predicted = AllocationPredictions(model, ["fast", "slow"])
    allocation = ((1, 2), (4, 1))
    (one,) = predicted.compare([(3200.0, allocation, 1.0)])
    right = [(3200.0, allocation, one.predicted_s * factor) for factor in (0.999, 1.0, 1.001)]
    off = [(3200.0, ((1, 1), (0, 0)), 1e6)]
    held, missed = predicted.compare([*right, *off])
    assert (held.kind, held.runs, held.holds(), held.runs_inside) == ("allocation", 3, True, 3)
    assert (missed.runs, missed.holds(), missed.runs_inside) == (1, False, 0)
    assert held.case == "N 3200: fast 1 x 2 + slow 4 x 1"
    assert held.run_low_s <= held.low_s < held.high_s <= held.run_high_s


def test_a_model_of_other_kinds_is_refused(model: Path) -> None:
    with pytest.raises(ScenarioError, match="this model has the kinds fast, slow, and the plan has cpu"):
        AllocationPredictions(model, ["cpu"])

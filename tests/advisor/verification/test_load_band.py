"""Load bands beside real runs under a known competitor."""

import json
import math

import numpy as np
import pytest

from advisor.verification.load_band import LoadBandCheck, LoadBandPlan, SizeChecked
from simulator import ScenarioError
from simulator.calibration.bands import CutRule, ReplaySource, build
from tests.support.command_line import apportion, apportion_here


def checked(low, high, speeds, *, recorded=0.4):
    sizes = np.array([1.0, 2.0])
    built = build(ReplaySource(sizes, sizes, sizes, sizes), method="grid", rule=CutRule(band=0.05))
    size = SizeChecked(1.0, 1.0, low, (low + high) / 2, high, tuple(speeds))
    return LoadBandCheck(LoadBandPlan("dgemm", 0), recorded, (size,), 0.5, built)


def test_a_share_is_judged_with_its_binomial_interval():
    inside, outside = [50.0, 75.0, 100.0] * 10, [49.9, 100.1] * 3
    held = checked(50, 100, [*inside[:26], *outside[:4]])  # 0.867: what a band of 90 % holds of 30 every third time
    assert (held.share_inside, held.held, held.sizes[0].relative_width) == (26 / 30, True, pytest.approx(2 / 3))
    low, high = held.share_interval
    tail = [binomial_tail(30, 26, low), 1 - binomial_tail(30, 27, high)]  # each end leaves 5 % outside
    assert tail == pytest.approx([0.05, 0.05], abs=1e-9)
    assert held.to_dict()["sizes"][0]["inside"] == 26
    assert not checked(50, 100, [*inside[:22], *outside, 1.0, 1.0]).held  # 0.733


def binomial_tail(runs, least, share):
    """Chance of at least so many of the runs."""
    return sum(math.comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(least, runs + 1))


def test_a_load_that_is_not_the_competitors_is_told():
    assert not checked(50, 100, [60.0], recorded=0.41).warnings
    (line,) = checked(50, 100, [60.0], recorded=0.6).warnings
    assert line.startswith("load: 60.0% recorded on processor 0 where the competitor makes 40%")


def test_the_window_holds_the_longest_run_and_the_competitor_is_there_as_asked():
    plan = LoadBandPlan("dgemm", 0, load=0.4, period_s=0.5, durations_s=(0.1, 1.5), interval_s=0.1)
    assert plan.window == 30
    assert plan.trace().mean() == pytest.approx(0.4)
    with pytest.raises(ScenarioError, match="load is 1; give"):
        LoadBandPlan("dgemm", 0, load=1.0)


@pytest.mark.real
def test_fresh_speeds_beside_a_real_competitor_lie_in_the_band(tmp_path):
    short = ("--kernel", "dgemm", "--history", "40s", "--durations", "100ms,300ms", "--runs", "20")
    done = apportion("lab", "load-check", "--load", "40%", *short, "--json", "-o", "check", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert {"check.json", "load.csv", "model.json"} <= {path.name for path in (tmp_path / "check").iterdir()}
    assert [len(size["speeds"]) for size in found["sizes"]] == [20, 20]
    assert 0 < found["mean_relative_width"] < 1.5
    assert done.returncode == (0 if found["held"] else 1)
    if any("other work runs there" in line for line in found["warnings"]):
        pytest.skip(f"the processor is not ours: {found['recorded_load']:.1%} recorded")
    assert found["share_interval"][1] >= 0.9, found["share_inside"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("--kernel", "merge"), "kernel: there is no 'merge' of several sizes; name one of apexmap, "),
        (("--interval", "10ms"), "give an interval of 0.1 s or more"),
    ],
)
def test_bad_options_are_one_line(tmp_path, arguments, found):
    done = apportion_here("lab", "load-check", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    errors = [line for line in done.stderr.splitlines() if not line.startswith("recording")]
    assert len(errors) == 1
    assert found in errors[0]

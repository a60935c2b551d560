"""Table 1 by real runs: its scores and its text."""

import json

import numpy as np
import pytest

from advisor.reproduce import gbbp, gbbp_live
from advisor.reproduce.gbbp import score
from simulator import ScenarioError, plots
from simulator.calibration.bands import CutRule, ReplaySource, build
from tests.support.command_line import apportion_here as apportion


def recorded():
    sizes = np.geomspace(3e3, 1e7, 40)
    volumes = 2 * (sizes / 3) ** 1.5
    times = volumes / (4e9 / (1 + (sizes / 3e5) ** 0.4))
    return ReplaySource(sizes, volumes, times, times)


def test_scores_compare_with_the_truth_given():
    source = recorded()
    built = {method: build(source, method=method, rule=CutRule(band=0.05)) for method in ("grid", "gbbp", "adaptive")}
    sizes = np.array([1e5, 1e6])
    rows = score(built, sizes, np.array([1.25, 1.0]) * built["grid"].band.speed(sizes))
    assert rows["grid"]["speedup_over_grid"] == 1
    assert rows["grid"]["mean_error_percent"] == pytest.approx(10)
    assert rows["grid"]["max_error_percent"] == pytest.approx(20)
    assert rows["grid"]["max_error_at_elements"] == 1e5
    assert rows["grid"]["inside_band_percent"] == 50
    paid = built["grid"].experimental_s / built["adaptive"].experimental_s
    assert rows["adaptive"]["speedup_over_grid"] == pytest.approx(paid)


def test_noise_is_that_of_one_run_against_the_others():
    found = gbbp_live.noise_floor([[1.0, 1.0, 1.25], [2.0, 2.0], [5.0]])
    assert found["max_percent"] == pytest.approx(20)  # 1 s by the others, 1.25 s here
    assert found["mean_percent"] == pytest.approx((20 + 2 * 12.5) / 5)  # two see the median of 1 and 1.25
    assert gbbp_live.noise_floor([[1.0]]) == {}


@pytest.mark.slow
def test_bands_by_several_builders_are_drawn(tmp_path):
    source = recorded()
    built = build(source)
    points = built.to_dict()["points"]
    held_out = (np.array([1e5]), np.array([2e9]))
    for name in ("k.png", "k.svg"):
        drawn = {"grid": (built.band, points), "gbbp": (built.band, points)}
        plots.builders(drawn, title="kernel", held_out=held_out).save(tmp_path / name)
    assert (tmp_path / "k.png").read_bytes().startswith(b"\x89PNG")
    assert "<path" in (tmp_path / "k.svg").read_text()
    with pytest.raises(ScenarioError, match=r"ends in '\.txt'; name a file"):
        plots.builders(drawn, title="", held_out=held_out).save(tmp_path / "k.txt")


@pytest.mark.slow
def test_the_recorded_table_runs_nothing_and_is_the_same_twice():
    done = apportion("reproduce", "gbbp", "--recorded", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    table = json.loads(done.stdout)["table_1"]
    assert table == json.loads(json.dumps(gbbp.recorded_table()))
    assert table["clock"] == "simulated"
    assert set(table["kernels"]["dgemm"]) == {"grid", "gbbp", "adaptive"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "5s"), "error: --budget is '5s'; give 30s to 24h"),
        (("--budget", "60"), "error: --budget: "),
        (("--cpu", "4096"), "error: cpu is 4096; name one of"),
    ],
)
def test_bad_options_are_refused_in_one_line(tmp_path, arguments, message):
    done = apportion("reproduce", "gbbp", *arguments, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(message)
    assert done.stdout == ""


def test_only_the_allocation_paper_is_live():
    done = apportion("reproduce", "gbbp", "--live")
    assert (done.returncode, done.stderr) == (2, "error: --live goes with allocation, not with gbbp\n")

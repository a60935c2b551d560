"""What the command line does is a short call from Python; values show themselves in a notebook, briefly and safely."""

import contextlib
import doctest
import importlib
import inspect
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import advisor
import simulator as sim
from advisor.advise.partition.speed_kinds import SpeedKinds
from advisor.advise.partition.speeds_file import Speeds
from advisor.verification.check import Verified
from advisor.whatif.asking import varied
from simulator import calibration, models
from simulator.models.memory.levels import MemoryLevel
from simulator.models.memory.model import FitStatistics
from tests.support.made import made
from tests.support.pages import Page

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "scenarios" / "tutorial" / "python.md"
HOSTILE = '<script>alert("1")</script>&\'"'
MOST_BYTES = 40_000
PACKAGES = ("simulator", "simulator.calibration", "simulator.models", "advisor", "apportion")


def shown_well(text):
    """The tags of a text, which must nest and run nothing."""
    page = Page(f"<body>{text}</body>")
    assert not page.faults
    assert not page.open
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    tags = {tag for tag, _ in page.tags}
    assert "script" not in tags
    return tags


def band(scale=1.0):
    sizes = np.array([1e4, 1e5, 1e6])
    mid = scale * np.array([4e9, 5e9, 3e9])
    return sim.SpeedBand(sizes, 0.9 * mid, mid, 1.1 * mid)


def hostile_scenario(pes=3):
    trace = sim.LoadTrace(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]), 3.0)
    own = tuple(
        sim.PE(f"{HOSTILE}{number}", HOSTILE, {"dgemm": band(1 + number % 3)}, load=sim.Load(trace, "fair"))
        for number in range(pes)
    )
    platform = sim.Platform.uniform(own, sim.LinkModel.from_latency(1e-5, 1e9))
    shares = sim.Configuration.one_each(HOSTILE, tuple([100] * pes))
    application = sim.Application("matmul", "dgemm", {"n": 100 * pes})
    return sim.Scenario(platform, application, (shares,), replications=5, seed=3, notes=(HOSTILE,))


@pytest.fixture(scope="module")
def scenario():
    return hostile_scenario()


@pytest.fixture(scope="module")
def shown(scenario, tmp_path_factory):
    """One value of every class that shows itself, with hostile names where there are names."""
    runs = sim.run(scenario)
    folder = tmp_path_factory.mktemp("results") / "<b>"
    sim.save_runs(runs, folder, manifest={})
    advice = advisor.recommend(scenario, confirm=0)
    runs_of_n = models.make_runs({"n": [1.0, 2.0, 3.0, 4.0, 5.0]}, [2.0, 4.1, 6.0, 7.9, 10.1])
    fitted = models.fit({"t": "n"}, {"t": runs_of_n})
    found = advisor.what_if(scenario, {"application.parameters.n": [300]})
    speeds = SpeedKinds.constant([1.0, 2.0])
    return {
        "Scenario": scenario,
        "Platform": scenario.platform,
        "RunSet": runs,
        "Results": sim.load_results(folder),
        "Recommendation": advice,
        "Explanation": advisor.explain(scenario, advice, most_runs=60),
        "WhatIf": found,
        "Comparison": sim.compare(runs, scenario),
        "SpeedBand": band(),
        "SpeedFunction": band().function(),
        "LinkModel": sim.LinkModel.from_latency(1e-5, 1e9),
        "LoadTrace": scenario.platform.pes[0].load.trace,
        "RuntimeModel": fitted,
        "Predictions": fitted.predict({"n": 5.0}),
        "Partition": advisor.partition(10, Speeds(speeds, {}), "equal"),
        "BuiltBand": calibration.fit_speed("gbbp_dgemm.csv", method="gbbp"),
        "MemoryModel": memory_model(),
        "Verified": verified(),
    }


def verified():
    """An advice that was put to the test, made up."""
    stated = {"low": 1.0, "high": 1.2}
    one = {
        "name": HOSTILE,
        "partition": [100, 200],
        "placement": [0, 1],
        "predicted_s": 1.1,
        "predicted_interval_s": [stated["low"], stated["high"]],
        "measured_s": [1.15],
        "measured_median_s": 1.15,
        "error_percent": -4.3,
    }
    document = {"recommended": HOSTILE, "best_measured": HOSTILE, "regret": 0.0, "configurations": [one]}
    return made(Verified, document | {"mean_absolute_error_percent": 4.3, "repetitions": 6})


def memory_model():
    levels = (MemoryLevel(HOSTILE, 2.0**20, 1e-9, 1e-10), MemoryLevel("RAM", np.inf, 1e-7, 1e-9))
    trained = ((1.0, 1e8), (0.01, 1.0), (1.0, 64.0))
    statistics = FitStatistics(40, 0.05, 0.2, None, None)
    return models.MemoryModel("2 levels", levels, None, 0.1, ((0.95, 2.0),), trained, statistics)


def test_values_show_themselves_small_and_escaped_and_print_on_a_line(shown):
    for name, value in shown.items():
        text = value._repr_html_()
        assert len(text.encode()) < MOST_BYTES, name
        assert "<script" not in text
        assert {"table", "svg"} & shown_well(text)
        assert "#000" not in text
        assert "background" not in text
        text = repr(value)
        assert text.startswith(f"{name}(")
        assert len(text) < 400
        assert "\n" not in text
        assert "array(" not in text


def test_a_platform_of_many_pes_stays_small():
    many = hostile_scenario(pes=1000)
    for value in (many, many.platform, many.platform.pes[0], many.configurations):
        assert len(repr(value)) < 300
    for value in (many, many.platform):
        text = value._repr_html_()
        assert len(text.encode()) < MOST_BYTES
        shown_well(text)
    assert "and 980 more rows" in many.platform._repr_html_()
    assert len(many.platform.to_dataframe()) == 1000


def test_tables_for_pandas_hold_what_was_found(shown):
    ranking = shown["Recommendation"].to_dataframe()
    assert ranking["name"][0] == shown["Recommendation"].configuration.name
    assert list(ranking["value_s"]) == sorted(ranking["value_s"])
    assert shown["Platform"].to_dataframe()["node"].unique().tolist() == [HOSTILE]
    assert shown["Partition"].to_dataframe()["units"].sum() == 10
    points = shown["WhatIf"].to_dataframe()
    assert points["point"].tolist() == [0, 1]
    assert {"application.parameters.n", "seed", "mean_s"} <= set(points)


def test_two_scenarios_are_compared_on_the_same_draws(scenario):
    slower = replace(
        scenario.platform, pes=tuple(replace(pe, speeds={"dgemm": band(0.5)}) for pe in scenario.platform.pes)
    )
    first, second = sim.run(scenario), sim.run(replace(scenario, platform=slower))
    (found,) = sim.compare(scenario, replace(scenario, platform=slower, seed=99, replications=77)).differences
    assert np.array_equal(found.first_s, first.makespan_s[0])
    assert np.array_equal(found.second_s, second.makespan_s[0])
    plain = found.to_dict()
    assert plain["difference_s"] == pytest.approx(plain["second_s"] - plain["first_s"])
    assert plain["ratio"] > 1.5
    (same,) = sim.compare(scenario, first).differences
    assert same.to_dict()["difference_s"] == 0
    assert same.to_dict()["high_s"] is None  # five draws that are alike say nothing of the next
    assert len(sim.compare(first, second).to_dataframe()) == 1


def test_runs_of_other_draws_are_not_compared(scenario):
    with pytest.raises(sim.ScenarioError, match="5 replications of seed 3 and 5 replications of seed 4"):
        sim.compare(sim.run(scenario), sim.run(scenario, seed=4))
    others = tuple(replace(one, name=name) for one in scenario.configurations for name in ("a", "b"))
    with pytest.raises(sim.ScenarioError, match="give one of the same name in both"):
        sim.compare(scenario, scenario.with_configurations(others))


def test_what_if_takes_numbers_ranges_and_structures(scenario):
    vary = {"application.parameters.n": "300..310..5", "platform.link": [{"latency": "1us", "bandwidth": "1 GB/s"}]}
    found = advisor.what_if(scenario, vary, replications=2, advise=False)
    assert len(found.swept.plan.points) == 4
    assert not found.swept.failed
    assert sum("listed for 300 in all" in line for line in found.found.warnings) == 1  # and scaled to 305, 310
    sideways = {"application.parameters.n": [np.int64(300), 300.0], "platform.link.shared": [True, False]}
    assert len(varied(sideways)) == 2


def test_a_speed_band_is_fitted_in_one_call(apportion, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    built = calibration.fit_speed("gbbp_dgemm.csv", method="gbbp")
    code, _, _ = apportion("calibrate", "speed", "--replay", "gbbp_dgemm.csv", "--method", "gbbp", "-o", "model.json")
    assert code == 0
    kept = calibration.load_speed_model(Path("model.json")).band
    assert built.band.to_dict() == kept.to_dict()
    assert built.band.cut(1e6).low < built.band.cut(1e6).mid
    with pytest.raises(sim.ScenarioError, match="gbbp_dgem: no such file or directory; nearest"):
        calibration.fit_speed("gbbp_dgem")


def test_tables_are_called_by_text_and_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted = calibration.fit_table("hpl-runs", ["N**3/(P*Q)"], responses=["time_s"])
    calibration.save_runtime_fit(fitted, "model.json")
    assert calibration.load_runtime_model("model.json").parts[0].formula.text == "N**3/(P*Q)"
    assert repr(fitted).startswith("RuntimeFit(RuntimeModel(")
    shown_well(fitted._repr_html_())
    messages = calibration.fit_network_table("characterisation_unix")
    assert repr(messages).startswith("NetworkFile(NetworkModel(")
    shown_well(messages._repr_html_())
    assert advisor.read_speeds("speeds.json").pes.names[0] == "fast"


def public_objects():
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            yield f"{package}.{name}", getattr(module, name)


def test_every_public_name_says_what_it_is():
    silent = [
        name
        for name, value in public_objects()
        if (inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value))
        and not (value.__doc__ or "").strip()
    ]
    assert silent == []


@pytest.mark.slow
def test_the_examples_of_docstrings_say_what_they_show(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    tried = 0
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for name, value in public_objects():
        named = sim.Application.of_costs if value is sim.Application else value
        if inspect.isroutine(named):
            for example in doctest.DocTestFinder(recurse=False).find(named, name, globs=vars(sim) | {"np": np}):
                names = {one: getattr(sim, one) for one in sim.__all__} | {named.__name__: named}
                example.globs.update(names)
                assert runner.run(example).failed == 0, name
                tried += bool(example.examples)
    assert tried >= 18


def cells():
    text = TUTORIAL.read_text()
    return re.findall(r"```(python|text)\n(.*?)```", text, re.DOTALL)


@pytest.mark.slow
def test_every_cell_of_the_notebook_prints_what_is_shown(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    variables, printed = {"__name__": "__main__"}, ""
    for language, text in cells():
        if language == "text":
            corpus.text(TUTORIAL, text, printed)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            exec(compile(text, TUTORIAL.name, "exec"), variables)  # noqa: S102 - a file of ours
        printed = stream.getvalue()
    assert (tmp_path / "band.svg").stat().st_size > 1000


USER_SCRIPT = """
from pathlib import Path

import advisor
import apportion
import simulator as sim
from simulator import calibration


def gains(name: str) -> dict[str, float]:
    scenario: sim.Scenario = sim.load_scenario(name)
    runs: sim.RunSet = sim.run(scenario, replications=10, seed=1)
    mean: float = sim.describe(runs.of(runs.configurations[0]))["mean"]
    advice: advisor.Recommendation = advisor.recommend(scenario, vary=("partition",), objective="mean")
    why: advisor.Explanation = advisor.explain(scenario, advice)
    found: advisor.WhatIf = advisor.what_if(name, {"platform.link.bandwidth": ["x1", "x2"]}, folder=Path("out"))
    comparison: sim.Comparison = sim.compare(runs, name)
    shares: advisor.Partition = advisor.partition(100, "speeds.json", "functional")
    cut: float = calibration.fit_speed("table.csv", method="gbbp").band.cut(1e6).mid
    try:
        sim.load_results("out").to_dataframe()
    except sim.ApportionError as error:
        print(error.lines, why, found.sentence, comparison, shares.makespan_s, cut, mean)
    return {baseline: gain.mean for baseline, gain in advice.baselines.items()}


def own(costs: list[float]) -> apportion.Recommendation:
    link = apportion.Link("10 GbE", "30us", "10 Gbit/s")
    fast = apportion.nodes("fast[1-2]", cores=8, speeds={"mine": 2, "stencil": "3 Gflop/s"}, memory="64 GiB")
    slow = apportion.PE("gpu", "box", {"mine": "3units/s"}, apportion.busy("13:00", "18:00", processes=2))
    platform: apportion.Platform = apportion.star(fast, slow, link=link, contention="fair", eager="64 KiB")
    application = apportion.Application.of_costs(costs, kernel="mine", unit_bytes="8 KiB")
    scenario = apportion.Scenario(platform, application, {"as-now": "one-per-core"}, replications=20)
    apportion.save(scenario, "mine.yaml")
    print(apportion.simulate(scenario), apportion.load("two-cores", changes={"seed": 3}))
    measured: apportion.Scenario = apportion.measure("stencil", budget="30s")
    print(apportion.verify(measured, budget="20s").regret)
    return apportion.advise(scenario, objective="p95", budget="10s")
"""
WRONG_SCRIPT = "import simulator as sim\n\nsim.run('two-cores', replications='many')\n"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed; `make test` installs it")
def test_a_script_of_a_user_is_checked_by_mypy_strict(tmp_path):
    (tmp_path / "right.py").write_text(USER_SCRIPT)
    (tmp_path / "wrong.py").write_text(WRONG_SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "."]
    environment = os.environ | {"MYPYPATH": f"{ROOT}:{ROOT / 'advisor' / 'facade'}"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    faults = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert {fault.partition(": error")[0] for fault in faults} == {"wrong.py:3"}, done.stdout

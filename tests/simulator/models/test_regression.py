"""Least squares against statsmodels, and what the default method promises on any data."""

import json
import re

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import example as explicit
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from simulator.base.errors import FormulaError, ScenarioError
from simulator.base.randomness import stream
from simulator.models import RuntimeModel, diagnose, fit, make_runs
from simulator.models.regression.runs import beyond_hull, resolution_s
from tests.support.yardstick import times_as_long

FORMULA = "N**2/P + N*log(P)"


def example(seed=1, *, noise=0.03, repetitions=3, truth=lambda n, p: 2e-6 * n**2 / p + 1e-4 * n * np.log(p) + 0.01):
    n, p = (a.ravel() for a in np.meshgrid([500.0, 1000, 2000, 4000], [2.0, 4, 8, 16]))
    n, p = np.tile(n, repetitions), np.tile(p, repetitions)
    times = truth(n, p) * np.exp(noise * stream(seed, "regression example").standard_normal(len(n)))
    return {"N": n, "P": p}, times


TARGETS = {"N": np.array([3000.0, 8000.0, 500.0]), "P": np.array([6.0, 32.0, 64.0])}


def test_points_intervals_and_measures_agree_with_statsmodels():
    values, times = example()
    model = fit({"t": FORMULA}, {"t": make_runs(values, times)}, method="ols")

    def design(x):
        return np.column_stack([np.ones(len(x["N"])), x["N"] ** 2 / x["P"], x["N"] * np.log(x["P"])])

    reference = sm.OLS(times, design(values)).fit(method="pinv")
    found = model.predict(TARGETS, level=0.9)
    np.testing.assert_allclose(found.mean_s, reference.predict(design(TARGETS)), rtol=1e-9)
    frame = reference.get_prediction(design(TARGETS)).summary_frame(alpha=0.1)
    np.testing.assert_allclose(found.confidence_s, frame[["mean_ci_lower", "mean_ci_upper"]], rtol=1e-8)
    np.testing.assert_allclose(found.prediction_s, frame[["obs_ci_lower", "obs_ci_upper"]], rtol=1e-8)
    told = diagnose(model, {"t": make_runs(values, times)})["t"]
    assert told.r2 == pytest.approx(reference.rsquared, rel=1e-6)


@given(
    st.integers(0, 10**6),
    st.floats(0, 0.5),
    st.sampled_from([2.0, 0.01, 1e-7]),
    st.sampled_from(["N/P", "N**2/P + N*log(P)", "N + P", "sqrt(N)*P"]),
    st.integers(3, 12),
)
@explicit(seed=352811, noise=0.0, scale=2.0, formula="N**2/P + N*log(P)", count=4)  # P is 1 in all runs
@settings(max_examples=60, deadline=None)
def test_the_default_is_positive_ordered_and_finite_on_any_times(seed, noise, scale, formula, count):
    draws = stream(seed, "any times")
    values = {"N": draws.choice([100.0, 200, 400, 800], count), "P": draws.choice([1.0, 2, 4, 8], count)}
    times = scale * values["N"] ** draws.uniform(-1, 2) * np.exp(noise * draws.standard_normal(count))
    try:
        model = fit({"t": formula}, {"t": make_runs(values, times)})
    except ScenarioError as error:
        assert "give" in error.lines[0]  # noqa: PT017 - either outcome is right
        return
    found = model.predict({"N": [50.0, 300, 10_000], "P": [1.0, 3, 64]})
    low, high = found.prediction_s.T
    least, most = found.confidence_s.T
    assert np.isfinite(found.prediction_s).all()
    assert (low > 0).all()
    assert (low <= least * (1 + 1e-6)).all()
    assert (least <= found.mean_s * (1 + 1e-6)).all()
    assert (found.mean_s <= most * (1 + 1e-6)).all()
    assert (most <= high * (1 + 1e-6)).all()


def test_intervals_widen_with_the_level_and_with_the_distance():
    values, times = example()
    model = fit({"t": FORMULA}, {"t": make_runs(values, times)})
    narrow, wide = (model.predict(TARGETS, level=level).prediction_s for level in (0.5, 0.99))
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()
    far = model.predict({"N": [4000.0] * 4, "P": [16.0, 32, 64, 128]})
    relative = (far.prediction_s[:, 1] - far.prediction_s[:, 0]) / far.mean_s
    assert (np.diff(relative) > 0).all()
    np.testing.assert_allclose(far.distance[:, 1], [1, 2, 4, 8])
    assert far.outside_training_range.tolist() == [False, True, True, True]
    assert far.warnings[:2] == ((), ("P = 32 is 2 times the runs' 16: no run was near, and the time may turn up",))
    assert "far outside" in far.warnings[3][0]


@pytest.mark.parametrize("method", ["default", "ols"])
def test_a_model_survives_json(method):
    values, times = example()
    runs = {"a": make_runs(values, times), "b": make_runs(values, times / 3 + 0.001 * values["N"])}
    model = fit({"a": FORMULA, "b": "N/P"}, runs, method=method)
    again = RuntimeModel.of(json.loads(json.dumps(model.to_dict())), "model")
    one, other = model.predict(TARGETS), again.predict(TARGETS)
    np.testing.assert_allclose(one.mean_s, other.mean_s, rtol=1e-12)
    np.testing.assert_allclose(one.prediction_s, other.prediction_s, rtol=1e-9)
    assert one.to_list()[0].keys() == other.to_list()[0].keys()


def test_parts_add_up_linearly_under_ols_and_jointly_by_default():
    values, times = example()
    shares = {"a": 0.7, "b": 0.3}
    noise = {name: np.exp(0.02 * stream(3, name).standard_normal(len(times))) for name in shares}
    runs = {name: make_runs(values, share * times * noise[name]) for name, share in shares.items()}
    for method in ("ols", "default"):
        parts = [fit({name: FORMULA}, {name: runs[name]}, method=method).predict(TARGETS) for name in shares]
        whole = fit(dict.fromkeys(shares, FORMULA), runs, method=method).predict(TARGETS)
        np.testing.assert_allclose(whole.mean_s, sum(part.mean_s for part in parts), rtol=1e-12)
        own = sum(part.prediction_s[:, 1] - part.mean_s for part in parts)
        width = whole.prediction_s[:, 1] - whole.mean_s
        if method == "ols":
            np.testing.assert_allclose(width, own, rtol=1e-9)
        else:
            assert (width < own * (1 + 1e-9)).all()
            assert (width > own / np.sqrt(2) * 0.99).all()


def test_one_bad_run_of_three_does_no_harm_and_is_named():
    values, times = example()
    spoilt = times.copy()
    spoilt[20] *= 10
    clean = fit({"t": FORMULA}, {"t": make_runs(values, times)}).predict(TARGETS).mean_s
    runs = make_runs(values, spoilt)
    model = fit({"t": FORMULA}, {"t": runs})
    np.testing.assert_allclose(model.predict(TARGETS).mean_s, clean, rtol=0.03)
    outliers = diagnose(model, {"t": runs})["t"].outliers
    assert [outlier.run for outlier in outliers] == ["run 21"]
    assert outliers[0].factor == pytest.approx(10, rel=0.2)


def test_at_an_observed_point_the_observation_is_told():
    values, times = example()
    model = fit({"t": FORMULA}, {"t": make_runs(values, times)})
    seen, unseen = model.predict({"N": [2000.0, 2100.0], "P": [8.0, 8.0]}).observed
    own = times[(values["N"] == 2000) & (values["P"] == 8)]
    assert (seen.mean, seen.low, seen.high, seen.runs) == (pytest.approx(own.mean()), own.min(), own.max(), 3)
    assert unseen is None


def test_collinear_terms_warn_and_undetermined_targets_are_refused():
    values = {"N": np.array([1.0, 2, 3, 4, 5]) * 1000, "P": np.full(5, 4.0)}
    runs = make_runs(values, 1e-3 * values["N"])
    formula = "N*log(P) + N*P"
    for method in ("ols", "default"):
        model = fit({"t": formula}, {"t": runs}, method=method)
        assert any("N*P collinear" in line for line in model.warnings)
        assert any("P constant in the runs" in line for line in model.warnings)
        np.testing.assert_allclose(model.predict({"N": 6000.0, "P": 4.0}).mean_s, 6, rtol=0.02)
    ols = fit({"t": formula}, {"t": runs}, method="ols")
    with pytest.raises(ScenarioError, match=r"target 1: the runs do not determine N = 6000, P = 8: terms"):
        ols.predict({"N": 6000.0, "P": 8.0})
    told = fit({"t": formula}, {"t": runs}).predict({"N": 6000.0, "P": 8.0}).warnings[0]
    assert "P = 8 was always 4 in the runs" in told[0]


@pytest.mark.parametrize("method", ["default", "ols"])
def test_too_few_runs_are_refused(method):
    runs = make_runs({"N": [1.0, 2.0], "P": [1.0, 3.0]}, [1.0, 2.0])
    with pytest.raises(ScenarioError, match="2 runs are too few for 3 coefficients"):
        fit({"t": "N + P"}, {"t": runs}, method=method)
    one = make_runs({"N": [1.0, 1.0, 1.0]}, [1.0, 1.1, 1.2])
    with pytest.raises(ScenarioError, match="all runs are at one point"):
        fit({"t": "N"}, {"t": one}, method=method)


def test_impossible_times_are_refused_or_named():
    values = {"N": [1.0, 2, 3, 4]}
    with pytest.raises(ScenarioError, match="run 2: t is -1 s; give a time above 0 s"):
        fit({"t": "N"}, {"t": make_runs(values, [1.0, -1, 3, 4])})
    assert (
        "run 2: t: 0 s cannot be a time"
        in fit({"t": "N"}, {"t": make_runs(values, [1.0, 0, 3, 4])}, method="ols").warnings[0]
    )
    with pytest.raises(ScenarioError, match="run 3: time is nan s"):
        make_runs(values, [1.0, 2, np.nan, 4])
    with pytest.raises(ScenarioError, match="run 1: N is inf"):
        make_runs({"N": [np.inf, 2.0]}, [1.0, 2])


def test_a_negative_term_joins_one_that_outweighs_it_or_is_refused():
    n = np.array([100.0, 200, 400, 800])
    model = fit({"t": "N**3/3 - N**2/2"}, {"t": make_runs({"N": n}, 1e-6 * (n**3 / 3 - n**2 / 2))})
    assert model.predict({"N": 1600.0}).mean_s[0] == pytest.approx(1e-6 * (1600**3 / 3 - 1600**2 / 2), rel=0.02)
    with pytest.raises(FormulaError, match="term -N is negative at a run"):
        fit({"t": "sqrt(N) - N"}, {"t": make_runs({"N": n}, n)})


def test_an_impossible_ols_time_carries_a_warning():
    p = np.array([1.0, 2, 4, 8])
    found = fit({"t": "P"}, {"t": make_runs({"P": p}, 10 / p)}, method="ols").predict({"P": 64.0})
    assert found.mean_s[0] < 0
    assert any("cannot be" in line for line in found.warnings[0])


def test_resolution_is_the_step_that_divides_all_times():
    assert resolution_s(np.array([0.02, 1.1, 30.0])) == 0.01
    assert resolution_s(np.array([3.0, 40.0])) == 1.0
    assert resolution_s(np.array([1 / 3, 2.0])) == 0.0


@pytest.mark.benchmark
@pytest.mark.parametrize(("method", "most"), [("default", 350), ("ols", 70)])
def test_a_hundred_thousand_runs_with_six_terms_fit_soon(method, most):
    """Beside one solution of the same equations by NumPy."""
    draws, count = stream(1, "many runs"), 100_000
    sizes, processes = draws.uniform(1000, 9000, count), draws.integers(1, 65, count) * 1.0
    formula = "N**3/P + N**2/P + N*log(P+1) + N*P + N + P"
    truth = 1e-9 * sizes**3 / processes + 1e-5 * sizes * processes
    times = truth * np.exp(0.05 * draws.standard_normal(count))
    runs = {"t": make_runs({"N": sizes, "P": processes}, times)}
    columns = [sizes**3 / processes, sizes**2 / processes, sizes * np.log(processes + 1), sizes * processes, sizes]
    rows = np.stack([*columns, processes], axis=1) / times[:, np.newaxis]
    assert len(fit({"t": formula}, runs, method=method).parts[0].formula.terms) == 6
    found = times_as_long(
        lambda: fit({"t": formula}, runs, method=method), lambda: np.linalg.lstsq(rows, np.ones(count)), 3
    )
    print(f"{method}: {count} runs, {found:.1f} times as long as one solution by NumPy")
    assert found <= most


def test_a_time_that_does_not_depend_on_the_formula_is_seen_to_be_fixed():
    size = np.repeat([1000.0, 2000, 4000, 8000], 3)
    times = 5 * np.exp(0.02 * stream(4, "fixed").standard_normal(12))
    found = fit({"t": "N"}, {"t": make_runs({"N": size}, times)}).predict({"N": 16_000.0})
    assert found.mean_s[0] == pytest.approx(5, rel=0.1)


def test_a_doubt_that_the_forward_validation_narrows_has_causes_of_at_least_0():
    n, p = (column.ravel() for column in np.meshgrid(2.0 ** np.arange(8, 13), [1.0, 2.0, 4.0, 8.0]))
    noise = np.exp(0.01 * np.random.default_rng(1).standard_normal(n.size))
    model = fit({"t": "N**2/P + N"}, {"t": make_runs({"N": n, "P": p}, (1e-6 * n**2 / p + 0.01) * noise)})
    assert max(model.parts[0].fit.inflation) < 1
    doubt = model.doubt({"N": 8192.0, "P": 16.0})
    assert doubt.sources["form"] == 0
    assert sum(doubt.sources.values()) == pytest.approx(1)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_a_target_is_outside_the_hull_where_no_weights_of_points_make_it(seed, dimensions):
    """Beside the least-squares problem of weights that are not negative and add up to 1."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(dimensions + 1 + seed, dimensions))
    targets = np.vstack([rng.normal(size=(40, dimensions)), points])
    flat = rng.normal(size=(dimensions, dimensions + 1)) if seed % 2 else np.eye(dimensions)
    points, targets = points @ flat, targets @ flat  # every second one in a plane of a larger space
    found = beyond_hull(points, targets)
    weighted = np.vstack([points.T, np.full(len(points), 1e3)])
    away = np.array([nnls(weighted, np.append(target, 1e3))[1] for target in targets])
    np.testing.assert_array_equal(found > 1e-6, away > 1e-6)
    assert (found <= away + 1e-5).all()
    assert beyond_hull(points, targets[:1] + 1e3)[0] > 100


def test_a_corner_that_was_left_out_is_marked_and_its_interval_wider():
    x, y = np.array([[x, y] for x in (1, 2, 4, 8, 16) for y in (1, 2, 4, 8, 16) if x * y <= 16], dtype=float).T
    rng = np.random.default_rng(1)
    times = (9 / (x * y) + 1) * rng.lognormal(0, 0.02, x.size)
    model = fit({"time_s": "1/(x*y)+1"}, {"time_s": make_runs({"x": x, "y": y}, times)})
    asked = {"x": np.array([16.0, 4, 2, 32]), "y": np.array([16.0, 4, 1, 1])}
    found = model.predict(asked)
    assert found.outside_training_range.tolist() == [True, False, False, True]
    assert found.warnings[0] == ("x = 16, y = 16 lies outside of what was run together: no runs surround it",)
    assert found.warnings[1:3] == ((), ())
    widths = np.log(found.prediction_s[:, 1] / found.prediction_s[:, 0])
    assert widths[0] > 1.1 * widths[1]
    assert model.doubt({"x": 16, "y": 16}).sources["extrapolation"] > 0.1
    again = RuntimeModel.of(json.loads(json.dumps(model.to_dict())), "model")
    assert again.predict(asked).outside_training_range.tolist() == [True, False, False, True]


@pytest.mark.parametrize("power", [0.3, 0.5, 1.25, 1.51, 2.0])
@pytest.mark.parametrize("formula", ["p", "p*n"])
def test_the_first_warning_is_another_power_than_the_formula_s(power, formula):
    rng = np.random.default_rng(3)
    p, n = (axis.ravel() for axis in np.meshgrid(2.0 ** np.arange(7), [10.0, 20.0, 40.0]))
    times = 1e-2 * p**power * (n if "n" in formula else 1) * rng.lognormal(0, 0.01, p.size)
    told = fit({"t": formula}, {"t": make_runs({"p": p, "n": n}, times)}).warnings
    found = re.match(r"t: the runs go with p\*\*([0-9.]+) and the formula with p\*\*1\.00: it lacks", told[0])
    assert float(found[1]) == pytest.approx(power, abs=0.03)


def test_right_formulas_are_not_told_of_other_powers():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p, n = (axis.ravel() for axis in np.meshgrid([1.0, 2, 4, 8, 16], [100.0, 200, 400]))
        times = (1 + 1e-6 * n**3 / p + 1e-4 * n**2 * np.log(p)) * rng.lognormal(0, 0.03, p.size)
        told = fit({"t": "n**3/p + n**2*log(p)"}, {"t": make_runs({"p": p, "n": n}, times)}).warnings
        assert not any("the runs go with" in line for line in told)


def sizes_doubled(steps, truth, *, noise=0.02, seed=5):
    """A model of `N` fitted to three runs of each of so many sizes."""
    size = np.repeat(2.0 ** np.arange(steps), 3)
    times = truth(size) * stream(seed, "doubled").lognormal(0, noise, size.size)
    return fit({"t": "N"}, {"t": make_runs({"N": size}, times)})


def test_doubt_outside_of_the_runs_grows_as_fast_as_held_out_ends_were_missed():
    straight = sizes_doubled(8, lambda n: 1e-3 * n)
    bent = sizes_doubled(8, lambda n: 1e-3 * n * np.maximum(n / 16, 1.0) ** 0.8)
    assert bent.parts[0].fit.rate > 3 * straight.parts[0].fit.rate
    causes = [model.doubt({"N": 512.0}).sources["extrapolation"] for model in (straight, bent)]
    assert min(causes) > 0.1
    assert straight.doubt({"N": 100.0}).sources.get("extrapolation", 0.0) == 0
    again = RuntimeModel.of(json.loads(json.dumps(bent.to_dict())), "model")
    assert again.parts[0].fit.rate == bent.parts[0].fit.rate


def test_the_time_may_turn_up_beyond_the_runs_where_no_run_refuses_it():
    model = sizes_doubled(6, lambda n: 1e-3 * n, noise=0.01)
    found = model.predict({"N": [16.0, 24.0, 64.0, 128.0]})
    down, up = np.abs(np.log(found.prediction_s / found.mean_s[:, None])).T
    assert up[:2] == pytest.approx(down[:2], rel=0.05)
    assert (up[2:] > 1.1 * down[2:]).all()
    assert found.mean_s == pytest.approx(1e-3 * np.array([16, 24, 64, 128]), rel=0.03)  # points turn nowhere
    fitted = model.parts[0].fit
    kinds = [fitted.design.extras[extra].kind for extra in fitted.extra]
    assert {kind for kind, weight in zip(kinds, fitted.steady, strict=True) if not weight} == {"turning"}

"""Fits of Apex-MAP's models: known constants are found, levels are counted, and intervals hold."""

import itertools
import json

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.base.files import write_json
from simulator.calibration import load_memory_model
from simulator.models import MemoryModel, MemoryTimes, select_model
from simulator.models.memory.file import fit_memory
from simulator.models.memory.forms import FORMS, Constants, fit_form, standard_errors
from simulator.models.memory.selection import _folds, faults_of

TRUTHS = {
    1: ([], [3e-9], [1e-9]),
    2: ([2**17], [2e-9, 30e-9], [0.9e-9, 2e-9]),
    3: ([4096, 1e6], [1.2e-9, 5e-9, 60e-9], [0.4e-9, 0.8e-9, 2e-9]),
    4: ([2**12, 2**16, 2**21], [1.2e-9, 4e-9, 15e-9, 90e-9], [0.4e-9, 0.7e-9, 1.5e-9, 5e-9]),
}
"""Levels -> capacities in words, latencies and gaps in seconds."""
SIZES = [2**k for k in range(10, 27, 2)]


def grid(sizes=SIZES, alphas=(0.001, 0.01, 0.1, 0.5, 1), runs=(1, 4, 16, 64, 256, 1024, 4096)):
    rows = [row for row in itertools.product(sizes, alphas, runs) if row[2] <= row[0]]
    m, alpha, run = np.array(rows, dtype=float).T
    return MemoryTimes(m, alpha, run, np.ones(m.size))


def truth(levels):
    return Constants(*(np.array(values, dtype=float) for values in TRUTHS[levels]))


def timed(points, constants, *, seed, noise=0.02):
    factor = 1 + noise * np.random.default_rng(seed).standard_normal(len(points))
    return MemoryTimes(points.m_words, points.alpha, points.run_words, constants.times_s(points) * factor)


def off(found, known):
    """Largest relative error of any constant."""
    pairs = zip(
        (found.capacities_words, found.latency_s, found.gap_s),
        (known.capacities_words, known.latency_s, known.gap_s),
        strict=True,
    )
    return max(float(np.max(np.abs(a / b - 1), initial=0.0)) for a, b in pairs)


def form(levels):
    return next(f for f in FORMS if f.levels == levels and f.runs)


def test_times_are_the_paper_s_formula():
    constants = Constants(np.array([100.0]), np.array([2.0, 50.0]), np.array([1.0, 5.0]))
    points = MemoryTimes(np.array([50.0, 400.0]), np.array([0.5, 0.5]), np.array([1.0, 4.0]), np.ones(2))
    # P = 1: (2 + 0) / 1; P = (100/400)^0.5 = 1/2: (2 + 3) / 4 / 2 + (50 + 15) / 4 / 2
    assert constants.times_s(points) == pytest.approx([2.0, 8.75])


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_exact_times_give_back_their_constants(levels):
    points = timed(grid(runs=(1, 16, 256)), truth(levels), seed=0, noise=0.0)
    assert off(fit_form(form(levels), points, ordered=True).constants, truth(levels)) < 0.01


def test_models_0_and_1_have_no_latency_of_their_own():
    points = grid(runs=(1, 16, 256))
    flat = fit_form(
        FORMS[0], timed(points, Constants(np.empty(0), np.array([7e-9]), np.array([7e-9])), seed=1), ordered=False
    )
    assert flat.constants.latency_s == pytest.approx([7e-9], rel=0.01)
    two = Constants(np.array([2.0**15]), np.array([2e-9, 9e-9]), np.array([2e-9, 9e-9]))
    fitted = fit_form(FORMS[1], timed(points, two, seed=2), ordered=False)
    assert off(fitted.constants, two) < 0.05
    assert fitted.constants.latency_s.tolist() == fitted.constants.gap_s.tolist()


@pytest.mark.slow
def test_a_table_of_three_levels_is_seen_to_have_three():
    points = timed(grid(alphas=(0.01, 0.1, 0.5, 1), runs=(1, 16, 256)), truth(3), seed=3)
    selection = select_model(points)
    assert selection.chosen.form.levels == 3
    assert off(selection.chosen.constants, truth(3)) < 0.1
    errors = selection.chosen.errors
    assert np.all(errors.latency_s < 0.05 * selection.chosen.constants.latency_s)
    known = {c.name: c for c in selection.candidates}
    assert known["model 3"].criterion > known["3 levels"].criterion
    assert selection.model.statistics.held_out_mean == pytest.approx(0.8 * 0.02, rel=0.2)

    new = timed(grid(sizes=[3000, 50_000, 3e6], runs=(2, 40)), truth(3), seed=4)
    answer = selection.model.predict(new.m_words, new.alpha, new.run_words)
    assert np.mean(np.abs(answer.mean_s / new.time_s - 1)) < 0.03
    assert np.mean((answer.low_s <= new.time_s) & (new.time_s <= answer.high_s)) >= 0.85
    wide = selection.model.predict(new.m_words, new.alpha, new.run_words, level=0.99)
    assert np.all(wide.high_s > answer.high_s)

    again = MemoryModel.from_dict(json.loads(json.dumps(selection.model.to_dict())))
    same = again.predict(new.m_words, new.alpha, new.run_words)
    assert same.low_s == pytest.approx(answer.low_s, rel=1e-9)
    assert again.time_per_word_s(3000, 0.5, [[1], [64]]).shape == (2, 1)


@pytest.mark.slow
def test_what_no_level_explains_is_corrected():
    """Times that fall smoothly from the formula: a cost for each line of 8 words, until a prefetch hides half."""
    points = grid(alphas=(0.01, 0.1, 1), runs=(1, 4, 16, 64, 256))
    extra = 1 + 0.5 * np.sin(np.log(points.run_words) / 1.5) * (points.m_words > 2**17)
    exact = timed(points, truth(2), seed=5)
    bent = MemoryTimes(points.m_words, points.alpha, points.run_words, exact.time_s * extra)
    rows = np.arange(len(bent))
    selection = select_model(bent.take(rows % 2 == 0))
    judged = bent.take(rows % 2 == 1)
    answer = selection.model.predict(judged.m_words, judged.alpha, judged.run_words)
    plain = np.mean(np.abs(answer.physical_s / judged.time_s - 1))
    corrected = np.mean(np.abs(answer.mean_s / judged.time_s - 1))
    assert selection.chosen.correction is not None
    assert corrected < 0.5 * plain
    assert corrected < 0.08
    held = {c.name: np.mean(np.abs(c.held_out_s / selection.points.time_s - 1)) for c in selection.candidates}
    assert held[selection.chosen.name] == min(held.values())
    far = selection.model.predict(2.0**40, 0.5, 1.0)
    assert far.mean_s == pytest.approx(far.physical_s, rel=0.2)
    assert far.outside_training_range[0]
    assert far.high_s / far.mean_s > np.median(answer.high_s / answer.mean_s)


def test_unphysical_constants_are_named():
    backwards = Constants(np.array([100.0, 105.0]), np.array([3e-9, 2e-9, -1e-9]), np.array([1e-9, 1e-9, 2e-9]))
    faults = faults_of(form(3), backwards)
    assert [fault.split(":")[0] for fault in faults] == [
        "latency of level 3", "latency of level 2", "latency of level 3", "capacity of level 2",
    ]  # fmt: skip
    assert not faults_of(form(4), truth(4))
    same = Constants(np.array([100.0]), np.array([2e-9, 2e-9]), np.array([1e-9, 1e-9]))
    assert "two levels differ" in faults_of(form(2), same)[0]


def test_what_points_leave_open_has_no_finite_error():
    points = timed(grid(sizes=[2**20, 2**22], alphas=(1,), runs=(1, 64)), truth(2), seed=6)
    fitted = fit_form(form(2), points, ordered=True)
    errors = standard_errors(fitted, points)
    assert np.isinf(errors.latency_s[0]) or errors.latency_s[0] > fitted.constants.latency_s[0]


@pytest.mark.slow
def test_repetitions_and_order_do_not_matter():
    points = timed(grid(sizes=[2**k for k in range(10, 24, 3)], alphas=(0.1, 1), runs=(1, 64)), truth(2), seed=7)
    one = select_model(points).model
    other = select_model(points.take(np.arange(len(points))[::-1])).model
    assert other.time_per_word_s(2**16, 0.5, 4) == pytest.approx(one.time_per_word_s(2**16, 0.5, 4), rel=1e-3)
    folded = _folds(points.take(np.repeat(np.arange(len(points)), 2)).distinct())
    assert np.all(folded[::2] == folded[1::2])


def test_targets_and_levels_out_of_range_are_refused():
    model = select_model(timed(grid(runs=(1,), alphas=(1,)), truth(1), seed=8)).model
    for m, alpha, run in ((10, 1, 20), (10, 0, 1), (10, 1.1, 1), (10, 1, 0), (np.inf, 1, 1)):
        with pytest.raises(ScenarioError, match="1 <= L <= M"):
            model.predict(m, alpha, run)
    with pytest.raises(ScenarioError, match="level"):
        model.predict(10, 1, 1, level=1.0)
    with pytest.raises(ScenarioError, match="1 distinct"):
        select_model(timed(grid(sizes=[2**20], runs=(1,), alphas=(1,)), truth(1), seed=9))


@pytest.mark.slow
@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_the_number_of_levels_is_found_in_4_of_5_draws(levels):
    """At 2 % noise; each constant within 10 % where its standard error is below 3 %."""
    right = 0
    for seed in range(5):
        chosen = select_model(timed(grid(), truth(levels), seed=seed)).chosen
        right += chosen.form.levels == levels
        if chosen.form.levels == levels:
            known, found, errors = truth(levels), chosen.constants, chosen.errors
            for name in ("capacities_words", "latency_s", "gap_s"):
                value = getattr(found, name)
                sure = getattr(errors, name) < 0.03 * value
                assert np.all(np.abs(value / getattr(known, name) - 1)[sure] < 0.1)
    assert right >= 4


def test_a_model_of_cells_measured_here_is_read_back(tmp_path):
    fit = fit_memory(timed(grid(alphas=(0.5, 1), runs=(1, 64)), truth(2), seed=7))
    write_json(tmp_path / "m.json", fit.to_dict() | {"sweep": {"visits": 3}, "cells": []})
    again = load_memory_model(tmp_path / "m.json")
    assert again.model.levels == fit.model.levels
    assert [form.name for form in again.models] == [candidate.name for candidate in fit.selection.candidates]

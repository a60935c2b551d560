"""The model's linear algebra, for all configurations at once, against the same one configuration at a time."""

import numpy as np
import pytest

from simulator.models.process_count.posterior import linearised, state_at, step
from simulator.models.process_count.problem import (
    LIKENESS,
    cells_of,
    choose_likeness,
    inverse_roots,
    log_times,
    prior_of,
    problem_of,
    scales_of,
    slowest_of,
)
from simulator.models.process_count.runs import AllocationRuns
from simulator.models.process_count.terms import BELIEFS, SHAPES
from tests.support import lu_clusters as clusters

CUBIC = SHAPES[-1]
MIXED = [[[1, 1], [0, 0]], [[0, 0], [1, 2]], [[0, 0], [3, 1]], [[1, 2], [3, 1]], [[1, 1], [2, 2]], [[1, 3], [8, 1]]]


@pytest.fixture(scope="module")
def problem():
    """Mixed runs, some configurations at fewer sizes than others, so that groups have empty places."""
    runs = clusters.runs_of(MIXED, (400, 800, 1200, 1600), clusters.lu, noise=0.05)
    cells = cells_of(clusters.chosen(runs, np.arange(len(runs.size)) % 5 != 3))
    found = problem_of(CUBIC, cells, scales_of(CUBIC, cells))
    assert not found.groups.there.all()
    return found


def of_each(problem, table):
    """Rows of each configuration."""
    return [table[index[there > 0]] for index, there in zip(problem.groups.index, problem.groups.there, strict=True)]


def test_the_likeliest_own_part_is_that_of_the_normal_density(problem):
    generator = np.random.default_rng(5)
    chosen = set()
    for own in (0.0, 0.03, 0.3):
        shared = own * generator.standard_normal(len(problem.groups.index))
        residuals = 0.03 * generator.standard_normal(len(problem.noise))
        for share, index, there in zip(shared, problem.groups.index, problem.groups.there, strict=True):
            residuals[index[there > 0]] += share
        scores = []
        for likeness in LIKENESS:
            table = problem.groups.covariance(problem.noise, likeness)
            squares, log_det = 0.0, 0.0
            for one, there, rest in zip(table, problem.groups.there > 0, of_each(problem, residuals), strict=True):
                covariance = one[np.ix_(there, there)]
                squares += rest @ np.linalg.solve(covariance, rest)
                log_det += np.linalg.slogdet(covariance)[1]
            scores.append(len(residuals) * np.log(squares / len(residuals)) + log_det)
        found = choose_likeness(problem.groups, problem.noise, residuals)
        assert found == LIKENESS[int(np.argmin(scores))]
        chosen.add(found)
    assert len(chosen) > 1


def test_the_normal_equations_are_those_of_the_slopes(problem):
    mode = np.random.default_rng(1).normal(-3.0, 1.0, (2, problem.terms.shape[2]))
    root = inverse_roots(problem.groups.covariance(problem.noise, 0.5))
    local = linearised(problem, root, state_at(problem, mode))
    predicted, slopes = log_times(problem.terms, mode)
    normal, gradient, squares = 0.0, 0.0, 0.0
    tables = zip(problem.groups.covariance(problem.noise, 0.5), problem.groups.there > 0, strict=True)
    residuals = problem.log_time - predicted
    for (one, there), own, rest in zip(tables, of_each(problem, slopes), of_each(problem, residuals), strict=True):
        weight = np.linalg.inv(one[np.ix_(there, there)])
        normal, gradient = normal + own.T @ weight @ own, gradient + own.T @ weight @ rest
        squares += rest @ weight @ rest
    np.testing.assert_allclose(local.normal, normal, rtol=1e-9, atol=1e-12 * normal.max())
    np.testing.assert_allclose(local.gradient, gradient, rtol=1e-9, atol=1e-12 * np.abs(gradient).max())
    assert local.squares == pytest.approx(squares)


def test_a_step_follows_the_kind_that_becomes_the_slowest(problem):
    """The first kind far too slow at the start: after some steps other rows are its own, and so are their slopes."""
    prior = prior_of(2, BELIEFS[0], np.ones(problem.terms.shape[2]))
    start = state_at(problem, prior.mean.reshape(2, -1) + np.array([[3.0], [-1.0]]))
    root = inverse_roots(problem.groups.covariance(problem.noise, 0.5))
    state = start
    for _ in range(6):
        state, gain = step(problem, prior, root, state)
        assert gain >= 0
    assert not np.array_equal(slowest_of(state.point.of_kind), slowest_of(start.point.of_kind))


def test_phases_that_some_repetitions_tell():
    """The median of those that were measured, not a number where none was."""
    generator = np.random.default_rng(2)
    size, allocations = np.repeat([400.0, 800.0, 1200.0], 4), np.tile([[[2, 1]]], (12, 1, 1))
    phases = generator.random((12, 1))
    phases[[1, 4, 5, 8, 9, 10, 11]] = np.nan
    cells = cells_of(AllocationRuns(("only",), size, allocations, generator.random(12), phases, phases.copy()))
    expected = [[np.median(phases[[0, 2, 3], 0])], [np.median(phases[6:8, 0])], [np.nan]]
    np.testing.assert_array_equal(cells.comp_s, expected)
    np.testing.assert_array_equal(cells.comm_s, expected)

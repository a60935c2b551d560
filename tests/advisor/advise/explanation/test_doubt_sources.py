"""Shares of doubt and what knowing a source is worth, against the closed forms of normal deviates."""

import numpy as np
import pytest
from scipy.stats import norm

from advisor.advise.explanation.doubt_sources import Doubts, Regression, Source, mean_error, truth_means


def stratified(truths, parts, seed=1):
    """Independent standard normal deviates, one in each of as many equal parts as there are truths."""
    generator = np.random.default_rng(seed)
    places = np.array([generator.permutation(truths) for _ in range(parts)]).T
    return norm.ppf((places + generator.random((truths, parts))) / truths)


def sources(deviates, causes=None):
    return tuple(
        Source(name, deviates[:, [place]], causes or {}) for place, name in enumerate("abcdef"[: deviates.shape[1]])
    )


def unit_loss(distance):
    """E[max(0, Z - d)] of a standard normal Z: the unit normal loss integral (Raiffa & Schlaifer 1961)."""
    return norm.pdf(distance) - distance * norm.sf(distance)


def two_actions(deviates, *, apart, slopes, noise=0.0, seed=2):
    """All work on the first PE takes 1, on the second one 1 + apart + slopes . z."""
    other = 1 + apart + deviates[:, : len(slopes)] @ np.array(slopes)
    other = other + noise * np.random.default_rng(seed).standard_normal(deviates.shape[0])
    return Doubts(sources(deviates), np.array([np.ones(deviates.shape[0]), other]), 0, 1)


@pytest.mark.parametrize("apart", [0.0, 0.02, 0.08])
@pytest.mark.parametrize("kept", [1.0, 0.5])
def test_worth_of_a_normal_difference_between_two_actions(apart, kept):
    """Known by a share r of its variance, a slope b is worth b sqrt(r) L(apart / (b sqrt(r)))."""
    found = two_actions(stratified(1000, 3), apart=apart, slopes=(0.05, 0.03), noise=0.005)
    for place, slope in enumerate((0.05, 0.03)):
        spread = slope * np.sqrt(kept)
        assert found.worth({place: kept}, seed=3) == pytest.approx(
            spread * unit_loss(apart / spread), rel=0.05, abs=2e-4
        )
    both = np.hypot(0.05, 0.03) * np.sqrt(kept)
    assert found.worth({0: kept, 1: kept}, seed=3) == pytest.approx(both * unit_loss(apart / both), rel=0.05, abs=2e-4)


@pytest.mark.parametrize(("truths", "most"), [(20, 0.0012), (100, 0.0006)])
def test_a_source_that_does_not_matter_is_worth_about_nothing(truths, most):
    """Noise of 3 %, two ways that are as good in the mean: without care, b seems worth 0.4 / sqrt(truths) of it."""
    found = [
        two_actions(stratified(truths, 3, seed), apart=0.0, slopes=(), noise=0.03, seed=seed).worth({1: 1.0}, seed=seed)
        for seed in range(40)
    ]
    assert np.mean(found) < most < 0.03 * norm.pdf(0) / np.sqrt(truths)


def test_what_cannot_be_regretted_is_worth_nothing():
    """However doubtful what both ways take alike."""
    deviates = stratified(200, 2)
    common = 1 + 0.3 * deviates[:, 0]
    found = Doubts(sources(deviates), np.array([common, common + 0.1]), 0, 1)
    assert found.worth({0: 1.0}, seed=1) == 0
    assert found.makespan[0].source == "a"
    assert found.makespan[0].share == pytest.approx(1, abs=0.01)


def test_shares_of_known_variances():
    """Slopes 3, 2, 1 and noise of 1: 9, 4, 1 and 1 parts of 15."""
    deviates = stratified(2000, 4)
    row = 100 + deviates[:, :3] @ np.array([3.0, 2.0, 1.0]) + np.random.default_rng(5).standard_normal(2000)
    shares = Regression(sources(deviates), row[np.newaxis]).shares(0)
    assert [one.source for one in shares[:3]] == ["a", "b", "c"]
    assert [one.share for one in shares] == [pytest.approx(part / 15, abs=0.02) for part in (9, 4, 1, 0)]


def test_interactions_are_nobody_s():
    """A product of two deviates: no sum of their polynomials is it."""
    deviates = stratified(1000, 2)
    shares = Regression(sources(deviates), (deviates[:, 0] * deviates[:, 1])[np.newaxis]).shares(0)
    assert sum(one.share for one in shares) < 0.05


def test_causes_share_out_what_their_source_explains():
    deviates = stratified(100, 1)
    (share,) = Regression(sources(deviates, {"drift": 0.3, "form": 0.1}), deviates.T + 1).shares(0)
    assert share.causes == {"drift": pytest.approx(0.75 * share.share), "form": pytest.approx(0.25 * share.share)}


def test_parts_of_a_source_count_together():
    """What PEs have in common and what one has alone: 3 and 1 of 4."""
    deviates = stratified(400, 3)
    kind = Source("fast.json", deviates[:, :2], {})
    row = 1 + deviates[:, 0] * np.sqrt(3) + deviates[:, 1] + 2 * deviates[:, 2]
    shares = Regression((kind, Source("slow.json", deviates[:, [2]], {})), row[np.newaxis]).shares(0)
    assert {one.source: one.share for one in shares} == {
        "fast.json": pytest.approx(0.5, abs=0.03),
        "slow.json": pytest.approx(0.5, abs=0.03),
    }


def test_what_replications_leave_open_of_a_mean_is_no_doubt():
    """Truths differ by 1 and 1, their runs by 3: means of ten by 0.9 more, which no source has."""
    deviates, generator = stratified(400, 2), np.random.default_rng(3)
    truths = np.repeat(np.arange(400), 10)
    samples = 9 + (deviates[:, 0] + deviates[:, 1])[truths] + 3 * generator.standard_normal(4000)
    error = mean_error(samples, truths)
    assert error == pytest.approx(0.9, rel=0.05)
    row = truth_means(samples[np.newaxis], truths)
    assert sum(one.share for one in Regression(sources(deviates), row).shares(0)) == pytest.approx(2 / 2.9, abs=0.05)
    found = Doubts(sources(deviates), row, 0, 0, (error, 0.0)).makespan
    assert [one.share for one in found] == [pytest.approx(0.5, abs=0.06)] * 2
    assert mean_error(row[0], np.arange(400)) == 0


@pytest.mark.parametrize("truths", [20, 200])
def test_a_maximum_is_followed_by_few_truths(truths):
    """One PE of two limits from where its deviate is above 0 on: nine tenths and more of it by polynomials."""
    shares = []
    for seed in range(20):
        deviates = stratified(truths, 2, seed)
        row = np.maximum(1.0, 1 + 0.05 * deviates[:, 0]) + 0.001 * np.random.default_rng(seed).standard_normal(truths)
        found = {one.source: one.share for one in Regression(sources(deviates), row[np.newaxis]).shares(0)}
        shares.append(found["a"])
    assert np.mean(shares) > 0.9

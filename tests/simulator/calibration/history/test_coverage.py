"""How often intervals held, and what is learnt of it: histories whose miscalibration is known."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from simulator.calibration.history.coverage import (
    LEARNT,
    MOST,
    Comparison,
    OfKind,
    OfModel,
    bias_of,
    coverage,
    factor,
    keep_comparisons,
    learnt_in,
    share_held,
    widened,
    widening,
)
from simulator.models.doubt import Doubt
from tests.support.comparisons import ONE

HALF = 0.05
"""Half-width that is stated, as a logarithm."""
Z = 1.6448536269514722


def case(residual: float, *, sitting: object = 0, learnt: float = 1.0, **more: object) -> Comparison:
    ends = {"low_s": math.exp(-HALF * learnt), "high_s": math.exp(HALF * learnt), "learnt": learnt}
    return replace(ONE, **ends, measured_median_s=math.exp(residual), sitting=f"{sitting:04}", **more)  # type: ignore[arg-type]


def made(count: int, ratio: float, *, seed: int = 1, first: int = 0, learnt: float = 1.0) -> list[Comparison]:
    """Sittings of one case each whose residuals scatter by so many times what was stated."""
    errors = np.random.default_rng(seed).normal(0, ratio * HALF / Z, count)
    return [case(float(error), sitting=first + n, learnt=learnt) for n, error in enumerate(errors)]


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0, 3.0])
def test_the_factor_finds_the_true_miscalibration(ratio: float) -> None:
    found = [factor(made(120, ratio, seed=seed)) for seed in range(20)]
    assert np.median(found) == pytest.approx(ratio, rel=0.12)
    assert min(found) >= 1


def held(one: OfModel | OfKind) -> int | None:
    return None if one.seen.held is None else one.seen.held.held


def share_of(cases: Sequence[Comparison]) -> float | None:
    (group,) = coverage(cases).groups
    return None if group.seen.held is None else group.seen.held.share


def test_a_widened_model_is_not_widened_twice() -> None:
    """Intervals that were widened by 2 and hold again tell the same as those that were not and held too seldom."""
    errors = made(100, 2.0)
    again = made(100, 2.0, learnt=2.0)
    assert factor(again) == pytest.approx(factor(errors))
    assert share_of(again) == pytest.approx(0.9, abs=0.07)
    assert share_of(errors) < 0.75


def test_it_falls_again_when_intervals_hold() -> None:
    history = made(80, 2.0)
    found = [
        np.median([factor(history + made(more, 1.0, seed=s, first=80)) for s in range(2, 12)]) for more in (0, 40, 160)
    ]
    assert found[0] > 1.7
    assert found[0] > found[1] > found[2]
    assert found[2] < 1.2


def test_few_cases_change_little_and_intervals_that_hold_nothing() -> None:
    one, several = factor([case(4 * HALF)]), factor([case(4 * HALF, sitting=n) for n in range(4)])
    assert 1 < one < several < 4
    assert factor([case(0.5 * HALF, sitting=n) for n in range(30)]) == 1.0
    assert factor([]) == factor([replace(ONE, low_s=None, high_s=None)]) == 1.0
    assert factor([case(sign * 100 * HALF, sitting=n) for n, sign in enumerate([1, -1] * 40)]) == MOST


def test_cases_of_one_sitting_count_as_few() -> None:
    together = [case(sign * 3 * HALF, sitting=0) for sign in (1, -1, 1, -1)]
    apart = [case(sign * 3 * HALF, sitting=n) for n, sign in enumerate((1, -1, 1, -1))]
    assert 1 < factor(together) < factor(apart)


def test_the_error_of_the_median_is_not_doubt() -> None:
    """Medians that are off by their own sampling error alone widen nothing."""
    rng = np.random.default_rng(2)
    noisy = [case(float(rng.normal(0, 0.2)), sitting=n, median_sd=0.2) for n in range(100)]
    assert factor(noisy) < 1.6 < factor([replace(one, median_sd=0.0) for one in noisy])


def test_a_bias_is_reported_and_never_absorbed() -> None:
    shifted = [replace(one, measured_median_s=one.measured_median_s * 1.2) for one in made(60, 1.0)]
    found = bias_of(shifted)
    assert found is not None
    assert found.percent == pytest.approx(20, abs=2)
    assert (found.cases, found.of, found.sittings) == (60, 60, 60)
    assert found.p < 1e-9
    assert factor(shifted) == pytest.approx(factor(made(60, 1.0)), rel=0.15)
    (group,) = coverage(shifted).groups
    assert held(group) == 0  # it still missed, and says so
    assert group.bias is not None
    assert group.bias.text.startswith("20.")


@pytest.mark.parametrize(
    ("slower", "of", "told"), [(5, 5, False), (6, 6, True), (6, 7, False), (9, 10, True), (5, 10, False)]
)
def test_a_bias_needs_six_cases_and_one_sign(slower: int, of: int, told: bool) -> None:
    cases = [case(0.1 if n < slower else -0.1, sitting=n) for n in range(of)]
    assert (bias_of(cases) is not None) is told


def cause(cases: Sequence[Comparison]) -> str:
    found = bias_of(cases)
    assert found is not None
    return found.cause


def test_biases_name_the_cause_that_their_cases_show() -> None:
    alike = [case(0.1 + 0.01 * (n % 3), sitting=n // 4) for n in range(12)]
    assert "drifted" in cause(alike)
    assert "busy" in cause([replace(one, left=0.6) for one in alike])
    assert "number of PEs" in cause([case(0.02 * pes, sitting=n, pes=pes) for n in range(3) for pes in (1, 2, 4, 8)])
    assert "starting" in cause([case(0.2 / size, sitting=n, size=size) for n in range(3) for size in (1, 2, 4, 8)])
    wild = [case(value, sitting=0) for value in (0.01, 0.5, 0.05, 0.3, 0.02, 0.9, 0.6, 0.03)]
    assert cause(wild) == "cause unknown"
    faster = [replace(one, measured_median_s=1 / one.measured_median_s, left=0.6) for one in alike]
    assert "drifted" in cause(faster)  # a busy machine makes nothing faster


def test_what_other_programs_took_teaches_nothing() -> None:
    busy = [case(sign * 9 * HALF, sitting=n, left=0.5) for n, sign in enumerate([1, -1] * 10)]
    assert factor(busy) == 1.0
    (group,) = coverage(busy).groups
    assert (group.seen.busy, held(group)) == (20, 0)


def test_shares_have_their_exact_interval() -> None:
    found = share_held(9, 12)
    assert found is not None
    assert found.low == pytest.approx(beta.ppf(0.025, 9, 4))
    assert found.high == pytest.approx(beta.ppf(0.975, 10, 3))
    assert share_held(0, 0) is None


def test_groups_are_kinds_and_versions_of_models() -> None:
    cases = [
        case(0.0),
        case(0.2, version="sha256:2"),
        case(0.0, kind="command", subject="sort", runs=5, runs_inside=4, run_low_s=0.9, run_high_s=1.1),
    ]
    found = coverage(cases)
    assert [(group.kind, group.version) for group in found.groups] == [
        ("kernel", "sha256:1"),
        ("kernel", "sha256:2"),
        ("command", "sha256:1"),
    ]
    seen = [group.seen for group in found.groups]
    assert [one.held and one.held.share for one in seen] == [1.0, 0.0, 1.0]
    assert [kind.seen.held and kind.seen.held.of for kind in found.kinds] == [2, 1]
    assert seen[2].runs is not None
    assert seen[2].runs.share == 0.8
    assert seen[0].median_half_width_percent == pytest.approx(100 * math.expm1(HALF))
    assert seen[1].median_error_percent == pytest.approx(100 * math.expm1(0.2))


def test_another_level_stretches_intervals_as_normal_ones() -> None:
    cases = [case(1.1 * HALF, sitting=n) for n in range(3)]
    assert held(coverage(cases, level=0.9).kinds[0]) == 0
    assert held(coverage(cases, level=0.95).kinds[0]) == 3  # 1.96 / 1.645 = 1.19


def test_what_was_learnt_is_asked_by_kernel_over_all_versions_or_by_file() -> None:
    kept = [replace(one, version=f"sha256:{n}") for n, one in enumerate(made(40, 2.5))]
    assert widening("dgemm") == 1.0
    keep_comparisons(kept)
    assert widening("dgemm") == pytest.approx(factor(kept))
    assert widening("dgemm") > 1.7
    assert widening(model="m.json") == widening("dgemm")
    assert widening("stencil") == widening(model="other.json") == widening() == 1.0


def test_a_doubt_says_what_was_learnt() -> None:
    doubt = Doubt.of_parts({"sampling": 0.03, "drift": 0.04})
    wider = widened(doubt, 2.0)
    assert wider.at(1.0) == pytest.approx(0.1)
    assert wider.sources[LEARNT] == pytest.approx(0.75)
    assert sum(wider.sources.values()) == pytest.approx(1.0)
    assert learnt_in(wider) == pytest.approx(2.0)
    assert learnt_in(widened(wider, 1.5)) == pytest.approx(3.0)
    assert widened(doubt, 1.0) is doubt
    assert learnt_in(doubt) == learnt_in(None) == 1.0


def test_models_made_later_are_widened_by_what_was_learnt() -> None:
    """The same points, before and after intervals held too seldom: only the doubt differs, and says so."""
    from simulator.calibration import fit_speed

    before = fit_speed("gbbp_dgemm.csv", method="gbbp").band
    after = fit_speed("gbbp_dgemm.csv", method="gbbp", learnt=1.5).band
    assert before.doubt is not None
    assert after.doubt is not None
    sizes = before.sizes
    assert after.doubt.at(sizes) == pytest.approx(1.5 * before.doubt.at(sizes))
    assert (learnt_in(before.doubt), learnt_in(after.doubt)) == (1.0, pytest.approx(1.5))
    assert after.mid.tolist() == before.mid.tolist()
    assert np.all(after.high[:-1] > before.high[:-1])

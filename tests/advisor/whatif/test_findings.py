import numpy as np
import pytest
from scipy.special import stdtr

from advisor.whatif.asking import what_if
from advisor.whatif.judging import can_be_chosen
from advisor.whatif.outcomes import Outcomes
from simulator import intervals, load_scenario, reaching, run
from tests.support.made_up_sweeps import LATENCY, LINK, N, plan_of, swept_of, whatif_document
from tests.support.reliability import deviation

NULLS = 20


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Twenty changes of one field."""
    values = ",".join(f"x{1 + number / 100}" for number in range(1, NULLS + 1))
    return plan_of(tmp_path_factory.mktemp("many"), f"{LINK}={values}")


@pytest.fixture(scope="module")
def square(tmp_path_factory):
    """Three bandwidths and three latencies, what the scenario has among them."""
    return plan_of(tmp_path_factory.mktemp("square"), f"{LINK}=x1,x2,x4", f"{LATENCY}=x1,/2,/4")


def noise(seed, kind="normal", replications=20):
    """What a replication does to all, and what it does to each."""
    generator = np.random.default_rng(seed)
    common = generator.normal(0, 0.05, replications)
    if kind == "normal":
        return lambda: common + generator.normal(0, 0.02, replications)
    return lambda: common + 0.02 * generator.exponential(1, replications)


def false_alarms(plan, seeds, kind):
    found = 0
    for seed in range(seeds):
        draw = noise(seed, kind)
        document = whatif_document(swept_of(plan, lambda *_, draw=draw: 1 + draw()))
        assert (document["pays_most"] is not None) == document["sentence"].startswith(LINK)
        found += document["pays_most"] is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "skew"])
def test_changes_without_effect_are_rarely_said_to_pay(many, kind):
    """Each by its own interval, about a fifth of the sweeps would be said to have one that pays."""
    assert false_alarms(many, 200, kind) <= 0.05 * 200


def test_a_change_that_pays_is_found_among_those_that_do_not(many):
    draw = noise(1)
    document = whatif_document(swept_of(many, lambda point, _: (0.8 if point == 7 else 1) + draw()))
    assert (document["pays_most"], document["pays"]) == (7, [7])
    most = document["points"][7]
    assert most["chance"] > 0.99
    assert most["together"]["low"] < most["gain"]["low"] < 1.25 < most["gain"]["high"] < most["together"]["high"]
    assert document["comparisons"] == NULLS
    assert "pays most: 1.24 (1.23 to 1.26) times as fast" in document["sentence"]
    assert "the fastest of 21 points with a chance of > 99 %" in document["sentence"]


def test_half_a_percent_pays_nothing_however_sure_it_is(many):
    common, rest = 1 + 0.05 * np.random.default_rng(5).random(20), np.random.default_rng(6)
    took = {point: common * (1 + 1e-5 * rest.normal(size=20)) for point in range(NULLS + 1)}
    document = whatif_document(swept_of(many, lambda point, _: took[point] * (0.995 if point else 1)))
    assert document["points"][1]["together"]["low"] > 1
    said = "No change pays: none is more than 1 % faster than the scenario as it is"
    assert document["sentence"] == f"{said}, {NULLS} changes compared."


def test_of_two_that_cannot_be_told_apart_both_are_named(many):
    draw, rest = noise(3), np.random.default_rng(3).normal(0, 0.02, 20)
    rest -= rest.mean()
    alike = {7: 0.8 + rest, 9: 0.8 - rest}  # the same mean to rounding
    document = whatif_document(swept_of(many, lambda point, _: alike.get(point, 1 + draw())))
    assert document["pays"] == [7, 9]
    assert " pays: " in document["sentence"]
    assert "pays most" not in document["sentence"]
    both = [document["points"][point]["chance"] for point in (7, 9)]
    assert sum(both) == pytest.approx(1, abs=1e-3)
    assert max(both) < 0.95


def reliabilities(cases, points, replications, spread):
    """Stated chances of the best seen, and whether it is the best in truth: effects in standard errors of the noise."""
    stated, right = [], []
    for seed in range(cases):
        generator = np.random.default_rng(seed)
        effects = generator.normal(0, spread * 0.02 / np.sqrt(replications), points)
        common = generator.normal(0, 0.05, replications)
        times = 1 + effects[:, np.newaxis] + common + generator.normal(0, 0.02, (points, replications))
        found = intervals.chances(times, None, seed=seed).best
        assert found.sum() == pytest.approx(1)
        stated.append(found.max())
        right.append(bool(found.argmax() == effects.argmin()))
    return deviation(stated, right, bins=5)


@pytest.mark.parametrize("replications", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_stated_chances_come_true(replications):
    cases = 150 if replications == 5 else 1000
    found = reliabilities(cases, 8, replications, spread=4)
    assert found < (0.12 if replications == 5 else 0.04)


@pytest.mark.parametrize("replications", [3, 5, 40])
def test_the_chance_of_one_of_two_is_that_of_a_paired_t_test(replications):
    """Common draws cancel however large they are."""
    generator = np.random.default_rng(replications)
    common, rest = generator.normal(0, 5, replications), generator.normal(0, 1, replications)
    rest = (rest - rest.mean()) / rest.std(ddof=1)
    times = np.stack([100 + common, 100 + common + rest + 1.5 / np.sqrt(replications)])
    found = intervals.chances(times, None, seed=1).best
    assert found[0] == pytest.approx(stdtr(replications - 1, 1.5), abs=0.025)


def gains(base_s, others_s, truths=None, *, comparisons=1):
    times_s = np.concatenate((base_s[np.newaxis], others_s))[:, np.newaxis]
    count = len(times_s)
    held = Outcomes(
        ("c",),
        times_s,
        np.full((count, 1), np.nan),
        times_s.mean(axis=2),
        np.zeros(count, int),
        (),
        False,
        truths,
        0.9,
    )
    return held.gains(0, np.arange(1, count), comparisons=comparisons)


def test_intervals_of_many_gains_hold_together():
    misses = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        common = generator.normal(0, 0.1, 12)
        found = gains(1 + common, 0.5 + common + generator.normal(0, 0.05, (30, 12)), comparisons=30)
        misses += any(one.low > 2 or one.high < 2 for one in found)
    assert misses <= 200 * 0.1 + 3 * np.sqrt(200 * 0.1 * 0.9)


def truths_of(generator, count, *, each=10, doubt=0.05, noise=0.01):
    """Makespans of a base and of what truly is 1.25 times as fast in the mean, with the truth of each replication."""
    places = np.arange(count * each) % count
    ratio = np.exp(generator.normal(0, doubt, count))[places]
    common = np.exp(generator.normal(0, 0.1, count))[places]
    runs = common * (1 + generator.normal(0, noise, (2, places.size)))
    return runs[0], (runs[1] / 1.25 * ratio)[np.newaxis], places


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_gains_hold_what_is_not_known_whatever_the_replications(count):
    """A ratio that differs by 5 % from truth to truth: its interval holds 90 % of further truths, not of their mean."""
    held, widths = [], []
    for seed in range(200):
        generator = np.random.default_rng(seed)
        base_s, other_s, places = truths_of(generator, count)
        (found,) = gains(base_s, other_s, places)
        another = 1.25 * np.exp(generator.normal(0, 0.05, 100))
        held.append(np.mean((another > found.low) & (another < found.high)))
        widths.append(found.high - found.low)
    assert 0.87 <= np.mean(held) <= 0.93
    assert np.mean(widths) == pytest.approx(2 * 1.645 * 0.05 * 1.25, rel=0.15)


def test_the_simplest_point_within_a_percent_is_told(square):
    def makespan(point, _):
        return {0: 1.0, 1: 1.0, 7: 0.501, 9: 0.5}.get(point, 0.8) * np.ones(20)

    document = whatif_document(swept_of(square, makespan))
    assert (document["pays_most"], document["nearly"]) == (9, 7)
    said = f"a tie with {LINK}=x4, which is within 1 % of it with fewer changes; expected loss 0 %."
    assert said in document["sentence"]
    assert document["ties"] == [7, 9]
    assert document["points"][7]["expected_loss"] == pytest.approx(0.002)


def test_one_draw_tells_nothing_sure(tmp_path):
    plan = plan_of(tmp_path, f"{LINK}=x2", replications=1)
    document = whatif_document(swept_of(plan, lambda point, _: [1.0 - 0.1 * point]))
    assert document["pays_most"] is None
    assert document["sentence"].startswith(
        "1 replication cannot show which change pays: platform.link.bandwidth=x2 was"
    )
    assert any("one replication has no interval" in line for line in document["warnings"])
    assert [point["chance"] for point in document["points"]] == [None, None]
    certain = plan_of(tmp_path, f"{LINK}=x2", replications=1)
    document = whatif_document(swept_of(certain, lambda point, _: [1.0 - 0.1 * point], deterministic=True))
    assert document["pays_most"] == 1
    assert document["warnings"] == []


@pytest.mark.parametrize("replications", [2, 3, 5])
def test_a_few_draws_that_are_alike_by_chance_do_not_pay(tmp_path, replications):
    plan = plan_of(tmp_path, f"{LINK}=x2,x4", replications=replications)
    document = whatif_document(swept_of(plan, lambda point, _: (1.0 - 0.1 * point) * np.ones(replications)))
    assert document["pays"] == []
    assert document["points"][2]["gain"]["low"] is None
    assert document["points"][2]["chance"] == pytest.approx(1 - 0.5**replications, abs=1e-4)


def test_cost_of_a_run_and_who_is_on_the_front(tmp_path):
    plan = plan_of(tmp_path, f"{LINK}=x2,x3,x4")
    document = whatif_document(
        swept_of(
            plan,
            lambda point, _: [4.0, 2.0, 3.0, 1.0][point] * np.ones(20),
            rates=lambda point: {"cost_per_s": [1.0, 3.0, 1.0, 5.0][point]},
        )
    )
    (front,) = document["fronts"]
    assert [document["points"][point]["cost"]["run"] for point in range(4)] == pytest.approx([4, 6, 3, 5])
    assert front["points"] == [3, 2]
    assert "energy" not in document["points"][0]


def test_the_size_of_the_problem_is_no_improvement(tmp_path):
    plan = plan_of(tmp_path, f"{N}=1600,800", f"{LINK}=x1,x2")
    # n=800 is far faster than any link makes it, and is no answer to what pays
    document = whatif_document(
        swept_of(plan, lambda point, _: np.full(20, [4.0, 4.0, 3.0, 1.0, 0.5][point]), deterministic=True)
    )
    assert document["not_ranked"] == [N]
    assert document["sentence"].startswith(f"{LINK}=x2 pays most: 1.33")
    assert "800" not in document["sentence"]
    assert document["pays"] == [2]
    assert document["single"] == [2]
    assert [point["chosen"] for point in document["points"]] == [True, True, True, False, False]
    assert document["points"][3]["chance"] is None
    assert document["points"][3]["gain"]["mean"] == pytest.approx(4)


def test_where_nothing_can_be_bought_nothing_is_ranked(tmp_path):
    plan = plan_of(tmp_path, f"{N}=800,3200")
    document = whatif_document(swept_of(plan, lambda point, _: np.full(20, [2.0, 1.0, 9.0][point]), deterministic=True))
    assert document["pays"] == []
    assert document["sentence"] == (
        "n=800 takes 1.00 s, n=3200 takes 9.00 s, in place of 2.00 s; n is part of the question, so nothing is ranked."
    )


@pytest.mark.parametrize(
    ("path", "application", "expected"),
    [
        ("platform.link.bandwidth", "matmul", True),
        ("platform.nodes.a.pes.0.speeds.dgemm.doubt.sd", "matmul", False),
        ("configurations.equal.partition", "matmul", True),
        ("application.parameters.n", "matmul", False),
        ("application.parameters.nb", "hpl", True),
        ("application.kernel", "matmul", False),
        ("truths", "matmul", False),
    ],
)
def test_what_can_be_bought_or_chosen(path, application, expected):
    assert can_be_chosen(path, application) is expected


SELDOM = """\
format: 1
platform:
  nodes:
  - name: a
    pes: [{speeds: {k: 100flop/s}, load: {trace: {times_s: [0, 500, 502], values: [0, 1, 0], end_s: 1000}, rule: fair}}]
  link: {latency: 1us, bandwidth: 1GB/s}
application: {name: ep, kernel: k, parameters: {samples: 20}}
configurations: {one: {partition: equal}}
replications: 200
"""


def test_a_load_that_no_draw_met_is_within_the_intervals_of_what_it_may_do(tmp_path):
    """It is there for 0.2 % of the time: three of 200 draws may have met it, and a point without it may gain that."""
    path, values = tmp_path / "seldom.yaml", "platform.nodes.a.pes.0.load.trace.values"
    path.write_text(SELDOM)
    scenario = next(
        one for seed in range(40) if np.ptp(run(one := load_scenario(path).with_draws(None, seed)).makespan_s) < 1e-9
    )
    found = what_if(path, {values: ["[0, 0, 0]"]}, seed=scenario.seed).found
    base, idle = found.points
    runs = reaching(scenario, run(scenario))
    assert base.own.makespan_s.high == pytest.approx(runs.described("one")["high"])
    assert idle.own.makespan_s.high == idle.own.makespan_s.mean
    may_gain = runs.reach_s[0] / idle.own.makespan_s.mean
    assert may_gain > 1.005
    assert (idle.gain.low, idle.gain.mean, idle.gain.high) == pytest.approx((1.0, 1.0, may_gain))
    assert (idle.difference_s.low, idle.difference_s.high) == pytest.approx(
        (base.own.makespan_s.mean - runs.reach_s[0], 0)
    )
    assert found.pays_most is None

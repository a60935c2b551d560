"""What to measure next: sources of a scenario's doubt, what measuring them saves, for how long, by which command."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from advisor.advise.explanation.next_measurement import WORTH, next_measurement, sources_of
from advisor.advise.recommendation import recommend
from simulator import LinkModel, SpeedBand, run
from simulator.models.doubt import Doubt, Noise
from simulator.programs.configuration import Configuration
from tests.support.platforms import band, pe, scenario

N = 600
SPEED = 2 * N**3
"""Of a PE that multiplies two matrices of order N in a second."""


def doubted(sd, source, *, speed=SPEED, common=0.0, sources=None):
    """A speed at all sizes, its logarithm in doubt by a standard deviation."""
    doubt = Doubt.constant(sd, common=common, sources=sources or {"drift": 0.75, "sampling": 0.25})
    return replace(SpeedBand.constant(speed), doubt=doubt, source=source)


def made(*bands, replications=400, partitions=((600, 0), (0, 600)), inputs=()):
    pes = [pe(name, one) for name, one in zip("abcd", bands, strict=False)]
    found = scenario(pes, N, link=LinkModel.from_latency(1e-9, 1e30), replications=replications, seed=1)
    named = tuple(Configuration.one_each(f"to {name}", part) for name, part in zip("abcd", partitions, strict=False))
    return replace(found.with_configurations(named), inputs=dict.fromkeys(inputs, "hash"))


@cache
def some_advice():
    """Any recommendation, to be filled with other runs."""
    one = scenario([pe("a", SPEED)], N)
    return recommend(one, confirm=0, runs=60)


def asked(found):
    """The advice among the scenario's own configurations alone."""
    runs = run(found)
    best = int(np.argmin(runs.makespan_ticks.mean(axis=1)))
    ranking = some_advice().ranking
    ranking = replace(ranking, ranked=(replace(ranking.best, candidate=best),))
    strategies = replace(some_advice().strategies, candidates=found.configurations, also={})
    return replace(some_advice(), ranking=ranking, runs=runs, strategies=strategies)


def test_who_gets_all_the_work_of_two_pes_alike():
    """Times e^(s z) and e^(t w), s = 2 t: two log-normals; what knowing one is worth, by numbers, and who is asked."""
    one = made(doubted(0.1, "a.json"), doubted(0.05, "b.json"), inputs=("a.json", "b.json"))
    _, found = next_measurement(one, asked(one))
    assert [one.source for one in found.ranked] == ["a.json", "b.json"]
    z = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    known = found.ranked[0].removed
    other = np.exp(0.05**2 / 2)
    told = np.exp(0.1 * np.sqrt(known) * z + 0.1**2 * (1 - known) / 2)
    exact = min(other, told.mean()) - np.minimum(told, other).mean()
    assert found.ranked[0].reduction == pytest.approx(exact / min(other, told.mean()), rel=0.1)
    assert found.measure == "a.json"
    assert found.ranked[0].causes["drift"] == pytest.approx(3 * found.ranked[0].causes["sampling"])


def test_noise_of_a_model_counts():
    """Noise of 30 % leaves ten repetitions unsure by a tenth: half of a doubt of a tenth remains."""
    noisy = replace(doubted(0.1, "a.json", sources={"sampling": 1.0}), noise=Noise.normal(0.3, count=4096))
    one = made(noisy, doubted(0.1, "b.json"))
    found = {c.source: c.removed for c in next_measurement(one, asked(one))[1].ranked}
    assert found["speed of a.json"] == pytest.approx(0.01 / (0.01 + 0.09 / 10), rel=0.02)


def test_a_doubt_that_the_decision_does_not_hang_on_is_not_measured():
    """a may be a tenth slower, b is four times as slow."""
    one = made(doubted(0.1, "a.json"), SpeedBand.constant(SPEED / 4), inputs=("a.json",))
    doubt, found = next_measurement(one, asked(one))
    assert found.measure is None
    assert found.ranked[0].reduction < WORTH
    assert doubt.makespan.sources[0].share > 0.95  # it is all of the makespan's doubt all the same
    assert found.unstated == ("speed of b", "link latency", "link bandwidth")


def test_what_a_kind_shares_is_one_source():
    """Of three PEs two are of one model: two sources, and five independent parts."""
    kind = doubted(0.1, "fast.json", common=0.8)
    every = (600, 0, 0), (0, 600, 0), (0, 0, 600)
    one = made(kind, kind, doubted(0.1, "slow.json"), partitions=every, inputs=("fast.json",))
    found = sources_of(one, asked(one))
    assert [(source.name, source.deviates.shape[1], source.pes) for source in found] == [
        ("fast.json", 3, (0, 1)),
        ("speed of slow.json", 1, (2,)),
    ]
    parts = np.concatenate([source.deviates for source in found], axis=1)
    assert np.abs(np.corrcoef(parts.T) - np.eye(4)).max() < 0.15
    shares = {share.source: share.share for share in next_measurement(one, asked(one))[0].makespan.sources}
    assert max(shares, key=shares.get) == (
        "fast.json" if asked(one).configuration.name != "to c" else "speed of slow.json"
    )


def test_a_band_by_hand_is_a_source_and_its_command_names_its_pe():
    one = made(band(0.8 * SPEED, SPEED, 1.2 * SPEED), band(0.98 * SPEED, SPEED, 1.02 * SPEED))
    doubt, found = next_measurement(one, asked(one))
    assert found.measure == "speed of a"
    assert found.command == "apportion calibrate speed --kernel dgemm --accuracy 2% -o a-dgemm.json"
    assert doubt.makespan.sources[0].causes == {"as stated": doubt.makespan.sources[0].share}


def test_seconds_follow_from_the_time_of_a_run():
    """Five sizes, ten times each, of what takes a second, and two to start."""
    one = made(doubted(0.1, "a.json"), doubted(0.1, "b.json"))
    assert [c.seconds for c in next_measurement(one, asked(one))[1].ranked] == [pytest.approx(52, rel=0.01)] * 2


def test_nothing_doubted_nothing_measured():
    one = made(SpeedBand.constant(SPEED), SpeedBand.constant(SPEED))
    doubt, found = next_measurement(one, asked(one))
    assert (found.measure, found.ranked, found.expected_loss) == (None, (), None)
    assert doubt is None
    assert len(found.unstated) == 3


def test_a_doubtful_link_is_a_source():
    link = replace(LinkModel.from_latency(0.05, 1e9), doubt=Doubt.constant(0.3), source="link.json")
    one = made(doubted(0.02, "a.json"), doubted(0.02, "b.json"), partitions=((300, 300), (600, 0)))
    platform = replace(one.platform, network=replace(one.platform.network, model=link))
    one = replace(one, platform=platform)
    _, found = next_measurement(one, asked(one))
    by_name = {candidate.source: candidate for candidate in found.ranked}
    assert by_name["link.json"].what == "link"
    assert by_name["link.json"].command == "apportion cluster --hosts THIS,OTHER -o link-2"
    assert not {"link latency", "link bandwidth"} & set(found.unstated)


def test_measuring_removes_what_is_not_drift_and_half_of_that():
    one = made(doubted(0.1, "a.json"), doubted(0.1, "b.json"), inputs=("a.json",))
    _, found = next_measurement(one, asked(one))
    noise = 0.03**2 / 10
    removable = 0.75 / 2 + 0.25
    for candidate in found.ranked:
        assert candidate.removed == pytest.approx(removable * removable * 0.01 / (removable * 0.01 + noise))

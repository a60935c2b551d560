"""Advice on which change pays most: what surely pays is named, ties are said, the rest is refused."""

import pytest

from advisor.jobs.advise import BOUND, advise, candidates
from advisor.jobs.compare import Alternative
from advisor.jobs.setting import Setting
from advisor.report.job_answers import JobsAdvised
from advisor.results import Provenance
from simulator import Estimates, Policy, ScenarioError
from tests.studies import job_coverage as study

CASE = study.Case("streams", 2, 150, 0.7, 0, "streams", 20)
BASE = Alternative("base", Policy(), Estimates(), Setting(32))


def made(number):
    return study.generated(CASE, number, seed=5)


def test_candidates_change_one_thing_each():
    found = candidates(BASE, add=[4], prices={"add": 10.0, "policy": 3.0})
    assert len({one.alternative.name for one in found}) == len(found)
    for one in found:
        other = one.alternative
        same = [other.policy == BASE.policy, other.estimates.name == "limit", other.pes == 32]
        assert sum(same) == 2
    assert [one.price for one in found if one.kind == "add"] == [40.0]
    assert [one.price for one in found if one.kind == BOUND] == [None]
    with pytest.raises(ScenarioError, match="price: link"):
        candidates(BASE, prices={"link": 1.0})


def test_many_more_pes_pay_most_and_their_price_counts():
    changes = candidates(BASE, add=[1, 32], prices={"add": 1000.0, "policy": 1.0})
    found = advise(made, BASE, changes, replications=15, seed=2)
    answer = JobsAdvised.of(found, None, (), (), None, Provenance.of(2))
    assert answer.pays_most == "32 PEs more"
    assert answer.pays_most_per_price.startswith("policy ")
    rows = {row.name: row for row in answer.candidates}
    most = rows["32 PEs more"]
    assert most.gain.low > 0
    assert most.gain.mean == pytest.approx(answer.base.value - most.value)
    assert most.gain_per_price == pytest.approx(most.gain.mean / 32_000)
    assert "pays most: it lowers the mean wait by" in found.sentence


def test_the_same_change_twice_cannot_be_told_apart():
    first = next(one for one in candidates(BASE, add=[32]) if one.kind == "add")
    twin = type(first)("add", Alternative("twin", Policy(), Estimates(), Setting(64)))
    found = advise(made, BASE, [first, twin], replications=15)
    assert {found.compared.alternatives[place + 1].name for place in (found.best, *found.ties)} == {
        "twin",
        "32 PEs more",
    }


def test_no_advice_on_few_or_overloaded_streams():
    changes = candidates(BASE, add=[1])
    assert "too few" in advise(made, BASE, changes, replications=5).sentence
    crowded = study.Case("streams", 3, 150, 1.5, 0, "streams", 20)
    over = advise(lambda number: study.generated(crowded, number, seed=1), BASE, changes, replications=12)
    assert over.sentence.startswith("no advice: the base is overloaded")
    assert over.best is None

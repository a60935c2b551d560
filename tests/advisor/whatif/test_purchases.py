"""What to buy: gains per price depend on no order of purchases, on none that nobody must choose, and on no money."""

from types import MappingProxyType

import numpy as np
import pytest

from advisor.whatif.asking import plan_whatif
from advisor.whatif.judging import findings_of
from advisor.whatif.purchases import read_purchases
from simulator import ScenarioError
from tests.support.made_up_sweeps import swept_of
from tests.support.sweep_points import write

TIMES = {"fast: 1": 0.8, "25GbE": 0.9, "slow: 1": 1.0}
"""What is bought, and how long it takes where the scenario as it is takes 1."""
NOTHING = MappingProxyType({})
PRICES = {"fast: 1": 8000.0, "25GbE": 3000.0, "slow: 1": 500.0}


def bought(tmp_path, prices, *, seed=0, times=TIMES, noise=0.01, reaches=NOTHING):
    """What is found where purchases take a known time in the mean, by draws that all share and some of their own."""
    text = ", ".join(f"{name} at {price:g}" for name, price in prices.items())
    plan = plan_whatif(write(tmp_path), (), buy=text, replications=40)
    generator = np.random.default_rng(seed)
    common = generator.normal(0, 0.05, 40)
    own = {name: generator.normal(0, noise, 40) for name in sorted(TIMES)}
    own = {name: rest - rest.mean() for name, rest in own.items()}  # their means are what is said, to rounding
    names = list(prices)

    def takes(point, _):
        return 1 + common if point == 0 else times[names[point - 1]] * (1 + common) + own[names[point - 1]]

    swept = swept_of(plan, takes)
    for name, reach_s in reaches.items():
        swept.documents[plan.points[names.index(name) + 1].hash]["configurations"][0]["reach_s"] = reach_s
    found = findings_of(swept, text)
    return found, {one.name: one for one in found.bought}


def test_the_one_that_pays_most_per_price_is_named_with_its_interval(tmp_path):
    found, rows = bought(tmp_path, PRICES)
    network, node, nothing = (rows[name] for name in ("25GbE", "fast: 1", "slow: 1"))
    assert [one.name for one in found.bought] == ["25GbE", "fast: 1", "slow: 1"]
    assert network.per_price.low < (1 / 0.9 - 1) / 3000 < network.per_price.high
    assert node.per_price.low < (1 / 0.8 - 1) / 8000 < node.per_price.high
    assert [one.pays for one in found.bought] == [True, True, False]
    assert (node.tied, nothing.tied) == (False, False)
    assert found.sentence.startswith("Per price 25GbE pays most: 3.")
    assert "more work in a second for each 1000; fast: 1: 3." in found.sentence
    assert "platform.nodes+=fast: 1 pays most: 1.2" in found.sentence


def test_the_order_of_purchases_and_what_nobody_must_choose_change_nothing(tmp_path):
    _, rows = bought(tmp_path, PRICES)
    for prices in (dict(reversed(PRICES.items())), {name: PRICES[name] for name in ("25GbE", "fast: 1")}):
        _, others = bought(tmp_path, prices)
        for name, one in others.items():
            assert one.per_price == rows[name].per_price
            assert (one.pays, one.tied) == (rows[name].pays, rows[name].tied)


def test_dearer_money_changes_no_order(tmp_path):
    first, rows = bought(tmp_path, PRICES)
    second, dearer = bought(tmp_path, {name: 2 * price for name, price in PRICES.items()})
    assert [one.name for one in first.bought] == [one.name for one in second.bought]
    for name, one in rows.items():
        assert dearer[name].per_price.mean == pytest.approx(one.per_price.mean / 2, rel=1e-12)
        assert dearer[name].tied == one.tied


@pytest.mark.parametrize(("noise", "tied"), [(0.03, True), (1e-5, False)])
def test_a_tie_is_said_as_a_tie(tmp_path, noise, tied):
    """3.125 % and 3.33 % for each 1000: draws of their own tell them apart or do not."""
    prices = {"fast: 1": 8000.0, "25GbE": 10000 / 3}
    found, rows = bought(tmp_path, prices, times={"fast: 1": 0.8, "25GbE": 0.9}, noise=noise)
    assert [one.tied for one in rows.values()] == ([True, True] if tied else [True, False])
    assert (" are a tie: " in found.sentence.split(".  ")[0]) == tied


def test_one_that_a_load_seldom_there_may_bring_nearer_is_a_tie_too(tmp_path):
    """As for other ties: by what means reach to, not by what was met alone."""
    prices, times = {"fast: 1": 8000.0, "25GbE": 10000 / 3}, {"fast: 1": 0.8, "25GbE": 0.9}
    apart = {"times": times, "noise": 1e-5}
    assert not bought(tmp_path, prices, **apart)[1]["fast: 1"].tied
    assert bought(tmp_path, prices, **apart, reaches={"fast: 1": 0.78})[1]["fast: 1"].tied


def test_of_purchases_that_gain_nothing_none_is_said_to_pay(tmp_path):
    found, rows = bought(tmp_path, PRICES, times=dict.fromkeys(TIMES, 1.0))
    assert found.sentence.startswith("No change pays")
    assert not any(one.pays or one.tied for one in rows.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fast: 1", "--buy: 'fast: 1' has no price; write WHAT at PRICE, such as 'new: 1 at 8000, 25GbE at 3000'"),
        ("fast: 1, 25GbE at 3", "--buy: 'fast: 1, 25GbE at 3' has no price; write"),
        ("fast: 1 at 0", "--buy fast: 1: its price is 0; give one above 0"),
        ("25GbE at 3, 25GbE at 4", "--buy: 'platform.link=25GbE' is given twice; leave one out"),
        ("fsat: 1 at 3", "--buy platform.nodes+: 'fsat: 1' adds no nodes; give NODE: COUNT with one of fast, slow"),
    ],
)
def test_what_is_no_purchase_is_refused(tmp_path, text, said):
    with pytest.raises(ScenarioError) as caught:
        plan_whatif(write(tmp_path), (), buy=text)
    assert caught.value.lines[0].startswith(said)


def test_links_are_where_the_file_has_them_and_changes_may_be_written_out():
    star = {"platform": {"network": {"link": {}}}}
    (link, memory) = read_purchases("100GbE at 9.5, platform.nodes.n[1,2].memory=x2 at 10", star)
    assert (link.change, link.price) == ("platform.network.link=100GbE", 9.5)
    assert (memory.change, memory.price) == ("platform.nodes.n[1,2].memory=x2", 10)
    with pytest.raises(ScenarioError, match="--buy 25GbE: the file has no one link; say which"):
        read_purchases("25GbE at 3", {"platform": {"network": {"uplink": {}}}})

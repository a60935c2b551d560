"""Who gets how much: units, speeds and loads of PEs by hand, and many PEs gathered; the figures drawn of them."""

from xml.etree import ElementTree

import numpy as np
import pytest

from simulator import Configuration, Share, gathered_shares, load_scenario, plots, shares_of

HOSTILE = "<script>&\"'</script>"


def share(name, after, *, node="", before=10, speed=4.0, left=1.0, **more):
    return Share(name, node, before, after, speed, 0.02, None, left, **more)


def texts(svg):
    found = [one.text for one in ElementTree.fromstring(svg).iter() if one.tag.endswith(("}text", "}tspan"))]  # noqa: S314
    return [text.strip() for text in found if text]


def test_units_speed_and_load_of_each_pe_are_those_of_the_scenario():
    scenario = load_scenario("two-cores")
    equal, other = (Configuration.one_each(name, parts) for name, parts in (("a", (1252, 1252)), ("b", (2504, 0))))
    core0, core1 = shares_of(scenario, equal, other)
    assert (core0.before, core0.after, core1.after) == (1252, 2504, 0)
    assert (core0.load, core0.left) == (None, 1.0)
    assert core1.load == pytest.approx(scenario.platform.pes[1].load.trace.mean())
    assert core1.left == pytest.approx(0.42, abs=0.01)
    assert core0.known == pytest.approx(0.025, abs=0.001), "its band is given as +/- 2.5 %"
    band, n = scenario.platform.pes[0].speeds["dgemm"], 2504
    step = scenario.application.work.compute(2)(n)
    assert core0.speed == pytest.approx(float(band.speed(step.size)) * n / float(np.sum(step.volume)))


def test_few_pes_are_a_row_each_and_pes_of_nodes_and_alike_nodes_are_gathered():
    few = [share(f"p{k}", k) for k in range(8)]
    assert gathered_shares(few) == (tuple(few), "PE")
    of_nodes = [share(f"n{k}.{core}", 5, node=f"n{k}") for k in range(4) for core in range(4)]
    rows, of = gathered_shares(of_nodes)
    assert ([row.name for row in rows], of, rows[0].after, rows[0].pes, rows[0].speed) == (
        ["n0", "n1", "n2", "n3"], "node", 20, 4, 16.0,
    )  # fmt: skip
    many = [share(f"fast{k:02d}", 30 + k % 2, node=f"fast{k:02d}", speed=9.0) for k in range(1, 13)]
    many += [share(f"slow{k:02d}", 3, node=f"slow{k:02d}") for k in range(1, 21)]
    rows, of = gathered_shares(many)
    assert [(row.name, row.count, row.low, row.high) for row in rows] == [
        ("fast[01-12]", 12, 30, 31),
        ("slow[01-20]", 20, 3, 3),
    ]
    assert (of, rows[0].after) == ("PE", 30.5)


def test_a_thousand_unlike_pes_are_eight_rows_that_hold_all_units():
    unlike = [share(f"p{k}", 1 + k, speed=1.0 + k) for k in range(1000)]
    rows, _ = gathered_shares(unlike)
    assert len(rows) == 8
    assert sum(row.after * row.count for row in rows) == pytest.approx(sum(one.after for one in unlike))
    assert [row.after for row in rows] == sorted((row.after for row in rows), reverse=True)


def test_the_figure_says_what_each_gets_and_names_from_outside_are_escaped():
    drawn = plots.shares([share(HOSTILE, 15), share("idle", 0, before=0)], unit="rows").svg()
    assert "15 (+50 %)" in texts(drawn)
    assert {"0", "4.00 rows/s, no load", "as now", "advised"} <= set(texts(drawn))
    assert "<script" not in drawn
    assert plots.shares([share("a", 2)], unit="rows").svg() == plots.shares([share("a", 2)], unit="rows").svg()
    assert not plots.shares([], unit="rows")


def test_a_row_that_stays_as_it_is_needs_no_points():
    steps, ends = np.ones(200), np.zeros(200)
    steps[150:], ends[150:] = 0.25, 0.5
    drawn = plots.runs([plots.Run("a", 2.0, (plots.RunRow("p", steps, ends),))])
    first, second = (one.get_paths()[0].vertices for one in drawn.axes().collections)
    assert sorted(set(first[:, 0])) == [0.0, 1.5, 2.0]
    assert max(len(first), len(second)) < 20
    assert max(second[:, 1]) - min(second[:, 1]) == pytest.approx(0.84 * 0.75), "to the row's top, from a quarter"


def test_what_bars_cover_of_each_stretch():
    found = plots.coverage_of([(6, 8), (0, 3)], 10, bins=5)
    assert found.tolist() == [1.0, 0.5, 0.0, 1.0, 0.0]
    assert plots.coverage_of([], 10, bins=2).tolist() == [0.0, 0.0]

"""Tables of the characterisation paper, and how a study of the methods is judged."""

import pytest

from advisor.reproduce import characterisation, characterisation_study
from advisor.reproduce.characterisation_study import Recorded
from advisor.reproduce.comparison import published


def rows(errors, *, untaught=None):
    """Errors in percent by method, at three sizes with 10 % more error each time; timing is 2 % too high."""
    found = []
    for kernel in ("a", "b"):
        for step, n in enumerate((10.0, 20.0, 30.0)):
            for method, error in {**errors, "ct": 2.0}.items():
                spread = error if method == "ct" else error * (1 + 0.1 * step)
                apart = (untaught or {}).get(method, spread)
                found.append(Recorded(kernel, n, method, 1 + spread / 100, 1 + apart / 100, 1.0))
    return found


def test_table_7_and_the_node_times():
    statistics = list(characterisation.table_7())
    assert len(statistics) == 18
    assert all(cell.within_rounding for cell in statistics)
    printed = published(characterisation.NODE_TIMES, ("kernel", "node", "method"), "time_us")
    times = {cell.where: cell for cell in characterisation.node_times(printed)}
    assert times["matmul, dtpr"].ours == pytest.approx(2 / 1.5)
    assert not times["matmul, dtpr"].within_rounding, "the paper prints 1.5"
    assert times["sorting, merge"].ours == pytest.approx(1 / 1.5)
    assert times["sorting, tail"].within_rounding
    rate = characterisation.flop_rate(printed)
    assert rate.implied_mflops == pytest.approx(1.3)
    assert rate.flops_at_implied["matmul dtpr"] == 2


def test_errors_are_those_beyond_component_timing():
    found = characterisation_study.judge(rows({"icc": 12.0, "hllc": 32.0, "poc": -58.0}))
    assert found.taught["icc"].min == pytest.approx(10.0)
    assert found.taught["icc"].max == pytest.approx(12.0 * 1.2 - 2)
    assert found.taught["poc"].min == pytest.approx(60.0)
    assert found.component_timing.mean == pytest.approx(2.0)
    assert sorted(found.taught, key=lambda name: found.taught[name].mean) == ["icc", "hllc", "poc"]
    assert not found.bounds["icc"].kept
    assert any("order (ICC, HLLC, POC) holds, with those runs (intervals apart)" in line for line in found.finding)


def test_the_shipped_study():
    """Five kernels at least, three sizes each, every method; sizes that are judged teach nothing."""
    read = characterisation_study.read_rows()
    sizes = {}
    for row in read:
        sizes.setdefault(row.kernel, set()).add(row.n)
        assert row.predicted_s >= 0
        assert row.measured_s > 0
    assert len(sizes) >= 5
    assert all(len(each) >= 3 for each in sizes.values())
    assert {row.method for row in read} == {"dbc", "poc", "hllc", "intcc", "icc", "ct"}
    assert characterisation_study.judge(read).finding

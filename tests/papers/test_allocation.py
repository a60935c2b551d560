"""The allocation paper: its tables' arithmetic, its runs, and what its model chooses on the surrogate cluster."""

import numpy as np
import pytest

from advisor.reproduce import allocation
from simulator import files
from tests.support import allocation_surrogate as surrogate


@pytest.fixture(scope="module")
def result():
    return allocation.reproduce()


@pytest.fixture(scope="module")
def document():
    return files.read_json(files.shipped("scenarios", "papers/kishimoto_surrogate.json"))


def test_every_printed_error_follows_from_the_printed_times(result):
    assert len(result["tables"]) == 17
    off = [abs(row["computed"][name] - row["paper"][name]) for row in result["tables"] for name in row["paper"]]
    assert sorted(off)[-2] <= 0.0015
    assert max(off) == pytest.approx(0.0034, abs=1e-4)  # 26.1 s / 20.4 s, both rounded, against the printed 0.276
    assert all(row["agrees"] for row in result["tables"])
    by_set = {
        name: [row["computed"]["regret"] for row in result["tables"] if row["set"] == name] for name in ("Basic", "NL")
    }
    assert max(by_set["Basic"]) == pytest.approx(0.036, abs=0.003)
    assert max(by_set["NL"]) == pytest.approx(0.043, abs=0.003)


@pytest.mark.parametrize(
    "change", [("measured_time_of_estimated_s", "26.3"), ("regret", "0.287"), ("best_time_s", "20.2")]
)
def test_a_wrong_figure_would_be_seen(change):
    row = next(row for row in allocation._rows("table9") if row["n"] == "3200")
    assert allocation._choice(row)["agrees"]
    assert not allocation._choice({**row, change[0]: change[1]})["agrees"]


def test_measured_points_order_as_the_paper_says(result):
    orderings = {row["size"]: row for row in result["orderings"]}
    assert all(row["agrees"] for row in orderings.values())
    assert orderings[6400]["configurations"] == [[1, 2, 8, 1], [1, 2, 7, 1], [1, 1, 8, 1], [1, 2, 0, 0]]
    assert orderings[9600]["configurations"] == [[1, 4, 8, 1], [1, 3, 8, 1], [1, 2, 8, 1], [1, 2, 0, 0]]
    assert orderings[9600]["measured_s"] == [340.9, 341.1, 355.4, 619.7]


def test_runs_and_measuring_times_are_the_papers(result):
    assert result["candidates"] == {"paper": 62, "found": 62}
    assert [(row["set"], row["runs"]) for row in result["construction"]] == [("Basic", 486), ("NL", 120), ("NS", 120)]
    assert [row["cost_s"] for row in result["construction"]] == pytest.approx([22869.3, 12335.4, 571.7])


def test_the_surrogate_is_the_one_fitted_to_the_printed_points(document):
    of = surrogate.cluster()
    for point in document["fit_to_printed_points"]:
        configuration = np.array(point["config"]).reshape(1, 2, 2)
        assert surrogate.truth(of, point["n"], configuration)[0] == pytest.approx(point["surrogate_s"], abs=0.006)
    candidates = surrogate.candidates(of)
    for size, best in document["best"].items():
        true_s = surrogate.truth(of, int(size), candidates)
        assert candidates[true_s.argmin()].ravel().tolist() == best["config"]
        assert true_s.min() == pytest.approx(best["time_s"], abs=1e-3)


def test_the_papers_model_does_on_the_surrogate_what_it_did_on_the_cluster():
    found = surrogate.study(seeds=10, kinds=(2,), methods=("paper",))
    regret = {
        (case["truth"], case["set"]): [case["regret_percent"][str(size)]["mean"] for size in surrogate.JUDGED]
        for case in found
    }
    assert np.mean(regret["as fitted", "Basic"]) < 4
    assert np.mean(regret["as fitted", "NL"]) < 4
    # The paper's own NS figures are 28, 29, 52, 67 and 82 %.
    assert regret["as fitted", "NS"] == pytest.approx([28, 29, 52, 67, 82], abs=15)
    costs = {case["set"]: case["cost_s"] for case in found if case["truth"] == "as fitted"}
    assert costs["NS"] < 0.05 * costs["NL"] < 0.05 * costs["Basic"]


def test_pooled_makes_the_cheapest_set_as_good_as_the_dearest():
    for case in surrogate.study(seeds=2, kinds=(2,), sets=("NS",), methods=("pooled",)):
        assert case["mean_regret_percent"] <= 2
        assert case["worst_regret_percent"] <= 12
        assert case["not_positive"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pooled", surrogate.WHOLE])
def test_pooled_meets_the_goal_on_the_mean_with_two_and_three_kinds(method):
    """At most 2 % with two kinds of PEs, 7.4 % with three, and 12 % in the worst case."""
    for case in surrogate.study(seeds=30, sets=("NS",), methods=(method,)):
        if case["truth"] == "as fitted":
            assert case["mean_regret_percent"] <= (2 if case["kinds"] == 2 else 7.4)
            assert case["worst_regret_percent"] <= 12
            assert case["not_positive"] == 0


@pytest.mark.slow
def test_the_recorded_study_is_what_one_of_its_cases_gives_again(result):
    """`paper` on NL with two kinds, over its hundred seeds."""
    wanted = {"kinds": 2, "truth": "as fitted", "set": "NL", "method": "paper"}
    shipped = next(case for case in result["surrogate"] if wanted.items() <= case.items())
    again = surrogate.study(seeds=100, kinds=(2,), sets=("NL",), methods=("paper",))[0]
    assert again["mean_regret_percent"] == pytest.approx(shipped["mean_regret_percent"], rel=1e-6)
    assert again["regret_percent"]["9600"]["worst"] == pytest.approx(
        shipped["regret_percent"]["9600"]["worst"], rel=1e-6
    )


def test_construction_sets_are_those_of_the_surrogate(result):
    """Counted from the paper's numbers of PEs and processes, and from the runs themselves."""
    of = surrogate.cluster()
    assert surrogate.SIZES == allocation.SIZES
    assert len(surrogate.candidates(of)) == result["candidates"]["found"]
    for row in result["construction"]:
        assert len(surrogate.construction(of, row["set"])[0]) == row["runs"]

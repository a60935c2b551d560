"""A campaign's budget, its passes and its end; what a failed run says; loads that a competitor takes."""

import numpy as np
import psutil
import pytest

from simulator import CalibrationError
from simulator.calibration.bench import campaign
from simulator.calibration.bench.campaign import Budget, BudgetSpentError, run_campaign
from simulator.calibration.bench.competitor import Competitor
from simulator.calibration.bench.journal import Journal
from simulator.calibration.bench.launcher import Ended, failure
from simulator.calibration.bench.measurement import PointStore
from simulator.models.load import LoadTrace


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only where a test says so."""
    now = [0.0]
    monkeypatch.setattr(campaign.time, "monotonic", lambda: now[0])
    return now


def test_a_budget_counts_what_was_spent_before(clock):
    budget = Budget(10.0, 4.0, 0.0)
    assert (budget.spent_s, budget.share, budget.holds(6.0), budget.holds(6.1)) == (4.0, 0.4, True, False)
    clock[0] = 6.0
    assert budget.holds()
    assert budget.share == 1.0
    assert Budget(0.5, 6.25, 6.0).share == 12.5
    assert "--budget: 10 s is too short; give 15 s or more for probes" in str(budget.refusal(14.2, "probes"))


@pytest.mark.parametrize(("ahead", "passes"), [(False, [0, 1, 2, 3]), (True, [0, 1, 2])])
def test_passes_go_on_while_they_begin_or_end_in_time(clock, ahead, passes):
    budget, seen = Budget(10.0, 0.0, 0.0), []
    for number in budget.passes(least=1, most=9, ahead=ahead):
        seen.append(number)
        clock[0] += 3.0
    assert seen == passes


def test_the_least_passes_are_made_whatever_they_take_and_the_most_end_them(clock):
    budget = Budget(1.0, 0.0, 0.0)
    clock[0] = 5.0
    assert list(budget.passes(least=2, most=9)) == [0, 1]
    assert list(Budget(100.0, 0.0, 5.0).passes(least=0, most=3)) == [0, 1, 2]


def test_samples_beyond_the_budget_are_left_out_once_the_least_are_made(clock):
    seen = []

    def sample(cell, number):
        seen.append((number, cell))
        clock[0] += 4.0

    run_campaign([(0, "ab"), (1, "ab")], sample, budget=Budget(10.0, 0.0, 0.0), least=1, cost_s=lambda _cell: 4.0)
    assert seen == [(0, "a"), (0, "b")]
    seen.clear()
    run_campaign([(0, "ab")], sample)
    assert seen == [(0, "a"), (0, "b")]


def test_a_sample_may_end_the_campaign():
    seen = []

    def sample(cell, _number):
        if cell == 3:
            raise BudgetSpentError
        seen.append(cell)

    run_campaign([(0, [1, 2, 3, 4]), (1, [5])], sample)
    assert seen == [1, 2]


def test_a_closed_journal_holds_no_file_open(tmp_path):
    path = tmp_path / "lines"
    with Journal(path, kind="k", version=1, what="lines", take=print, belongs={"subject": 1}) as journal:
        journal.keep({"x": 1})
        assert str(path) in {one.path for one in psutil.Process().open_files()}
    assert str(path) not in {one.path for one in psutil.Process().open_files()}


def test_ends_are_known_again_under_the_same_settings(tmp_path):
    store = PointStore(tmp_path / "points", subject={"kernel": "dgemm"}, machine=None)
    store.keep_ends({"cap_s": 1.0}, {"smallest": 4})
    store.journal.close()
    again = PointStore(tmp_path / "points", subject={"kernel": "dgemm"}, machine=None)
    assert again.ends({"cap_s": 1.0}) == {"smallest": 4}
    assert again.ends({"cap_s": 2.0}) is None


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"failed": "no such file"}, "no such file"),
        ({"timed_out": True}, "no end within 5 s, stopped with all that it started"),
        ({"status": 0}, None),
        ({"status": 3, "said": "bad"}, "ended with exit status 3: bad"),
        ({"status": -9, "peak_bytes": 95}, "ended by signal 9: out of memory"),
        ({"status": -9, "peak_bytes": 80}, "ended by signal 9: no message"),
    ],
)
def test_a_run_that_failed_says_why(run, said):
    assert failure(Ended(**run), limit_s=5.0, memory_bytes=100) == said


def test_a_competitor_takes_whole_loads_only():
    with pytest.raises(CalibrationError, match="give whole numbers"):
        Competitor(0, LoadTrace(np.array([0.0, 1.0]), np.array([0.0, 0.5]), 2.0))

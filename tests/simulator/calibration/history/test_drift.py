"""Drift learnt from earlier calibrations: what made-up sittings differ by, the default where there are few."""

import datetime

import numpy as np
import pytest

from simulator.calibration import keep_calibration, learnt_drift
from simulator.calibration.history.learnt import PRIOR, of_observations
from simulator.models.doubt import DRIFT

SUBJECT = {"model": "speed", "kernel": "dgemm", "cpu": 1}
SIZES = np.array([1e3, 1e4, 1e5])
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def sitting(hours, factors, *, sizes=SIZES, subject=SUBJECT, error=0.0):
    """One calibration so many hours after the start."""
    keep_calibration(subject, sizes, 1e9 * factors, error=error, made=START + datetime.timedelta(hours=hours))


def test_without_earlier_calibrations_drift_is_the_default():
    assert (learnt_drift(SUBJECT).sd, learnt_drift(SUBJECT).pairs) == (DRIFT, 0)
    sitting(0, np.ones(3))
    assert learnt_drift(SUBJECT).pairs == 0


@pytest.mark.parametrize("sd", [0.01, 0.12])
def test_many_sittings_tell_what_changes_between_two_of_them(sd):
    steps = sd * np.random.default_rng(2).standard_normal(120)
    for hour, log in enumerate(np.cumsum(steps)):
        sitting(hour, np.exp(np.full(3, log)))
    found = learnt_drift(SUBJECT)
    assert found.pairs == 119
    assert found.sd == pytest.approx(np.sqrt((4 * DRIFT**2 + np.sum(steps[1:] ** 2)) / 123), rel=0.03)


def test_two_sittings_are_drawn_towards_the_default():
    sitting(0, np.ones(3))
    sitting(1, np.full(3, np.exp(0.1)))
    assert learnt_drift(SUBJECT).sd == pytest.approx(np.sqrt((PRIOR * DRIFT**2 + 0.1**2) / (PRIOR + 1)))


def test_errors_of_medians_are_no_drift():
    sitting(0, np.ones(3), error=0.06)
    sitting(1, np.full(3, np.exp(0.1)), error=0.06)
    left = 0.1**2 - 2 * 0.06**2
    assert learnt_drift(SUBJECT).sd == pytest.approx(np.sqrt((PRIOR * DRIFT**2 + left) / (PRIOR + 1)))


def test_only_the_same_subject_at_sizes_in_common_well_apart_in_time_counts():
    sitting(0, np.ones(3))
    sitting(1, np.full(3, 2.0), subject=SUBJECT | {"cpu": 0})
    sitting(2, np.full(3, 2.0), sizes=1e3 * SIZES)
    assert learnt_drift(SUBJECT).pairs == 0
    sitting(0.1, np.full(3, 2.0))
    sitting(2.1, np.full(3, 2.0))
    assert learnt_drift(SUBJECT).pairs == 0  # minutes after others


def test_one_wild_change_does_not_rule_many_calm_ones():
    found = of_observations([0.03**2] * 30 + [1.0])
    assert found.sd < 0.06


def test_damaged_entries_are_left_out():
    sitting(0, np.ones(3))
    sitting(1, np.array([1.0, -1.0, 1.0]))
    sitting(2, np.full(3, np.exp(0.1)))
    assert learnt_drift(SUBJECT).pairs == 1

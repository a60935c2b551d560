"""Predictions beside real runs: what holds, what is kept, and what of a file is believed."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simulator.base.machine import this_machine
from simulator.calibration.history.coverage import (
    keep_comparisons,
    kept_comparisons,
    median_errors,
)
from simulator.calibration.history.learnt import KeptWarning, state_file
from tests.support.comparisons import ONE

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(("median_s", "sd", "holds"), [(1.05, 0.0, True), (1.2, 0.0, False), (1.2, 0.1, True)])
def test_the_interval_is_widened_by_the_error_of_the_median(median_s: float, sd: float, holds: bool) -> None:
    one = replace(ONE, measured_median_s=median_s, median_sd=sd)
    assert one.holds() is holds
    low, high = one.interval_s or (math.nan, math.nan)
    assert (low <= median_s <= high) is holds
    assert high == pytest.approx(math.exp(math.hypot(math.log(1.1), 1.6448536 * sd)))


def test_a_median_is_expected_where_noise_puts_it() -> None:
    skewed = replace(ONE, median_ratio=0.5, measured_median_s=0.5)
    assert skewed.residual == pytest.approx(0.0)
    assert skewed.holds() is True
    assert replace(ONE, measured_median_s=0.5).holds() is False


def test_without_a_width_nothing_is_judged() -> None:
    assert replace(ONE, low_s=None, high_s=None).holds() is None
    assert replace(ONE, low_s=1.0, high_s=1.0).holds() is None


def test_the_stretch_is_the_factor_at_which_it_just_holds() -> None:
    one = replace(ONE, measured_median_s=1.4, median_sd=0.05)
    factor = one.stretch(0.9)
    for by, holds in ((factor * 0.999, False), (factor * 1.001, True)):
        wider = replace(one, low_s=math.exp(by * math.log(0.9)), high_s=math.exp(by * math.log(1.1)))
        assert wider.holds() is holds


def test_the_error_of_a_median_is_that_of_many_samples() -> None:
    """An oracle by simulation: medians of five runs that scatter by 10 %."""
    rng = np.random.default_rng(3)
    samples = [np.exp(row) for row in rng.normal(0, 0.1, (4000, 5))]
    true = np.std([np.log(np.median(sample)) for sample in samples])
    found = np.sqrt(np.mean(np.square(median_errors(samples))))
    assert found == pytest.approx(true, rel=0.04)
    assert median_errors([np.ones(3)]) == [0.0]


def test_the_scatter_of_few_runs_is_drawn_towards_that_of_all() -> None:
    quiet, loud = np.array([1.0, 1.0, 1.0]), np.array([0.5, 1.0, 2.0])
    alone, beside = median_errors([quiet])[0], median_errors([quiet, loud])
    assert alone == 0 < beside[0] < beside[1]


def test_what_is_kept_comes_back_for_this_machine_in_order() -> None:
    keep_comparisons([ONE, replace(ONE, case="other")])
    keep_comparisons([replace(ONE, case="elsewhere")], machine=replace(this_machine(), host="elsewhere"))
    keep_comparisons([replace(ONE, case="later")])
    found = kept_comparisons()
    assert [one.case for one in found] == ["equal", "other", "later"]
    assert found[0].sitting == found[1].sitting < found[2].sitting
    assert replace(found[0], sitting="", made="") == ONE
    assert all(one.made for one in found)


def test_damaged_entries_and_torn_lines_are_left_out() -> None:
    keep_comparisons([ONE])
    path = state_file()
    assert path is not None
    whole = path.read_text()
    line = json.loads(whole)
    wrong = [{"predicted_s": -1.0}, {"kind": "else"}, {"runs": 2.5}, {"level": 1.5}, {"case": 3}, {"median_sd": None}]
    damaged = [json.dumps(line | {"entry": line["entry"] | one}) for one in wrong]
    path.write_text("\n".join([whole.strip(), *damaged, whole[: len(whole) // 2]]))
    with pytest.warns(KeptWarning, match="1 line is torn"):
        assert [one.case for one in kept_comparisons()] == ["equal"]
    keep_comparisons([replace(ONE, case="next")])
    with pytest.warns(KeptWarning):
        assert [one.case for one in kept_comparisons()] == ["equal", "next"]


def test_writers_at_once_lose_nothing() -> None:
    """Two processes that append as fast as they can."""
    program = (
        "import sys; from dataclasses import replace\n"
        "from tests.support.comparisons import ONE\n"
        "from simulator.calibration.history.coverage import keep_comparisons\n"
        "for n in range(25): keep_comparisons([replace(ONE, case=f'{sys.argv[1]} {n}', model='m' * 5000)])"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, name], cwd=ROOT) for name in "ab"]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 2
    found = [one.case for one in kept_comparisons()]
    assert sorted(found) == sorted(f"{name} {n}" for name in "ab" for n in range(25))

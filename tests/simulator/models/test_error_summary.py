"""Statistics of errors: closed forms, and table 7 of the characterisation paper to 0.01."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.calibration import read_shipped_table
from simulator.models import error_statistics


def test_closed_forms():
    found = error_statistics([1.0, 2.0, 3.0, 6.0])
    assert (found.n, found.mean, found.min, found.max) == (4, 3.0, 1.0, 6.0)
    deviation = np.sqrt((4 + 1 + 0 + 9) / 3)
    assert found.standard_deviation == pytest.approx(deviation)
    assert found.ci90_low == pytest.approx(3 - 1.645 * deviation / 2)
    assert found.ci90_high == pytest.approx(3 + 1.645 * deviation / 2)


def test_one_error_has_no_spread():
    found = error_statistics([-4.0])
    assert (found.mean, found.standard_deviation, found.ci90_low, found.ci90_high) == (-4.0, None, None, None)


@pytest.mark.parametrize("errors", [[], [1.0, float("nan")], [float("inf")]])
def test_what_has_no_statistics(errors):
    with pytest.raises(ScenarioError, match="give at least one number"):
        error_statistics(errors)


@pytest.mark.parametrize("method", ["ICC", "HLLC", "POC"])
def test_table_7(method):
    errors, printed = (read_shipped_table(f"papers/warwick_{name}.csv") for name in ("errors", "stats"))
    mine = errors.numbers("error_percent")[np.array(errors.text("method")) == method]
    found = error_statistics(mine).to_dict()
    assert found["n"] == 21
    rows = zip(printed.text("method"), printed.text("statistic"), printed.numbers("value_percent"), strict=True)
    told = {statistic: value for name, statistic, value in rows if name == method}
    assert len(told) == 6
    for statistic, value in told.items():
        assert found[statistic] == pytest.approx(value, abs=0.01), statistic

"""Advice is at least as good as what Optuna finds in the same processor time: `make bench` prints both."""

import pytest

from tests.benchmarks.compare_advice import compared, scenarios

pytestmark = pytest.mark.benchmark
MARGIN = 0.01


@pytest.mark.parametrize("title", ["two nodes of 4", "random 5, ep", "random 7, stencil", "random 21, matmul"])
def test_advice_beside_optuna_at_equal_time(title, tmp_path):
    rows = compared(title, scenarios(tmp_path)[title], seed=1)
    for row in rows:
        print(f"{row['method']}: {row['makespan_s']:.5g} s, {row['tried']} tried in {row['seconds']} s")
    ours = next(row for row in rows if row["method"] == "apportion")
    assert ours["above the best"] <= MARGIN

"""Runs, options and documents that give no process-count model are named, each in a line."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models import (
    AllocationRuns,
    Composed,
    MemoryRegimes,
    fit_process_counts,
    process_count_model_from_dict,
)
from tests.simulator.models.process_count.paper_runs import (
    SIZES,
    fast_rows,
    make,
    slow_rows,
)

BAD = {
    "three sizes": (
        slow_rows(sizes=SIZES[:3]),
        ("slow",),
        {},
        "slow: runs at 3 problem sizes are too few; add 1 more of one",
    ),
    "repetitions": (
        slow_rows(sizes=SIZES[:3]) * 2,
        ("slow",),
        {},
        "slow: runs at 3 problem sizes are too few; add 1 more",
    ),
    "two PE counts": (
        slow_rows(counts=(1, 2, 3)),
        ("slow",),
        {},
        "slow: 2 PE counts above one have 4 problem sizes, too few",
    ),
    "one more count": (slow_rows(counts=(1, 2, 3)), ("slow",), {}, "too few; add 1 more, with the same"),
    "no count alone": (slow_rows(counts=(2, 3)), ("slow",), {}, "slow: no run is on one PE, and 2 PE counts"),
    "no run of a kind": (
        slow_rows(),
        ("fast", "slow"),
        {},
        "fast: no run uses this kind alone; add some, or a kind to",
    ),
    "only single PEs": (
        slow_rows(counts=(1,)) + fast_rows(),
        ("fast", "slow"),
        {},
        "fast: 0 PE counts above one have 4 problem sizes, too few; add 3 more",
    ),
    "unknown source": (
        slow_rows(),
        ("slow",),
        {"compose": {"slow": Composed("quick")}},
        "'slow' from 'quick' are not two of the kinds slow",
    ),
    "nothing to adjust to": (slow_rows(), ("slow",), {"adjust_size": 800.0}, "adjust_size: N = 800 does not have two"),
    "negative factor": (
        slow_rows() + fast_rows(),
        ("fast", "slow"),
        {"compose": {"fast": Composed("slow", -1.0)}},
        "compose: fast: comp is -1.0; give a number above 0",
    ),
    "regimes of other kinds": (
        slow_rows(),
        ("slow",),
        {"regimes": MemoryRegimes(((8e6,),) * 2)},
        "regimes: there are thresholds of 2 kinds; give those of all 1",
    ),
    "no time": (
        [*slow_rows(), (400.0, {"slow": (1, 1, 0.0, 0.0)})],
        ("slow",),
        {},
        "runs: row 61: time_s is 0.0; give a number above 0",
    ),
    "size 0": ([(0.0, {"slow": (1, 1, 1.0, 1.0)})], ("slow",), {}, "runs: row 1: size is 0.0; give a number above 0"),
    "no process": (
        [(400.0, {"slow": (0, 0, 1.0, 1.0)})],
        ("slow",),
        {},
        "runs: row 1: allocations is [[0, 0]]; give at least one process",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_runs_that_are_too_few_or_none_are_named(name):
    rows, kinds, options, told = BAD[name]
    with pytest.raises(ScenarioError) as error:
        fit_process_counts(make(rows, kinds), method="paper", **options)
    assert any(told in line for line in error.value.lines), error.value.lines


def test_no_runs_at_all():
    empty = AllocationRuns(("slow",), np.zeros(0), np.zeros((0, 1, 2), np.int64), np.zeros(0), *np.zeros((2, 0, 1)))
    with pytest.raises(ScenarioError, match="runs: there are none"):
        fit_process_counts(empty, method="paper")


@pytest.mark.parametrize("thresholds", [((0.0,),), ((2.0, 1.0),), ((1.0, 1.0),), ((np.inf,),)])
def test_thresholds_ascend(thresholds):
    with pytest.raises(ScenarioError, match="no ascending numbers above 0"):
        MemoryRegimes(thresholds)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "kind is None"),
        ([], "kind is None"),
        ({"kind": "speed"}, "kind is 'speed', not 'process_count'"),
        ({"kind": "process_count", "method": "best"}, "method 'best' is not known; give pooled or paper"),
        (
            {"kind": "process_count", "method": "paper"},
            "kinds: missing key; add it",
        ),
        (
            {"kind": "process_count", "method": "paper", "kinds": ["a"], "runs": {"size": ["x"]}},
            "runs.size.0: 'x' is not a number",
        ),
    ],
)
def test_documents_that_are_no_model_are_named(document, told):
    with pytest.raises(ScenarioError) as error:
        process_count_model_from_dict(document)
    assert error.value.lines[0].startswith(told)


def test_a_document_with_lists_of_unequal_length_is_named():
    document = fit_process_counts(make(slow_rows(), ("slow",)), method="paper").to_dict()
    document["runs"]["time_s"].pop()
    with pytest.raises(ScenarioError, match="unequal length"):
        process_count_model_from_dict(document)


def test_unknown_methods_are_named():
    with pytest.raises(ScenarioError, match="method 'best' is not known; give pooled or paper"):
        fit_process_counts(make(slow_rows(), ("slow",)), method="best")

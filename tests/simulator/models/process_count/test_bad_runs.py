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
        "slow: 3 problem sizes found, at least 4 allowed (1 more",
    ),
    "repetitions": (slow_rows(sizes=SIZES[:3]) * 2, ("slow",), {}, "slow: 3 problem sizes found, at least 4 allowed"),
    "two PE counts": (
        slow_rows(counts=(1, 2, 3)),
        ("slow",),
        {},
        "slow: 2 PE counts above one with 4 problem sizes found",
    ),
    "one more count": (slow_rows(counts=(1, 2, 3)), ("slow",), {}, "at least 3 allowed (1 more, with the same"),
    "no count alone": (slow_rows(counts=(2, 3)), ("slow",), {}, "slow: no run on one PE found, and 2 PE counts"),
    "no run of a kind": (
        slow_rows(),
        ("fast", "slow"),
        {},
        "fast: no run of this kind alone found, some, or a kind to",
    ),
    "only single PEs": (
        slow_rows(counts=(1,)) + fast_rows(),
        ("fast", "slow"),
        {},
        "fast: 0 PE counts above one with 4 problem sizes found, at least 3 allowed (3 more",
    ),
    "unknown source": (slow_rows(), ("slow",), {"compose": {"slow": Composed("quick")}}, "'slow' from 'quick' found"),
    "nothing to adjust to": (slow_rows(), ("slow",), {"adjust_size": 800.0}, "adjust_size: 800 found, a size with two"),
    "negative factor": (
        slow_rows() + fast_rows(),
        ("fast", "slow"),
        {"compose": {"fast": Composed("slow", -1.0)}},
        "compose: fast: comp: -1.0 found, above 0 allowed",
    ),
    "regimes of other kinds": (
        slow_rows(),
        ("slow",),
        {"regimes": MemoryRegimes.at_sizes(2, [1e3])},
        "regimes: thresholds of 2 kinds found, of 1 allowed",
    ),
    "no time": ([*slow_rows(), (400.0, {"slow": (1, 1, 0.0, 0.0)})], ("slow",), {}, "runs: row 61: time_s: 0.0 found"),
    "size 0": ([(0.0, {"slow": (1, 1, 1.0, 1.0)})], ("slow",), {}, "runs: row 1: size: 0.0 found, above 0 allowed"),
    "no process": (
        [(400.0, {"slow": (0, 0, 1.0, 1.0)})],
        ("slow",),
        {},
        "runs: row 1: allocations: [[0, 0]] found, at least one process allowed",
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
    with pytest.raises(ScenarioError, match="runs: none found"):
        fit_process_counts(empty, method="paper")


@pytest.mark.parametrize("thresholds", [((0.0,),), ((2.0, 1.0),), ((1.0, 1.0),), ((np.inf,),)])
def test_thresholds_ascend(thresholds):
    with pytest.raises(ScenarioError, match="ascending allowed"):
        MemoryRegimes(thresholds)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "kind: None found"),
        ([], "kind: None found"),
        ({"kind": "speed"}, "kind: 'speed' found, 'process_count' allowed"),
        ({"kind": "process_count", "method": "best"}, "method: 'best' found, pooled or paper allowed"),
        ({"kind": "process_count", "method": "paper"}, "runs: 'kinds' found"),
        ({"kind": "process_count", "method": "paper", "kinds": ["a"], "runs": {"size": ["x"]}}, "runs:"),
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
    with pytest.raises(ScenarioError, match="method: 'best' found, pooled or paper allowed"):
        fit_process_counts(make(slow_rows(), ("slow",)), method="best")

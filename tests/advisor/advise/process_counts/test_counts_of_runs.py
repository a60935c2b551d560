"""Advice from runs: what gains nothing is not advised, measured rows count, and changes that must not change it."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.advise.process_counts.advice import advise_allocation
from simulator import ScenarioError
from simulator.calibration import AllocationFit, fit_allocation_table
from simulator.models import fit_process_counts
from tests.studies.process_count_study import judged, made


def advised(runs, kinds, size):
    """Processes of each kind, (PEs, on each), and the estimate."""
    advice = advise_allocation(AllocationFit(fit_process_counts(runs), runs), kinds, size)
    used = {name: (part["pes"], part["procs"]) for name, part in advice.configuration.items() if part["pes"]}
    return used, advice.estimate_s["mean"]


def changed(runs, **fields):
    """The same rows with other fields."""
    return replace(runs, **fields)


@pytest.mark.parametrize("sizes", [(8000,), (1000, 2000, 4000, 8000)])
@pytest.mark.parametrize("growth", [0.5, 1.0, 2.5, 3.0])
def test_counts_that_gain_nothing_are_never_advised(tmp_path, sizes, growth):
    """One N is enough for advice at that N; a measured row is its time."""
    rows = ["N,time_s,core.pes,core.procs"]
    rows += [f"{n},{51.2 * (n / 8000) ** growth},{pes},1" for pes in (1, 2, 4, 8) for n in sizes]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    advice = advise_allocation(fit_allocation_table(tmp_path / "runs.csv"), {"core": (8, 1)}, 8000.0)
    assert advice.configuration == {"core": {"pes": 1, "procs": 1}}
    assert advice.estimate_s["mean"] == pytest.approx(51.2)
    assert [one.estimate_s["mean"] for one in advice.ranking] == pytest.approx([51.2] * 8, rel=0.05)
    if len(sizes) == 1:
        with pytest.raises(ScenarioError, match="all runs have N = 8000; ask for --size 8000"):
            advise_allocation(fit_allocation_table(tmp_path / "runs.csv"), {"core": (8, 1)}, 9000.0)


def test_measured_rows_are_their_times_and_lie_in_their_intervals():
    held = []
    for number in range(0, 24, 3):
        runs = made(number).runs
        size, model = float(runs.size.max()), fit_process_counts(runs)
        own = np.flatnonzero(runs.size == size)
        found, time_s = model.estimate(size, runs.allocations[own]), runs.time_s[own]
        held += ((found.low_s * (1 - 1e-9) <= time_s) & (time_s <= found.high_s * (1 + 1e-9))).tolist()
        for allocation, mean_s in zip(runs.allocations[own], found.mean_s, strict=True):
            of_it = time_s[(runs.allocations[own] == allocation).all(axis=(1, 2))]
            assert of_it.min() * (1 - 1e-9) <= mean_s <= of_it.max() * (1 + 1e-9)
    assert len(held) > 100
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize("number", range(8))
def test_changes_that_must_not_change_the_advice(number):
    case = made(number)
    runs, kinds, size = case.runs, case.program.kinds, case.size
    known, time_s = advised(runs, kinds, size)
    order = np.random.default_rng(number).permutation(runs.size.size)
    names = ("size", "allocations", "time_s", "comp_s", "comm_s")
    shuffled = changed(runs, **{name: getattr(runs, name)[order] for name in names})
    assert advised(shuffled, kinds, size) == (known, pytest.approx(time_s))
    other = {f"new-{name}": offer for name, offer in kinds.items()}
    renamed, same_s = advised(changed(runs, kinds=tuple(other)), other, size)
    assert (list(renamed.values()), same_s) == (list(known.values()), pytest.approx(time_s))
    assert advised(changed(runs, time_s=10 * runs.time_s), kinds, size) == (known, pytest.approx(10 * time_s, rel=0.02))
    twice = changed(runs, **{name: np.concatenate([getattr(runs, name)] * 2) for name in names})
    assert judged(replace(case, runs=twice))["regret"] <= judged(case)["regret"] + 0.01
    slow = np.concatenate((runs.allocations, np.zeros_like(runs.allocations[:, :1])), axis=1)
    alone = np.zeros_like(slow[:1])
    alone[0, -1] = 1
    more = changed(
        runs,
        kinds=(*runs.kinds, "snail"),
        size=np.append(runs.size, runs.size.max()),
        allocations=np.concatenate((slow, alone)),
        time_s=np.append(runs.time_s, 100 * runs.time_s.max()),
        comp_s=np.full((runs.size.size + 1, len(runs.kinds) + 1), np.nan),
        comm_s=np.full((runs.size.size + 1, len(runs.kinds) + 1), np.nan),
    )
    assert "snail" not in advised(more, kinds | {"snail": (1, 1)}, size)[0]

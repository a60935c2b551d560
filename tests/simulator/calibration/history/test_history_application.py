"""Built-in applications recorded by really running them here, and a held-out run that a fit from them predicts."""

import time

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.base.machine import this_machine
from simulator.calibration import (
    add_runs,
    fit_table,
    list_runs,
    load_runtime_model,
    make_application_plan,
    parse_grid,
    record_runs,
    save_runtime_fit,
)

PES = this_machine().pe_count
P = "P=1:2" if PES > 1 else "P=1"
TOLERANCE = 0.3
"""How far beyond the 95 % interval a held-out median may lie, for a machine that does other things as well."""


def recorded(grid, *, repetitions=1, budget="60s", **options):
    kept = []
    plan = make_application_plan("matmul", parse_grid(grid), budget=budget, repetitions=repetitions, **options)
    return kept, record_runs(plan, kept.append, version=plan.kernel)


@pytest.mark.real
def test_total_and_parts_of_every_run_are_kept_and_add_up():
    kept, left_out = recorded(f"N=64:101,{P}", repetitions=2, name="product", kernel="matmul")
    assert left_out == []
    points = [{"N": n, "P": p} for n in (64.0, 101.0) for p in ((1.0, 2.0) if PES > 1 else (1.0,))]
    assert [record.parameters for record in kept] == points * 2
    for record in kept:
        times = record.times_s
        assert set(times) == {"total", "computation", "communication"}
        assert times["total"] == pytest.approx(times["computation"] + times["communication"])
        assert times["computation"] > 0
        assert times["communication"] >= 0
        assert (record.application, record.version, record.machine) == ("product", "matmul", this_machine().host)


@pytest.mark.real
def test_the_budget_ends_a_run_that_outlasts_it():
    begin = time.perf_counter()
    kept, left_out = recorded("N=64:8000,P=1", budget="4s")
    assert left_out == ["budget of 4 s used up after 1 of 2 runs"]
    assert [record.parameters["N"] for record in kept] == [64]
    assert time.perf_counter() - begin < 4 * 4.0, "many times its budget"


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        (f"N=64,P=1:{PES + 1}", {}, f"grid: P is {PES + 1}; give 1 to {PES}, since this machine has {PES} PEs"),
        ("N=64,P=0", {}, "grid: P is 0; give a whole number of 1 or more"),
        ("N=64.5,P=1", {}, r"grid: N is 64\.5; give a whole number of 1 or more"),
        ("N=1e7,P=1", {}, r"grid: N is 1e\+07; give at most \d+, since more does not fit into memory"),
        ("N=64", {}, "grid has N; give N and P with matmul"),
        ("N=64,P=1,Q=1", {}, "grid has N, P, Q; give N and P with matmul"),
        ("N=64,P=1", {"repetitions": 0}, "repetitions is 0; give 1 or more"),
        ("N=64,P=1", {"kernel": "fast"}, "there is no kernel 'fast', only dgemm, matmul"),
        ("N=64,P=1", {"budget": "0"}, "budget: '0' is no duration"),
    ],
)
def test_what_cannot_be_recorded_here_is_refused_in_one_line(grid, options, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        make_application_plan("matmul", parse_grid(grid), **{"budget": "1s"} | options)
    assert len(caught.value.lines) == 1


def test_unknown_applications_are_refused():
    with pytest.raises(ScenarioError, match="app is 'hpl'; name one of matmul"):
        make_application_plan("hpl", {}, budget="1s")


@pytest.mark.real
def test_a_held_out_real_run_lies_in_the_interval_that_was_predicted(tmp_path):
    """Every repetition visits all sizes, so that what else runs here meets the held-out ones as it meets the others."""
    history, model = tmp_path / "h.sqlite", tmp_path / "m.json"
    kept, _ = recorded(f"N=300:400:500:600:700:800:1000,{P}", repetitions=7)
    known = [record for record in kept if record.parameters["N"] < 1000]
    add_runs(history, known)
    assert list_runs(history) == known
    save_runtime_fit(fit_table(history, ["N**3/P + N**2"]), model)

    def median_s(n, processes):
        return np.median([r.times_s["total"] for r in kept if r.parameters == {"N": n, "P": processes}])

    for processes in sorted({record.parameters["P"] for record in kept}):
        low, high = load_runtime_model(model).predict({"N": 1000.0, "P": processes}).prediction_s[0]
        assert low * (1 - TOLERANCE) <= median_s(1000.0, processes) <= high * (1 + TOLERANCE)
        assert not low * (1 - TOLERANCE) <= median_s(300.0, processes) <= high * (1 + TOLERANCE), "it holds everything"

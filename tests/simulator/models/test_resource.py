"""Resource models: the paper's equations with its constants, cost vectors from and to documents."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models import Cost, CostVector, Guess, HardwareModel, MemoryTerm

T800_S = 40e-9


def test_poc_is_weighted_flops_over_the_rate():
    costs = CostVector.principal(1.5e6)
    ruv = {"add": 2, "subtract": 1, "multiply": 3, "divide": 1, "sqrt": 2, "exp": 1, "sin": 1, "comparison": 4}
    assert float(costs.time(ruv).s) == pytest.approx((2 + 1 + 3 + 4 + 8 + 8 + 8 + 4) / 1.5e6)


@pytest.mark.parametrize(("external", "each"), [(5, 1.0), (3, 0.0), (7, 2.0)])
def test_icc_is_equation_7(external, each):
    costs = CostVector.cycles(T800_S, external=external)
    ruv = {"n_ex": 100, "n_in_mem": 10, "n_ex_mem": 4, "n_inst": 50, "n_fpu_ovr": 20}
    cycles = 100 + 10 + external * 4 + each * 50 - 20
    assert float(costs.time(ruv).s) == pytest.approx(cycles * T800_S)


def test_hllc_with_the_papers_costs():
    """Table 4: double precision, microseconds; a multiply and add of the dot product takes 1.66 us of its 6.9."""
    costs = CostVector("hllc", {"double_add": Cost.exactly(0.48e-6), "double_multiply": Cost.exactly(1.18e-6)})
    assert float(costs.time({"double_add": 1, "double_multiply": 1}).s) == pytest.approx(1.66e-6)


def test_ct_is_the_measurement():
    assert float(CostVector.timed().time({"seconds": 6.5e-6}).s) == 6.5e-6


def test_ranges_of_costs_and_amounts_meet_at_their_worst_ends():
    costs = CostVector("dbc", {"a": Cost(2.0, 1.0, 3.0), "b": Cost(-1.0, -2.0, -0.5)})
    times = costs.time({"a": Guess(2.0, 1.0, 4.0), "b": Guess(1.0, 0.0, 2.0)})
    assert (float(times.low_s), float(times.s), float(times.high_s)) == (1.0 - 4.0, 3.0, 12.0)


def test_costs_within_a_share_have_both_ends():
    assert Cost.within(2.0, 0.25) == Cost(2.0, 1.5, 2.5)


def test_accesses_take_what_their_working_set_says():
    memory = MemoryTerm({"load": 1.0, "fma_load": 2.0}, (1024.0, 2.0**20), (1e-9, 11e-9), share=0.1)
    costs = CostVector("icc", {"add": Cost.exactly(1e-9), "load": Cost.exactly(0.0)}, memory)
    times = costs.time({"add": 1, "load": 2, "fma_load": 1}, working_set_bytes=np.array([1.0, 2.0**15, 2.0**40]))
    np.testing.assert_allclose(times.s, 1e-9 + 4 * np.array([1e-9, 6e-9, 11e-9]))
    np.testing.assert_allclose(times.high_s, 1e-9 + 4.4 * np.array([1e-9, 6e-9, 11e-9]))


def test_a_missing_cost_is_named_with_what_uses_it():
    costs = CostVector("hllc", {"add": Cost.exactly(1.0)})
    with pytest.raises(ScenarioError, match=r"step x: hllc: the resource model has no cost of 'divide'; it has add"):
        costs.time({"add": 1, "divide": 2}, used_by="step x")


def test_a_model_is_read_as_it_was_written():
    memory = MemoryTerm({"load": 1.0}, (1024.0, 2048.0), (1e-9, 2e-9), share=0.1)
    vectors = {
        "dbc": CostVector("dbc", {"flop": Cost.within(1e-9, 0.5)}, notes=("a guess",)),
        "poc": CostVector.principal(1e9),
        "icc": CostVector("icc", {"add": Cost.exactly(1e-9)}, memory),
        "ct": CostVector.timed(),
    }
    model = HardwareModel("core", vectors, {"seed": 1}, ("measured under load",))
    assert HardwareModel.from_dict(model.to_dict()) == model
    assert model.methods == ("dbc", "poc", "icc", "ct")
    with pytest.raises(
        ScenarioError, match="resource model core: there are no costs by method hllc; it has dbc, poc, icc, ct"
    ):
        model.vector("hllc")


def test_short_forms_are_the_papers_models():
    methods = {"poc": {"rate_per_s": 1.5e6}, "icc": {"cycle_s": T800_S, "e": 5}, "ct": {"timed": True}}
    model = HardwareModel.from_dict({"format": 1, "kind": "resource", "name": "T800", "methods": methods})
    assert model.vector("poc") == CostVector.principal(1.5e6)
    assert model.vector("icc") == CostVector.cycles(T800_S, external=5)
    assert model.vector("ct").costs == CostVector.timed().costs


def test_every_fault_of_a_document_is_told():
    methods = {
        "poc": {"rate_per_s": 0},
        "hllc": {"costs": {"add": "x", "load": {"seconds": 1, "low": 2, "high": 3}, "if": {"low": 1}}},
        "icc": {"costs": {"add": 1}, "memory": {"accesses": {}}, "other": 1},
        "intcc": {},
        "ct": {"costs": {"a": 1}, "memory": {"accesses": {}, "working_sets_bytes": [2, 1], "access_s": [1, 1]}},
    }
    with pytest.raises(ScenarioError) as error:
        HardwareModel.from_dict({"format": 1, "kind": "resource", "methods": methods, "extra": 1})
    said = error.value.lines
    sizes = "working_sets_bytes: 2 sizes for 2 times; write as many ascending sizes above 0 as times, at least one"
    assert said == (
        "methods.poc.rate_per_s: 0 is not a finite number above 0",
        "methods.hllc.costs.add: 'x' is not a number",
        "methods.hllc.costs.load: low 2, seconds 1, high 3; write low <= seconds <= high",
        "methods.hllc.costs.if.seconds: missing key; add it",
        "methods.hllc.costs.if.high: missing key; add it",
        "methods.icc.memory.working_sets_bytes: missing key; add it",
        "methods.icc.memory.access_s: missing key; add it",
        "methods.icc.other: unknown key; did you mean notes?",
        "methods.intcc.costs: missing key; add it",
        f"methods.ct.memory: {sizes}",
        "extra: unknown key; there are warnings, provenance, methods, name",
    )
    with pytest.raises(ScenarioError, match=r"methods\.zzz: 'zzz' is not known; give dbc or poc or hllc or"):
        HardwareModel.from_dict({"format": 1, "kind": "resource", "methods": {"zzz": {"costs": {"add": 1}}}})
    with pytest.raises(ScenarioError, match="format 2 is newer than this version reads"):
        HardwareModel.from_dict({"format": 2, "kind": "resource", "methods": methods})
    with pytest.raises(ScenarioError, match="kind 'speed' is no resource model; name a file of format 1"):
        HardwareModel.from_dict({"format": 2, "kind": "speed"})

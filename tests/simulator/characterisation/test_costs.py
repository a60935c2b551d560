"""Cost vectors from observed runs: made-up truths come back, programs can be left out, guesses fill what is unseen."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from simulator.base.errors import CalibrationError
from simulator.base.randomness import stream
from simulator.characterisation.costs.guesses import DESIGN, HIGH_LEVEL, INSTRUCTIONS, design_vector, guess_cycles
from simulator.characterisation.costs.timing import RunStore, Times
from simulator.characterisation.costs.vectors import (
    FLOP_RATE_OF,
    KERNEL,
    MICRO,
    STREAM,
    MemoryTimesByWorkingSet,
    Observation,
    fitted_vector,
    flop_vector,
    hardware_model,
    refitted,
    times_of_streams,
    with_guesses,
)
from simulator.models.resource import HardwareModel

TRUTH = {"cycles": 0.4e-9, "branch": 0.9e-9, "load": 0.05e-9, "load_256": 0.06e-9}
MEMORY = MemoryTimesByWorkingSet("made up", (2.0**14, 2.0**20, 2.0**26), (0.1e-9, 0.3e-9, 1.1e-9))
FACTOR = 0.5
"""Share of the wait for memory that is not overlapped."""


def observations(*, odd_kernel=1.0):
    """Runs that obey the truth; those of the kernel `odd` take so many times as long."""
    draws = stream(5, "observations")
    found = []
    for number in range(48):
        role = KERNEL if number % 4 == 0 else MICRO
        program = "odd" if number in {0, 4} else f"program {number // 2}"
        counts = {name: float(draws.integers(0, 1000)) for name in TRUTH}
        held = float(2.0 ** draws.uniform(14, 24))
        time_s = sum(TRUTH[name] * count for name, count in counts.items()) + FACTOR * MEMORY.wait_s(counts, held)
        time_s *= odd_kernel if program == "odd" else 1.0
        hllc = {"int_add": counts["cycles"], "for_iteration": counts["branch"] + 1}
        found.append(Observation(program, role, 1, time_s, None, held, {"icc": counts, "hllc": hllc}))
    return found


def flops_observed(rates=(1e9, 4e9, 16e9)):
    return [
        Observation(name, MICRO, 1, 2e3 / rate, None, 0.0, {"poc": {"add": 1e3, "multiply": 1e3}})
        for name, rate in zip(FLOP_RATE_OF, rates, strict=True)
    ]


def test_made_up_costs_of_machine_code_and_memory_come_back():
    vector = fitted_vector(observations(), "icc", memory=MEMORY).costs
    for name in ("cycles", "branch"):  # the second is nine times its guess
        assert vector.costs[name].seconds == pytest.approx(TRUTH[name], rel=0.1)
    assert vector.memory is not None
    assert vector.memory.access_s[1] == pytest.approx(FACTOR * 0.2e-9, rel=0.1)
    assert vector.memory.accesses == {"load": 1.0, "load_256": 4.0}
    for seen in observations()[:5]:
        assert vector.time(seen.counts["icc"], working_set_bytes=seen.working_set_bytes).s == pytest.approx(
            seen.time_s, rel=0.06
        )


def test_hllc_is_taught_by_micro_benchmarks_alone():
    kernels_slow = [
        Observation(o.program, o.role, o.n, o.time_s * (50 if o.role == KERNEL else 1), None, 0.0, o.counts)
        for o in observations()
    ]
    one, other = (fitted_vector(seen, "hllc").costs.costs for seen in (observations(), kernels_slow))
    assert one == other


def test_a_program_that_is_left_out_teaches_nothing():
    """Whatever its runs took: costs without it are the same."""
    plain, odd = (
        hardware_model("here", [*observations(odd_kernel=k), *flops_observed()], MEMORY, clock_hz=2e9, provenance={})
        for k in (1.0, 9.0)
    )
    again = HardwareModel.from_dict(odd.to_dict())
    assert plain.vector("icc").costs["cycles"] != again.vector("icc").costs["cycles"]
    apart = [
        fitted_vector(observations(odd_kernel=k), "icc", memory=MEMORY, leave_out="odd", shrinkage=0.01).costs.costs
        for k in (1.0, 9.0)
    ]
    assert apart[0] == apart[1]
    assert refitted(again, "icc", leave_out="odd").costs["cycles"] != again.vector("icc").costs["cycles"]
    assert refitted(plain, "icc", leave_out="nobody") is None
    assert refitted(plain, "hllc", leave_out="odd") is None, "it is no micro-benchmark"
    assert refitted(plain, "poc", leave_out="odd") is None


def test_a_programs_own_runs_are_fitted_closely():
    """It takes nine times as long as its operations say: costs for it follow, those for others hardly do."""
    seen = [*observations(odd_kernel=9.0), *flops_observed()]
    model = hardware_model("here", seen, MEMORY, clock_hz=2e9, provenance={})
    own = refitted(model, "icc", own="odd")
    for one in (one for one in seen if one.program == "odd"):
        held = {"working_set_bytes": one.working_set_bytes}
        near, far = (float(v.time(one.counts["icc"], **held).s) for v in (own, model.vector("icc")))
        assert abs(np.log(near / one.time_s)) < abs(np.log(far / one.time_s)) - 0.2


def test_flop_rate_is_the_geometric_mean():
    vector = flop_vector(flops_observed())
    assert vector.costs["add"].seconds == pytest.approx(1 / 4e9)
    assert vector.costs["divide"].seconds == pytest.approx(4 / 4e9)
    assert vector.costs["exp"].seconds == pytest.approx(8 / 4e9)
    with pytest.raises(CalibrationError, match="poc: 2 of the micro-benchmarks"):
        flop_vector(flops_observed()[:2])


def test_guesses_for_what_no_run_used():
    model = hardware_model("here", [*observations(), *flops_observed()], MEMORY, clock_hz=2e9, provenance={})
    cycle_s = model.provenance["fits"]["icc"]["second_per_guessed_cycle"]
    vector = with_guesses(model, model.vector("icc"), ["call_math"])
    assert vector.costs["call_math"].seconds == pytest.approx(INSTRUCTIONS["call_math"] * cycle_s)
    assert vector.costs["cycles"] == model.vector("icc").costs["cycles"]


def test_guesses_go_by_the_longest_part_of_a_name():
    assert guess_cycles("float_divide") == HIGH_LEVEL["divide"]
    assert guess_cycles("array_assign") == HIGH_LEVEL["array_assign"] != HIGH_LEVEL["assign"]
    assert guess_cycles("call_math", INSTRUCTIONS) == INSTRUCTIONS["call_math"]
    assert guess_cycles("vector_256", INSTRUCTIONS) < 0.1
    assert guess_cycles("whatever") > 0


def test_a_design_costs_a_range():
    vector = design_vector(2e9)
    time = vector.time({"flop": 1e9})
    assert (time.s, time.low_s, time.high_s) == pytest.approx((0.5, 0.0625, 2.0))
    assert all(one.low <= one.likely <= one.high for one in DESIGN.values())
    assert "a guess" in design_vector(None).notes[0]


def test_waits_never_fall_with_the_working_set():
    dips = MemoryTimesByWorkingSet("dips", (2.0**14, 2.0**16, 2.0**18), (1e-9, 0.8e-9, 2e-9))
    assert dips.beyond_nearest() == pytest.approx([0, 0, 1e-9])
    assert dips.wait_s({"load": 10.0}, 2.0**17) == pytest.approx(5e-9)
    assert dips.wait_s({"alu": 10.0}, 2.0**17) == 0
    assert MemoryTimesByWorkingSet(**asdict(dips)) == dips


def test_streams_are_times_per_word():
    seen = [Observation("read", STREAM, words, words * 1e-10, None, 8.0 * words, {}) for words in (4096, 2048)]
    found = times_of_streams(seen)
    assert found.working_sets_bytes == (16384.0, 32768.0)
    assert found.word_s == pytest.approx((1e-10, 1e-10))


def test_times_are_scaled_by_the_control_beside_them():
    """A PE that runs at half its speed in the second round leaves the ratio alone."""
    times = Times(("a",), np.array([[2.0, 4.0, 2.0]]), np.array([[1.0, 2.0, 1.0]]))
    assert times.median_s.tolist() == [2.0]
    assert times.samples_s.tolist() == [[2.0, 2.0, 2.0]]
    assert times.after(times).raw_s.shape == (1, 6)
    assert Times.from_dict(times.to_dict()).raw_s.tolist() == times.raw_s.tolist()


def test_a_store_of_another_machine_or_compiler_is_begun_anew(tmp_path):
    path = tmp_path / "runs.json"
    store = RunStore(path, key="one")
    store.keep_counts({"a": {"icc": {"cycles": 1.0}}})
    store.keep_times(Times(("a",), np.ones((1, 3)), np.ones((1, 3))))
    store.keep_times(Times(("a",), np.ones((1, 5)), np.ones((1, 5))))  # two rounds more: only they are written
    assert [len(json.loads(line)["times"]["raw_s"][0]) for line in path.read_text().splitlines()[2:]] == [3, 2]
    again, other = RunStore(path, key="one"), RunStore(path, key="two")
    assert again.counts == store.counts
    assert (again.times.labels, again.times.raw_s.shape) == (("a",), (1, 5))
    assert (other.counts, other.times) == ({}, None)


def test_no_run_no_costs():
    with pytest.raises(CalibrationError, match="icc: no run"):
        fitted_vector(flops_observed(), "icc", memory=MEMORY)

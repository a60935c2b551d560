"""Subjects as users name them, errors beside component timing's, and one real study in small."""

from dataclasses import replace

import pytest

from simulator.base.errors import ScenarioError
from simulator.base.formula import parse
from simulator.characterisation import METHODS, characterise, make_subject
from simulator.characterisation.costs.vectors import (
    FLOP_RATE_OF,
    MICRO,
    MemoryTimesByWorkingSet,
    Observation,
    hardware_model,
)
from simulator.characterisation.study import Judged, statistics

FUNCTION = """
def f(n, x):
    total = 0.0
    for k in range(n):
        total += x * k
    return total
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(FUNCTION)
    return path


def test_a_kernel_has_sizes_that_are_judged_and_others_that_teach():
    subject = make_subject("matmul")
    assert [values["n"] for values in subject.judged] == [100, 160, 260]
    assert not {v["n"] for v in subject.judged} & {v["n"] for v in subject.taught}
    assert make_subject("matmul", args=["n=80"]).judged == ({"n": 80},)
    assert {"n": 80} not in make_subject("matmul", args=["n=80"]).taught
    assert [v["n"] for v in make_subject("matmul", sizes=[90, 50]).judged] == [90, 50]


def test_sizes_of_a_users_function(file):
    subject = make_subject(f"{file}:f", args=["n=1000 x=0.5"])
    assert subject.judged == ({"n": 1000, "x": 0.5},)
    assert [values["n"] for values in subject.taught] == [500, 700, 1400]
    several = make_subject(f"{file}:f", args=["n=1000", "x=0.5"], sizes=[200, 800])
    assert [values["n"] for values in several.judged] == [200, 800]
    assert [values["n"] for values in several.taught] == [100, 140, 400, 1120]
    power = make_subject(f"{file}:f", args=["n=64 x=1.0"], sizes=[64, 256])
    assert [values["n"] for values in power.taught] == [16, 32, 128, 512]


def test_a_design_is_a_range():
    guess = make_subject("triad").design_ruv({"n": 100.0})["flop"]
    assert (guess.low, guess.likely, guess.high) == (150, 200, 250)


@pytest.mark.parametrize(
    ("subject", "options", "told"),
    [
        ("nothing", {}, "there is no kernel 'nothing'"),
        ("nofile.py:f", {}, "nofile.py: no such file"),
        ("FILE", {}, "names no function; write FILE.py:FUNCTION"),
        ("FILE:g", {}, "has no function 'g', only f"),
        ("FILE:f", {}, "arguments: n, x missing"),
        ("FILE:f", {"args": ["n=a x=1"]}, "--args: n is 'a'; give a number"),
        ("FILE:f", {"args": ["n"]}, "--args: 'n' is no argument"),
        ("FILE:f", {"args": ["n=1.5 x=2.0"], "sizes": [3]}, "--sizes needs a whole number"),
        ("matmul", {"args": ["m=3"]}, "--args: m=3 given, but kernel matmul takes n=NUMBER alone"),
        ("matmul", {"args": ["n=0"]}, "--args: n=0 given"),
        ("matmul", {"sizes": [0]}, "--sizes is 0; give"),
        ("fft", {"sizes": [100]}, "--sizes is 100, and kernel fft takes powers of two"),
    ],
)
def test_faults(file, subject, options, told):
    with pytest.raises(ScenarioError) as error:
        make_subject(subject.replace("FILE", str(file)), **options)
    assert len(error.value.lines) == 1
    assert told in error.value.lines[0]


def test_statistics_are_of_sizes_of_model_errors():
    errors = [("icc", -6.0), ("icc", 2.0), ("poc", None)]
    found = statistics([Judged(name, {}, {}, 1.0, 1.0, 1.0, 1.0, 0.0, error) for name, error in errors])
    assert found["icc"].mean == 4.0
    assert found["poc"] is None


@pytest.mark.real
def test_a_function_is_derived_predicted_and_really_measured(file):
    """Costs are made up, so that errors may be large; signs, sums and shapes are not."""
    seen = [
        Observation(
            name,
            MICRO,
            1,
            1e-6,
            None,
            0.0,
            {
                "poc": {"add": 1e3},
                "hllc": {"for_iteration": 1e3, "float_add": 1e3},
                "intcc": {"fadd.double": 1e3},
                "icc": {"cycles": 3e3},
            },
        )
        for name in FLOP_RATE_OF
    ]
    memory = MemoryTimesByWorkingSet("made up", (2.0**14, 2.0**26), (1e-10, 1e-9))
    hardware = hardware_model("made up", seen, memory, clock_hz=3e9, provenance={})
    subject = replace(make_subject(f"{file}:f", args=["n=20000 x=0.5"]), design={"flop": parse("2*n", names=("n",))})
    found = characterise(subject, hardware, methods=METHODS, budget_s=0.3, seed=1)
    entries = {entry.name: entry for entry in found.methods}
    assert list(entries) == list(METHODS)
    timing = entries["ct"].error_percent
    for entry in entries.values():
        error = 100 * (entry.predicted_s / entry.measured_s - 1)
        assert entry.error_percent == pytest.approx(error)
        assert entry.resource_model_error_percent == pytest.approx(error - timing)
    assert entries["dbc"].predicted_low_s < entries["dbc"].predicted_s < entries["dbc"].predicted_high_s
    assert entries["hllc"].ruv["for_iteration"] == 20000
    assert entries["poc"].ruv["multiply"] == 20000
    assert entries["poc"].predicted_s == pytest.approx(40000 * 1e-9)
    assert entries["icc"].ruv["cycles"] > 0
    assert any("their costs are guesses" in line for line in found.warnings)
    assert found.timing_formula[0].startswith("t = ")
    assert -60 < timing < 150, "timed at other sizes of the same loop, in turns"

"""Functions that are really compiled and run: counts against what plain Python does, and code against its source."""

import platform
import shutil

import llvmlite.binding
import pytest

from simulator.base.errors import ApportionError
from simulator.characterisation.derive.derivation import derive_seg, runnable, ruvs_at
from simulator.characterisation.derive.machine.code import UNFORESEEN
from simulator.characterisation.derive.running import _first_line
from simulator.programs.graphs.nodes import check
from tests.support.code_counts import callgrind_at, count_at

SOURCE = """
import math

FACTOR = 1.5

def entry(n, a):
    total = 0.0
    for i in range(n):
        for j in range(i):
            for k in range(j):
                total += a[k]
    for i in range(n):
        if i % 4 == 0 and a[i] >= 0.0:
            total += halvings(i + n)
    width = 1
    while width < n:
        width *= 2
    return total

def halvings(k):
    found = 0.0
    while k > 0:
        k //= 2
        found += FACTOR
    return found

def endless(n):
    k = 0
    while n > 0:
        k ^= 1
        if k > 5:
            n -= 1
    return k

def refused(n):
    return round("a", n)

def outside(a):
    return a[0] / (a.size - 3)

def whole(a):
    return a + 1

def triad(a, b, c):
    for k in range(a.size):
        a[k] = b[k] + 3.0 * c[k]

def sort(a, b):
    n = a.size
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            left, right = begin, middle
            for place in range(begin, end):
                if left < middle and (right >= end or a[left] <= a[right]):
                    b[place] = a[left]
                    left += 1
                else:
                    b[place] = a[right]
                    right += 1
        a, b = b, a
        width *= 2

def factor(a):
    for j in range(a.shape[0]):
        total = a[j, j]
        for k in range(j):
            total -= a[j, k] * a[j, k]
        pivot = math.sqrt(total)
        a[j, j] = pivot
        for i in range(j + 1, a.shape[0]):
            rest = a[i, j]
            for k in range(j):
                rest -= a[i, k] * a[j, k]
            a[i, j] = rest / pivot

def choose(a):
    found = 0
    for x in a:
        if x < 0.25:
            found += 1
    return found
"""


PROCESSORS = {"x86-64": "sse2", "haswell": "avx2"}
"""Processors that counts are compared for, and what running their code needs: vectors of two and of four."""


@pytest.fixture(params=PROCESSORS)
def processor(request, monkeypatch):
    """Code is compiled for a stated processor: how loops are unrolled decides which counts a formula has to foresee."""
    if platform.machine() not in {"x86_64", "AMD64"} or not host_features().get(PROCESSORS[request.param]):
        pytest.skip(f"this processor does not run code for {request.param}")
    monkeypatch.setenv("NUMBA_CPU_NAME", request.param)
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")


def host_features():
    return llvmlite.binding.get_host_cpu_features()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("user") / "my.py"
    found.write_text(SOURCE)
    return found


@pytest.fixture(scope="module")
def entry(path):
    return derive_seg(path, {"n": 64, "a": "float64[n]:ones"}, function="entry")


def test_counts_are_those_of_the_loops(entry):
    check(entry.seg)
    n = 60
    triples = sum(1 for i in range(n) for j in range(i) for _ in range(j))
    pairs = n * (n - 1) // 2
    found = ruvs_at(entry, "hllc", {"n": n})
    assert found["float_load_1d"] == pytest.approx(triples + n / 4)
    assert found["for_iteration"] == pytest.approx(triples + pairs + 2 * n)
    assert found["int_compare"] == pytest.approx(n + 7 + (found["while_iteration"] - 6) + n / 4)  # tests that fail too
    assert found["call"] == pytest.approx(n / 4)
    assert found["branch"] == n
    halvings = sum((i + n).bit_length() for i in range(0, n, 4))
    assert found["while_iteration"] == pytest.approx(6 + halvings, rel=0.02)  # a mean, fitted
    assert ruvs_at(entry, "poc", {"n": n})["add"] == pytest.approx(triples + n / 4 + found["while_iteration"] - 6)


def test_loops_have_formulas_of_the_parameters(entry):
    text = repr(entry.seg)
    for formula in ("'n'", "'0.5*n - 0.5'", "'0.333333333*n - 0.666666667'", "'ceil(log2(n))'", "'0.25'"):
        assert f"text={formula}" in text
    assert entry.seg.graphs[0].working_set.text == "8*n"
    assert entry.warnings == ()


@pytest.mark.slow
def test_code_is_counted_to_the_last_instruction(entry):
    exact = count_at(entry, {"n": 60})
    for method in ("intcc", "icc"):
        found = ruvs_at(entry, method, {"n": 60})
        told = sum(count for name, count in found.items() if name not in {"cycles", UNFORESEEN})
        counted = sum(count for name, count in exact[method][0].items() if name not in {"cycles", UNFORESEEN})
        assert told == pytest.approx(counted, rel=0.01)
        assert entry.missed[method] < 0.02
    triples = 60 * 59 * 58 // 6
    assert exact["intcc"][0]["fadd.double"] >= triples
    assert exact["icc"][0]["fp_add"] == pytest.approx(exact["intcc"][0]["fadd.double"], abs=60)
    assert exact["icc"][0]["branch"] == exact["intcc"][0]["br"]


def test_the_runnable_is_the_function(entry):
    function, arguments = runnable(entry, {"n": 60})
    triples = 60 * 59 * 58 // 6
    halvings = sum((i + 60).bit_length() for i in range(0, 60, 4))
    assert function(*arguments) == triples + 1.5 * halvings


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        ("endless", {"n": 3}, r"my\.py: endless: a profiled run took longer than 0\.5 s"),
        pytest.param("refused", {"n": 3}, r"Numba cannot compile it: line \d+: No impl", marks=pytest.mark.slow),
        pytest.param("whole", {"a": "float64[9]"}, r"my\.py:42: operation on a whole array", marks=pytest.mark.slow),
        pytest.param("outside", {"a": "float64[3]"}, r"run failed: ZeroDivisionError", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_profiled_is_one_line(path, function, arguments, said):
    with pytest.raises(ApportionError, match=said) as caught:
        derive_seg(path, arguments, function=function, methods=("hllc",), limit_s=0.5)
    assert len(caught.value.lines) == 1


@pytest.mark.slow
def test_a_branch_that_data_decide_gets_its_probability(path):
    found = derive_seg(path, {"n": 4000, "a": "float64[n]"}, function="choose", methods=("hllc",))
    assert ruvs_at(found, "hllc", {"n": 10_000})["int_add"] == pytest.approx(2500, rel=0.08)


@pytest.mark.slow
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize(
    ("function", "arguments", "n", "within"),
    [
        ("triad", {"n": 5000, "a": "float64[n]", "b": "float64[n]", "c": "float64[n]"}, 7777, 1e-9),
        ("factor", {"n": 200, "a": "float64[n,n]:definite"}, 155, 0.002),
        ("sort", {"n": 9000, "a": "int64[n]", "b": "int64[n]"}, 7000, 0.02),
    ],
)
def test_formulas_give_the_code_s_counts_at_other_sizes(path, function, arguments, n, within):
    derived = derive_seg(path, arguments, function=function)
    exact = count_at(derived, {"n": n})
    for method in ("intcc", "icc"):
        found = {name: amount for name, amount in ruvs_at(derived, method, {"n": n}).items() if name != UNFORESEEN}
        total = sum(exact[method][0].values())
        assert sum(found.values()) == pytest.approx(total, rel=within)
        for operation, amount in exact[method][0].items():
            assert found.get(operation, 0.0) == pytest.approx(amount, abs=max(within, 1e-3) * total)


@pytest.mark.slow
@pytest.mark.usefixtures("processor")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("triad", {"n": 1003, "a": "float64[n]", "b": "float64[n]", "c": "float64[n]"}),
        ("factor", {"n": 40, "a": "float64[n,n]:definite"}),
        ("sort", {"n": 999, "a": "int64[n]", "b": "int64[n]"}),
    ],
)
def test_callgrind_counts_the_same_instructions(path, function, arguments):
    derived = derive_seg(path, arguments, function=function, methods=("icc",))
    exact = count_at(derived, derived.arguments.parameters, methods=("icc",))
    executed = callgrind_at(derived, derived.arguments.parameters)
    assert exact["icc"][1] == executed


def test_what_numba_says_has_no_colours():
    """It has some where colorama is installed."""
    assert _first_line(ValueError("\x1b[1m\x1b[31mNo implementation\x1b[0m found")) == "No implementation found"

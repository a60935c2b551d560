"""The formula language: what it computes, how it splits, and everything that it must refuse."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.base.errors import FormulaError
from simulator.base.formula import FUNCTIONS, MAX_CHARACTERS, parse

HOSTILE = (Path(__file__).parents[2] / "bad_inputs" / "formulas.txt").read_text(encoding="utf-8").splitlines()
HPL = "N**3/(3*P*Q) + N**2*(3*P+Q)/(2*P*Q) + N*log(P) + N*P"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_input_is_refused_in_one_line(text):
    with pytest.raises(FormulaError) as error:
        parse(text, names=("N", "P"), place="runs.csv: formula").evaluate({"N": 2.0, "P": 3.0})
    assert len(error.value.lines) == 1
    assert error.value.lines[0].startswith("runs.csv: formula: ")


@given(st.text(alphabet="NP0123456789.+-*/(), eloginx", max_size=40))
@settings(max_examples=200, deadline=None)
def test_near_formulas_parse_or_are_refused(text):
    try:
        formula = parse(text)
        formula.evaluate(dict.fromkeys(formula.names, 2.0))
    except FormulaError:
        pass


# A random tree, written as text with full parentheses, against its value computed beside it.
_leaf = st.one_of(
    st.sampled_from([("N", 7.0), ("P", 3.0)]), st.floats(0.1, 9).map(lambda x: (repr(round(x, 3)), round(x, 3)))
)


def _join(children):
    pair = st.tuples(children, children)
    return st.one_of(
        pair.map(lambda ab: (f"({ab[0][0]} + {ab[1][0]})", ab[0][1] + ab[1][1])),
        pair.map(lambda ab: (f"({ab[0][0]} - {ab[1][0]})", ab[0][1] - ab[1][1])),
        pair.map(lambda ab: (f"({ab[0][0]} * {ab[1][0]})", ab[0][1] * ab[1][1])),
        pair.map(lambda ab: (f"max({ab[0][0]}, {ab[1][0]})", max(ab[0][1], ab[1][1]))),
        children.map(lambda a: (f"abs(-{a[0]})", abs(a[1]))),
        children.map(lambda a: (f"sqrt({a[0]} ** 2)", abs(a[1]))),
    )


@given(st.recursive(_leaf, _join, max_leaves=12))
@settings(max_examples=100, deadline=None)
def test_the_value_is_that_of_ordinary_arithmetic(case):
    text, value = case
    assert float(parse(f"0*N + {text}").evaluate({"N": 7.0, "P": 3.0})) == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("N - P - 1", 4 - 2 - 1),
        ("N/P/2", 1.0),
        ("2**3**2*N", 512 * 4),
        ("-2**2*N", -16),
        ("N**-1", 0.25),
        ("-N**2 + P", -14),
        ("N*log2(N) + log(P)", 8 + math.log(2)),
        ("min(N, P, 1) + cbrt(2*N)", 3.0),
        ("1.5e1*N/.5", 120.0),
        ("floor(N/3) + ceil(N/3)", 3.0),
    ],
)
def test_precedence_and_functions(text, value):
    assert float(parse(text).evaluate({"N": 4.0, "P": 2.0})) == pytest.approx(value, rel=1e-12)


def test_each_top_level_summand_is_one_term_as_written():
    formula = parse(HPL)
    assert [term.text for term in formula.terms] == ["N**3/(3*P*Q)", "N**2*(3*P+Q)/(2*P*Q)", "N*log(P)", "N*P"]
    assert formula.names == ("N", "P", "Q")
    columns = formula.columns({"N": np.array([10.0, 20.0]), "P": 2.0, "Q": 5.0})
    np.testing.assert_allclose(columns[0], [1000 / 30, 100 * 11 / 20, 10 * math.log(2), 20])
    assert columns.shape == (2, 4)


def test_a_sum_in_parentheses_stays_one_term():
    assert [term.text for term in parse("N + (P + 1) - (N - 1)*P").terms] == ["N", "(P + 1)", "-(N - 1)*P"]


def test_identical_terms_merge_in_any_order_and_still_count_in_the_sum():
    formula = parse("(N/P)*log(N) + log(N)*(N/P) + N")
    assert [term.text for term in formula.terms] == ["(N/P)*log(N)", "N"]
    assert float(formula.evaluate({"N": 8.0, "P": 2.0})) == pytest.approx(2 * 4 * math.log(8) + 8)
    assert len(parse("N - N").terms) == 2, "a term and its negative are not identical"


def test_unknown_names_and_functions_list_the_known_ones():
    with pytest.raises(FormulaError, match="formula: the name 'Z' is unknown here; take N, P"):
        parse("N/Z", names=("P", "N"))
    with pytest.raises(FormulaError, match="the function 'ln' is unknown; take " + ", ".join(FUNCTIONS)):
        parse("ln(N)")


def test_undefined_values_name_the_term_and_the_row():
    with pytest.raises(
        FormulaError, match=r"formula: term N/\(P\-2\): it is inf at N = 5, P = 2; give values that make it finite"
    ):
        parse("N + N/(P-2)").columns({"N": np.array([4.0, 5.0]), "P": np.array([1.0, 2.0])})
    with pytest.raises(FormulaError, match="term log"):
        parse("log(N)").evaluate({"N": -1.0})


def test_lengths_are_bounded_and_long_sums_are_fine():
    assert float(parse("+".join(["N"] * 900)).evaluate({"N": 1.0})) == 900
    with pytest.raises(FormulaError, match=f"at most {MAX_CHARACTERS}"):
        parse("N+" * MAX_CHARACTERS + "N")

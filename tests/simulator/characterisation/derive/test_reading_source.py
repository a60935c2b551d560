"""What is counted in source, and what of it is refused, without compiling anything."""

import ast
from pathlib import Path

import pytest

from simulator.base.errors import ScenarioError
from simulator.characterisation.derive import fit
from simulator.characterisation.derive.arguments import from_mapping, parse_arguments
from simulator.characterisation.derive.constructs import PRINCIPAL, Counting, Kinds, principal
from simulator.characterisation.derive.machine.assembly import operations
from simulator.characterisation.derive.source import read_source
from simulator.models.resource import FLOP_WEIGHTS

KINDS = Kinds({"n": "int", "k": "int", "x": "float", "a": "array:float:1", "m": "array:int:2"}, {"other": "float"})


def constructs(text: str) -> dict[str, int]:
    counted = Counting(KINDS, {"other"}).statements(ast.parse(text).body)
    return {name: count for name, count in counted.items() if count}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n = 1", {"int_assign": 1}),
        ("x = x * 2.0 + 1", {"float_multiply": 1, "float_add": 1, "float_assign": 1}),
        ("x += a[k]", {"float_add": 1, "float_assign": 1, "float_load_1d": 1}),
        ("a[k + 1] -= x", {"float_add": 1, "int_add": 1, "float_load_1d": 1, "float_store_1d": 1}),
        ("m[k, n] = n // 3 % 2", {"int_divide": 1, "int_modulo": 1, "int_store_2d": 1}),
        ("x = n / k", {"float_divide": 1, "convert": 2, "float_assign": 1}),
        ("x = x**3", {"float_multiply": 2, "float_assign": 1}),
        ("x = x**0.5", {"float_power": 1, "float_assign": 1}),
        ("x = sqrt(x) + math.sin(x)", {"float_sqrt": 1, "float_sin": 1, "float_add": 1, "float_assign": 1}),
        ("n = min(n, k, 3)", {"int_choose": 2, "int_assign": 1}),
        (
            "x = other(x) if n < k else -x",
            {"branch": 1, "int_compare": 1, "call": 1, "float_negate": 1} | {"float_assign": 1},
        ),
        ("n, k = k, n", {"int_assign": 2}),
        ("n <<= 1", {"int_bit": 1, "int_assign": 1}),
        ("n = len(a) + m.shape[0]", {"shape": 2, "int_add": 1, "int_assign": 1}),
        ("return not n", {"return": 1, "logic": 1}),
    ],
)
def test_constructs_of_a_statement(text, expected):
    assert constructs(text) == expected


def test_principal_operations_are_those_that_have_weights():
    assert set(PRINCIPAL.values()) <= set(FLOP_WEIGHTS)
    assert principal(constructs("x = x * x + sqrt(x) / n")) == {"multiply": 1, "add": 1, "sqrt": 1, "divide": 1}


@pytest.mark.parametrize("text", ["3*n", "n**2 - 5*n", "ceil(log2(n))", "2.5*n*log2(n)", "0.25", "7/n", "n**3/6 - n/6"])
def test_fits_find_the_formula(text):
    points = [{"n": n} for n in (21, 38, 75, 130, 260)]
    found = fit.fit([fit.value_at(text, point) for point in points], points)
    assert found.miss < 1e-6
    assert fit.value_at(found.text, {"n": 1000}) == pytest.approx(fit.value_at(text, {"n": 1000}), rel=1e-5)


def test_fits_find_sums_and_products_of_two_parameters():
    points = [{"n": n, "m": m} for n, m in ((3, 5), (4, 5), (7, 9), (11, 6), (20, 31))]
    for text in ("m + n", "n - 2*m + 3", "m*n"):
        found = fit.fit([fit.value_at(text, point) for point in points], points)
        assert (found.miss, fit.value_at(found.text, {"n": 50, "m": 70})) == (
            pytest.approx(0, abs=1e-9),
            pytest.approx(fit.value_at(text, {"n": 50, "m": 70})),
        )


def test_what_does_not_fit_says_so():
    points = [{"n": n} for n in (20, 40, 60, 80)]
    assert fit.fit([1, 9, 2, 11], points).miss > 0.1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vaddsd\t8(%rdx), %xmm0, %xmm1", {"fp_add": 1, "load": 1}),
        ("vmulpd\t(%rsi,%r8,8), %ymm1, %ymm2", {"fp_multiply_256": 1, "load_256": 1}),
        ("vfmadd231sd\t%xmm0, %xmm1, %xmm2", {"fp_fma": 1}),
        ("vmovupd\t%ymm2, (%rbp,%r8,8)", {"store_256": 1}),
        ("vmovsd\t(%rax), %xmm0", {"load": 1}),
        ("vucomisd\t%xmm0, %xmm1", {"fp_compare": 1}),
        ("vsqrtsd\t%xmm0, %xmm0, %xmm0", {"fp_sqrt": 1}),
        ("vcvtsi2sd\t%rax, %xmm1, %xmm0", {"fp_convert": 1}),
        ("vpaddq\t%ymm0, %ymm1, %ymm2", {"vector_256": 1}),
        ("addq\t$16, %r8", {"alu": 1}),
        ("addq\t%rax, (%rdi)", {"alu": 1, "load": 1, "store": 1}),
        ("cmpq\t8(%rsp), %rax", {"alu": 1, "load": 1}),
        ("movq\t%rax, 8(%rsp)", {"store": 1}),
        ("movq\t%rax, %rbx", {"move": 1}),
        ("movabsq\t$memset, %rax", {"move": 1}),
        ("leaq\t(,%r14,8), %rdx", {"alu": 1}),
        ("imulq\t%rdx, %rax", {"multiply": 1}),
        ("idivq\t%rcx", {"divide": 1}),
        ("cmovlq\t%rax, %rbx", {"select": 1}),
        ("sete\t7(%rsp)", {"select": 1, "store": 1}),
        ("jne\t.LBB0_4", {"branch": 1}),
        ("jmp\t.LBB0_4", {"jump": 1}),
        ("callq\t*%rax", {"call": 1}),
        ("retq", {"return": 1}),
        ("pushq\t%rbp", {"store": 1}),
        ("vzeroupper", {}),
    ],
)
def test_operations_of_an_instruction(line, expected):
    assert dict(operations(line)) == expected


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("return [k for k in a]", 4, "list comprehension"),
        ("return np.dot(a, a)", 4, "call of np.dot"),
        ("return a[1:]", 4, "slice"),
        ("return f(a)", 3, "f calls itself"),
        ("return print(a)", 4, "call of print"),
        ("return a.mean()", 4, "call of a.mean"),
        ("return a @ a", 4, "(@)"),
        ("with a: pass", 4, "with"),
        ("for k in zip(a, a): pass", 4, "a loop runs over zip()"),
        ("for k in a: pass\n    else: pass", 4, "a loop with else"),
        ("x = lambda: 1", 4, "lambda"),
        ("import os", 4, "import cannot be analysed"),
    ],
)
def test_what_cannot_be_analysed(tmp_path: Path, body, line, said):
    path = tmp_path / "my.py"
    path.write_text(f"import numpy as np\n\ndef f(a):\n    {body}\n")
    with pytest.raises(ScenarioError) as caught:
        read_source(path, "f")
    assert any(one.startswith(f"{path}:{line}: ") and said in one for one in caught.value.lines)
    assert all("\n" not in one for one in caught.value.lines)


def test_only_what_is_needed_is_kept(tmp_path: Path):
    path = tmp_path / "my.py"
    path.write_text(
        "import os\nfrom math import sqrt\nC = 2.0\nD = os.getcwd()\n\n@staticmethod\ndef f(x):\n"
        "    return g(x) * C\n\n"
        "def g(x):\n    return sqrt(x)\n\nprint('ran')\n"
    )
    source = read_source(path, "f")
    assert list(source.functions) == ["f", "g"]
    lines = source.text.splitlines()
    assert lines[1:3] == ["from math import sqrt", "C = 2.0"]
    assert (lines[0], lines[3], lines[5]) == ("", "", "")
    assert lines[6] == "def f(x):"
    assert "print" not in source.text
    assert source.warnings == (f"{path}:7: decorators of f are left out",)


@pytest.mark.parametrize("text", ["def f(:\n", "def g(x):\n    return x\n", "def f(*a):\n    return a\n"])
def test_a_file_that_cannot_be_read(tmp_path: Path, text):
    path = tmp_path / "my.py"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=r"my\.py"):
        read_source(path, "f")


def test_arguments_are_numbers_and_arrays():
    given_ = parse_arguments(
        ["n=10 x=0.5", "a=float64[n,2*n]", "b=int32[n]:range", "c=float64[n,n]:definite"], "--args"
    )
    made = from_mapping(given_, ["a", "x", "b", "c"])
    a, x, b, c = made.make({"n": 4, "x": 0.25})
    assert (a.shape, x, b.tolist(), c[0].tolist()) == ((4, 8), 0.25, [0, 1, 2, 3], [1, 1 / 2, 1 / 3, 1 / 4])
    assert (a == made.make({"n": 4, "x": 0.25})[0]).all()
    assert all(point["x"] == 0.5 for point in made.points)
    assert [point["n"] for point in from_mapping({"n": 1024}, ["n"]).points] == [64, 128, 256, 512, 1024]


@pytest.mark.parametrize(
    "texts",
    [
        ["n"],
        ["n=ten"],
        ["n=5", "a=float65[n]"],
        ["n=5", "a=float64[k]"],
        ["n=5", "a=float64[n]:seven"],
        ["a=float64[0]"],
    ],
)
def test_bad_arguments_are_one_line(texts):
    with pytest.raises((ScenarioError, fit.FormulaError)) as caught:
        from_mapping(parse_arguments(texts, "arguments"), ["a"] if any("a=" in text for text in texts) else ["n"]).make(
            {"n": 5}
        )
    assert len(caught.value.lines) == 1
    assert caught.value.lines[0].startswith("arguments: ")

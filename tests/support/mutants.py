"""Random mistakes put into sources, one at a time, and whether a test notices.

    python -m tests.support.mutants --files 'simulator/calibration/bench/*.py' --count 40 --seed 7

A mutant has one comparison turned, constant changed, operator swapped, condition negated or statement dropped. Each is
tried in a copy of the tree, on the test files that belong to its file: those that mirror its path, then those that
import it, then those of its folder and of the folders around it. `--tests` names others. A test file that fails without
a mutant, or takes more than half of the limit, is named once and judges nothing. The exit code is 1 if a mutant lives,
or has no test file to judge it.
"""

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.command_line import ROOT

PARTS = (
    "simulator",
    "advisor",
    "tests",
    "scenarios",
    "traces",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "CHANGELOG.md",
    "CITATION.cff",
)
TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
TURNED |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
SWAPPED |= {ast.Pow: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And}
DROPPED = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Return)
MOST_FILES = 6
"""Test files that a mutant is tried on: the nearest."""


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What a mistake may make of a node: its kind, and the other node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
        yield "comparison turned", _with(node, ops=[TURNED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        yield "operator swapped", _with(node, op=SWAPPED[type(node.op)]())
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition negated", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant changed", _with(node, value=not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant changed", _with(node, value=node.value + 1)
    if isinstance(node, DROPPED) and not isinstance(getattr(node, "value", node), ast.Constant | None):
        yield "statement dropped", ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


class _Put(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new, node) if node is self.old else self.generic_visit(node)


def places(tree: ast.Module) -> list[tuple[ast.AST, str, ast.AST]]:
    """Every mistake possible inside functions, always in one order: the node, its kind, the node in its place."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(part): part for function in functions for body in function.body for part in ast.walk(body)}
    return [(node, kind, other) for node in inside.values() for kind, other in changes(node)]


def mutant(source: str, number: int) -> tuple[int, str, str]:
    """Line, kind of mistake, and the whole source with it."""
    tree = ast.parse(source)
    node, kind, other = places(tree)[number]
    return node.lineno, kind, ast.unparse(ast.fix_missing_locations(_Put(node, other).visit(tree)))  # type: ignore[attr-defined]


def tests_of(path: Path) -> list[str]:
    """The nearest test files: by name in the mirrored folder, then those that import the module, then its folders."""
    module = ".".join(path.with_suffix("").parts)
    everywhere = sorted((ROOT / "tests").rglob("test_*.py"))
    texts = {one: one.read_text(encoding="utf-8") for one in everywhere}
    mirrored = [one for one in everywhere if one.name == f"test_{path.stem}.py" and path.parent.name in one.parts]
    package = module.rpartition(".")[0]
    taken = rf"from {re.escape(package)} import [^\n]*\b{path.stem}\b"
    importing = [one for one, text in texts.items() if re.search(rf"\b{re.escape(module)}\b|{taken}", text)]
    beside = sorted((ROOT / "tests").joinpath(*path.parts[:-1]).glob("test_*.py"))
    near = []
    for folder in (path.parent, *path.parents[1:-2]):
        words = re.escape(".".join(folder.parts))
        near += [one for one in everywhere if re.fullmatch(rf"test_{folder.name}(_\w+)?", one.stem)]
        near += [one for one, text in texts.items() if re.search(rf"\b{words}\b", text)]
    found = dict.fromkeys([*mirrored, *importing, *beside, *near])
    return [str(one.relative_to(ROOT)) for one in list(found)[:MOST_FILES]]


def failure(copied: Path, test: str, limit_s: float) -> str:
    """What pytest says at last of a test file that fails or takes longer; empty where it passes."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    environment = os.environ | {"PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, check=False, cwd=copied, env=environment, capture_output=True, text=True, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return f"no end within {limit_s:g} s"
    said = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "" if done.returncode == 0 else (said or done.stdout.splitlines() or ["no word"])[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", required=True, help="patterns of sources, from the top of the tree")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--tests", nargs="*", help="test files in the place of each file's own")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a test file has failed")
    asked = parser.parse_args()
    paths = sorted({path.relative_to(ROOT) for pattern in asked.files for path in ROOT.glob(pattern)})
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}
    possible = [(path, number) for path in paths for number in range(len(places(ast.parse(sources[path]))))]
    chosen = random.Random(asked.seed).sample(possible, min(asked.count, len(possible)))  # noqa: S311 - any will do
    said: Counter[str] = Counter()
    unsound: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        copied = Path(name)
        for part in PARTS:
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, copied / part)
        for path, number in chosen:
            line, kind, changed = mutant(sources[path], number)
            tests = asked.tests or tests_of(path)
            for test in tests:
                if test not in unsound:
                    unsound[test] = failure(copied, test, asked.limit / 2)
                    if unsound[test]:
                        print(f"judges nothing: {test}: {unsound[test]}", flush=True)
            judging = [test for test in tests if not unsound[test]]
            (copied / path).write_text(changed, encoding="utf-8")
            caught = any(failure(copied, test, asked.limit) for test in judging)
            verdict = ("caught" if caught else "LIVES") if judging else "not judged"
            (copied / path).write_text(sources[path], encoding="utf-8")
            said[verdict] += 1
            print(f"{verdict}: {path}:{line}: {kind}: {sources[path].splitlines()[line - 1].strip()}", flush=True)
    print(f"{dict(said)} of {len(possible)} possible in {len(paths)} files, seed {asked.seed}")
    return int(said["caught"] < len(chosen))


if __name__ == "__main__":
    sys.exit(main())

"""The first page of simulator/DESIGN.md leads from features of the README to files that define what it says."""

import ast
import re

import pytest

from tests.house_rules import PIPELINE, ROOT

PAGE = (ROOT / "simulator/DESIGN.md").read_text(encoding="utf-8").partition("\n# Decisions")[0]
ROWS = re.findall(r"^\| (.+) \| `(\S+)` \| `(\w+)` \|$", PAGE, re.MULTILINE)


def plain(text):
    """Words alone, on one line: the README breaks lines where it likes."""
    return " ".join(re.sub(r"[`*]", "", text).split()).lower()


README = plain((ROOT / "README.md").read_text(encoding="utf-8"))


def defined(path):
    """Names that a module defines or hands on."""
    names = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)} | {getattr(node, "name", "")}
    return names


def test_the_page_is_there():
    assert len(ROWS) >= 30
    assert len({feature for feature, *_ in ROWS}) == len(ROWS)
    told = {path.split("/")[1] for _, path, _ in ROWS}
    assert told <= {room for rooms in PIPELINE.values() for room in rooms.split()} | {"calibration", "characterisation"}


@pytest.mark.parametrize(("feature", "path", "name"), ROWS, ids=[feature for feature, *_ in ROWS])
def test_a_feature_of_the_readme_is_where_the_page_says(feature, path, name):
    assert plain(feature) in README
    assert name in defined(path)


def test_each_room_says_what_lives_there():
    """The docstring of each package, at whatever depth."""
    for package in ("simulator", "advisor"):
        for init in (ROOT / package).rglob("__init__.py"):
            said = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
            assert len(said.split()) >= 4, init

"""The first page of simulator/DESIGN.md leads from words of README and pages to the files that define them."""

import ast
import re

from tests.house_rules import PIPELINE, ROOT

PAGE = (ROOT / "simulator/DESIGN.md").read_text(encoding="utf-8").partition("\n# Decisions")[0]
ROWS = re.findall(r"^\| (.+) \| `(\S+)` \| `(\w+)` \|$", PAGE, re.MULTILINE)


def plain(text):
    """Words alone, on one line: pages break lines where they like."""
    return " ".join(re.sub(r"[`*]", "", text).split()).lower()


PAGES = [ROOT / "README.md", *sorted((ROOT / "scenarios" / "tutorial").glob("*.md"))]
QUOTED = [plain(page.read_text(encoding="utf-8")) for page in PAGES]


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


def test_the_features_of_the_pages_are_where_the_table_says():
    assert [feature for feature, *_ in ROWS if not any(plain(feature) in text for text in QUOTED)] == []
    assert [(path, name) for _, path, name in ROWS if name not in defined(path)] == []

import base64
import hashlib
import json
import re

import pytest

from advisor.report import html
from advisor.report.html import render_page
from simulator.base.blocks import MOST_ROWS, Folded, Page, Pairs, Section, SideBySide, Text, Widget, table

HOSTILE = '</script><script>alert("x")</script><!-- & \u2028 \''


def page_with(*blocks) -> Page:
    return Page("asked", "answer", (Section("part", "Part", blocks),), command="test")


@pytest.fixture
def widget_script(monkeypatch):
    """A widget's script that exists only here."""
    real = html._text
    monkeypatch.setattr(html, "_text", lambda name: "// own" if name == "widgets/echo.js" else real(name))


@pytest.mark.usefixtures("widget_script")
def test_no_text_breaks_out_of_the_data_of_a_widget():
    told = {"name": HOSTILE, "list": [HOSTILE, 1.5, None]}
    text = render_page(page_with(Widget("echo", HOSTILE, told, (Text(HOSTILE),))))
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data) == told
    assert text.count("<script") == text.count("</script>") == 3
    assert HOSTILE not in text


@pytest.mark.usefixtures("widget_script")
def test_a_widget_anywhere_brings_its_script_once_allowed_by_its_hash():
    echo = Widget("echo", "Echo", 1, (Text("without a script"),))
    text = render_page(page_with(echo, Folded("more", (SideBySide(Text("left"), (echo,)),))))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert [script == "// own" for script in scripts] == [False, True]
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert text.count("without a script") == 2


@pytest.mark.usefixtures("widget_script")
def test_a_number_that_json_lacks_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        render_page(page_with(Widget("echo", "Echo", float("nan"), ())))


def test_a_long_table_is_cut_and_says_so():
    long = table("Long", ["row", "value"], [[str(row), "1"] for row in range(MOST_ROWS + 7)], note="Then.")
    assert len(long.rows) == MOST_ROWS
    assert long.note == f"The first {MOST_ROWS} of {MOST_ROWS + 7} rows; the JSON document has all. Then."


def test_every_kind_of_block_is_shown():
    text = render_page(
        page_with(Text("quiet", quiet=True), Pairs((("name", "1 +/- 2"),)), Folded("sum", (Text("in"),)))
    )
    assert '<p class="note">quiet</p>' in text
    assert "<dt>name</dt><dd>1 ± 2</dd>" in text
    assert "<summary>sum</summary>" in text

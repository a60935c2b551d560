"""README.md and all pages as a Markdown renderer sees them: tables, links, headings, sizes, commands; CITATION.cff."""

import itertools
import os
import re
from collections import Counter
from pathlib import Path

from markdown_it import MarkdownIt

from advisor.cli import commands
from tests.support import shown
from tests.support.command_line import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "traces" / "README.md", *(ROOT / "scenarios").rglob("*.md")])

render = MarkdownIt("commonmark").enable("table").parse


def text_of(page):
    return page.read_text(encoding="utf-8")


def body(text):
    """Without the head of a notebook."""
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)


def cells(row):
    """How many cells a row of a table has as written: a bar behind a backslash parts none."""
    return len(re.findall(r"(?<!\\)\|", row.strip())) - 1


def cut_rows(text):
    """Rows that no table shows, or of which a table shows less than is written."""
    tokens, lines = render(text), text.splitlines()
    faults = [
        line for token in tokens if token.type == "inline" for line in token.content.split("\n") if line[:1] == "|"
    ]
    for token in tokens:
        if token.type == "table_open":
            rows = lines[slice(*token.map)]
            faults += [row for row in rows if cells(row) != cells(rows[0])]
    return faults


def headings(text):
    """Level and words of each heading."""
    tokens = render(text)
    return [
        (int(token.tag[1]), tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def anchor(words):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def targets(text):
    """What links and pictures lead to."""
    for token in render(text):
        for child in token.children or ():
            yield from (str(child.attrs[name]) for name in ("href", "src") if name in child.attrs)


def wrong_links(page, text):
    """Links to files that are not there, or to headings that their page has not."""
    for target in targets(text):
        if re.match(r"https?://", target):
            continue
        path, _, part = target.partition("#")
        file = page.parent / path if path else page
        here = file.exists()
        known = {anchor(words) for _, words in headings(text_of(file) if path else text)} if here and part else {part}
        if not here or part not in known:
            yield target


def test_no_table_is_cut():
    assert [(page, rows) for page in PAGES if (rows := cut_rows(body(text_of(page))))] == []


def test_a_cut_table_is_seen():
    whole = "| a | b |\n|---|---|\n| 1 | `x\\|y` |\n"
    assert cut_rows(whole) == []
    assert cut_rows(whole + "\n| 2 | 3 |\n") == ["| 2 | 3 |"]
    assert cut_rows(whole + "| 2 | x | y |\n") == ["| 2 | x | y |"]
    assert cut_rows("```text\n| no table\n```\n") == []


def test_links_lead_to_files_and_headings():
    assert [(page, link) for page in PAGES for link in wrong_links(page, text_of(page))] == []


def test_a_wrong_link_is_seen():
    text = (
        "# One two\n\n[a](#one-two) [b](#two) [c](no.md) [d](README.md#cite) ![e](no.png) [f](https://example.org/x)\n"
    )
    assert list(wrong_links(ROOT / "README.md", text)) == ["#two", "no.md", "README.md#cite", "no.png"]


def test_shipped_pages_link_to_shipped_files_alone():
    """An installed wheel has `scenarios` and `traces`, and nothing around them."""
    for page in PAGES:
        if page != ROOT / "README.md":
            for target in targets(text_of(page)):
                inside = Path(os.path.normpath(page.parent / target.partition("#")[0])).relative_to(ROOT)
                assert re.match(r"https?://", target) or inside.parts[0] in {"scenarios", "traces"}, (page, target)


def test_headings_are_unique_below_one_title():
    for page in PAGES:
        found = headings(body(text_of(page)))
        assert [level for level, _ in found].count(1) == 1, page
        assert found[0][0] == 1, page
        assert [words for words, count in Counter(words for _, words in found).items() if count > 1] == [], page


def test_every_console_block_is_run_by_a_test():
    """A page with such a block is named where its commands run: in this folder's tests."""
    tests = "".join(text_of(path) for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__))
    for page in PAGES:
        if any(language == "console" for language, _ in shown.blocks(text_of(page))):
            assert f"{page.name}" in tests, page


def called(text):
    """Words of each command line of ours in blocks and in code within the text."""
    for token in render(body(text)):
        spans = [token.content] if token.type == "fence" and token.info in {"console", "text"} else []
        spans += [child.content for child in token.children or () if child.type == "code_inline"]
        for span in spans:
            for line in span.splitlines():
                if match := re.match(r"(?:\$ )?apportion (?!\w+:)(.*)", line):
                    yield match[1].partition(" #")[0].split()


def unknown(words):
    """The first word that is no command, or no option of the command; None if all are."""
    command = commands.root()
    for word in itertools.takewhile(lambda word: word != "--", words):
        group = getattr(command, "commands", None)
        if group and commands.UNNAMED in group and command.name == "jobs" and word not in group:
            command = group[commands.UNNAMED]  # `jobs LOG`
            continue
        if word.startswith("--"):
            known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
            if word.partition("=")[0] not in known:
                return word
        elif group is not None and re.fullmatch(r"[a-z-]+", word):
            if word not in group:
                return word
            command = group[word]
    return None


def test_every_command_that_a_page_names_is_there():
    named = [(page, words) for page in PAGES for words in called(text_of(page))]
    assert len(named) > 100
    assert [(page, words, wrong) for page, words in named if (wrong := unknown(words))] == []


def test_an_unknown_command_is_seen():
    assert unknown(["jobs", "run", "--order", "fcfs"]) is None
    assert unknown(["calibrate", "walk"]) == "walk"
    assert unknown(["simulate", "two-cores", "--replicate"]) == "--replicate"

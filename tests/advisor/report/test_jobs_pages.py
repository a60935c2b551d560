"""The pages of `jobs compare` and `jobs advise`: sentences, tables, figures, folders, and what `show` says of them."""

import csv
import json
import re

import pytest

from simulator import plots
from simulator.base.blocks import Figure, Table
from tests.support.command_line import apportion_here as apportion
from tests.support.jobs_documents import OVER, advised, backtest, candidate, compared, difference
from tests.support.made import whole
from tests.support.pages import Page, words
from tests.support.rendered import answer, page_of, render_html


def blocks(page, kind):
    shown = [*page.picture, *(section.blocks for section in page.sections)]
    return [one for own in shown for one in own if isinstance(one, kind)]


def rows_of(page, caption):
    (found,) = [one for one in blocks(page, Table) if one.caption.startswith(caption)]
    return {row[0]: row[1:] for row in found.rows}


def descriptions(page):
    return [re.search(r"<desc[^>]*>(.*?)</desc>", one.drawing.svg())[1] for one in blocks(page, Figure)]


# Sentences


def test_each_metric_has_a_sentence_with_what_is_sure_and_what_is_not():
    assert page_of(compared()).answer == (
        "Mean wait: sjf has surely less than easy, by 37.2 min (22.6 to 51.7); strict has surely more than easy, by "
        "8.18 min (2.05 to 32.72); other cannot be distinguished from easy; twin is in every draw equal to easy; "
        "nothing is stated of crowd, overloaded. "
        "Makespan: no interval is stated, because the last jobs of a log decide it."
    )


def test_an_answer_spells_out_three_of_many_and_tells_why_few_differ():
    document = compared() | {"untold": {}}
    many = [difference(f"number, {place}", -9.0, -12.0, -6.0, p=1e-5, holm=1e-5, verdict="less") for place in range(5)]
    answer = page_of(document | {"differences": [*many, difference("rare", -1.0)]}).answer
    assert answer.count("has surely less than easy, by 9.00 s (6.00 to 12.00)") == 3
    assert "'number, 0' has surely less" in answer
    assert "2 more have surely less; nothing is stated of rare and easy, which differ in too few draws." in answer


def test_one_alternative_differs_from_nothing():
    document = compared()
    page = page_of(document | {"alternatives": document["alternatives"][:1], "differences": []})
    assert page.answer == "Nothing is compared: there is one alternative only."
    assert not blocks(page, Figure)
    assert "differences" not in [one.id for one in page.sections]


def test_what_is_overloaded_is_a_warning():
    assert page_of(compared()).warnings == (f"overloaded: crowd: {OVER}; no interval is stated of it",)
    assert page_of(advised()).warnings == page_of(compared()).warnings


# Tables


def test_the_table_has_each_difference_with_its_verdict():
    page = page_of(compared())
    assert rows_of(page, "Mean wait, minus that of easy") == {
        "sjf": ("-37.2 min (-51.7 to -22.6)", "less"),
        "strict": ("8.18 min (2.05 to 32.72)", "more"),
        "other": ("60.0 s (20.0 to 90.0)", "cannot be distinguished"),
        "twin": ("0 s", "equal in every draw"),
        "crowd": ("10 d 10 h", "no interval"),
    }
    (makespan,) = [one for one in blocks(page, Table) if one.caption.startswith("Makespan")]
    assert makespan.note == "No interval: the last jobs of a log decide it."
    assert {row[2:] for row in makespan.rows} == {("no interval",)}


def test_changes_stand_by_their_gain_with_verdicts_and_prices():
    found = rows_of(page_of(advised()), "Changes, largest gain first")
    assert list(found) == [
        "as it is: easy, limit",
        "5 PEs more",
        "exact estimates (a bound)",
        "policy sjf",
        "policy strict",
    ]
    assert found["5 PEs more"] == (
        *("1 h 26 min", "28.2 min (23.2 to 33.2)", "gains", "pays most"),
        *("500", "3.38"),
    )
    assert found["policy sjf"][2:4] == ("cannot be distinguished from 0", "not distinguished")
    assert found["policy strict"][2] == "loses"
    assert found["exact estimates (a bound)"][3] == "bound"
    page = Page(render_html(advised()))
    assert any("Not distinguished from what pays most: policy sjf." in text for text in words(page, "p"))
    free = advised()
    for one in free["candidates"]:
        one |= {"price": None, "gain_per_price": None}
    assert "price" not in words(Page(render_html(free)), "th")


# Figures


def test_a_figure_shows_what_has_an_interval_and_nothing_else():
    page = page_of(compared())
    (told,) = descriptions(page)
    assert told == ("sjf -2231 (-3105 to -1357); strict 490.8 (122.8 to 1963); other 60 (20 to 90), perhaps 0")
    (figure,) = blocks(page, Figure)
    assert "difference of the mean wait in s" in figure.drawing.svg()
    assert "95 % of all together" in figure.drawing.svg()
    assert figure.caption == "Mean wait of each alternative, minus that of easy."


def test_no_figure_where_nothing_is_told():
    refused = advised() | {"refused": "3 draws are too few", "candidates": [candidate("a", "add", 1.0, told=False)]}
    assert not blocks(page_of(refused), Figure)
    assert "No interval: 3 draws are too few." in render_html(refused)
    silent = [row | dict.fromkeys(("low", "high", "p", "holm")) for row in compared()["differences"]]
    assert not blocks(page_of(compared() | {"differences": silent}), Figure)
    assert not plots.differences([], axis="s")


def test_a_figure_of_many_shows_the_first_and_says_so():
    rows = [plots.Apart(f"n{place}", 1.0, (0.5, 2.0)) for place in range(30)]
    drawn = plots.differences(rows, axis="s").svg()
    assert "the first 24 of 30" in drawn
    assert "n23" in drawn
    assert "n24" not in drawn


def test_what_is_simulated_wrongly_is_said_first_and_warned_of():
    page = page_of(advised() | {"backtest": backtest(700.0)})
    assert page.answer.startswith(
        "The simulation is not right for this log: mean wait 1 h 57 min, simulated 11 min 40 s "
    )
    needed = "The fewest PEs for mean wait 1h are 108, 8 more than now (58 min 20 s; surely with 113; price 1300)."
    besides = (
        "The longest tenth waits 2 h 30 min (2 h now). Longer wait jobs of 2 to 7 PEs (2 h 30 min, "
        "2 h now), 3 of 12 users."
    )
    end = f"Simulated, {advised()['sentence']}; the queue drains with 120 PEs"
    assert dict(page.told.items)["Besides"] == besides
    assert page.answer.endswith(f"{needed} {end}")
    assert "the log has 2 queues, which are taken as one" in page.warnings
    assert page_of(advised()).answer == f"{needed} {end}"
    right = page_of(advised() | {"capacity": [], "drains_from": [], "effects": None})
    assert right.answer == advised()["sentence"]
    assert "sched/builtin" in dict(right.told.items)["slurm.conf"]
    assert dict(right.told.items)["Log"].startswith("The simulation is right for this log")
    assert rows_of(page, "Waits by size and partition")["2 to 7 PEs"] == ("500", "1 h 57 min", "11 min 40 s")


# Documents with parts that are missing, or hostile


@pytest.mark.parametrize("made", [compared, advised])
def test_pages_are_whole(made):
    document = made()
    text = render_html(document)
    page = Page(text)
    assert (page.faults, page.open) == ([], [])
    assert not re.findall(r"""(?:src|href)="https?:""", text)
    assert answer(document) == whole(type(answer(document)), document), "the sample says all of it"


# Folders


ASKED = ("--model", "lublin", "--jobs", "200", "--procs", "32", "--load", "0.6", "--replications", "12")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("saved")
    for words_ in (("compare", "--policies", "easy,sjf easy"), ("advise",)):
        done = apportion("jobs", *words_, *ASKED, "-o", words_[0], "--json", cwd=where)
        assert done.returncode == 0, done.stderr
        (where / f"{words_[0]}.json").write_text(done.stdout, encoding="utf-8")
    return where


@pytest.mark.parametrize(("command", "name"), [("compare", "comparison.json"), ("advise", "advice.json")])
def test_a_folder_holds_document_draws_page_and_manifest(folder, command, name):
    assert {one.name for one in (folder / command).iterdir()} == {name, "draws.csv", "report.html", "manifest.json"}
    said = json.loads((folder / f"{command}.json").read_text(encoding="utf-8"))
    kept = json.loads((folder / command / name).read_text(encoding="utf-8"))
    assert kept == said
    manifest = json.loads((folder / command / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["command"] == f"jobs {command}"
    assert (manifest["draws"], manifest["replications"]) == ("streams", 12)
    assert manifest["files"] == [name, "draws.csv", "report.html"]
    page = Page((folder / command / "report.html").read_text(encoding="utf-8"))
    assert page.faults == []
    assert page_of(kept).answer in words(page, "p")
    inner = kept.get("compared", kept)
    with (folder / command / "draws.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    metrics = inner["alternatives"][0]["metrics"]
    assert len(rows) == 12 * len(inner["alternatives"]) * len(metrics)
    for one in inner["alternatives"]:
        for metric, mean in one["metrics"].items():
            own = [float(row["value"]) for row in rows if (row["alternative"], row["metric"]) == (one["name"], metric)]
            assert sum(own) / 12 == pytest.approx(mean)


@pytest.mark.parametrize("place", ["compare", "compare/comparison.json", "advise", "advise/manifest.json"])
def test_show_says_what_the_page_says_first(folder, place):
    command = place.split("/")[0]
    document = json.loads((folder / f"{command}.json").read_text(encoding="utf-8"))
    done = apportion("show", place, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert page_of(document).answer in done.stdout
    told = json.loads(apportion("show", place, "--json", cwd=folder).stdout)
    assert (told["command"], told["shown"]) == ("show", f"jobs {command}")

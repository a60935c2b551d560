"""The pages of advise, simulate and verify."""

import json
import re

import pytest

from advisor import advice_of, explain, recommend
from advisor.report.html import render_page
from simulator import documents, load_scenario
from tests.support.illustrated import TUTORIAL, Shown, simulated, simulated_page
from tests.support.made import made
from tests.support.pages import Page, hostile, words
from tests.support.rendered import page_of, render_html
from tests.support.report_sample import verified_document as verified


@pytest.fixture(scope="module")
def advised():
    scenario = load_scenario(TUTORIAL / "two-cores.yaml")
    found = recommend(scenario, replications=4)
    return advice_of(scenario, found, explanation=explain(scenario, found, most_runs=20_000)).to_dict()


@pytest.mark.slow
def test_verify_says_whether_the_advice_held():
    page = page_of(verified())
    assert page.answer == "The advice held: functional was the fastest of all that were really run."
    assert page.host == "node07"
    worse = {"best_measured": "equal", "regret": 0.013}
    assert page_of(verified() | worse).answer == (
        "The advice nearly held: functional took 1.3 % longer than equal, the fastest one measured."
    )
    failed = page_of(verified() | worse | {"within_2_percent": False, "pairs_in_order": None})
    assert failed.answer.startswith("The advice did not hold: functional took 1.3 % longer")
    assert "of pairs in the predicted order" not in dict(failed.facts.items)["Errors"]


@pytest.mark.slow
def test_simulate_has_an_answer_and_its_timelines():
    page = Page(render_page(simulated_page()))
    assert page.faults == []
    assert (
        "uneven takes 638 ms, predicted: 1.19 times faster than by-speed, the next, and 1.28 than one-each."
        in words(page, "p")
    )
    assert words(page, "h2") == [
        "Answer",
        "Stated, not measured: a speed that is 10 % off costs about 8 %",
        "Configurations compared",
        "One replication in time",
        "Where time goes",
        "Provenance",
    ]
    assert "uneven: 90 % of the makespan is single computing, 10 % messages over bus." in words(page, "p")
    assert "one-each: 94 % of the makespan is quad.cpu0 computing" in " ".join(words(page, "summary"))
    assert not [text for text in words(page, "td") if "±" in text or " to " in text], "nothing was drawn"


@pytest.mark.slow
def test_an_explained_advice_tells_why_and_how_far(advised):
    page = Page(render_html(advised))
    assert page.faults == []
    captions = words(page, "caption")
    for caption in (
        "PEs that limit, over replications",
        "Sensitivity: change of the makespan",
        "All candidates, best first",
    ):
        assert caption in captions
    assert any("Where the doubt comes from" in text for text in words(page, "h2"))
    assert len(render_html(advised).encode()) < 400_000
    plain = {key: value for key, value in advised.items() if key != "explanation"}
    assert not any("Why, and how far it holds" in text for text in words(Page(render_html(plain)), "h2"))


def test_a_domain_that_binds_is_on_the_page():
    scenario = load_scenario("channels")
    found = recommend(scenario, confirm=0, runs=200)
    document = advice_of(scenario, found, explanation=explain(scenario, found, most_runs=2_000)).to_dict()
    page = Page(render_html(json.loads(json.dumps(document))))
    assert page.faults == []
    (told,) = (text for text in words(page, "p") if text.startswith("Sharing domains that bind: memory 1 of node1"))
    assert told.endswith("asked for 50 GB/s of 40 GB/s: each keeps 80 %.")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["advised", "simulated", "verified"])
def test_no_name_from_outside_becomes_markup(name, advised):
    if name == "simulated":
        document = documents.to_dict(simulated()[2])
        pages = [made(Shown, one).page for one in (document, hostile(document))]
    else:
        document = advised if name == "advised" else verified()
        pages = [page_of(one | {"command": document["command"]}) for one in (document, hostile(document))]
    plain, page = (Page(render_page(one)) for one in pages)
    assert page.faults == []
    kinds = ("script", "img", "iframe", "a", "section", "h2")
    assert {kind: len(page.all(kind)) for kind in kinds} == {kind: len(plain.all(kind)) for kind in kinds}
    for found in page.texts["script"]:
        if found.startswith("{"):
            assert json.loads(found)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_long_lists_of_a_scenario_are_shown_by_their_ends():
    text = simulated("three-pes.yaml", 5)[2].illustration.scenario_text
    (times,) = re.findall(r"times_s: (\[[^\]]*more \.\.\.[^\]]*\])", text)
    assert re.fullmatch(r"\[0\.0, [\d.]+, [\d.]+, [\d.]+, \.\.\. \d+ more \.\.\., [\d.]+\]", times)
    assert "sizes: [100000.0, 1000000.0, 4000000.0]" in text

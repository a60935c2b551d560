import base64
import hashlib
import re

import pytest

from simulator import ScenarioError
from tests.support.pages import Page, words
from tests.support.rendered import render_html
from tests.support.report_sample import one_core_document, sample_document


@pytest.fixture(scope="module")
def text() -> str:
    return render_html(sample_document())


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


def test_it_is_one_well_formed_page(text, page):
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert (page.faults, page.open) == ([], [])


def test_every_id_is_unique_and_every_reference_has_its_target(text, page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    labels = {label for _, found in page.tags for label in (found.get("aria-labelledby") or "").split()}
    targets = labels | set(re.findall(r'(?:href="#|url\(#)([\w-]+)', text))
    assert len(targets) > 20
    assert targets <= set(ids)


def test_tables_have_captions_and_scoped_headers(page):
    assert len(page.all("table")) == len(page.all("caption")) == 2
    assert {attributes.get("scope") for attributes in page.all("th")} == {"col", "row"}
    assert [attributes["tabindex"] for attributes in page.all("div") if attributes.get("role") == "region"] == ["0"] * 2


def test_nothing_is_fetched_from_anywhere(text, page):
    assert not page.all("img")
    assert [attributes["href"] for attributes in page.all("link")] == ["data:,"]
    assert not [attributes for _, attributes in page.tags if "src" in attributes]
    addresses = set(re.findall(r"""https?://[^"'\s<]*""", text))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, "names of formats only"
    assert "@import" not in text
    assert "@font-face" not in text


def test_only_its_own_script_may_run(text):
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_facts_and_provenance_are_told(page):
    facts = dict(zip(words(page, "dt"), words(page, "dd"), strict=True))
    expected = {
        "Load": "on core1, rule fair; share of it left to us: 42 % predicted, 42 % measured",
        "Messages": "4.1 us for 8 B, 29 us for 1 MiB",
        "Share left to us, predicted": "41.7 %",
        "Version of numpy": "2.4.6",
        "Hash of scenario": "sha256:" + "cd" * 32,
        "Seed": "7",
    }
    assert {name: facts.get(name) for name in expected} == expected


@pytest.mark.slow
def test_a_flood_of_warnings_is_folded_but_complete():
    page = Page(render_html(sample_document() | {"warnings": [f"warning {k}" for k in range(40)]}))
    assert {f"warning {k}" for k in range(40)} == {text for text in words(page, "li") if text.startswith("warning")}
    assert any(text.endswith("1.7 % off what was predicted (40 warnings)") for text in words(page, "h2"))


@pytest.mark.slow
def test_it_is_small_even_with_a_day_of_load_and_many_pes(text):
    assert len(text) < 250_000
    document = sample_document(pes=64)
    count = 86_400
    trace = {
        "times_s": [float(k) for k in range(count)],
        "values": [float(k % 7) for k in range(count)],
        "end_s": 86_400.0,
    }
    document["load"] |= {"trace": trace}
    assert len(render_html(document).encode()) < 1_500_000


def test_a_run_that_gave_little_is_still_a_whole_page():
    page = Page(render_html(one_core_document()))
    assert page.faults == []
    assert "There is one PE only, so it does all 4200 rows: nothing to apportion." in words(page, "p")
    assert "Provenance" in words(page, "h2")


@pytest.mark.parametrize("name", ["", "nobody"])
def test_what_recommends_nothing_that_was_compared_is_refused(name):
    with pytest.raises(ScenarioError, match=f"recommended: '{name}' is none of the baselines"):
        render_html(sample_document() | {"recommended": name})

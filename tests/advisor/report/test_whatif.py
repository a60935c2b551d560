import json
import re

import numpy as np
import pytest

from advisor import wording
from advisor.results import Described
from tests.support.made import made
from tests.support.made_up_sweeps import LATENCY, LINK, N, plan_of, swept_of, whatif_document
from tests.support.pages import Page, words
from tests.support.rendered import grid_data, render_html, render_whatif

NAMES = ("equal", "by-speed", "advised")


def cheap(plan, *, failed=()):
    """Makespans that fall with the point's number, without much noise."""
    common = np.random.default_rng(0).normal(0, 0.01, plan.replications)
    count = len(plan.points)

    def makespans_s(point, name):
        own = np.random.default_rng([point, NAMES.index(name)]).normal(0, 0.003, plan.replications)
        return 2 - point / count + 0.1 * NAMES.index(name) + common + own

    return swept_of(plan, makespans_s, names=NAMES, failed=failed)


def values(count):
    return ",".join(f"x{number}" for number in range(1, count + 1))


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    plan = plan_of(tmp_path_factory.mktemp("page"), f"{LINK}={values(3)}", f"{LATENCY}=x1,/2")
    return whatif_document(cheap(plan, failed={4}))


@pytest.fixture(scope="module")
def text(document):
    return render_html(document)


def test_it_is_one_well_formed_page_without_any_time(document, text):
    page = Page(text)
    assert (page.faults, page.open) == ([], [])
    assert words(page, "h1") == ["sixteen.yaml: 2 fields varied, 7 points"]
    assert document["sentence"] in words(page, "p")
    assert words(page, "h2") == [
        "Answer",
        "What if",
        "Which upgrade pays most",
        "What failed",
        "Provenance",
    ]
    assert document["provenance"]["made"][:10] not in text
    later = document | {
        "spent": {"run_now": 1, "seconds": 99.0},
        "provenance": document["provenance"] | {"made": "2030"},
    }
    assert render_html(later) == text


def test_without_a_script_every_point_is_in_a_table(document, text):
    page = Page(text)
    cells = words(page, "td")
    for entry in document["points"]:
        for one in entry["configurations"]:
            told = wording.with_interval(made(Described, one["makespan_s"]))
            assert told in cells
            assert re.fullmatch(r"[\d.]+ s \([\d.]+ to [\d.]+\)", told)
    assert cells.count("failed") == 1
    assert "application.parameters.n: 0 found, more allowed" in words(page, "th")


def test_the_sliders_have_the_numbers_of_the_points(document, text):
    (found,) = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    data = json.loads(found)
    assert [field["stops"] for field in data["fields"]] == [
        ["1 Gbit/s (x1)", "2 Gbit/s (x2)", "3 Gbit/s (x3)"],
        ["25 us (/2)", "50 us (x1)"],
    ]
    assert [field["asIs"] for field in data["fields"]] == [0, 1]
    order = [point for row in document["grid"]["points"] for point in row]
    assert order == [2, 1, 4, 3, 6, 5]
    assert list(data["failed"]) == ["2"]
    for place, point in enumerate(order):
        for name, rows in zip(data["names"], data["rows"], strict=True):
            one = next((one for one in document["points"][point]["configurations"] if one["name"] == name), None)
            if one is None:
                assert rows[place] is None
                continue
            assert rows[place][0] == pytest.approx(one["makespan_s"]["mean"], rel=1e-5)
            three = [*one["makespan_s"].values()][:3] + [*one["difference_s"].values()][:3]
            assert rows[place][:6] == pytest.approx(three, rel=1e-4)
            assert rows[place][6:] == pytest.approx([(one["gain"] or {}).get(end) for end in ("low", "high")], rel=1e-5)
    assert order[data["fastest"]] == document["pays_most"]


@pytest.mark.slow
@pytest.mark.parametrize(("down", "across"), [(40, 25)])
def test_it_stays_small(tmp_path, down, across):
    varied = [f"{N}=1601..{1600 + across}"] + ([f"{LINK}={values(down)}"] if down > 1 else [])
    document = whatif_document(cheap(plan_of(tmp_path, *varied)))
    for entry in document["points"]:
        entry["advice"] = {"recommended": "fast", "pes": [f"node{pe:03d}" for pe in range(64)], "partition": [25] * 64}
    text = render_html(document)
    assert len(text.encode()) < 1_500_000
    assert "Advised partitions are left out here" in text
    assert len(json.dumps(document)) > 1_500_000


def test_points_too_many_for_sliders_stand_in_tables(document):
    whole, nothing = grid_data(document)
    assert nothing == []
    room = len(json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode())
    assert grid_data(document, most_bytes=room) == (whole, [])
    data, said = grid_data(document, most_bytes=room - 1)
    assert data is None
    assert said == ["These are too many points for sliders; points.csv has all."]


def test_nothing_answered_is_still_a_whole_page(tmp_path):
    plan = plan_of(tmp_path, f"{LINK}=x2,x4")
    document = whatif_document(cheap(plan, failed={0, 1, 2}))
    page = Page(render_html(document))
    assert page.faults == []
    assert "No point can be compared with the scenario as it is." in words(page, "p")
    assert "No point can be compared" in render_whatif(document)

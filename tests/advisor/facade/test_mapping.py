"""One question about many scenarios: what each would be answered alone, kept as it is found, and never asked again."""

import signal
import sys
from dataclasses import replace
from functools import partial

import apportion as ap
import pytest

from tests.support.command_line import ROOT
from tests.support.mapped_platforms import SPEEDS, fastest, platforms
from tests.support.real_sweeps import ENVIRONMENT, PATIENCE_S, finished, run_to_end, start, until


def test_each_answer_is_that_of_its_scenario_alone_whatever_stands_beside_it():
    some = list(platforms(4))
    found = ap.map(ap.simulate, some)
    for scenario, answer in zip(some, found, strict=True):
        assert {"name": "equal", **answer["equal"]} == ap.simulate(scenario).summary()[0]
    turned = ap.map(ap.simulate, [*reversed(some), "two-cores", some[0]])
    assert turned[:4] == found[:][::-1]
    assert turned[5] == found[0]
    assert set(turned[4]) == {"equal", "two-to-one"}
    assert (len(turned), turned.failed) == (6, {})


def test_answers_are_plain_values_and_a_table():
    found = ap.map(fastest, platforms(3))
    assert [answer["speed"] for answer in found] == SPEEDS[:3].max(axis=1).tolist()
    assert found[0]["of"]["all"] == SPEEDS[0].tolist()
    table = found.to_dataframe()
    assert table["speed"].tolist() == SPEEDS[:3].max(axis=1).tolist()
    assert table["seed"].tolist() == [0, 1, 2]
    assert repr(found) == "Mapped(fastest: 3 scenarios, 0 failed)"
    assert "<svg" in found._repr_html_()


def test_advice_and_arguments():
    some = list(platforms(2))
    found = ap.map(partial(ap.advise, vary="partition"), some)
    alone = ap.advise(some[1], vary="partition")
    assert found[1]["partition"] == list(alone.configuration.partition)
    assert found[1]["gain"]["mean"] == alone.baselines[alone.reference].mean
    assert found[1]["times_as_long"]["equal"] == alone.baselines["equal"].mean


def test_the_same_call_goes_on_where_it_was_broken_off(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTED", str(tmp_path / "asked"))

    def broken(done, _of):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(ap.ApportionError, match="stopped: 3 of 6 points kept"):
        ap.map(fastest, platforms(6), folder=tmp_path / "out", progress=broken)
    found = ap.map(fastest, platforms(6), folder=tmp_path / "out")
    assert (tmp_path / "asked").read_text().split() == list("012345")
    assert [answer["speed"] for answer in found] == SPEEDS[:6].max(axis=1).tolist()
    assert list(ap.map(fastest, platforms(7), folder=tmp_path / "out"))[:6] == list(found)
    assert (tmp_path / "asked").read_text().split() == list("0123456")
    with pytest.raises(ap.ScenarioError, match="holds a sweep of another function; name a folder of this one"):
        ap.map(ap.simulate, platforms(7), folder=tmp_path / "out")


def test_a_scenario_without_configurations_is_asked_about_as_it_is():
    some = [replace(one, configurations=()) for one in platforms(2)]
    assert ap.map(lambda scenario: len(scenario.configurations), [*some, "two-cores"])[:] == [0, 0, 2]


def test_a_scenario_that_fails_is_named_and_the_others_are_answered():
    def fussy(scenario):
        if scenario.seed == 1:
            raise ap.ScenarioError("no answer for this one")
        return scenario if scenario.seed == 2 else scenario.seed

    found = ap.map(fussy, platforms(4))
    assert found[:] == [0, None, None, 3]
    plain = f"map: {fussy.__qualname__} returned a Scenario; return numbers, texts, lists or mappings of them"
    assert found.failed == {1: "no answer for this one", 2: plain}


def test_what_other_processes_cannot_import_or_nobody_can_ask_is_refused_at_once():
    with pytest.raises(ap.ScenarioError, match=r"map: other processes cannot import .*<lambda>; write it into"):
        ap.map(lambda scenario: scenario.seed, platforms(2), workers=2)
    with pytest.raises(ap.ScenarioError, match="map: question: it is 'simulate'; give a function, such as simulate"):
        ap.map("simulate", platforms(2))
    with pytest.raises(ap.ScenarioError, match="map: there is no scenario; give some"):
        ap.map(fastest, [])


@pytest.mark.slow
def test_killed_in_the_middle_it_asks_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "COUNTED", str(tmp_path / "asked"))
    folder = tmp_path / "out"
    line = [sys.executable, "-m", "tests.support.mapped_platforms", folder]
    process = start(*line, cwd=ROOT)
    until(lambda: len(finished(folder)) >= 5 or process.poll() is not None, "no answers")
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode in {-signal.SIGKILL, 0}
    kept = {path: path.stat().st_mtime_ns for path in finished(folder)}
    code, _, errors = run_to_end(*line)
    assert code == 0, errors
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert list(ap.map(fastest, platforms(40), folder=folder)) == list(ap.map(fastest, platforms(40)))

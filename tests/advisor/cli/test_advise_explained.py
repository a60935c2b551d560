import json
from pathlib import Path

import pytest

from advisor.cli import main

SCENARIO = str(Path(__file__).parents[3] / "scenarios" / "tutorial" / "two-cores.yaml")
FIELDS = {"why", "switch_points", "sensitivity", "measure_next", "explanation"}


def told(capsys, monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["apportion", "advise", SCENARIO, "--replications", "5", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return capsys.readouterr().out


def test_an_advice_is_explained_when_asked(capsys, monkeypatch):
    explained = json.loads(told(capsys, monkeypatch, "--json", "--explain"))
    assert set(explained) >= FIELDS
    assert explained["why"]["limits"][0]["pe"] == "core0"
    assert [one["of"] for one in explained["switch_points"]] == ["load", "problem size"]
    assert explained["sensitivity"][0]["parameter"].startswith("speed of core")
    assert 0 < explained["explanation"]["simulated_runs"] <= explained["explanation"]["most_runs"]
    assert set(explained["measure_next"]["unstated"]) == {"link latency", "link bandwidth"}


def test_the_terminal_is_told_too(capsys, monkeypatch):
    text = told(capsys, monkeypatch, "--explain")
    for heading in ("\nWhy\n", "\nSwitch points\n", "\nSensitivity: ", "\nMeasure next: ", "\nExplained by "):
        assert heading in text
    assert max(map(len, text.splitlines())) <= 100

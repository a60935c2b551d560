import json
from pathlib import Path

import pytest

SCENARIO = str(Path(__file__).parents[3] / "scenarios" / "tutorial" / "two-cores.yaml")
FIELDS = {"why", "sensitivity", "doubt", "measure_next", "explanation"}


@pytest.fixture
def told(apportion):
    def explained(*arguments):
        code, out, _ = apportion("advise", SCENARIO, "--replications", "5", *arguments)
        assert code == 0
        return out

    return explained


@pytest.mark.slow
def test_an_advice_is_explained_when_asked(told):
    explained = json.loads(told("--json", "--explain"))
    assert set(explained) >= FIELDS
    assert explained["why"]["limits"][0]["pe"] == "core0"
    assert explained["sensitivity"][0]["parameter"].startswith("speed of core")
    assert explained["explanation"]["simulated_runs"] > 0
    assert set(explained["measure_next"]["unstated"]) == {"link latency", "link bandwidth"}

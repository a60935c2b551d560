"""`--level`: how often stated intervals hold, on all commands that state them, once in the document."""

import json

import pytest

from tests.support.command_line import apportion_here

SCENARIO = "scenarios/tutorial/three-pes.yaml"
ASKED = {
    "simulate": ["simulate", SCENARIO],
    "advise": ["advise", SCENARIO],
    "whatif": ["whatif", SCENARIO, "--as-is", "--vary", "platform.link.bandwidth=x2"],
}


LEVELS = ["abc", "0.4999", "0.9991", "nan"]


@pytest.mark.parametrize(
    ("name", "level"), [*(("simulate", level) for level in LEVELS), ("advise", "1"), ("whatif", "1")]
)
def test_a_level_that_cannot_be_held_is_one_line(name, level):
    ran = apportion_here(*ASKED[name], f"--level={level}")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert ran.stderr.startswith("error: Invalid value for '--level': ")
    assert level == "abc" or "give a share from 0.5 to 0.999, such as 0.9" in ran.stderr


def ends(document):
    """Every interval of a document: `low` and `high`, `run_low` and `run_high`."""
    if isinstance(document, dict):
        for one in ("", "run_"):
            low, high = document.get(f"{one}low"), document.get(f"{one}high")
            if isinstance(low, float) and isinstance(high, float):
                yield low, high
        for key, value in document.items():
            if key not in {"together", "platform"}:
                yield from ends(value)
    elif isinstance(document, list):
        for value in document:
            yield from ends(value)


def keys(document):
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from keys(value)
    elif isinstance(document, list):
        for value in document:
            yield from keys(value)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "simulate")) for name in ASKED]
)
def test_a_higher_level_is_wider_and_stands_once(name):
    documents = {}
    for level in ("0.5", "0.9", "0.99"):
        ran = apportion_here(*ASKED[name], "--replications", "100", "--json", "--level", level)
        assert ran.returncode == 0, ran.stderr
        documents[level] = json.loads(ran.stdout)
        assert list(keys(documents[level])).count("level") == 1
        assert documents[level]["level"] == float(level)
    widths = {level: [high - low for low, high in ends(document)] for level, document in documents.items()}
    assert len(widths["0.5"]) == len(widths["0.9"]) == len(widths["0.99"]) > 3
    for narrow, usual, wide in zip(*widths.values(), strict=True):
        assert narrow <= usual <= wide
    assert sum(widths["0.5"]) < sum(widths["0.9"]) < sum(widths["0.99"])

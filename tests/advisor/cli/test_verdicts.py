"""Calibrations end with one sentence: whether the model is usable, for what, how well known, and what to do if not."""

import re

import pytest

from advisor import wording

REPLAYED = {
    "speed": "papers/gbbp_dgemm.csv",
    "network": "papers/characterisation_unix.csv",
    "memory": "papers/apexmap_two_core_vm.csv",
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "memory")) for kind in REPLAYED]
)
def test_a_calibration_ends_with_its_verdict(apportion, kind):
    code, out, _ = apportion("calibrate", kind, "--replay", REPLAYED[kind])
    assert code == 0
    assert out.splitlines()[-1].startswith("verdict: usable for ")
    assert re.search(r" are known to .* from \S+ to \S+ (elements|bytes|words), ", out.splitlines()[-1])


@pytest.mark.parametrize(
    ("error", "lacking", "begin", "end"),
    [
        (0.04, "", "verdict: usable for advise, simulate and verify: speeds are known to 4 % (doubt)", " (doubt)"),
        (0.2, "", "verdict: usable with care for", "measure again with nothing else running and a larger --budget"),
        (0.04, "the budget ended it", "verdict: usable with care for", "a larger --budget"),
        (0.5, "", "verdict: not usable: speeds are known to 50 % (doubt)", "a larger --budget"),
        (
            None,
            "",
            "verdict: usable with care for",
            "nothing says how well speeds are known; real runs measured here would",
        ),
    ],
)
def test_a_verdict_says_what_to_do_where_it_is_not_good(error, lacking, begin, end):
    said = wording.verdict(wording.SPEEDS, error, by="doubt", lacking=lacking)
    assert said.startswith(begin)
    assert said.endswith(end)
    assert lacking in said


def test_a_verdict_names_its_range_and_what_happens_outside():
    reach = wording.reach_text(64, 4096, "elements", 0.25)
    said = wording.verdict(wording.SPEEDS, 0.04, by="doubt", reach=reach)
    assert said.endswith("from 64 to 4.1e+03 elements, at twice the largest to 25 % unless something new begins there")
    assert wording.reach_text(1, 8, "words", None) == " from 1 to 8 words, nothing says how well beyond"

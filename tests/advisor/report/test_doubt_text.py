"""Where the doubt of an advice comes from, in words: sentence, tables that add up, and what was measured again."""

from advisor.advise.explanation import Explanation
from advisor.advise.measured_again import MeasuredAgain
from advisor.report.explanation import (
    again_lines,
    doubt_blocks,
    doubt_sentence,
    next_lines,
    next_rows,
    share_rows,
    whole_percents,
)
from tests.support.made import made


def source(name, share, **causes):
    return {"source": name, "share": share, "causes": {cause: part * share for cause, part in causes.items()}}


MEASURE_NEXT = {
    "measure": "fast.json",
    "command": "apportion calibrate speed --kernel dgemm -o fast-2.json",
    "seconds": 20.0,
    "expected_loss": 0.008,
    "expected_loss_after": 0.003,
    "ranked": [
        {"source": "fast.json", "seconds": 20.0, "reduction": 0.005, "reduction_per_s": 0.00025},
        {"source": "speed of old", "seconds": 5.0, "reduction": 0.0004, "reduction_per_s": 0.00008},
    ],
    "unstated": ["link latency"],
}


def document(**fields):
    told = {
        "doubt": {
            "makespan": {
                "sources": [source("fast.json", 0.56, drift=5 / 7, form=2 / 7), source("speed of old", 0.1)],
                "interactions and noise": 0.34,
            },
            "gain": {"sources": [source("speed of old", 0.3), source("fast.json", 0.2)], "interactions and noise": 0.5},
        },
        "measure_next": MEASURE_NEXT,
    }
    return made(Explanation, told | fields)


def test_the_sentence():
    assert doubt_sentence(document()) == "56 % of what is not known comes from fast.json (drift 40, form 16)"


def test_where_no_measurement_is_worth_it():
    asked = MEASURE_NEXT | {"measure": None, "command": None}
    told = document(measure_next=asked)
    assert next_lines(told) == [
        "Measure next: nothing; no measurement is expected to save much",
        "No doubt is stated of: link latency",
    ]


def test_nothing_doubted():
    asked = MEASURE_NEXT | {"measure": None, "ranked": []}
    told = document(doubt=None, measure_next=asked)
    assert (doubt_sentence(told), share_rows(told), next_rows(told)) == ("", [], [])
    assert next_lines(told)[0] == "Measure next: nothing; none of the models states a doubt"
    few = document(doubt=None, measure_next=asked | {"doubted": True})
    assert next_lines(few)[0].endswith("one truth tells nothing of doubt; ask for more replications")
    assert not list(doubt_blocks(told))
    assert doubt_sentence(made(Explanation, {})) == ""


def test_columns_add_up_to_100():
    rows = share_rows(document())
    assert rows == [
        ["fast.json", "56 %", "20 %", "drift 40, form 16"],
        ["speed of old", "10 %", "30 %", ""],
        ["interactions and noise", "34 %", "50 %", ""],
    ]
    for shares in ([1 / 3] * 3, [0.005] * 200, [0.125] * 8, [1.0]):
        assert sum(whole_percents(shares)) == 100


def test_many_sources_are_cut_off_and_still_add_up():
    many = [source(f"s{number}", 0.05) for number in range(12)]
    rows = share_rows(document(doubt={"makespan": {"sources": many}, "gain": None}))
    assert rows[-1] == ["others, interactions and noise", "60 %", "", ""]
    assert len(rows) == 9


def test_what_measuring_brings():
    assert next_rows(document()) == [
        ["fast.json", "20 s", "0.30 %", "0.025 %"],
        ["speed of old", "5 s", "0.76 %", "0.008 %"],
    ]
    assert next_lines(document()) == [
        "Measure next: fast.json, for 20 s; expected loss 0.8 % now, 0.3 % then",
        "apportion calibrate speed --kernel dgemm -o fast-2.json",
        "No doubt is stated of: link latency",
    ]


def test_what_was_measured_again():
    one = {"source": "a.json", "model": "out/a-2.json", "seconds": 4.0, "changes": ["platform.nodes.0.x=a"]}
    takes = {"mean": 2.0, "low": 1.9, "high": 2.1}
    when = {"recommended": "joint", "partition": [3, 5], "predicted_makespan_s": takes, "expected_loss": 0.008}
    said = {"measured": [one], "before": when, "after": when | {"expected_loss": 0.003}}
    again = made(MeasuredAgain, said)
    lines = again_lines(again)
    assert lines[0] == "Measured again: a.json for 4 s; the new model is out/a-2.json"
    assert lines[1].startswith("  before joint: 3 + 5; 2")
    assert [line[-20:] for line in lines[1:3]] == ["expected loss 0.80 %", "expected loss 0.30 %"]
    assert lines[3] == "  in the scenario: platform.nodes.0.x=a"
    assert "Measured again" in str(list(doubt_blocks(document(), again)))

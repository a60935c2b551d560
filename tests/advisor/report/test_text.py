import pytest

from advisor.report.text import render_blocks
from simulator import blocks
from tests.support.rendered import render_advice, render_text
from tests.support.report_sample import sample_document

FUNCTIONAL = "Give 2961 rows to core0 and 1239 to core1"
FASTER = "1.65 (1.61 to 1.68)"


def column(text: str, name: str) -> int:
    """Where a header of a table ends."""
    line = next(line for line in text.splitlines() if line.strip().startswith("strategy") and name in line)
    return line.index(name) + len(name)


def row(text: str, start: str, occurrence: int = 0) -> str:
    return [line for line in text.splitlines() if line.strip().startswith(start)][occurrence]


def squeezed(line: str) -> str:
    return " ".join(line.split())


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({}, f"{FUNCTIONAL}: 1.66 times faster than the equal split (measured; 1.69 is the most possible)."),
        (
            {"measured_gain": None},
            f"{FUNCTIONAL}: {FASTER} times faster than the equal split (predicted; not really run).",
        ),
        (
            {"measured_gain": 0.9},
            "Keep the equal split: a real run with 2961 rows on core0 and 1239 on core1 was only 0.90 times as fast.",
        ),
        (
            {"recommended": "equal"},
            "Give 2100 rows to each of core[0-1], an equal split: no other partition is predicted to be faster.",
        ),
    ],
)
def test_the_answer_says_what_is_known(change, answer):
    lines = render_text(sample_document() | change, width=200).splitlines()
    assert lines[0] == answer


def test_machine_load_and_time_have_a_line_each():
    text = render_text(sample_document(), width=200)
    machine = "node07: AMD EPYC 9354 32-Core Processor, 2 PEs, L1 32 KiB, L2 1 MiB, L3 32 MiB, 16 GiB memory, load 0.31"
    assert row(text, "Rests on").endswith(f"budget 60 s, seed 7; {machine}")
    assert row(text, "Load").endswith("on core1, rule fair; share of it left to us: 42 % predicted, 42 % measured")
    assert row(text, "Time").endswith("2.95 s with the equal split, 1.78 s as advised; measured")


def test_unstable_points_are_counted():
    document = sample_document()
    assert "1 of 32 points not stable: " in render_text(document)
    document["kernels"][1]["points"][2] |= {"stable": False, "interval_percent": None}
    assert "2 of 32 points not stable: " in render_text(document)
    for kernel in document["kernels"]:
        for point in kernel["points"]:
            point["stable"] = True
    assert "not stable" not in render_text(document)


def test_baselines_carry_interval_gain_and_probability():
    text = render_text(sample_document())
    runs = "2.70 to 3.13 s"
    assert squeezed(row(text, "equal")) == f"equal 2100 + 2100 2.90 s (2.88 to 2.92) {runs} 1.65 (1.61 to 1.68) > 99 %"
    assert squeezed(row(text, "functional")) == "functional 2961 + 1239 1.76 s (1.75 to 1.77) 1.64 to 1.90 s - -"
    assert row(text, "constant").split()[-2:] == ["93", "%"]


def test_a_narrow_interval_gets_the_decimals_that_show_it():
    document = sample_document()
    document["baselines"][0]["predicted_makespan_s"] |= {"mean": 2.9023, "low": 2.9015, "high": 2.9031}
    assert "2.9023 s (2.9015 to 2.9031)" in row(render_text(document), "equal")


def advised(losses, **more):
    """An advice with candidates of these expected losses, the first of which is advised."""
    names = list(losses)
    ranking = [
        {"name": name, "value_s": 1 + place, "low_s": 0.9, "high_s": 1.1, "p_best": 1.0 - place, "expected_loss": loss}
        for place, (name, loss) in enumerate(losses.items())
    ]
    entries = [entry | {"name": name} for entry, name in zip(sample_document()["baselines"], names, strict=False)]
    return (
        sample_document()
        | {
            "command": "advise",
            "baselines": entries,
            "recommended": names[0],
            "ranking": ranking,
            "ties": [name for name, loss in losses.items() if loss <= 0.01],
            "measured_gain": None,
            "replications": 200,
            "truths": 20,
            "objective": "mean",
        }
        | more
    )


def test_ties_are_named_and_the_simplest_is_advised():
    losses = {"a": 0.004, "b": 0.0, "c": 0.0099, "d": 0.011}
    text = " ".join(render_advice(advised(losses), width=300).split())
    assert text.partition(". ")[0].endswith(", a tie with b and c"), "in the first sentence"
    assert "b and c are within 1 % of it: a tie; the simplest is advised, expected loss 0.4 %." in text
    assert "99 %" not in text.partition("All candidates")[2], "nobody is near certain to win a tie"
    assert squeezed(row(render_advice(advised(losses)), "a ", 1)) == "a 1.00 s (0.90 to 1.10) 0.4 % (tie) -"
    alone = render_advice(advised({"a": 0.0, "b": 0.02}))
    assert "a tie" not in alone.partition("Expected loss:")[0]
    assert squeezed(row(alone, "a ", 1)) == "a 1.00 s (0.90 to 1.10) 0 % -"
    assert "The best 2 of 4" in render_advice(advised(losses), top=2)


def test_nothing_speaks_as_if_of_the_optimum():
    text = " ".join(render_advice(advised({"a": 0.0, "b": 0.02}, regret=0.021)).split())
    assert "Best of the 2 compared, at most 3 % above what is possible." in text
    assert "what it is expected to have more than the best of those compared" in text
    assert "is best" not in text
    assert "sure" not in text
    assert "Best of the 2 compared." in " ".join(render_advice(advised({"a": 0.0, "b": 0.02})).split())
    loose = " ".join(render_advice(advised({"a": 0.0, "b": 0.02}, regret=2.0)).split())
    assert "Best of the 2 compared." in loose


NEW, OLD, BUSY = (
    {"names": names, "pes": [[place] for place in pes], "cores": 4, "speed": speed, "left": left, "why": why}
    for names, pes, speed, left, why in (
        (["new1", "new2"], (0, 1), 2e9, 1.0, ""),
        (["old1", "old2"], (2, 3), 1e9, 1.0, ""),
        (["old3"], (4,), 1e9, 0.9, "busy 5 h of 24"),
    )
)


def by_kind(units, kinds=(NEW, OLD, BUSY)):
    """The first words of an advice that gives processes of each PE these units."""
    placed = [(pe, part) for pe, parts in enumerate(units) for part in parts]
    document = advised({"a": 0.0, "b": 0.02}, kinds=list(kinds), pes=["new1", "new2", "old1", "old2", "old3"])
    document["baselines"][0] |= {"placement": [pe for pe, _ in placed], "partition": [part for _, part in placed]}
    return " ".join(render_advice(document).split())


@pytest.mark.parametrize(
    ("units", "said", "why"),
    [
        (
            [[337] * 4, [337] * 4, [166] * 4, [166] * 4, [87] * 4],
            "337 rows to each core of new[1-2], 166 of old[1-2] and 87 of old3",
            "old3 gets less since it is busy 5 h of 24",
        ),
        (
            [[351, 367, 367, 351], [360] * 4, [183] * 4, [183, 184, 184, 183], []],
            "351 to 367 rows to each core of new[1-2], 183 to 184 of old[1-2] and none to old3",
            "old3 gets none since it is busy 5 h of 24",
        ),
        (
            [[300] * 4, [400] * 3, [150] * 4, [], [150] * 4],
            (
                "300 rows to each core of new1, 400 to each of 3 processes on new2, 150 to each core of old1 and old3 "
                "and none to old2"
            ),
            "",
        ),
    ],
)
def test_the_answer_speaks_by_kind_of_node(units, said, why):
    text = by_kind(units)
    assert text.startswith(f"Give {said}: ")
    assert (why in text) if why else (" since " not in text)


def test_a_cause_is_said_of_kinds_that_get_less_than_by_their_speed_alone():
    fast = [NEW | {"why": "linked 9.8 times slower"}, OLD, BUSY | {"why": ""}]
    text = by_kind([[160] * 4, [160] * 4, [150] * 4, [150] * 4, [150] * 4], fast)
    assert "Best of the 2 compared; new[1-2] get less since they are linked 9.8 times slower." in text
    assert " since " not in by_kind([[300] * 4, [300] * 4, [150] * 4, [150] * 4, [150] * 4], fast)
    assert " since " not in by_kind([[150] * 4] * 5, fast), "equal units are what they are by rule"


def test_many_kinds_are_summed_up():
    names = [f"n{place}x" for place in range(5)]
    kinds = [NEW | {"names": [name], "pes": [[place]]} for place, name in enumerate(names)]
    more = [NEW | {"names": [f"m{place}"], "pes": [[5 + place]]} for place in range(3)]
    document = advised({"a": 0.0, "b": 0.02}, kinds=[*kinds, *more], pes=[*names, "m0", "m1", "m2"])
    placement, partition = [pe for pe in range(8) for _ in range(4)], [100 + pe for pe in range(8) for _ in range(4)]
    document["baselines"][0] |= {"placement": placement, "partition": partition}
    text = render_advice(document, width=300)
    assert text.startswith("Give 100 to 107 rows to each core of n[0-4]x and m[0-2]: ")
    document["baselines"][0] |= {"placement": placement[1:], "partition": partition[1:]}
    assert render_advice(document, width=300).startswith(
        "Give 100 to 107 rows to each of 31 processes on n[0-4]x and m["
    )


def test_a_line_says_what_the_intervals_are():
    told = "90 % intervals of the true mean: noise and what is not known of the models included"
    assert f"{told}; 20 truths x 10 replications" in " ".join(render_advice(advised({"a": 0.0, "b": 0.1})).split())
    other = advised({"a": 0.0, "b": 0.1}, level=0.95, truths=None)
    assert (
        "95 % intervals of the true mean: noise included, nothing of the models is said to be unknown; 200 replications"
        in " ".join(render_advice(other).split())
    )
    assert "intervals" not in render_advice(advised({"a": 0.0, "b": 0.1}, deterministic=True))
    assert "intervals" not in render_advice(advised({"a": 0.0, "b": 0.1}, replications=1, truths=1))


def test_a_gain_that_may_be_none_is_not_promised():
    document = advised({"functional": 0.0, "equal": 0.1})
    document["baselines"][1] |= {"name": "equal", "gain_of_recommended": {"mean": 1.02, "low": 0.97, "high": 1.06}}
    document["baselines"][0] |= {"name": "functional"}
    told = " ".join(render_advice(document).split())
    assert "1.02 (0.97 to 1.06) times faster than the equal split, so perhaps not at all (predicted" in told


def test_predicted_and_measured_stand_side_by_side_with_the_error():
    text = render_text(sample_document())
    assert squeezed(row(text, "equal", 1)) == "equal 2.9 s 2.95 s 2.86 to 3.10 s 7 -1.7 %"
    assert squeezed(row(text, "functional", 1)) == "functional 1.76 s 1.78 s 1.72 to 1.87 s 7 -1.0 %"


@pytest.mark.parametrize("width", [80, 100, 132])
def test_no_line_is_wider_than_the_terminal(width):
    document = sample_document()
    document["warnings"] *= 2
    document["warnings"][0] += ", and stop every other program that you can find on this machine" * 2
    lines = render_text(document, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) > width - 25


def test_it_is_plain_ascii_without_escape_sequences_or_trailing_blanks():
    text = render_text(sample_document() | {"warnings": ["\x1b[31mred\x1b[0m\nand\x07 more"]})
    assert text.isascii()
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "Warning   [31mred [0m and  more" in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_columns_that_do_not_fit_stand_below():
    rows = [["equal, one-per-pe", "1872 + 1872", "2.08 s (1.64 to 2.67)"], ["joint", "2000 + 1744", "1.90 s"]]
    table = blocks.table("Predicted", ["strategy", "rows", "mean"], rows)
    wide, narrow = (render_blocks([table], width=width).splitlines() for width in (120, 45))
    assert [len(wide), len(narrow)] == [4, 7]
    assert [line.split()[0] for line in narrow] == ["Predicted", *["strategy", "equal,", "joint"] * 2]
    assert narrow[5].endswith("2.08 s (1.64 to 2.67)")
    assert max(map(len, narrow)) <= 45

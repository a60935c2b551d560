import pytest

from simulator import units
from simulator.errors import ScenarioError


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("50us", units.DURATION, 5e-5),
        (" 1.5 s ", units.DURATION, 1.5),
        ("10min", units.DURATION, 600.0),
        ("64KiB", units.SIZE, 65536.0),
        ("4MiB", units.SIZE, 4 * 2**20),
        ("1Gbit/s", units.BANDWIDTH, 1.25e8),
        ("10 GB/s", units.BANDWIDTH, 1e10),
        ("2.5Gflop/s", units.SPEED, 2.5e9),
        ("5%", units.SHARE, 0.05),
        ("0.05", units.SHARE, 0.05),
    ],
)
def test_reads_what_people_write(text, kind, value):
    assert units.parse(text, kind, field="x") == value


@pytest.mark.parametrize("text", ["60", "soon", "", "1e400s", "5 MB", "s", "1s2s", "nan s", None, 61])
def test_refuses_anything_else_as_a_duration(text):
    with pytest.raises(ScenarioError, match=r"^--budget: .* found, "):
        units.parse_duration(text, field="--budget")


@pytest.mark.parametrize("text", ["0s", "-1s"])
def test_a_duration_is_above_zero(text):
    with pytest.raises(ScenarioError, match="above zero"):
        units.parse_duration(text, field="--budget")


def test_shows_with_the_unit_that_reads_best():
    assert units.show_duration(2.4567) == "2.46 s"
    assert units.show_duration(3.1e-4) == "310 us"
    assert units.show_size(32 * 2**20) == "32 MiB"
    assert units.show_rate(62.5e9, "flop/s") == "62.5 Gflop/s"
    assert units.show_duration(0) == "0 s"
    assert units.show_duration(1234.5) == "1230 s"
    assert units.show_size(1023 * 2**10) == "1020 KiB"


@pytest.mark.parametrize("text", ["1_0", "١٢", "１２", "²", "", "x", "1 0", "0x10", "--1"])
def test_only_plain_digits_make_a_number(text):
    assert units.to_number(text) is None
    assert units.to_whole(text) is None
    with pytest.raises(ScenarioError):
        units.parse(f"{text}s", units.DURATION, field="f")


def test_plain_digits_make_a_number():
    assert [units.to_number(text) for text in ("10", "-1.5e3", ".5", " 7 ")] == [10, -1500, 0.5, 7]
    assert [units.to_whole(text) for text in ("10", "007", "9" * 18)] == [10, 7, 10**18 - 1]
    assert [units.to_whole(text) for text in ("-1", "1.5", "9" * 19, "9" * 5000)] == [None] * 4

import time
from decimal import Decimal

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


@pytest.mark.parametrize(
    "text",
    [
        *("1e999999min", "-1e999999s", "1e308d", f"1e{'9' * 10**6}s", f"{'9' * 10**6}s", f"0.{'9' * 10**6}s"),
        *(f"1{' x ' * 10**5}s", f"1{' ' * 10**6}s", "9" * 10**6),
    ],
)
def test_numbers_beyond_a_double_or_a_line_are_refused_with_the_limit(text):
    began_s = time.process_time()
    with pytest.raises(ScenarioError, match=r"at most 1000 letters allowed$") as caught:
        units.parse(text, units.DURATION, field="--duration")
    assert time.process_time() - began_s < 0.5
    assert len(caught.value.lines[0]) < 200


@pytest.mark.parametrize(
    ("text", "number"),
    [("0e999999", 0), ("1e-999999", 0), ("1.50", Decimal("1.5")), ("9" * 308, 10**308 - 1), ("1e308", 10**308)],
)
def test_exact_keeps_every_digit_and_takes_what_a_double_takes_for_zero_as_zero(text, number):
    assert units.exact(text) == number
    assert units.amount(f"{text} kB") == (number, "kB")


@pytest.mark.parametrize("text", ["1e309", "-1e999999", "9" * 1001, "1 s", "x", "", "\u0661", "1_0", "nan", "inf"])
def test_exact_of_what_is_no_number(text):
    assert units.exact(text) is None


def test_sizes_fit_64_bits():
    assert units.parse("4194304TiB", units.SIZE, field="memory") == units.MOST_BYTES
    with pytest.raises(ScenarioError, match="at most 4 EiB allowed"):
        units.parse("4194305TiB", units.SIZE, field="memory")


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

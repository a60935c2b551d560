from decimal import Decimal

import pytest

from simulator import units
from simulator.base.errors import ScenarioError
from tests.support.yardstick import at_most


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
    with pytest.raises(ScenarioError, match=r"^--budget: .* is (no duration|too large)"):
        units.parse_duration(text, field="--budget")


@pytest.mark.parametrize(
    "text",
    [
        *("1e999999min", "-1e999999s", "1e308d", f"1e{'9' * 10**6}s", f"{'9' * 10**6}s", f"0.{'9' * 10**6}s"),
        *(f"1{' x ' * 10**5}s", f"1{' ' * 10**6}s", "9" * 10**6),
    ],
)
def test_numbers_beyond_a_double_or_a_line_are_refused_with_the_limit(text):
    with at_most(12), pytest.raises(ScenarioError, match=r"at most 1000 letters$") as caught:
        units.parse(text, units.DURATION, field="--duration")
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
    with pytest.raises(ScenarioError, match="memory: '4194305TiB' is too large; write at most 4 EiB"):
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
    assert units.show_duration(9.2e-13) == "0 s"  # what rounding leaves of a mean, and was shown as 0.00092 ns
    assert units.show_duration(-9.2e-13) == "0 s"
    assert units.show_duration(2e-12) == "0.002 ns"
    assert units.show_size(1023 * 2**10) == "1020 KiB"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (99.94, "99.9 s"),
        (99.96, "1 min 40 s"),
        (-1234.5, "-20 min 34 s"),
        (15928.7185, "4 h 25 min"),
        (86_400 - 20, "1 d"),
        (2.5 * 86_400, "2 d 12 h"),
    ],
)
def test_long_times_have_two_units(seconds, text):
    assert units.show_duration(seconds) == text


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ((15_929.0, 13_000.0, 18_000.0), "4.42 h (3.61 to 5.00)"),
        ((15_929.0,), "4 h 25 min"),
        ((200.0, 190.0, 230.0), "3.33 min (3.17 to 3.83)"),
        ((1486.0, 534.0, 8347.0), "24.8 min (8.9 to 139.1)"),
        ((96 * 3600.0, 86_400.0, 10 * 86_400.0), "4.00 d (1.00 to 10.00)"),
    ],
)
def test_long_times_with_their_interval_have_one_unit(stated, text):
    assert units.show_interval(*stated) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1 B"), (2**10, "1 KiB"), (2**20, "1 MiB"), (2**30, "1 GiB"), (2**40, "1 TiB")]
)
def test_a_size_is_shown_in_the_largest_unit_that_it_reaches(value, text):
    unit = text.split()[1]
    smaller = {"B": "B", "KiB": "B", "MiB": "KiB", "GiB": "MiB", "TiB": "GiB"}[unit]
    assert units.show_size(value) == text
    assert units.show_size(1.5 * value) == f"1.5 {unit}"
    assert units.show_size(0.75 * value, digits=4) == ("0.75 B" if unit == "B" else f"768 {smaller}")
    assert units.parse(units.show_size(value), units.SIZE, field="x") == value


@pytest.mark.parametrize("unit", ["b", "kb", "Gb", "Mib", "bit", "Gbit", "Kibit"])
def test_bits_are_no_size(unit):
    """An eighth of what the letter beside it says: `16Gb` was read as 2 GB."""
    meant = unit.replace("bit", "b").replace("b", "B")
    assert units.parse(f"16 {meant}", units.SIZE, field="x") > 0
    with pytest.raises(ScenarioError, match=rf"^memory: '16 {unit}' is in bits; write 16{meant}$"):
        units.parse(f"16 {unit}", units.SIZE, field="memory")
    eighth = units.parse(f"16{meant}/s", units.BANDWIDTH, field="x") / 8
    assert units.parse(f"16{unit}/s", units.BANDWIDTH, field="x") == eighth


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


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((1.23, 1.1, 1.4), "1.23 s (1.10 to 1.40)"),
        ((0.00123, 0.0011, 0.0014), "1.23 ms (1.10 to 1.40)"),
        ((0.9996, 0.9, 1.1), "1.00 s (0.90 to 1.10)"),
        ((1.2345, 1.2344, 1.2346), "1.2345 s (1.2344 to 1.2346)"),
        ((1.0, 1.0, 1.0), "1.00 s"),
        ((1.0, 1 - 1e-12, 1 + 1e-12), "1.00 s"),
        ((1.0, None, None), "1.00 s"),
        ((1.0, float("nan"), float("nan")), "1.00 s"),
        ((None,), "-"),
        ((float("nan"), 1.0, 2.0), "-"),
    ],
)
def test_an_interval_stands_behind_its_value(given, text):
    assert units.show_interval(*given) == text


def test_an_interval_of_other_units_and_with_signs():
    assert units.show_interval(1.5, 1.38, 1.66, unit="") == "1.50 (1.38 to 1.66)"
    assert units.show_interval(0.0012, 0.0011, 0.0014, unit="") == "0.00120 (0.00110 to 0.00140)"
    assert units.show_interval(0.031, -0.012, 0.05, unit="%", signed=True) == "+3.10 % (-1.20 to +5.00)"
    assert units.show_interval(-1e-9, -0.1, 0.1, signed=True) == "0 ms (-100 to +100)"


def test_a_range_has_one_unit():
    assert units.show_range(990e-6, 1.2e-3) == "0.99 to 1.20 ms"
    assert units.show_range(1.1, 1.4, unit="") == "1.10 to 1.40"
    assert units.show_range(2.0, 2.0) == "2.00 s"
    assert units.show_range(None, 1.0) == "-"

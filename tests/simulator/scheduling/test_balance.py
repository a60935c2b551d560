"""Repartition between iterations: C and Python decide alike, units are conserved, and moving pays where it should."""

import heapq
import math
import re
import subprocess
import sys
import types

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.base.randomness import stream
from simulator.scheduling import balance, repartition
from simulator.scheduling.balance import Balancer, Band, Rule, begin, decide, restore, save
from tests.support.balance_c import COMPILER, InC, compiled

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler (cc)")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("balance"))


# Recorded sequences


def speeds_of(rng, processes):
    """None, numbers, or bands of up to five points whose times ascend."""
    kind = int(rng.integers(3))
    if kind == 0:
        return None
    if kind == 1:
        return rng.uniform(0.2, 5, processes).tolist()
    bands = []
    for _ in range(processes):
        points = int(rng.integers(1, 6))
        sizes = np.cumsum(rng.uniform(1, 300, points))
        speeds = sizes / np.cumsum(rng.uniform(1, 300, points)) * rng.uniform(0.5, 2)
        width = rng.uniform(0, 0.2)
        bands.append(Band(sizes.tolist(), (speeds * (1 - width)).tolist(), (speeds * (1 + width)).tolist()))
    return bands


def rule_of(rng):
    small = [0.0, float(rng.uniform(0, 1))]
    return Rule(
        when=("every", "threshold", "gain", "gain", "gain")[rng.integers(5)],
        every=int(rng.integers(1, 4)),
        threshold=float(rng.uniform(0, 0.5)),
        fixed_s=small[rng.integers(2)],
        message_s=small[rng.integers(2)] / 100,
        unit_s=small[rng.integers(2)] / 1000,
        contiguous=bool(rng.integers(2)),
        least=int(rng.integers(0, 3)),
        patience_s=small[rng.integers(2)] * 50,
        calls=int(rng.integers(2)) * 20,
        caution=[0.0, 1.0][rng.integers(2)],
    )


def sequence(number, calls=15):
    """A state to begin with, and times as a function of units, call by call: changes of level, noise, missing PEs."""
    rng = stream(26, "sequence", number)
    processes = round(2 * 64 ** float(rng.uniform(0, 1)))
    rule = rule_of(rng)
    units = int(rng.integers(3, 500)) * processes
    most = rng.integers(units // processes + 5, units + 6, processes).tolist() if rng.integers(2) else None
    state = begin(units, processes, speeds=speeds_of(rng, processes), most=most, rule=rule)
    levels = rng.uniform(0.5, 3, processes)
    noise = float(rng.uniform(0, 0.1))
    steps = []
    for _ in range(calls):
        changed = rng.uniform(size=processes) < 0.1
        levels = np.where(changed, rng.uniform(0.5, 3, processes), levels)
        per_unit = levels * np.maximum(1 + noise * rng.standard_normal(processes), 0.1)
        steps.append((per_unit, rng.uniform(size=processes) < (0.01 if rng.integers(3) == 0 else 0.0)))
    return state, steps


def times_of(step, units):
    per_unit, missing = step
    return [
        math.inf if gone else float(time) * count for time, gone, count in zip(per_unit, missing, units, strict=True)
    ]


@needs_compiler
def test_c_and_python_decide_alike_on_recorded_sequences(library):
    """Units, outlooks and all that is remembered, bit for bit; states go over from Python at the begin and half-way."""
    seen = {"moves": 0, "stays": 0, "left out": 0, "faults": 0}
    for number in range(80):
        state, steps = sequence(number, calls=80 if number % 20 == 0 else 15)
        other = InC.restore(library, save(state))
        assert other.save() == save(state)
        for at, step in enumerate(steps):
            times = times_of(step, state.units)
            try:
                state, units = decide(state, times)
            except ScenarioError as error:
                said = error.lines[0]
            else:
                said = ""
            if said:
                assert said == library.apportion_fault(other.update(times)).decode()
                seen["faults"] += 1
                break
            assert other.update(times) == (None if units is None else list(units))
            seen["moves" if units else "stays"] += 1
            if at == 7:
                other = InC.restore(library, save(state))
        assert other.save() == save(state)
        assert tuple(other.outlook) == tuple(vars(state.outlook).values())
        seen["left out"] += len(state.left_out)
        assert other.left_out == list(state.left_out)
    assert min(seen.values()) > 0, seen


@needs_compiler
def test_c_begins_as_python_does(library):
    for number in range(60):
        rng = stream(27, "begin", number)
        processes, rule = int(rng.integers(1, 40)), rule_of(rng)
        units = int(rng.integers(3, 100)) * processes
        speeds = rng.uniform(0.1, 9, processes).tolist() if rng.integers(2) else None
        state = begin(units, processes, speeds=speeds, rule=rule)
        assert InC.begin(library, units, processes, speeds=speeds, rule=rule).save() == save(state)


@needs_compiler
@pytest.mark.parametrize(
    "options",
    [
        {"units": 3, "processes": 4},
        {"units": 0, "processes": 1},
        {"units": 9, "processes": 2, "speeds": [1.0, 0.0]},
        {"units": 9, "processes": 2, "speeds": [1.0, math.nan]},
        {"units": 9, "processes": 2, "most": [4, 4]},
    ],
)
def test_c_refuses_what_python_refuses(library, options):
    with pytest.raises(ScenarioError):
        begin(**options)
    with pytest.raises(ValueError, match="refused"):
        InC.begin(library, **options)


@needs_compiler
def test_c_refuses_damaged_texts_and_times(library):
    text = save(begin(100, 3))
    for damaged in damaged_texts(text):
        with pytest.raises(ValueError, match="refused"):
            InC.restore(library, damaged)
    other = InC.restore(library, text)
    assert [other.update(times) for times in ([1, 0, 1], [1, math.nan, 1], [1, -1, 1])] == [-3, -3, -3]
    assert other.save() == text
    assert library.apportion_fault(-3).decode().startswith("times: one is no time")


def damaged_texts(text):
    yield ""
    yield "{}"
    yield text[:-1]
    yield text[: len(text) // 2]
    yield text.replace('"apportion_balance": 1', '"apportion_balance": 2')
    yield text.replace('"processes": 3', '"processes": 4')
    yield text.replace('"units": "34 33 33"', '"units": "34 33"')
    yield text.replace('"units": "34 33 33"', '"units": "34 33 -3"')
    yield text.replace('"units": "34 33 33"', '"units": "0 0 0"')
    yield text.replace('"first": "0 1 2 3"', '"first": "0 2 1 3"')
    yield text.replace('"rule": "0x1.0', '"rule": "0x1.8')
    yield re.sub(r'"memory": "\S+', '"memory": "nan', text)
    yield re.sub(r'("memory": "\S+ \S+) \S+', r"\1 inf", text)
    yield re.sub(r'"speeds": "\S+', '"speeds": "-0x1.0000000000000p+0', text)


KERNELS = ["curve_at", "units_within", "learn", "nominal_of", "end_of", "hear", "stand", "is_due", "suppose", "fill"]
KERNELS += ["turn", "settle", "divide", "cost_of", "pays", "decide_units"]


@pytest.mark.slow
def test_numba_decides_alike():
    """The compiled engine can take these functions as they stand, each bound to those that it calls."""
    numba = pytest.importorskip("numba")
    made = dict(vars(repartition))
    for name in KERNELS:
        made[name] = numba.njit(types.FunctionType(getattr(repartition, name).__code__, made, name))
    for number in range(60):
        state, steps = sequence(number)
        for step in steps:
            times = times_of(step, state.units)
            book = balance._open(state, balance._times(state, times))
            fields = [np.array(part, np.int64 if isinstance(part[0], int) else np.float64) for part in book]
            compiled_book = repartition.Book(*fields)
            found = made["decide_units"](compiled_book)
            try:
                state, units = decide(state, times)
            except ScenarioError:
                assert found < 0
                break
            assert found == (units is not None)
            assert compiled_book.memory.tolist() == list(state.memory)
            assert compiled_book.most.tolist() == list(state.most)
            assert units is None or compiled_book.found.tolist() == list(units)


# What is decided


def first_to_end(units, time_of, least, most):
    """The units that end first, ties to the lower number: an oracle that hands them out one by one."""
    given = list(least)
    heap = [(time_of(p, given[p] + 1), p) for p in range(len(given)) if given[p] < most[p]]
    heapq.heapify(heap)
    for _ in range(units - sum(given)):
        _, p = heapq.heappop(heap)
        given[p] += 1
        if given[p] < most[p]:
            heapq.heappush(heap, (time_of(p, given[p] + 1), p))
    return given


@pytest.mark.parametrize("number", range(15))
def test_units_are_divided_as_an_oracle_hands_them_out(number):
    rng = stream(28, "divide", number)
    processes = int(rng.integers(1, 12))
    units = int(rng.integers(processes, 2000))
    bands = [band for band in [speeds_of(rng, processes)] if band and isinstance(band[0], Band)]
    bands = bands[0] if bands else [Band([0.0], [s], [s]) for s in rng.uniform(0.1, 5, processes).tolist()]
    most = rng.integers(units // processes + 1, units + 2, processes).tolist()

    def time_of(p, count):
        return count / float(np.interp(count, bands[p].units, bands[p].speeds))

    found = list(begin(units, speeds=bands, most=most).units)
    wanted = first_to_end(units, time_of, [1] * processes, most)
    assert sum(found) == units
    ends = [max(time_of(p, count) for p, count in enumerate(each)) for each in (found, wanted)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)
    assert found == wanted or sum(abs(a - b) for a, b in zip(found, wanted, strict=True)) <= 2  # rounding of a tie


@pytest.mark.parametrize(("units", "processes"), [(10, 4), (11, 4), (1000, 128), (1088, 128)])
def test_ties_go_to_the_process_with_the_lower_number(units, processes):
    more = units % processes
    assert list(begin(units, processes).units) == [units // processes + (p < more) for p in range(processes)]


def test_a_restored_balancer_goes_on_as_if_nothing_had_been():
    one = Balancer(1000, 4, speeds=[1, 2, Band([10, 400], [1, 0.5], [1.5, 0.9]), 1], rule=Rule(unit_s=1e-4))
    rng = stream(29, "restored")
    for call in range(30):
        times = [
            float(units * rng.uniform(0.9, 1.1) * (3 if call > 15 and p == 1 else 1))
            for p, units in enumerate(one.units)
        ]
        other = Balancer.restore(one.save())
        assert other.update(times) == one.update(times)
        assert other.state == one.state
        assert restore(save(one.state)) == one.state


def feed(balancer, per_unit, calls=1, noise=None):
    """The units after so many calls of the same times per unit, with 2 % noise if a generator is given."""
    for _ in range(calls):
        factors = [1.0] * len(per_unit) if noise is None else 1 + 0.02 * noise.standard_normal(len(per_unit))
        parts = zip(per_unit, balancer.units, factors, strict=True)
        balancer.update([time * units * float(factor) for time, units, factor in parts])
    return balancer.units


def test_a_level_that_stays_is_followed_after_two_calls():
    balancer, noise = Balancer(300, 2), stream(31, "noise")
    assert feed(balancer, [1.0, 1.0], 40, noise) == [150, 150]
    assert feed(balancer, [1.0, 2.0], 2, noise)[0] == pytest.approx(200, abs=10)
    assert feed(balancer, [1.0, 1.0], 3, noise)[0] == pytest.approx(150, abs=10)


def test_a_deviation_that_comes_and_goes_is_not_followed():
    balancer, noise = Balancer(300, 2), stream(32, "noise")
    feed(balancer, [1.0, 1.0], 9, noise)
    for _ in range(30):
        feed(balancer, [1.0, 3.0], 1, noise)
        assert feed(balancer, [1.0, 1.0], 9, noise)[0] == pytest.approx(160, abs=15)  # 150 to 165 is best in the mean


def test_dear_moves_wait_until_they_pay():
    """The gain is 0.5 s a call at most: 20 s are worth 40 calls, so levels must have lasted that long."""
    moved = {}
    for cost in (0.1, 20.0):
        balancer = Balancer(300, 2, rule=Rule(fixed_s=cost))
        moved[cost] = next(n for n in range(1, 400) if feed(balancer, [1e-2, 2e-2]) != [150, 150])
    assert moved[0.1] == 1
    assert 15 < moved[20.0] < 100


def test_nothing_is_moved_for_calls_that_there_will_not_be():
    balancer = Balancer(300, 2, rule=Rule(fixed_s=5.0, calls=9))
    assert feed(balancer, [1e-2, 2e-2], 9) == [150, 150]
    assert feed(Balancer(300, 2, rule=Rule(fixed_s=5.0, calls=900)), [1e-2, 2e-2], 30) != [150, 150]


def test_a_threshold_and_every_do_what_they_say():
    mild = [1.0, 1.1]
    assert feed(Balancer(300, 2, rule=Rule(when="threshold", threshold=0.1)), mild) == [150, 150]
    assert feed(Balancer(300, 2, rule=Rule(when="threshold", threshold=0.04)), mild) != [150, 150]
    rule = Rule(when="every", every=3, fixed_s=1e6)
    assert feed(Balancer(300, 2, rule=rule), mild, 2) == [150, 150]
    assert feed(Balancer(300, 2, rule=rule), mild, 3) != [150, 150]


@pytest.mark.parametrize(("contiguous", "cost"), [(True, 3 + 2 * 0.5 + 60 * 0.1), (False, 3 + 0.5 + 40 * 0.1)])
def test_units_cross_boundaries_or_go_to_their_owner(contiguous, cost):
    """From 100, 100, 100 to 120, 120, 60: across the first boundary 20 go, across the second 40; so the middle 60."""
    rule = Rule(when="every", fixed_s=3, message_s=0.5, unit_s=0.1, contiguous=contiguous)
    balancer = Balancer(300, 3, rule=rule)
    assert feed(balancer, [1.0, 1.0, 2.0]) == [120, 120, 60]
    assert balancer.state.outlook.cost_s == pytest.approx(cost)


def test_what_a_band_leaves_open_is_doubt():
    doubts = []
    for half in (0.0, 0.3):
        band = Band([1.0, 1000.0], [1 - half, 1 - half], [1 + half, 1 + half])
        balancer = Balancer(300, speeds=[band, band])
        feed(balancer, [1.0, 2.0])
        doubts.append(balancer.state.outlook.doubt_s)
    assert doubts[1] > 1.02 * doubts[0] > 0


def test_who_never_answers_is_left_out_after_the_stated_time():
    balancer = Balancer(300, 3, rule=Rule(patience_s=200.0))
    assert balancer.update([100.0, 100.0, None]) is None
    assert balancer.update([100.0, 100.0, math.inf]) is None
    assert balancer.left_out == []
    assert balancer.update([100.0, 100.0, None]) == [150, 150, 0]
    assert balancer.left_out == [2]
    assert balancer.update([150.0, 150.0, 5.0]) is None
    assert balancer.starts == [0, 150, 300, 300]


def test_who_has_no_units_gets_some_again_as_levels_change():
    balancer = Balancer(10, 2, rule=Rule(least=0))
    feed(balancer, [1.0, 1.0], 200)
    feed(balancer, [1.0, 100.0], 3)
    assert balancer.units == [10, 0]
    feed(balancer, [1.0, 1.0], 600)
    assert balancer.units[1] > 0


# Bad input


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, 1.0], "times: there are 2; give one for each of the 3 processes"),
        ([1.0, 0.0, 1.0], "times: process 1 has 0 s; give the seconds that it computed, above 0"),
        ([1.0, "1", 1.0], "times: process 1 has '1'; give seconds, or None where it did not answer"),
        ([None, None, None], "times: no process answered"),
    ],
)
def test_bad_times_are_one_clear_error_and_change_nothing(times, message):
    balancer = Balancer(300, 3)
    before = balancer.state
    with pytest.raises(ScenarioError, match=re.escape(message)) as caught:
        balancer.update(times)
    assert len(caught.value.lines) == 1
    assert balancer.state == before


def test_those_left_must_hold_all_units():
    balancer = Balancer(300, 3, most=[100, 100, 150])
    with pytest.raises(ScenarioError, match="cannot hold all units"):
        balancer.update([1.0, 1.0, None])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": 2, "processes": 3}, "units: give whole numbers"),
        ({"units": [1, 2], "processes": 3}, "processes: 2, 3 do not agree"),
        ({"units": 9}, "processes: give how many there are"),
        ({"units": 9, "speeds": [1, 0]}, "speeds: process 1 has 0; give a number above 0, or a band"),
        ({"units": 9, "most": [4, 4]}, "most: give whole numbers of at least 1 that hold all 9 units"),
        ({"units": [8, 1], "most": [7, 7]}, "units: a process has more than most says"),
    ],
)
def test_bad_beginnings_are_refused(options, message):
    with pytest.raises(ScenarioError, match=re.escape(message)):
        Balancer(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"when": "gains"}, "rule: there is no 'gains'; take every, threshold, gain; did you mean gain?"),
        ({"every": 0}, "rule: every is 0; give a whole number from 1"),
        ({"unit_s": math.nan}, "rule: unit_s is nan; give a number from 0"),
        ({"contiguous": 1}, "rule: contiguous is 1; give True or False"),
    ],
)
def test_bad_rules_are_refused(options, message):
    with pytest.raises(ScenarioError, match=re.escape(message)):
        Rule(**options)


@pytest.mark.parametrize(
    ("units", "low", "high", "message"),
    [
        ([], [], [], "band: units, low and high differ in length or are empty"),
        ([2, 1], [1, 1], [1, 1], "band: units do not ascend"),
        ([1, 2], [1, 2.1], [1, 2.1], "band: more units would take less time"),
        ([1], [2], [1], "band: a lower speed is not above 0 or is above the upper one"),
        ([1], [math.nan], [1], "band: low holds what is no number"),
    ],
)
def test_bad_bands_are_refused(units, low, high, message):
    with pytest.raises(ScenarioError, match=re.escape(message)):
        Band(units, low, high)


def test_damaged_texts_are_refused():
    for damaged in damaged_texts(save(begin(100, 3))):
        with pytest.raises(ScenarioError, match=r"^(balance|band|rule): "):
            restore(damaged)


def test_it_loads_no_heavy_library():
    code = "import sys, apportion.balance; print(sorted({'numpy', 'numba', 'pandas', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

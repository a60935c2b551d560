"""Apex-MAP's accesses, sweeps and their files: against definitions, brute force and real processes."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import ScenarioError
from simulator.base import machine
from simulator.base.randomness import stream
from simulator.calibration import make_sweep, measure_sweep, write_sweep_table
from simulator.calibration.apex.plan import Cell
from simulator.calibration.apex.sweep import Visit, Visits
from simulator.calibration.kernels import apexmap as access
from simulator.models.memory.file import read_memory_times

HERE = machine.this_machine()


def sweep(**changed):
    return replace(make_sweep(HERE, **{"max_memory": "64KiB"} | changed), alphas=(0.1, 1.0), lengths=(1, 16))


def silent(stage, share):
    assert stage
    assert share >= 0


@pytest.mark.parametrize("alpha", [0.01, 0.25, 1.0])
def test_starts_crowd_as_alpha_says(alpha):
    words, length = 100_000, 7
    at = access.place_starts(stream(1, "test").random(200_000), words, length, alpha)
    assert at.min() >= 0
    assert at.max() <= words - length
    for share in (0.001, 0.1, 0.5):
        assert np.mean(at < share * (words - length + 1)) == pytest.approx(share**alpha, abs=0.005)


def test_no_stretch_passes_the_end():
    last = np.array([np.nextafter(1.0, 0.0)])
    for words in (3, 513, 1000, 2**29 - 1, 2**29 + 1, 2**40 + 3):
        for alpha in (0.001, 0.9, 1.0):
            assert access.place_starts(last, words, 2, alpha)[0] <= words - 2


@pytest.mark.parametrize(("words", "first"), [(1, 0), (100, 5), (200_000, 123_456)])
def test_sums_are_known(words, first):
    filled = np.empty(words)
    access.fill(filled, first=first)
    assert np.array_equal(filled, (first + np.arange(words)) % 13)
    at = np.sort(stream(2, words).integers(0, words, 50))
    expected = sum((k % 13) for start in at.tolist() for k in range(start, start + 9))
    assert access.expected_sum(at, 9) == expected


def test_the_compiled_loop_adds_what_is_read():
    words = np.empty(5000)
    access.fill(words)
    at = access.place_starts(stream(3, "loop").random(300), words.size, 21, 0.5)
    assert access.reader()(words, at, 21) == access.expected_sum(at, 21)
    words[int(at[7])] += 1.0
    assert access.reader()(words, at, 21) > access.expected_sum(at, 21)


def test_a_visit_reads_enough_and_draws_little():
    for m_words in (2**10, 2**20, 2**30):
        for length in (1, 16, 4096):
            cell = Cell(m_words, 0.5, length)
            assert cell.stretches * 8 <= 64 * 1024
            assert cell.stretches * length >= 2**13
            assert cell.repeats == 1 or cell.stretches * length >= m_words


@pytest.mark.real
def test_a_sweep_goes_on_where_it_was_and_visits_every_cell_equally(tmp_path):
    plan, store = sweep(), tmp_path / "visits"
    earlier = [Visit(number, cell, 0.01, 1.0, 0) for number, cell in [*((0, k) for k in range(16)), (1, 3), (1, 9)]]
    visits = Visits(store, Visit, name="apexmap", subject=plan.subject, machine=HERE)
    with visits.journal:
        for visit in earlier:
            visits.keep(visit)
    first = measure_sweep(plan, machine=HERE, budget_s=60.0, store=store, on_progress=silent, most_passes=3)
    assert [cell.cell for cell in first.cells] == list(plan.cells)
    assert len(plan.cells) == 16
    assert all(len(cell.visits) == 3 for cell in first.cells)
    assert first.reused == 18
    assert [cell.visits.count(1.0) for cell in first.cells] == [2 if k in {3, 9} else 1 for k in range(16)]
    assert all(1e-11 < min(cell.visits) < 1e-5 for cell in first.cells)
    again = measure_sweep(plan, machine=HERE, budget_s=60.0, store=store, on_progress=silent, most_passes=3)
    assert (again.reused, again.visits, again.spent_s) == (first.visits, first.visits, pytest.approx(first.spent_s))
    assert again.cells == first.cells
    write_sweep_table(first.cells, tmp_path / "t.csv")
    times = read_memory_times(tmp_path / "t.csv")
    assert np.array_equal(times.m_words, [cell.m_words for cell in plan.cells])
    assert np.allclose(times.time_s, first.columns["time_per_word_s"], rtol=1e-9)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"max_memory": "900TiB"}, "--max-memory is 900 TiB; give 32 KiB to the "),
        ({"max_memory": "64"}, "--max-memory: '64' is no size"),
        ({"cpu": 9999}, "--cpu is 9999; name one of "),
    ],
)
def test_bad_options(changed, found):
    with pytest.raises(ScenarioError, match=found) as refused:
        sweep(**changed)
    assert len(refused.value.lines) == 1

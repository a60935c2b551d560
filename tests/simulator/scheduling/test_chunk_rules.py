"""Chunk rules alone: published sequences, adaptive ones by hand, and what no rule may do."""

import itertools
import math

import numpy as np
import pytest

from simulator.base.errors import SimulationError
from simulator.programs.columns import RULES, SelfScheduling
from simulator.scheduling import chunks

GSS = [250, 188, 141, 106, 79, 59, 45, 33, 25, 19, 14, 11, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1]
TSS = [125, 117, 109, 101, 93, 85, 77, 69, 61, 53, 45, 37, 28]
"""1,000 units on 4 processes: Chronopoulos, Andonie, Benche, Grosu, "A class of loop self-scheduling for heterogeneous
clusters", CLUSTER 2001, table 1."""
FAC2 = [size for size in (125, 63, 31, 16, 8, 4, 2, 1) for _ in range(4)]
"""By the rule of Hummel, Schonberg and Flynn, who round up; the table above rounds to the nearest even number."""


def sequence(told, units, processes, *, chunk=1, ticks=lambda _place, size: size):
    """Sizes of all chunks, processes asking in turn; each is finished before the next one is asked for."""
    rule, found, left = chunks.number_of(told), [], units
    notes = chunks.begin(told, units, processes, chunk=chunk)
    while left > 0:
        place = len(found) % processes
        found.append(chunks.decide(rule, left, processes, place, notes))
        chunks.finish(rule, place, found[-1], ticks(place, found[-1]), notes)
        left -= found[-1]
    return found


@pytest.mark.parametrize(("rule", "expected"), [("gss", GSS), ("fac2", FAC2), ("tss", TSS), ("ss", [1] * 1000)])
def test_sequences_of_a_thousand_units_on_four_processes_are_those_published(rule, expected):
    assert sum(expected) == 1000
    assert sequence(SelfScheduling(rule), 1000, 4) == expected


def test_least_chunks_and_chunks_of_any_size():
    assert sequence(SelfScheduling("gss", least=60), 1000, 4) == [250, 188, 141, 106, 79, 60, 60, 60, 56]
    assert sequence(SelfScheduling("ss"), 10, 3, chunk=4) == [4, 4, 2]
    assert sequence(SelfScheduling("fac2", least=40), 1000, 4) == [125] * 4 + [63] * 4 + [40] * 6 + [8]
    assert sequence(SelfScheduling("tss", first=30, last=10), 100, 4) == [30, 25, 20, 15, 10]


def test_factoring_knows_how_much_times_vary():
    """Without variance all in one batch; with it by the formula, here for the first two batches."""
    assert sequence(SelfScheduling("fac"), 1000, 4) == [250] * 4
    found = sequence(SelfScheduling("fac", assumed_cv=2.0), 1000, 4)
    b = 4 / (2 * math.sqrt(1000)) * 2
    assert found[:4] == [math.ceil(1000 / (4 * (1 + b**2 + b * math.sqrt(b**2 + 2))))] * 4
    left = 1000 - 4 * found[0]
    b = 4 / (2 * math.sqrt(left)) * 2
    assert found[4:8] == [math.ceil(left / (4 * (2 + b**2 + b * math.sqrt(b**2 + 4))))] * 4
    assert sum(found) == 1000


def test_awf_b_weights_the_second_batch_by_the_speeds_of_the_first():
    """Units of 1 and of 3 ticks: 20 each of 80, then 15 and 5 of a batch of 20."""
    found = sequence(SelfScheduling("awf-b"), 80, 2, ticks=lambda place, size: size * (1, 3)[place])
    assert found[:4] == [20, 20, 15, 5]
    assert sum(found) == 80


def test_af_knows_mean_and_variance_of_a_unit_from_chunks():
    """One process, chunks of n units in t ticks: the weighted mean, and sum of n (t/n - mean)^2 over chunks - 1."""
    taken = [(3, 30), (2, 28), (5, 45), (1, 7)]
    notes = chunks.begin(SelfScheduling("af"), 1000, 1)
    for units, ticks in taken:
        chunks.finish(chunks.AF, 0, units, ticks, notes)
    n, t = np.array(taken, dtype=float).T
    mean = t.sum() / n.sum()
    variance = (n * (t / n - mean) ** 2).sum() / (n.size - 1)
    d, total = variance / mean, mean
    expected = (d + 2 * total * 1000 - math.sqrt(d * d + 4 * d * total * 1000)) / (2 * mean)
    assert chunks.decide(chunks.AF, 1000, 1, 0, notes) == int(expected)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_hands_out_each_unit_once_and_no_chunk_is_above_its_bound(rule):
    for units, processes in itertools.product((1, 2, 5, 97), (1, 2, 7)):
        parts = tuple(np.diff(np.arange(processes + 1) * units // processes).tolist()) if rule == "static" else ()
        told = SelfScheduling(rule, least=2, parts=parts)
        if rule == "static":
            notes = chunks.begin(told, units, processes)
            firsts = [chunks.first_unit(chunks.STATIC, 0, place, notes) for place in range(processes)]
            found = [chunks.static(units, processes, place, notes) for place in range(processes)]
            assert firsts == np.concatenate(([0], np.cumsum(parts)[:-1])).tolist()
        else:
            found = sequence(told, units, processes, chunk=3)
        assert sum(found) == units, (units, processes)
        assert max(found) <= chunks.largest(told, units, processes, chunk=3), (units, processes)


@pytest.mark.parametrize("handed_out", [0, -3, 11])
def test_a_rule_that_hands_out_what_there_is_not_is_a_fault(monkeypatch, handed_out):
    monkeypatch.setattr(chunks, "_RULES", (lambda *_: handed_out,) * len(RULES))
    with pytest.raises(SimulationError, match=rf"rule gss hands out {handed_out} of 10 units that are left"):
        chunks.decide(chunks.GSS, 10, 4, 0, [])

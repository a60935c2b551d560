"""Which samples count as disturbed, and what is said of a calibration beside other work."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from simulator import randomness
from simulator.base.machine import this_machine
from simulator.calibration.bench.measurement import (
    all_disturbed,
    clean_samples,
    half_interval_of_median,
    is_disturbed,
    may_be_off,
    one_of,
)
from simulator.calibration.bench.usage import Usage

SPIN = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
print("on", flush=True)
while True:
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.002:
        pass
    time.sleep(0.008)
"""
"""A program that takes 20 % of a core, in turns of 2 ms."""


def sample(cpu_s, wall_s, involuntary=1, voluntary=0):
    return Usage(cpu_s, wall_s, voluntary, involuntary)


def test_a_sample_is_disturbed_by_what_was_taken_from_it_and_not_by_waiting():
    assert is_disturbed(sample(0.9, 1.0))
    assert not is_disturbed(sample(0.98, 1.0))
    assert not is_disturbed(sample(0.5, 1.0, involuntary=0, voluntary=3))  # it read a file


def test_disturbed_samples_are_left_out_where_enough_are_clean():
    quiet, busy = [sample(1.0, 1.01)] * 3, [sample(1.1, 1.4)] * 5
    assert clean_samples([*quiet, *busy]) == tuple(quiet)
    assert may_be_off([*quiet, *busy]) == 0
    assert clean_samples([*quiet[:2], *busy]) == (*quiet[:2], *busy)
    assert all_disturbed([*quiet[:2], *busy])


def test_what_a_busy_machine_may_cost_is_the_larger_of_its_two_signs():
    assert may_be_off([sample(0.7, 1.0)] * 5) == pytest.approx(0.1)  # a third of what others took
    assert may_be_off([sample(0.5, 1.0), *[sample(1.0, 1.25)] * 4]) == pytest.approx(1.0)  # one ran twice as fast
    assert may_be_off([]) == 0


def test_one_of_several_runs_in_a_row_takes_its_part_of_the_seconds():
    assert one_of(sample(3.0, 6.0, involuntary=2, voluntary=5), 3) == sample(1.0, 2.0, involuntary=2, voluntary=5)


def test_what_was_used_between_two_looks():
    earlier, later = sample(1.0, 2.0, involuntary=3, voluntary=4), sample(1.5, 4.0, involuntary=5, voluntary=10)
    assert later - earlier == sample(0.5, 2.0, involuntary=2, voluntary=6)


@pytest.mark.real
def test_a_real_program_that_takes_a_fifth_of_the_core_is_seen():
    cpu = this_machine().cores[-1].cpu
    mine = os.sched_getaffinity(0)
    with subprocess.Popen([sys.executable, "-c", SPIN, str(cpu)], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            os.sched_setaffinity(0, {cpu})
            samples = []
            for _ in range(5):
                before = Usage.now()
                while time.perf_counter() - before.wall_s < 0.2:
                    pass
                samples.append(Usage.now() - before)
        finally:
            os.sched_setaffinity(0, mine)
            child.kill()
    assert all(map(is_disturbed, samples))
    assert may_be_off(samples) > 0.03


def test_the_interval_of_the_median_covers_it_as_often_as_it_says():
    """95 % by the binomial distribution: of 2,000 skewed samples with a known median, 5 % may miss it."""
    generator = randomness.stream(1, "coverage")
    for count in (6, 11, 30):
        samples = np.sort(generator.exponential(1.0, (2000, count)), axis=1)
        halves = np.array([half_interval_of_median(row) for row in samples])
        ranks = [r for r in range(count // 2) if half_of(samples[0], r, count) == pytest.approx(halves[0])]
        rank = ranks[0]
        inside = (samples[:, rank] <= np.log(2)) & (np.log(2) <= samples[:, count - 1 - rank])
        assert inside.mean() >= 0.94
    assert half_interval_of_median(np.ones(5)) == np.inf


def half_of(row, rank, count):
    return (row[count - 1 - rank] - row[rank]) / 2 / np.median(row)

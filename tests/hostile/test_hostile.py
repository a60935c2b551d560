"""Hostile inputs of every command: each ends as its case states, within limits, without a traceback."""

import pytest

from tests.hostile.generated import cases
from tests.hostile.running import check_s, run_all_alone, run_here
from tests.hostile.written import written

WRITTEN = written()
GENERATED, QUICK, SEED = 240, 80, 18
GROUP = 8
"""Cases of a slow test: a process each, so that a group takes some seconds; one case of ten is run like this."""


def entry_of(case):
    """File and number of what it is written in."""
    return case.name.rpartition(".")[0]


def test_there_are_400_cases_and_each_has_a_name_of_its_own():
    assert len({case.name for case in WRITTEN}) == len(WRITTEN)
    assert min(len(WRITTEN), GENERATED) >= 200


def test_a_seed_always_gives_the_same_cases(good):
    first, again, other = (list(cases(good, 30, seed)) for seed in (SEED, SEED, SEED + 1))
    assert first == again
    assert first != other


def faults_of(listed, good):
    """What was broken in this process, and the exit codes."""
    return judged(listed, [run_here(case, good) for case in listed], good)


def faults_alone(listed, good):
    """What was broken in processes of their own."""
    return judged(listed, run_all_alone(listed, good), good)[0]


def judged(listed, endings, good):
    limit_s = check_s(good)
    broken = [fault for case, ending in zip(listed, endings, strict=True) for fault in ending.faults(case, limit_s)]
    return broken, [ending.exit for ending in endings]


@pytest.mark.parametrize("entry", dict.fromkeys(entry_of(case) for case in WRITTEN))
def test_written_cases_end_as_they_state(good, entry):
    faults, _ = faults_of([case for case in WRITTEN if entry_of(case) == entry], good)
    assert not faults, "\n".join(faults)


def test_generated_cases_are_taken_or_refused_by_line(good):
    faults, exits = faults_of(list(cases(good, QUICK, SEED)), good)
    assert not faults, "\n".join(faults)
    assert QUICK / 2 < exits.count(2) < QUICK  # mistakes, and some that leave a file good


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(WRITTEN), 10 * GROUP))
def test_written_cases_end_so_in_processes_of_their_own(good, first):
    faults = faults_alone(WRITTEN[first : first + GROUP], good)
    assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, GENERATED, 10 * GROUP))
def test_generated_cases_end_so_in_processes_of_their_own(good, first):
    faults = faults_alone(list(cases(good, GENERATED, SEED))[first : first + GROUP], good)
    assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100])
def test_cases_of_other_seeds_are_taken_or_refused_by_line(good, seed):
    faults, _ = faults_of(list(cases(good, 200, seed)), good)
    assert not faults, "\n".join(faults)

"""A log that a policy made is found to be that policy's; one that something else made is not called right."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.jobs.backtest import POLICIES, _held_back, backtest
from advisor.jobs.setting import Setting
from simulator import Estimates, lublin, run_jobs, with_estimates

PES = 32


def stream(seed=1, count=600, load=0.8):
    return with_estimates(lublin(count, processors=PES, seed=seed, load=load), seed=seed)


def logged(made, policy, pes=PES):
    """As a log of a machine that ran under a policy."""
    runs = run_jobs(made, pes, policy, Estimates())
    return made.take(np.arange(len(made)), wait_s=runs.wait_s)


def found_of(log, pes=PES):
    return backtest(log, Setting(pes), Estimates())


@pytest.mark.parametrize("policy", POLICIES, ids=lambda one: one.name.replace(" ", "-"))
def test_a_log_of_a_policy_is_found_to_be_its_own(policy):
    found = found_of(logged(stream(), policy))
    assert found.tried[0].factor == pytest.approx(1)
    assert found.policy == policy.name
    assert found.agrees
    assert found.wait_s.log == pytest.approx(found.wait_s.simulated)
    assert found.utilisation.log == pytest.approx(found.utilisation.simulated)
    assert sum(one.jobs for one in found.by_size) == sum(one.jobs for one in found.by_week) == 600
    assert found.sentence.startswith("The simulation is right for this log: mean wait ")


def test_two_machines_taken_as_one_are_not_right_and_the_log_says_why():
    """Half of the jobs may only run on half of the machine: the first would often fit on the other half."""
    made = stream(load=0.75)
    made = made.take(made.processors <= PES // 2)
    half = np.arange(len(made)) % 2
    waits = np.empty(len(made))
    for part in (0, 1):
        mine = half == part
        waits[mine] = run_jobs(made.take(mine), PES // 2, POLICIES[0], Estimates()).wait_s
    found = found_of(made.take(np.arange(len(made)), wait_s=waits, partition=half))
    assert not found.agrees
    assert "not right for this log" in found.sentence
    assert any("the first of them would fit on idle PEs" in reason for reason in found.reasons)
    assert "the log has 2 partitions, which are taken as one" in found.reasons


def test_when_a_log_begins_and_what_it_calls_nothing_do_not_matter():
    """Seconds since 1970 are no week 1,500, and a queue that some jobs do not name is no second one."""
    log = logged(stream(), POLICIES[0])
    some = np.where(np.arange(len(log)) % 2 == 0, 1, -1)
    later = log.take(np.arange(len(log)), submit_s=log.submit_s + 1.7e9, queue=some)
    assert found_of(later).by_week == found_of(log).by_week
    assert not [reason for reason in found_of(later).reasons if "queue" in reason]


def test_a_machine_of_another_size_is_said():
    log = logged(stream(load=1.1), POLICIES[0], pes=2 * PES)
    found = found_of(log)
    assert not found.agrees
    assert any(f"PEs are taken at once in the log, and {PES} are simulated" in reason for reason in found.reasons)


def test_whole_nodes_are_said():
    made = stream(load=0.1)
    wide = replace(made, **{name: 4 * getattr(made, name) for name in ("processors", "least", "most")})
    found = found_of(logged(wide, POLICIES[0], pes=4 * PES), pes=4 * PES)
    assert "all jobs take multiples of 4 PEs, as where nodes are given whole" in found.reasons


def test_a_log_without_waits_is_not_tested():
    assert found_of(stream()) is None
    assert found_of(logged(stream(count=200), POLICIES[0]).first(90)) is None, "too few jobs"
    few = logged(stream(), POLICIES[0])
    waits = np.where(np.arange(len(few)) % 3 == 0, few.wait_s, np.nan)
    assert found_of(few.take(np.arange(len(few)), wait_s=waits)) is None


def test_what_is_held_back_is_what_a_clock_sees():
    """Each second, from the definitions: who waits, who runs, whether the first who waits would fit."""
    rng = np.random.default_rng(3)
    made = stream().first(60)
    made = made.take(
        np.arange(60),
        submit_s=np.sort(rng.integers(0, 300, 60)).astype(float),
        run_s=rng.integers(1, 60, 60).astype(float),
    )
    wait_s = rng.integers(0, 90, 60).astype(float)
    start_s, seconds = made.submit_s + wait_s, np.arange(0, 500)[:, np.newaxis]
    waits, runs = (
        (made.submit_s <= seconds) & (seconds < start_s),
        (start_s <= seconds) & (seconds < start_s + made.run_s),
    )
    taken = runs @ made.processors
    some = waits.any(axis=1)
    fits = made.processors[waits.argmax(axis=1)] <= PES - taken
    share, most = _held_back(made, wait_s, PES)
    assert share == pytest.approx(np.mean(fits[some]))
    assert most == taken.max()

"""What a change does to whom: against means taken one by one; and what slurm.conf says for a policy."""

import numpy as np
import pytest

from advisor.jobs.compare import Alternative, read_policy
from advisor.jobs.effects import Group, effects, slurm_lines
from advisor.jobs.setting import Setting
from simulator import Estimates, Policy, job_metrics, lublin, run_jobs, with_estimates

PES = 32


def alternative(words):
    return Alternative(words, read_policy(words), Estimates(), Setting(PES))


def test_who_waits_longer_is_what_single_jobs_say():
    made = with_estimates(lublin(600, processors=PES, seed=3, load=0.8), seed=3)
    made = made.take(np.arange(600), user=np.arange(600) % 30)
    found = effects(made, alternative("easy"), alternative("sjf easy"))
    runs = [run_jobs(made, PES, read_policy(words), Estimates()) for words in ("easy", "sjf easy")]
    kept = job_metrics.measured(runs[0]) & job_metrics.measured(runs[1])
    before, after = (np.where(kept, one.wait_s, np.nan) for one in runs)
    tenth = round(kept.sum() / 10)
    assert (found.longest.jobs, found.longest.before_s) == (tenth, pytest.approx(np.sort(before[kept])[-tenth:].mean()))
    one_pe = made.processors == 1
    first = found.by_size[0]
    assert first.name == "jobs of 1 PE"
    assert first.after_s == pytest.approx(np.nanmean(after[one_pe]))
    lose = [np.nanmean(after[made.user == user]) - np.nanmean(before[made.user == user]) for user in range(30)]
    assert 0 < found.users_lose <= sum(more > 60 for more in lose)
    assert found.users == 30
    assert f"{found.users_lose} of 30 users" in found.sentence
    back = effects(made, alternative("sjf easy"), alternative("easy"))
    assert (back.longest.before_s, back.longest.after_s) == (found.longest.after_s, found.longest.before_s)


def test_nobody_loses_by_nothing():
    made = with_estimates(lublin(300, processors=PES, seed=4, load=0.7), seed=4)
    found = effects(made, alternative("easy"), alternative("easy"))
    assert found.sentence.endswith(" now). No size, queue or user waits longer.")
    assert not Group("some", 20, 100.0, 150.0).loses, "less than a minute"
    assert not Group("some", 20, 10_000.0, 10_100.0).loses, "less than a tenth"
    assert Group("some", 20, 100.0, 200.0).loses


def test_slurm_has_some_policies():
    assert slurm_lines(Policy(backfill="none"))[0] == "SchedulerType=sched/builtin"
    assert "bf_job_part_count_reserve=1" in slurm_lines(Policy())[1]
    assert "bf_job_part_count_reserve=0" in slurm_lines(Policy(backfill="replanned"))[1]
    assert "keeps no promise" in slurm_lines(Policy(backfill="conservative"))[-1]
    assert not slurm_lines(Policy(order="sjf"))
    assert not slurm_lines(Policy(candidates="shortest"))

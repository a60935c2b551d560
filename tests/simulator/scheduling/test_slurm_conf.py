"""Slurm's policy from slurm.conf, `scontrol show config` and sacctmgr, in their own words."""

from dataclasses import replace

import pytest

from simulator import Policy, ScenarioError, SlurmPolicy, read_slurm_policy, with_accounts, written_lines
from simulator.scheduling.slurm import Account

CONF = """ClusterName=here
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=60,bf_window=2880,bf_resolution=300,bf_max_job_test=1000,bf_max_job_user=20,bf_continue
PriorityType=priority/multifactor   # not basic
PriorityDecayHalfLife=14-0
PriorityCalcPeriod=10
PriorityMaxAge=1-12
PriorityFavorSmall=YES
PriorityWeightAge=1000
PriorityWeightFairshare=100000
PriorityWeightJobSize=200
PriorityWeightTRES=cpu=100
PartitionName=short Nodes=n[1-4] PriorityJobFactor=5
PartitionName=long Nodes=n[1-8]
"""
SHOWN = """Configuration data as of 2026-11-29T01:00:00
PriorityCalcPeriod      = 00:05:00
PriorityDecayHalfLife   = 7-00:00:00
PriorityFavorSmall      = No
PriorityMaxAge          = 7-00:00:00
PriorityType            = priority/multifactor
PriorityWeightFairShare = 10
SchedulerParameters     = (null)
SchedulerType           = sched/backfill
"""


def read(tmp_path, text):
    (tmp_path / "slurm.conf").write_text(text)
    return read_slurm_policy(tmp_path / "slurm.conf")


def test_all_that_is_modelled_is_read_and_the_rest_is_named(tmp_path):
    policy, notes = read(tmp_path, CONF)
    slurm = SlurmPolicy(
        weight_age=1000,
        weight_fair_share=100_000,
        weight_job_size=200,
        favor_small=True,
        max_age_s=129_600,
        half_life_s=1_209_600,
        calc_period_s=600,
        bf_interval_s=60,
        bf_window_s=172_800,
        bf_resolution_s=300,
        bf_max_job_test=1000,
        bf_max_job_user=20,
        partition_factors=(("short", 5), ("long", 1)),
    )
    assert policy == Policy("multifactor", "slurm", slurm=slurm)
    again, _ = read(tmp_path, "\n".join(written_lines(policy)))
    assert again == replace(policy, slurm=replace(slurm, partition_factors=()))
    assert [note.rpartition(": ")[2] for note in notes] == [
        "PriorityWeightTRES is not modelled",
        "SchedulerParameters=bf_continue is not modelled",
    ]


def test_what_scontrol_shows_is_read_as_well(tmp_path):
    policy, notes = read(tmp_path, SHOWN)
    assert policy == Policy("multifactor", "slurm", slurm=SlurmPolicy(weight_fair_share=10))
    assert notes == []


@pytest.mark.parametrize(
    ("line", "words"), [("PriorityType=priority/basic", "fcfs slurm"), ("SchedulerType=sched/builtin", "fcfs")]
)
def test_a_plain_configuration_is_first_come_first_served(tmp_path, line, words):
    assert read(tmp_path, f"ClusterName=here\n{line}\n")[0].name == words


def test_all_faults_are_named_at_once(tmp_path):
    with pytest.raises(ScenarioError) as error:
        read(tmp_path, "PriorityWeightAge=much\nPriorityCalcPeriod=-1\nSchedulerParameters=bf_window=-3\n")
    keys = [line.rpartition(": ")[0].rpartition(": ")[2] for line in error.value.lines]
    assert keys == ["PriorityWeightAge", "PriorityCalcPeriod", "bf_window"]


def test_shares_and_qos_come_from_sacctmgr(tmp_path):
    (tmp_path / "assoc").write_text("Account|Par Name|User|Share\nroot|||1\na|root||3\na||u|2\nb|a||1\n")
    (tmp_path / "qos").write_text("Name|Priority\nnormal|0\nhigh|10\n")
    policy = with_accounts(with_accounts(Policy(backfill="slurm"), tmp_path / "assoc"), tmp_path / "qos")
    assert policy.slurm.accounts == (Account("a", "root", 3), Account("a", "root", 2, "u"), Account("b", "a", 1))
    assert policy.slurm.qos_priorities == (("normal", 0), ("high", 10))
    (tmp_path / "other").write_text("Cluster|User\nx|y\n")
    with pytest.raises(ScenarioError, match="no columns Account, User, Share and Par Name"):
        with_accounts(policy, tmp_path / "other")

"""Slurm's policy by its own words: slurm.conf, and what `sacctmgr -P show assoc` and `show qos` print."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.units import to_whole
from simulator.platform.foreign.slurm import config_lines
from simulator.platform.foreign.slurm_nodes import slurm_seconds
from simulator.scheduling.policy import Policy
from simulator.scheduling.slurm import ROOT, Account, SlurmPolicy

MINUTE_S = 60
WEIGHTS = {
    "PriorityWeightAge": "weight_age",
    "PriorityWeightFairshare": "weight_fair_share",
    "PriorityWeightJobSize": "weight_job_size",
    "PriorityWeightPartition": "weight_partition",
    "PriorityWeightQOS": "weight_qos",
}
TIMES = {
    "PriorityMaxAge": "max_age_s",
    "PriorityDecayHalfLife": "half_life_s",
    "PriorityCalcPeriod": "calc_period_s",
}
PARAMETERS = {
    "bf_interval": ("bf_interval_s", 1),
    "bf_window": ("bf_window_s", MINUTE_S),
    "bf_resolution": ("bf_resolution_s", 1),
    "bf_max_job_test": ("bf_max_job_test", 1),
    "bf_max_job_user": ("bf_max_job_user", 1),
    "default_queue_depth": ("default_queue_depth", 1),
    "sched_interval": ("sched_interval_s", 1),
}
"""Of SchedulerParameters: our names, and how many of our units one of theirs is."""
FLAGS = {"NO_FAIR_TREE", "DEPTH_OBLIVIOUS", "SMALL_RELATIVE_TO_TIME", "INCR_ONLY"}
"""PriorityFlags under which priorities differ from ours."""
OTHERS = {"priorityweightassoc": "PriorityWeightAssoc", "priorityweighttres": "PriorityWeightTRES"}
YES = {"yes", "up", "true", "1"}
_PAIR = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|(\S*))')


def read_slurm_policy(path: Path) -> tuple[Policy, list[str]]:
    """The policy that slurm.conf or `scontrol show config` states, and what of it is left out, a sentence each.

    Raises ScenarioError for values of another kind; all faults at once.
    """
    settings, factors = dict[str, str](), dict[str, int]()
    for _, line in config_lines(path):
        pairs = {key.lower(): quoted or plain for key, quoted, plain in _PAIR.findall(line)}
        if "partitionname" in pairs:
            factors[pairs["partitionname"]] = to_whole(pairs.get("priorityjobfactor", "1")) or 1
        else:
            settings |= pairs
    known = {key.lower() for key in (*WEIGHTS, *TIMES, "PriorityType", "SchedulerType", "SchedulerParameters")}
    if not settings.keys() & known:
        raise ScenarioError(f"{path}: priorities and scheduling are not in it; give slurm.conf or scontrol show config")
    return written_policy(settings, str(path), factors)


def written_policy(
    settings: Mapping[str, str], place: str, factors: Mapping[str, int] | None = None
) -> tuple[Policy, list[str]]:
    """The same of settings by key in lower case, and `PriorityJobFactor` by partition."""
    given: dict[str, Any] = {"partition_factors": tuple((factors or {}).items())}
    faults, asked = list[str](), _pairs(settings.get("schedulerparameters", ""))

    def read(field: str, name: str, text: str | None, value: Callable[[str], float | None], unit: int = 1) -> None:
        try:
            number = None if text is None else value(text)
        except ScenarioError as error:
            faults.extend(error.lines)
            return
        if number is not None and number >= 0:
            given[field] = int(number) * unit
        elif text is not None:
            faults.append(f"{place}: {name}: {text[:40]!r} is not read; write a number from 0 on")

    for key, field in WEIGHTS.items():
        read(field, key, settings.get(key.lower()), to_whole)
    for key, field in TIMES.items():
        read(field, key, settings.get(key.lower()), partial(slurm_seconds, where=f"{place}: {key}"))
    for name, (field, unit) in PARAMETERS.items():
        read(field, name, asked.get(name), to_whole, unit)
    if faults:
        raise ScenarioError(faults)
    given["favor_small"] = settings.get("priorityfavorsmall", "no").lower() in YES
    slurm = SlurmPolicy(**given)
    multifactor = settings.get("prioritytype", "").endswith("multifactor") and slurm.weighs
    flags = sorted(FLAGS & set(settings.get("priorityflags", "").upper().split(",")))
    left = [f"PriorityFlags={flag}" for flag in flags]
    left += [name for key, name in OTHERS.items() if settings.get(key, "0") not in ("0", "", "(null)")]
    left += [f"SchedulerParameters={name}" for name in asked if name.startswith("bf_") and name not in PARAMETERS]
    builtin = settings.get("schedulertype", "").endswith("builtin")
    policy = Policy("multifactor" if multifactor else "fcfs", "none" if builtin else "slurm", slurm=slurm)
    return policy, [f"{place}: {name} is not modelled" for name in left]


def written_lines(policy: Policy) -> tuple[str, ...]:
    """What slurm.conf says for a policy whose backfilling is Slurm's; empty for orders that Slurm does not have."""
    slurm, basic = policy.slurm, "PriorityType=priority/basic"
    asked = ",".join(f"{name}={getattr(slurm, field) // unit}" for name, (field, unit) in PARAMETERS.items())
    lines = ("SchedulerType=sched/backfill", f"SchedulerParameters={asked}")
    if policy.order != "multifactor":
        return (*lines, basic) if policy.order == "fcfs" else ()
    weights = [f"{name}={getattr(slurm, field)}" for name, field in WEIGHTS.items()]
    times = [f"{name}={getattr(slurm, field) // MINUTE_S}" for name, field in TIMES.items()]
    small = f"PriorityFavorSmall={'yes' if slurm.favor_small else 'no'}"
    return *lines, "PriorityType=priority/multifactor", *weights, *times, small


def _pairs(text: str) -> dict[str, str]:
    """`bf_window=120,bf_continue` by name."""
    parts = (part.partition("=") for part in text.split(",") if part)
    return {name.strip().lower(): value.strip() for name, _, value in parts}


def with_accounts(policy: Policy, path: Path) -> Policy:
    """With the tree of accounts, or priorities of QOS, of what `sacctmgr --parsable2 show assoc` or `show qos` printed.

    Raises ScenarioError for another file, and for shares or priorities that are no whole numbers.
    """
    lines = [line.split("|") for line in files.read_text(path).splitlines() if line.strip()]
    names = [name.replace(" ", "").lower() for name in lines[0]] if lines else []
    rows = [dict(zip(names, cells, strict=False)) for cells in lines[1:]]

    def whole(row: Mapping[str, str], name: str, usual: int) -> int:
        number = to_whole(row[name]) if row.get(name) else usual
        if number is None:
            raise ScenarioError(f"{path}: {name}: {row[name][:40]!r} is no whole number")
        return number

    if {"name", "priority"} <= set(names):
        priorities = tuple((row["name"], whole(row, "priority", 0)) for row in rows)
        return replace(policy, slurm=replace(policy.slurm, qos_priorities=priorities))
    if not {"account", "user", "share", "parname"} <= set(names):
        wanted = "give what `sacctmgr -P show assoc format=Account,User,Share,ParentName` prints, or `show qos`"
        raise ScenarioError(f"{path}: it has no columns Account, User, Share and Par Name; {wanted}")
    tree = tuple(
        Account(row["account"], row["parname"] or ROOT, whole(row, "share", 1), row["user"])
        for row in rows
        if (row["account"], row["user"]) != (ROOT, "")
    )
    return replace(policy, slurm=replace(policy.slurm, accounts=tree))

"""How often machines of the size that `--target` names keep to the target, over fresh streams of the same generator.

An experiment has one log of an overloaded machine. Fresh streams are others of the generator that made it, of the same
length; they run on as many PEs as the answer names, and what counts is the share that keeps to the target.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from advisor.jobs.capacity import capacity, read_target
from advisor.jobs.compare import Alternative
from advisor.jobs.setting import Setting
from simulator import NO_LIMIT_MIB, Estimates, JobNodes, Policy, job_metrics, run_jobs
from tests.studies.job_coverage import CASES, PROCESSORS, generated

OVERLOADED = replace(CASES["weeks"], load=1.15)
TARGETS = ("mean wait 20min", "p95 wait 2h", "mean slowdown 3", "p95 wait 1h for jobs up to 4 PEs")


def machine(count, cores):
    """So many PEs, or nodes with so many cores each."""
    if not cores:
        return count
    one = np.ones(count, dtype=np.int64)
    return JobNodes(tuple(f"n{k}" for k in range(count)), cores * one, NO_LIMIT_MIB * one, 0 * one, one)


def keeps(stream, cluster, target):
    """Whether a stream keeps to the target, from the definitions."""
    runs = run_jobs(stream, cluster, Policy(), Estimates(), engine="compiled")
    counts = job_metrics.measured(runs)
    if target.largest is not None:
        counts &= stream.processors <= target.largest
    wait = runs.wait_s[counts]
    values = (
        wait
        if target.measure == "wait"
        else np.maximum(1, (wait + runs.run_s[counts]) / np.maximum(runs.run_s[counts], 10))
    )
    return (values.mean() if target.statistic == "mean" else np.quantile(values, 0.95)) <= target.most


def experiment(number, *, text, case, fresh, seed, cores):
    """PEs or nodes that one log is told to have, the surely ones too, and which shares of fresh streams keep to it."""
    target = read_target(text)
    base = Alternative(
        "base", Policy(), Estimates(), Setting(machine(PROCESSORS // cores if cores else PROCESSORS, cores))
    )
    log = generated(case, number, seed=seed)
    (found,) = capacity(log, base, target, draws=case.draws, replications=case.replications, level=0.9, seed=number)
    others = [generated(case, number * fresh + one, seed=seed + 10**6) for one in range(fresh)]
    shares = [
        np.mean([keeps(one, machine(count, cores), target) for one in others]) for count in (found.fewest, found.surely)
    ]
    return found.fewest, found.surely, *shares


def study(text, *, case=OVERLOADED, experiments, fresh=20, seed=1, jobs=2, cores=0):
    """What `experiment` says, a row for each log."""
    context = get_context("spawn")
    ask = partial(experiment, text=text, case=case, fresh=fresh, seed=seed, cores=cores)
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        return np.array(list(pool.map(ask, range(experiments))), dtype=float)

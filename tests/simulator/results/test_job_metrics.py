"""What a run of a job stream amounts to: by hand on four jobs, by theory on long streams, and what is drawn of it."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from simulator import ScenarioError, documents, job_metrics, plots
from simulator.base import randomness
from simulator.engines.job_queue import JobRuns
from simulator.engines.jobs import run_jobs
from simulator.programs.streams.stream import make_stream
from simulator.results.job_files import job_table_lines
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.policy import Policy

LOGS = Path(__file__).parents[4] / "shared" / "data" / "jobs" / "swf"
NS = 10**9
FCFS = Policy(backfill="none")


def ran(submit, start, finish, processors, *, pes=4, killed=None, owners=None, **known):
    """A run with the times given, in seconds; `owners` has the PEs of each job."""
    count = len(submit)
    run = np.subtract(finish, start)
    stream = make_stream("by-hand", submit_s=submit, processors=processors, run_s=run, limit_s=run, **known)
    ticks = [np.array([round(t * NS) for t in times], dtype=np.int64) for times in (submit, start, finish, run)]
    none = np.full(count, -1, dtype=np.int64)
    flags = np.array(killed or [False] * count)
    named = {}
    if owners is not None:
        named["first_pe"] = np.cumsum([0, *map(len, owners)])
        named["allocated"] = np.array([pe for one in owners for pe in one], dtype=np.int64)
    sizes = np.array(processors, dtype=np.int64)
    return JobRuns(
        stream, Policy(), Estimates(), pes, 1e-9, "by hand", *ticks[:3], sizes, ticks[3], none, flags, **named
    )


def four(**more):
    """Four jobs on four PEs: waits 0, 0, 80 and 120 s; ends at 100, 15, 150 and 160 s."""
    killed = [True, False, False, False]
    return ran([0, 10, 20, 30], [0, 10, 100, 150], [100, 15, 150, 160], [2, 2, 4, 1], killed=killed, **more)


NAMED = {"owners": [[0, 1], [2, 3], [0, 1, 2, 3], [0]]}


def test_averages_of_four_jobs_are_those_by_hand():
    found = job_metrics.averages(four(), warm_up=0)
    assert (found.jobs, found.dropped, found.warm_up) == (4, 0, 0.0)
    assert found.wait_s == pytest.approx(50)
    assert found.turnaround_s == pytest.approx((100 + 5 + 130 + 130) / 4)
    assert found.slowdown == pytest.approx((1 + 1 + 2.6 + 13) / 4)
    assert found.bounded_slowdown == pytest.approx((1 + 1 + 2.6 + 13) / 4)
    assert found.per_processor_slowdown == pytest.approx((1 + 1 + 1 + 13) / 4)
    assert found.area_weighted_slowdown == pytest.approx((200 + 10 + 520 + 130) / 420)
    assert found.utilisation == pytest.approx(420 / (4 * 160))
    assert found.steady_utilisation == pytest.approx((2 * 30 + 2 * 5) / (4 * 30))
    assert found.makespan_s == pytest.approx(160)
    assert found.wait_p95_s == pytest.approx(80 + 0.85 * 40)
    assert (found.wait_max_s, found.bounded_slowdown_max, found.killed) == (120, 13, 0.25)
    assert json.loads(json.dumps(documents.to_dict(found), allow_nan=False))["wait_s"] == 50


def test_warm_up_drops_what_ended_first():
    found = job_metrics.averages(four(), warm_up=0.25)
    assert (found.jobs, found.dropped) == (3, 1)
    assert found.wait_s == pytest.approx(200 / 3)
    assert found.utilisation == pytest.approx(420 / (4 * 160)), "all jobs use the machine"
    assert found.steady_utilisation == pytest.approx(0.5), "from 15 s to 30 s one job of two PEs runs"
    assert job_metrics.measured(four(), 0.5).tolist() == [False, False, True, True]
    assert job_metrics.measured(four(), 0.2).all(), "a fifth of four jobs is none"


@pytest.mark.parametrize("share", [1, -0.01, math.nan])
def test_a_warm_up_that_is_no_share_is_refused(share):
    with pytest.raises(ScenarioError, match=r"warm-up: .* give one from 0 to below 1"):
        job_metrics.averages(four(), warm_up=share)


def test_short_jobs_are_bounded_and_instant_ones_have_no_slowdown():
    instant = make_stream("instant", submit_s=[0, 0], processors=[1, 1], run_s=[100.0, 0.0], limit_s=[200, 200])
    assert job_metrics.averages(run_jobs(instant, 1), warm_up=0).slowdown is None, "an engine makes it a tick"
    found = job_metrics.averages(ran([0, 0], [0, 6], [0, 7], [1, 1]), warm_up=0)
    assert found.slowdown is None
    assert found.bounded_slowdown == 1, "7 s over at least 10 s is less than 1"
    assert found.steady_utilisation is None, "all is submitted at once"
    nothing = job_metrics.averages(ran([0], [0], [0], [1]), warm_up=0)
    assert (nothing.area_weighted_slowdown, nothing.utilisation) == (None, None)


def test_averages_over_no_jobs_are_refused():
    with pytest.raises(ScenarioError, match=r"by-hand: it has no jobs") as caught:
        job_metrics.averages(ran([], [], [], []))
    assert len(caught.value.lines) == 1


def test_series_are_steps():
    found = job_metrics.series(four())
    assert found.busy.tolist() == [2, 4, 2, 2, 2, 4, 1, 0]
    assert found.queued.tolist() == [0, 0, 0, 1, 2, 1, 0, 0]
    edges = np.array([0, 20, 100, 160]) * NS
    mean, low, high = job_metrics.over_stretches(found, found.busy, edges)
    assert mean == pytest.approx([(2 * 10 + 4 * 5 + 2 * 5) / 20, 2, (4 * 50 + 10) / 60])
    assert (low.tolist(), high.tolist()) == ([2, 2, 1], [4, 2, 4])


def queue_of_one(jobs, load, seed):
    """A stream for one PE: arrivals and run times of a Poisson process, mean run time 100 s."""
    draws = randomness.stream(seed, "a queue of one")
    submit = np.cumsum(draws.exponential(100 / load, jobs))
    return make_stream(f"M/M/1 {load}", submit_s=submit, processors=np.ones(jobs), run_s=draws.exponential(100, jobs))


def single_server(stream):
    """Starts of a queue of one by Lindley's recursion, which needs no engine."""
    start, end = [], 0.0
    for submit, run in zip(stream.submit_s.tolist(), stream.run_s.tolist(), strict=True):
        start.append(max(submit, end))
        end = start[-1] + run
    return ran(stream.submit_s, start, np.add(start, stream.run_s), stream.processors, pes=1)


def test_one_pe_is_the_queue_of_the_textbook():
    """Mean wait rho / (mu - lambda); the error by the means of blocks."""
    runs = run_jobs(queue_of_one(16_000, 0.5, 1), 1, FCFS, Estimates("exact"))
    blocks = runs.wait_s[800:].reshape(19, -1).mean(axis=1)
    error = blocks.std(ddof=1) / math.sqrt(blocks.size)
    found = job_metrics.averages(runs, warm_up=0.05)
    assert found.wait_s == pytest.approx(0.5 / (1 / 100 - 0.5 / 100), abs=4 * error)
    assert error < 6
    assert found.utilisation == pytest.approx(0.5, abs=0.02)
    assert job_metrics.offered_load(runs) == pytest.approx(found.utilisation, rel=0.01)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_a_stable_queue_is_not_called_overloaded(load):
    assert not any(job_metrics.overload(single_server(queue_of_one(4000, load, seed))) for seed in range(3))


def test_a_load_of_one_or_more_is_said():
    runs = single_server(queue_of_one(2000, 1.2, 3))
    assert re.fullmatch(
        r"the stream offers a load of 1\.\d\d\d, .* averages measure the length of the stream",
        job_metrics.overload(runs),
    )


def test_a_queue_that_grows_below_full_load_is_said():
    """A policy that leaves the machine half empty falls behind for three quarters of the time, or catches up."""
    submit = np.arange(400) * 10.0
    start = submit + np.maximum(0, submit - 1000) * 0.5
    runs = ran(submit, start, start + 20, [1] * 400)
    assert job_metrics.offered_load(runs) < 0.6
    assert "the queue does not drain: it holds work for more than 20" in job_metrics.overload(runs)
    assert "without a break for the last 7" in job_metrics.overload(runs)
    start = np.where(submit < 1500, start, submit)
    drained = ran(submit, start, start + 20, [1] * 400)
    assert job_metrics.overload(drained) is None, "a backlog of an eighth of the time that drains"


def test_a_heap_of_jobs_has_no_steady_state():
    assert "submitted at once" in job_metrics.overload(ran([0, 0], [0, 10], [10, 20], [4, 4]))
    assert job_metrics.overload(ran([0, 5], [0, 5], [0, 5], [1, 1])) is None


def log(name):
    path = LOGS / name
    if not path.exists():
        pytest.skip(f"{name} is missing")
    from simulator import read_stream

    return read_stream(path, cleaning="none" if "lublin" in name else "strong", machine_processors=None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "backfill", "said"),
    [
        ("KTH-SP2-1996-2.swf.gz", "easy", None),
        ("KTH-SP2-1996-2.swf.gz", "none", "does not drain"),
        ("SDSC-SP2-1998-4.2-cln.swf.gz", "easy", None),
        ("SDSC-SP2-1998-4.2-cln.swf.gz", "none", "does not drain"),
        ("lublin_256.swf", "easy", "a load of 1.06"),
    ],
)
def test_overload_of_logs(name, backfill, said):
    stream = log(name)
    runs = run_jobs(stream, stream.machine_processors, Policy(backfill=backfill), Estimates("exact"))
    found = job_metrics.overload(runs)
    assert found is None if said is None else said in found


# Fairness


def test_later_jobs_delay_nobody_under_fcfs():
    stream = queue_of_one(60, 0.9, 5)
    runs = run_jobs(stream, 1, FCFS, Estimates("exact"), engine="process")
    found = job_metrics.delayed_jobs(runs, count=20, seed=1, engine="process")
    assert (found.sampled, found.delayed, found.share, found.low) == (20, 0, 0.0, 0.0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 20)), "the exact interval of none in 20"
    assert found.most_delay_s == 0


def test_a_shorter_job_that_comes_later_delays_under_sjf():
    """While the first runs, a long one waits and then a short one, which goes first and delays it by 10 s."""
    known = {"submit_s": [0, 1, 2], "processors": [1, 1, 1], "run_s": [100, 50, 10], "limit_s": [100, 50, 10]}
    runs = run_jobs(make_stream("three", **known), 1, Policy("sjf", "none"), engine="process")
    assert runs.start_s.tolist() == pytest.approx([0, 110, 100])
    found = job_metrics.delayed_jobs(runs, count=10, engine="process")
    assert (found.sampled, found.delayed, found.most_delay_s) == (3, 1, pytest.approx(10))
    assert (found.low, found.share, found.high) == (1 / 3, 1 / 3, 1 / 3), "all jobs were looked at"


def test_the_sample_is_drawn_by_the_seed():
    known = {"submit_s": [0, 1, 2, 3], "processors": [1] * 4, "run_s": [100, 50, 40, 10], "limit_s": [100, 50, 40, 10]}
    runs = run_jobs(make_stream("four", **known), 1, Policy("sjf", "none"), engine="process")
    found = {job_metrics.delayed_jobs(runs, count=1, seed=seed, engine="process").delayed for seed in range(12)}
    assert found == {0, 1}
    once, again = (job_metrics.delayed_jobs(runs, count=2, seed=3, engine="process") for _ in range(2))
    assert once == again


# What is written and drawn


def test_the_table_has_exact_times_and_ranges_of_pes():
    runs = replace(four(user=[3, 3, -1, 0], **NAMED), tick_s=1e-9)
    runs = replace(runs, start_ticks=runs.start_ticks + np.array([1, 0, 100_000_000, 0]))
    lines = "".join(job_table_lines(runs)).splitlines()
    assert lines[0] == "job,submit_s,start_s,finish_s,processors,wait_s,estimate_s,killed,user,allocated"
    assert lines[1] == "1,0,0.000000001,100,2,0.000000001,100,1,3,0-1"
    assert lines[3] == "3,20,100.1,150,4,80.1,50,0,,0-3"
    counted = "".join(job_table_lines(four())).splitlines()
    assert counted[2] == "2,10,10,15,2,0,5,0,"


def test_names_of_users_stand_in_the_table():
    runs = four(user=[0, 1, 1, -1], names={"user": ("=ann", "bob")})
    lines = "".join(job_table_lines(runs)).splitlines()
    assert [line.split(",")[8] for line in lines[1:]] == ["=ann", "bob", "bob", ""]


def drawings(runs):
    return [one.svg() for one in (plots.busy(runs), plots.waits({"a": runs.wait_s}))]


def test_figures_are_drawn():
    found = drawings(four(user=[0, 1, 2, 3], **NAMED))
    for text in found:
        assert ElementTree.fromstring(text).tag.endswith("svg")  # noqa: S314 - our own
        assert "mathdefault" not in text
    assert "busy PEs: mean 2.625, at most 4" in found[0]
    assert "50 % of 4 jobs wait, at most 2 min" in found[1]
    assert not plots.waits({"a": np.zeros(1)})


def test_a_long_stream_stays_a_small_figure():
    count = 20_000
    start = np.arange(count) * 10.0
    waits = np.arange(count) % 7 * 3.0
    owners = [[job % 50, 50 + job % 50] for job in range(count)]
    runs = ran(start, start + waits, start + waits + 30, [2] * count, pes=100, owners=owners)
    assert all(len(text) < 400_000 for text in drawings(runs))

"""Policies of the user's own: both engines alike, our own policies rebuilt by them, and a sentence for each fault."""

import random

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.engines.jobs import run_jobs
from simulator.programs.streams.stream import make_stream
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.places import Cluster
from simulator.scheduling.policy import Policy
from tests.simulator.engines.job_cases import ENGINES, check_named, drawn_jobs, in_use, stream_of

FIELDS = ("start_ticks", "finish_ticks", "processors", "estimate_ticks", "promised_ticks", "killed")


def runs_of(decide, stream, pes, engine, *, source="limit", correction="steps", **words):
    policy = Policy(own=decide, own_name="mine", **words)
    return run_jobs(stream, pes, policy, Estimates(source, correction), engine=engine)


def same(one, other):
    assert all(getattr(one, name).tolist() == getattr(other, name).tolist() for name in FIELDS)
    jobs = range(len(one.stream))
    assert [one.pes_of(job).tolist() for job in jobs] == [other.pes_of(job).tolist() for job in jobs]


# Decisions at random, but the same for the same state


def at_random(seed, seen_by):
    """A function that starts some of what fits, on PEs of its choice, and all that fits where nothing runs."""

    def decide(seen):
        seen_by.append(seen)
        draw = random.Random(f"{seed} {seen}")  # noqa: S311 - the same for the same state in both engines
        left, free, starts = seen.free, list(seen.free_pes), []
        waiting = draw.sample(seen.waiting, len(seen.waiting))
        for job in waiting:
            if job.processors <= left and (draw.random() < 0.5 or not (seen.running or starts)):
                left -= job.processors
                pes = draw.sample(free, job.processors) if free else []
                free = [pe for pe in free if pe not in pes]
                starts.append((job, pes) if free or pes else job)
        return starts

    return decide


@pytest.mark.parametrize("words", [{}, {"same_second": "event"}, {"processors": "named"}], ids=str)
@pytest.mark.parametrize("plan", [("limit", "steps"), ("exact", "steps"), ("last-two", "steps"), ("last-two", "limit")])
def test_engines_ask_the_same_and_do_as_they_are_told(plan, words):
    for seed in range(12):
        draw = np.random.default_rng((seed, 2))
        pes = int(draw.choice([1, 5, 13, 64, 65]))
        stream = stream_of(drawn_jobs(draw, int(draw.integers(2, 40)), pes))
        asked = {engine: [] for engine in ENGINES}
        runs = {
            engine: runs_of(at_random(seed, seen), stream, pes, engine, source=plan[0], correction=plan[1], **words)
            for engine, seen in asked.items()
        }
        same(*runs.values())
        assert asked["process"] == asked["compiled"]
        assert in_use(runs["compiled"]).max() <= pes
        if words.get("processors") == "named":
            check_named(runs["compiled"], pes)


def test_what_is_seen_is_plain_python():
    seen = []
    stream = make_stream(
        "s", submit_s=[0, 1], run_s=[5, 5], limit_s=[6, 6], processors=[2, 1], memory_bytes=[1, np.nan]
    )
    cluster = Cluster(np.array([1.0, 2.0]), np.array([4.0, 8.0]))
    for engine in ENGINES:
        seen.clear()
        runs_of(at_random(0, seen), stream, cluster, engine, processors="named")
        first, second = seen[0], seen[1]
        assert repr(first.waiting[0]) == (
            "Waiting(number=0, id=1, processors=2, submitted_s=0.0, estimate_s=6.0, user=-1, memory_bytes=1.0)"
        )
        assert (first.slowness, first.memory_bytes, first.free, first.free_pes) == ((1.0, 2.0), (4.0, 8.0), 2, (0, 1))
        assert repr(second.running[0]) == (
            "Running(number=0, id=1, processors=2, started_s=0.0, planned_end_s=6.0, pes=(0, 1))"
        )
        assert (second.now_s, second.free, second.free_pes) == (1.0, 0, ())


# Policies of ours, as a user would write them


def fcfs(seen):
    free, starts = seen.free, []
    for job in seen.waiting:
        if job.processors > free:
            break
        free -= job.processors
        starts.append(job)
    return starts


def easy(seen):
    starts = fcfs(seen)
    free = seen.free - sum(job.processors for job in starts)
    waiting = [job for job in seen.waiting if job not in starts]
    if not waiting:
        return starts
    ends = [(one.planned_end_s, one.processors) for one in seen.running]
    ends += [(seen.now_s + job.estimate_s, job.processors) for job in starts]
    head, extra, shadow = waiting[0], free, None
    for end, processors in sorted(ends):
        if extra >= head.processors and end != shadow:
            break
        extra, shadow = extra + processors, end
    extra -= head.processors
    for job in waiting[1:]:
        if job.processors <= free and (seen.now_s + job.estimate_s <= shadow or job.processors <= extra):
            extra -= job.processors if seen.now_s + job.estimate_s > shadow else 0
            free -= job.processors
            starts.append(job)
    return starts


OURS = {"fcfs": (fcfs, {"backfill": "none"}), "easy": (easy, {})}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OURS)
def test_a_policy_of_ours_rebuilt_starts_the_same(name, engine):
    decide, words = OURS[name]
    differ = 0
    for seed in range(30):
        draw = np.random.default_rng((seed, 3))
        pes = int(draw.choice([4, 13, 64]))
        jobs = tuple((*(10**9 * (time // 10**9) for time in job[:2]), *job[2:]) for job in drawn_jobs(draw, 60, pes))
        jobs = tuple((*job[:3], 10**9 * -(-job[3] // 10**9), *job[4:]) for job in jobs)
        stream = stream_of(jobs)
        mine, ours = runs_of(decide, stream, pes, engine), run_jobs(stream, pes, Policy(**words), engine=engine)
        assert mine.start_ticks.tolist() == ours.start_ticks.tolist(), seed
        plain = run_jobs(stream, pes, Policy(backfill="none"), engine=engine)
        differ += mine.start_ticks.tolist() != plain.start_ticks.tolist()
    assert differ > 10 or name == "fcfs", "too few streams decide"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_takes_the_time_of_its_slowest_pe_and_the_lowest_with_its_memory(engine):
    stream = make_stream("s", submit_s=[0, 0], run_s=[5, 5], limit_s=[60, 60], processors=[1, 2], memory_bytes=[4, 1])
    cluster = Cluster(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 4.0]))
    runs = runs_of(lambda seen: seen.waiting, stream, cluster, engine, processors="named")
    assert [runs.pes_of(job).tolist() for job in range(2)] == [[1], [0, 2]]
    assert runs.run_s.tolist() == [10.0, 15.0]
    runs = runs_of(
        lambda seen: [(job, seen.free_pes[-1:]) for job in seen.waiting[:1]],
        stream.first(1),
        cluster,
        engine,
        processors="named",
    )
    assert (runs.pes_of(0).tolist(), runs.run_s.tolist()) == ([2], [15.0])


# Faults


class MineError(Exception):
    pass


def raising(error):
    def decide(_seen):
        raise error

    return decide


def on(*pes):
    return lambda seen: [(seen.waiting[0], pes)]


FAULTS = {
    "division": (lambda _seen: 1 // 0, "at 0 s: it failed with ZeroDivisionError: integer division or modulo by zero"),
    "own": (raising(MineError("why")), "at 0 s: it failed with MineError: why"),
    "silent": (raising(StopIteration()), "at 0 s: it failed with StopIteration; mend its function"),
    "exit": (raising(SystemExit(3)), "at 0 s: it failed with SystemExit: 3"),
    "nothing": (lambda _seen: None, "at 0 s: it failed with TypeError"),
    "no job": (lambda _seen: ["x"], "at 0 s: x is no job that waits"),
    "number": (lambda seen: [seen.waiting[0].number], "at 0 s: 0 is no job that waits"),
    "running": (lambda seen: seen.running or seen.waiting[:1], "at 1 s: 1 is no job that waits"),
    "twice": (lambda seen: [seen.waiting[1]] * 2, "at 0 s: it starts job 2 twice"),
    "large": (lambda seen: seen.waiting, "at 0 s: it starts job 2 on 1 PEs, but only 0 are free"),
    "never": (lambda _seen: [], "mine: it leaves 4 jobs waiting for ever, job 1 first"),
    "words": (lambda seen: [(seen.waiting[0], "ab")], "at 0 s: it starts job 1 on 'ab'; give the numbers"),
}
NAMED = {
    "busy": (
        lambda seen: [(seen.waiting[-1], [1])] if seen.now_s else [(seen.waiting[1], [1])],
        "at 1 s: it starts job 3 on PE 1, which is busy",
    ),
    "beyond": (on(0, 1, 3), "at 0 s: it starts job 1 on PE 3, which is none"),
    "below": (on(0, 1, -1), "at 0 s: it starts job 1 on PE -1, which is none"),
    "few": (on(0, 1), "at 0 s: it gives job 1 2 PEs for 3 processes"),
    "same": (on(0, 1, 1), "at 0 s: it gives job 1 2 PEs for 3 processes"),
    "half": (on(0.5, 1, 2), "at 0 s: it starts job 1 on (0.5, 1, 2); give the numbers"),
    "small": (lambda seen: seen.waiting[1:] and [(seen.waiting[1], [0])], "on PE 0, which has less memory"),
    "no memory": (
        lambda seen: [job for job in seen.waiting if job.id in {2, 4}] if seen.now_s == 2 else [],
        "at 2 s: it starts job 4 on 2 PEs, but only 1 free ones have its memory",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fault", [*FAULTS, *NAMED])
def test_a_fault_is_one_sentence_that_names_the_policy(fault, engine):
    decide, said = (FAULTS | NAMED)[fault]
    stream = make_stream("s", submit_s=[0, 0, 1, 2], run_s=[5] * 4, limit_s=[6] * 4, processors=[3, 1, 1, 2])
    cluster, words = 3, {}
    if fault in NAMED:
        stream = stream.take(np.arange(4), memory_bytes=np.array([1.0, 2.0, 1.0, 2.0]))
        cluster, words = Cluster(np.ones(3), np.array([1.0, 2.0, 2.0])), {"processors": "named"}
    with pytest.raises(ScenarioError) as caught:
        runs_of(decide, stream, cluster, engine, **words)
    text = str(caught.value)
    assert text.startswith("policy mine")
    assert said in text
    assert len(caught.value.lines) == 1
    assert "\n" not in text


def test_what_a_policy_of_ones_own_decides_has_no_words():
    for words in ({"order": "sjf"}, {"backfill": "none"}, {"candidates": "shortest"}, {"sizes": "fit"}):
        with pytest.raises(ScenarioError, match="a policy of your own decides that itself"):
            Policy(own=fcfs, processors="named", **words)
    assert Policy(own=fcfs).name == "fcfs"
    assert Policy(own=fcfs, own_name="mine.py", processors="named").name == "mine.py named"

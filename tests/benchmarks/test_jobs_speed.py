"""Speed of streams of jobs beside a heap of their ends, which a simulator of events in Python needs at least."""

import heapq

import numpy as np
import pytest

from simulator.engines.jobs import run_jobs
from simulator.programs.streams.stream import make_stream
from simulator.scheduling.policy import Policy
from tests.support.job_logs import log
from tests.support.yardstick import times_as_long

pytestmark = pytest.mark.benchmark

MILLION = 1_000_000


def stream_of(jobs):
    submit, run, size, limit, user = (np.array(column) for column in zip(*jobs, strict=True))
    return make_stream("log", submit_s=submit, run_s=run, processors=size, limit_s=limit, user=user)


def repeated(stream, count):
    """The log again and again, one mean gap apart, so that the load stays."""
    times = -(-count // len(stream))
    lasting = stream.submit_s[-1] * len(stream) / (len(stream) - 1)
    source = np.tile(np.arange(len(stream)), times)[:count]
    later = np.repeat(np.arange(times) * lasting, len(stream))[:count]
    return stream.take(source, submit_s=stream.submit_s[source] + later)


def heap_of(stream):
    """The ends of all jobs put on a heap and taken off it."""
    ends = (stream.submit_s + stream.run_s).tolist()

    def work():
        queue = []
        for end in ends:
            heapq.heappush(queue, end)
        while queue:
            heapq.heappop(queue)

    return work


@pytest.mark.parametrize(
    ("policy", "most"),
    [(Policy(), 2), (Policy(backfill="conservative"), 10), (Policy(processors="named"), 25)],
    ids=lambda one: getattr(one, "name", None),
)
def test_a_million_jobs(policy, most):
    stream = repeated(stream_of(log("KTH-SP2")), MILLION)
    assert 0.6 < stream.offered_load(100) < 0.8
    found = times_as_long(lambda: run_jobs(stream, 100, policy, engine="compiled"), heap_of(stream), 3)
    print(f"{policy.name}: {MILLION} jobs in {found:.2f} times the time of their heap, at most {most}")
    assert found <= most

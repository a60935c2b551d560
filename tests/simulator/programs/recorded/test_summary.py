"""What is in a recording: counts by hand, and how often calls repeat."""

import numpy as np
import pytest

from simulator import RecordingFacts
from simulator.programs.recorded.recording import Action, Described
from tests.support.recordings import recording

A = Action


def test_calls_talks_and_sites_are_counted():
    ranks = [
        [
            (A.COMPUTE, {"amount": 2.0, "site": 1}),
            (A.SEND, {"partner": 1, "amount": 100.0}),
            (A.POST_SEND, {"partner": 2, "amount": 50.0, "source": 0}),
            (A.WAIT, {"source": 0}),
            (A.COMPUTE, {"amount": 1.0, "site": 0}),
            (A.BCAST, {"partner": 0, "amount": 8.0}),
        ],
        [(A.RECV, {"partner": 0, "amount": 100.0}), (A.BCAST, {"partner": 0, "amount": 8.0})],
        [
            (A.POST_RECV, {"partner": 0, "amount": 50.0, "source": 0}),
            (A.WAIT, {"source": 0}),
            (A.COMPUTE, {"amount": 4.0, "site": 1}),
            (A.BCAST, {"partner": 0, "amount": 8.0}),
        ],
    ]
    said = Described("./p", unknown={"MPI_Put": 3}, sites=("f", "g"), warnings=("quiet",))
    made = recording(*ranks, described=said, memory_bytes=np.array([8, 16, 24]))
    found = RecordingFacts.of(made.with_computing(np.array([[1.0, 1.0, 4.0], [3.0, 1.0, 4.0]])))
    assert [(one.call, one.count, one.bytes) for one in found.calls[:3]] == [
        ("send", 1, 100.0),
        ("post_send", 1, 50.0),
        ("bcast", 3, 24.0),
    ]
    assert [(one.source, one.to, one.messages, one.bytes) for one in found.talks] == [(0, 1, 1, 100.0), (0, 2, 1, 50.0)]
    assert found.computing_s == (3.0, 0.0, 4.0)
    first, second = found.sites
    assert (first.site, first.computations, first.computing_s, first.median_s) == ("g", 2, 6.0, 3.0)
    assert first.runs_differ == pytest.approx(np.std([5.0, 7.0], ddof=1) / 6)
    assert second.runs_differ == 0.0
    assert (found.unknown, found.warnings, found.recordings, found.waiting) == ({"MPI_Put": 3}, ("quiet",), 2, None)
    assert RecordingFacts.from_dict(found.to_dict()) == found


def test_what_ranks_wait_is_what_they_do_not_compute():
    row = [(A.COMPUTE, {"amount": 1.0})]
    found = RecordingFacts.of(recording(row, row, clock_s=np.array([[4.0, 4.0]])))
    assert found.waiting == pytest.approx(0.75)


def test_iterations_and_their_calls_are_found():
    body = [(A.SEND, {"partner": 1, "amount": float(size)}) for size in (1, 2, 2, 3)]
    start, end = [(A.SEND, {"partner": 1, "amount": 77.0})] * 2, [(A.SEND, {"partner": 1, "amount": 9.0})]
    work = [(A.COMPUTE, {"amount": 0.5})]
    one = [*start, *[call for _ in range(30) for step in body for call in (*work, step)], *end]
    other = [(A.RECV, {"partner": 0, "amount": 1.0})] * 5
    found = RecordingFacts.of(recording(one, other, one)).repeats
    assert [(each.ranks, each.iterations, each.calls) for each in found] == [(2, 30, 4), (1, 5, 1)]
    never = [(A.SEND, {"partner": 1, "amount": float(size)}) for size in range(9)]
    assert RecordingFacts.of(recording(never, [])).repeats[0].iterations == 0


def test_the_whole_iteration_is_found_and_not_a_part():
    inner = [(A.SEND, {"partner": 1, "amount": 1.0}), (A.SEND, {"partner": 1, "amount": 2.0})] * 10
    outer = [*inner, (A.SEND, {"partner": 1, "amount": 3.0})] * 40
    found = RecordingFacts.of(recording(outer, [])).repeats[0]
    assert (found.iterations, found.calls) == (40, 21)

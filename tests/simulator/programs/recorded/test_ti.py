"""SimGrid's time-independent traces are read as its replay takes them, and what is written is read as it was."""

import re
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from simulator.base.errors import ScenarioError
from simulator.programs.recorded.expansion import expanded
from simulator.programs.recorded.recording import COLLECTIVES, Action
from simulator.programs.recorded.ti import read_ti, write_ti
from tests.support.recordings import recording, recordings

A = Action


def read(tmp_path, text, **options):
    path = tmp_path / "trace.txt"
    path.write_text(text)
    return read_ti(path, **options)


def told(made, rank):
    """Actions of a rank with what each has."""
    rows = range(*made.first[rank : rank + 2])
    columns = (made.action, made.partner, made.source, made.tag, made.amount)
    return [tuple(column[row].item() for column in columns) for row in rows]


def test_every_action_is_read(tmp_path):
    made = read(
        tmp_path,
        """# a comment
0 init 1
0 comm_size 2
0 location file.c 17
0 compute 2e9   # flops
0 sleep 0.5
0 send 1 3 10 6
0 recv 1 4 10
0 sendRecv 10 1 10 1 6 6
0 barrier
0 bcast 5 1 6
0 reduce 5 1e9 1
0 allreduce 5 0 1
0 scan 5 0
0 exscan 5 0
0 alltoall 2 2 4
0 alltoallv 9 1 2 9 3 4 6 6
0 gather 5 5 1 6 6
0 scatter 5 7 0 6 4
0 gatherv 5 5 6 1 6 6
0 scatterv 5 6 5 1 4 6
0 allgather 3 3 6 6
0 allgatherv 3 3 4 6 6
0 reducescatter 3 4 2e9 6
0 finalize

1 init
1 send 0 4 10
""",
        speed=2e9,
    )
    none = (-1, -1, 0)
    assert told(made, 0) == [
        (A.COMPUTE, *none, 1.0),
        (A.SLEEP, *none, 0.5),
        (A.SEND, 1, -1, 3, 10.0),
        (A.RECV, 1, -1, 4, 80.0),
        (A.EXCHANGE, 1, 1, 0, 10.0),
        (A.BARRIER, *none, 0.0),
        (A.BCAST, 1, -1, 0, 5.0),
        (A.REDUCE, 1, -1, 0, 40.0),
        (A.COMPUTE, *none, 0.5),
        (A.ALLREDUCE, *none, 20.0),
        (A.SCAN, *none, 40.0),
        (A.EXSCAN, *none, 40.0),
        (A.ALLTOALL, *none, 16.0),
        (A.ALLTOALLV, -1, 0, 0, 3.0),
        (A.GATHER, 1, -1, 0, 5.0),
        (A.SCATTER, 0, -1, 0, 56.0),
        (A.GATHER, 1, -1, 0, 5.0),
        (A.SCATTER, 1, -1, 0, 5.0),
        (A.ALLGATHER, *none, 3.0),
        (A.ALLGATHER, *none, 3.0),
        (A.REDUCE_SCATTER, *none, 3.0),
        (A.COMPUTE, *none, 1.0),
    ]
    assert told(made, 1) == [(A.SEND, 0, -1, 4, 10.0)]
    assert made.parts.tolist() == [1.0, 2.0]


def test_waits_take_the_oldest_request_of_their_channel(tmp_path):
    made = read(
        tmp_path,
        """0 wait 0 1 7
0 isend 1 7 10
0 isend 1 7 20
0 irecv 1 8 10
0 wait 0 1 7
0 test 1 0 8
0 isend 1 7 30
0 waitall
0 waitall 3
0 isend 1 9 1
0 compute 5e8
1 send 0 8 10
""",
    )
    post, wait = A.POST_SEND, A.WAIT
    found = [(action, source, amount) for action, _, source, _, amount in told(made, 0)]
    first, second, third, fourth, last = [source for action, source, _ in found if action in (post, A.POST_RECV)]
    assert found == [
        (post, first, 10.0),
        (post, second, 20.0),
        (A.POST_RECV, third, 10.0),
        (wait, first, 0.0),
        (post, fourth, 30.0),
        (wait, second, 0.0),
        (wait, third, 0.0),
        (wait, fourth, 0.0),
        (post, last, 1.0),
        (A.COMPUTE, -1, 0.5),
        (wait, last, 0.0),
    ]
    assert max(first, second, third, fourth, last) <= 2
    expanded(made)  # no request is posted twice, and each is waited for


def test_each_rank_may_have_a_file(tmp_path):
    folder = tmp_path / "some"
    folder.mkdir()
    (folder / "one.txt").write_text("0 compute 1e9\n1 compute 9e9\n")
    (folder / "other.txt").write_text("1 compute 2e9\n")
    (tmp_path / "list").write_text("# names\nsome/one.txt\n\nsome/other.txt\n")
    assert read_ti(tmp_path / "list").computing_s.tolist() == [1.0, 2.0]
    (tmp_path / "alone").write_text("some/one.txt\n")
    assert read_ti(tmp_path / "alone").computing_s.tolist() == [1.0, 9.0]
    (folder / "old").write_text("0 allReduce 8 0\n0 Isend 1 0 8\n1 allReduce 8 0\n1 Recv 0 0 8\n")
    assert read_ti(folder / "old").action.tolist() == [A.ALLREDUCE, A.POST_SEND, A.WAIT, A.ALLREDUCE, A.RECV]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "0 compute 1\n0 computes 2\n",
            "line 2: 'computes' is no action of a time-independent trace; did you mean compute",
        ),
        ("0 compute\n", "line 1: compute has 0 arguments, and takes 1"),
        ("0 compute x\n", "line 1: compute: an argument is no number: x"),
        ("p0 compute 1\n", "line 1: 'p0' is no rank; give lines RANK ACTION ARGUMENTS"),
        ("0 send 1 0 8\n", "rank 0, action 1 (send): there is no rank 1; the trace has 0 to 0"),
        ("0 barrier\n0 recv -333 0 8\n1 send 0 0 8\n", "rank 0, action 2 (recv): it is from any source or of any tag"),
        ("0 irecv 1 -444 8\n1 send 0 0 8\n", "rank 0, action 1 (irecv): it is from any source or of any tag"),
        ("0 bcast 8 0 99\n", "rank 0, action 1 (bcast): there is no type 99; give 0 to 29"),
        ("0 wait\n", "line 1: wait has 0 arguments, and takes 3"),
        ("0 gatherv 8 1\n1 gatherv 8 1 2\n", "rank 0, action 1 (gatherv): gatherv has 2 arguments, 3 for 2 ranks"),
        ("# nothing\n", "it has no action"),
        ("nowhere.txt\n", "nowhere.txt: no such file"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(tmp_path, text, fault):
    with pytest.raises(ScenarioError, match=re.escape(fault)):
        read(tmp_path, text)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=recordings(communicators=False, modes=(0,)))
def test_what_is_written_is_read_as_it_was(tmp_path_factory, made):
    """Less what a trace has not: tags of exchanges, bytes of receives, and what of them only one rank needs to say."""
    kept = (made.action != Action.EXCHANGE) | (made.tag == 0)
    silent = (made.action <= Action.SLEEP) & (made.amount == 0)
    out = tmp_path_factory.mktemp("ti") / "out.ti"
    write_ti(made, out, speed=3e9)
    found = read_ti(out, speed=3e9)
    if found.ranks < made.ranks or not np.all(kept):
        return
    whole = expanded(made, {"barrier": "dissemination"}).columns
    again = expanded(found).columns
    assert np.array_equal(again.first, whole.first)
    for name in ("kind", "partner", "tag"):
        assert np.array_equal(getattr(again, name), getattr(whole, name)), name
    assert again.amount == pytest.approx(whole.amount, rel=1e-12)
    assert found.action.tolist() == made.action[~silent].tolist()


def test_what_a_trace_cannot_say_becomes_messages(tmp_path):
    inside = {"communicator": 1, "amount": 64.0}
    exchange = {"tag": 5, "amount": 8.0}
    ranks = [
        [(A.ALLREDUCE, inside), (A.BARRIER,)],
        [(A.BARRIER,), (A.EXCHANGE, exchange | {"partner": 2, "source": 2})],
        [(A.ALLREDUCE, inside), (A.BARRIER,), (A.EXCHANGE, exchange | {"partner": 1, "source": 1})],
    ]
    names = write_ti(recording(*ranks, groups=[[0, 1, 2], [2, 0]]), tmp_path / "out.ti")
    assert names[0].read_text().splitlines() == [str(name) for name in names[1:]]
    lines = [name.read_text().splitlines() for name in names[1:]]
    assert lines[0] == ["0 init", "0 irecv 2 2 64", "0 send 2 2 64", "0 wait 2 0 2", "0 barrier", "0 finalize"]
    assert lines[1] == ["1 init", "1 barrier", "1 irecv 2 1 8", "1 send 2 1 8", "1 wait 2 1 1", "1 finalize"]


def test_a_million_actions_are_read_in_about_a_second(tmp_path):
    pattern = "".join(
        f"{{rank}} {line}\n" for line in ("compute 12345.5", "isend 1 0 1024", "irecv 1 0 1024", "waitall")
    )
    path = tmp_path / "big.ti"
    path.write_text("".join(pattern.format(rank=rank) * 31_250 for rank in range(2)))
    times = []
    for _ in range(2):
        begun = time.perf_counter()
        made = read_ti(path)
        times.append(time.perf_counter() - begun)
    assert made.action.size == 312_500
    assert min(times) < 2.0  # a quarter of a million lines; some 0.2 s here


def test_all_collectives_are_written_by_name(tmp_path):
    rooted = (A.BCAST, A.REDUCE, A.GATHER, A.SCATTER)
    rows = [[4.0, 5.0], [6.0, 7.0]]
    ranks = [
        [
            (one, {"amount": sum(rows[rank]) if one == A.ALLTOALLV else 8.0 + rank * (one in (A.GATHER, A.ALLGATHER)),
                   "partner": 1 if one in rooted else -1, "source": rank if one == A.ALLTOALLV else -1})
            for one in COLLECTIVES
        ]
        for rank in range(2)
    ]  # fmt: skip
    made = recording(*ranks, parts=rows)
    names = write_ti(made, tmp_path / "out.ti")
    assert names[1].read_text().split("\n")[1:-2] == [
        "0 barrier", "0 bcast 8 1", "0 reduce 8 0 1", "0 allreduce 8 0", "0 scan 8 0", "0 exscan 8 0",
        "0 gatherv 8 8 9 1", "0 scatter 8 8 1", "0 allgatherv 8 8 9", "0 alltoall 8 8", "0 alltoallv 9 4 5 10 4 6",
        "0 reducescatter 8 8 0",
    ]  # fmt: skip
    found = read_ti(names[0])
    assert found.action.tolist() == made.action.tolist()
    assert found.partner.tolist() == made.partner.tolist()
    assert found.parts.tolist() == made.parts.tolist()


def test_a_trace_of_one_rank_alone_is_refused(tmp_path):
    (tmp_path / "rank-1.txt").write_text("1 init\n1 compute 1e6\n1 finalize\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="rank 0 has no line"):
        read_ti(tmp_path / "rank-1.txt")

"""Recordings as traces in SimGrid's replay and as programs in our engines: the same makespans.

SimGrid adds an envelope to every message, which ours get too.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from simulator import run
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Network
from simulator.platform.nodes import PE, Platform
from simulator.programs.columns import Kind
from simulator.programs.configuration import Configuration
from simulator.programs.recorded.expansion import expanded
from simulator.programs.recorded.recording import Action
from simulator.programs.recorded.ti import read_ti, write_ti
from simulator.scenario_file.scenario import Application, Scenario
from tests.agreement import simgrid_replay as judge
from tests.support.recordings import recording, recordings

pytestmark = pytest.mark.slow

LATENCY_S, BANDWIDTH = 1e-4, 1e8
SENDS = (Kind.SEND, Kind.EXCHANGE, Kind.POST_SEND)


def ours(made, algorithms=None):
    """The makespan of a recording on PEs of unlike speed with a link for each pair."""
    found = expanded(made, algorithms, polls=False)
    columns = found.columns
    amount = columns.amount + judge.ENVELOPE_BYTES * np.isin(columns.kind, SENDS)
    program = replace(found.program, assembled=replace(columns, amount=amount))
    pes = tuple(PE(f"p{i}", f"n{i}", {"k": SpeedBand.constant(1 + i / 10)}) for i in range(made.ranks))
    platform = Platform(pes, Network.uniform(LinkModel.from_latency(LATENCY_S, BANDWIDTH)))
    places = (Configuration("c", (1,) * made.ranks),)
    return float(run(Scenario(platform, Application.of_program(program, kernel="k"), places, 1)).makespan_s[0, 0])


def theirs(made, path, collectives=None):
    """The same in SimGrid, of the trace that is written."""
    _, *names = write_ti(made, path)
    path.write_text("".join(name.read_text() for name in names))
    links = dict.fromkeys(itertools.permutations(range(made.ranks), 2), (LATENCY_S, BANDWIDTH))
    platform = judge.pairs([1e9 * (1 + i / 10) for i in range(made.ranks)], links)
    return judge.replay(path, platform, list(range(made.ranks)), collectives=collectives).makespan_s


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(made=recordings(modes=(0,)))
def test_what_is_expanded_takes_as_long(tmp_path, made):
    """Collectives of all ranks are messages too, as their communicator has another order."""
    made = replace(made, members=np.concatenate((np.arange(made.ranks)[::-1], made.members[made.ranks :])))
    assert ours(made) == pytest.approx(theirs(made, tmp_path / "out.ti"), rel=1e-9)


@pytest.mark.parametrize("ranks", [2, 4, 7, 8])
@pytest.mark.parametrize(
    ("action", "algorithm", "named"),
    [
        (Action.BARRIER, {}, {"barrier": "ompi_bruck"}),
        (Action.BCAST, {"broadcast": "binomial"}, {"bcast": "binomial_tree"}),
        (Action.REDUCE, {"reduce": "binomial"}, {"reduce": "binomial"}),
        (Action.ALLREDUCE, {"allreduce": "recursive_doubling"}, {"allreduce": "rdb"}),
        (Action.BCAST, {"broadcast": "scatter_ring"}, {"bcast": "scatter_LR_allgather"}),
        (Action.ALLREDUCE, {"allreduce": "ring"}, {"allreduce": "lr"}),
        (Action.ALLGATHER, {"allgather": "bruck"}, {"allgather": "bruck"}),
        (Action.GATHER, {"gather": "posted"}, {"gather": "default"}),
        (Action.SCATTER, {"scatter": "posted"}, {"scatter": "default"}),
        (Action.ALLGATHER, {"allgather": "ring"}, {"allgather": "ring", "allgatherv": "mpich_ring"}),
        (Action.ALLTOALL, {"alltoall": "pairwise"}, {"alltoall": "ring"}),
        (Action.ALLTOALLV, {"alltoall": "pairwise"}, {"alltoallv": "ring"}),
        (Action.REDUCE_SCATTER, {}, {"reduce_scatter": "mpich_pair"}),
    ],
)
def test_collectives_by_name_take_as_long(tmp_path, ranks, action, algorithm, named):
    if action == Action.ALLTOALLV and ranks in (4, 8):
        ranks += 1  # for powers of two its ring is another algorithm
    rng = np.random.default_rng(ranks)
    rows = rng.integers(1, 10**5, (ranks, ranks)).astype(float)
    unlike = action == Action.REDUCE_SCATTER or "allgatherv" in named
    parts = 56_000.0 + rng.integers(0, 10**4, ranks) * unlike  # others divide it, as SimGrid sends what is left apart
    said = [
        {"partner": 0 if action in (Action.BCAST, Action.REDUCE, Action.GATHER, Action.SCATTER) else -1,
         "amount": rows[rank].sum() if action == Action.ALLTOALLV else parts[rank] * (action != Action.BARRIER),
         "source": rank if action == Action.ALLTOALLV else -1}
        for rank in range(ranks)
    ]  # fmt: skip
    row = [
        [(Action.COMPUTE, {"amount": 0.01 * float(rng.random())}), (action, said[rank])] * 2 for rank in range(ranks)
    ]
    made = recording(*row, parts=rows.tolist() if action == Action.ALLTOALLV else ())
    assert ours(made, algorithm) == pytest.approx(theirs(made, tmp_path / "out.ti", named), rel=1e-6)


def test_waits_of_a_trace_take_as_long(tmp_path):
    """What waits for what is open follows from the lines."""
    sender = "init; isend 1 0 100000; compute 1e8; wait 0 1 0; isend 1 0 500000; irecv 1 1 20000; waitall"
    receiver = "init; compute 2e8; irecv 0 0 100000; wait 0 1 0; isend 0 1 20000; irecv 0 0 500000; waitall"
    text = "".join(f"{rank} {line}\n" for rank, said in enumerate((sender, receiver)) for line in said.split("; "))
    path = tmp_path / "trace"
    path.write_text(text)
    links = dict.fromkeys(itertools.permutations(range(2), 2), (LATENCY_S, BANDWIDTH))
    found = judge.replay(path, judge.pairs([1e9, 1.1e9], links), [0, 1])
    assert ours(read_ti(path)) == pytest.approx(found.makespan_s, rel=1e-9)

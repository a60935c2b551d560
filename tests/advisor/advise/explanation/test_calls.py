"""An explanation of a recorded program names its call sites, and which ranks send each other most."""

import pytest

from advisor import explain, recommend
from advisor.advise.explanation.reasons import UNKNOWN
from advisor.report.explanation import explanation_section, limit_sentence
from simulator import load_scenario
from simulator.programs.recorded.recording import Action, Described
from tests.support.recordings import recording

SITES = ("halo+0x1f2 (MPI_Sendrecv)", "norm+0x40 (MPI_Allreduce)")
SCENARIO = """
format: 1
application: {name: recorded, kernel: triad, recording: RUN, parameters: {recorded_on: a}}
platform:
  nodes:
    - {name: a, pes: [{cores: 2, speeds: {triad: 1 Gflop/s}}]}
    - {name: b, pes: [{cores: 2, speeds: {triad: 1 Gflop/s}}]}
  network:
    topology: star
    contention: fair
    link: {latency: 20us, bandwidth: 1Gbit/s}
    loopback: {latency: 1us, bandwidth: 5GB/s}
configurations:
  as-now: {partition: [1, 1, 1, 1], allocation: {a: 2, b: 2}}
"""


@pytest.fixture
def scenario(tmp_path):
    """Ranks 0 and 2, and 1 and 3, exchange 10 MB three times; all reduce 8 bytes at a site that is not known."""
    ranks = []
    for rank in range(4):
        partner = (rank + 2) % 4
        halo = {"partner": partner, "source": partner, "amount": 1e7 + 1e6 * (rank % 2), "site": 0}
        once = [(Action.COMPUTE, {"amount": 0.001, "site": 0}), (Action.EXCHANGE, halo)]
        ranks.append([*once * 3, (Action.ALLREDUCE, {"amount": 8.0, "site": 1 if rank else -1})])
    recording(*ranks, described=Described("./app", sites=SITES)).save(tmp_path / "RUN")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return load_scenario(tmp_path / "s.yaml")


def test_calls_and_pairs_are_named(scenario):
    found = explain(scenario, recommend(scenario, confirm=0))
    told = found.why.told
    assert told.calls[0].site == SITES[0]
    assert {one.site for one in told.calls} == {*SITES, UNKNOWN}
    assert 0 < sum(one.share for one in told.calls) < 1
    assert [(one.ranks, one.sent_bytes, one.site) for one in told.talks[:2]] == [
        ((1, 3), pytest.approx(6.6e7, rel=1e-6), SITES[0]),
        ((0, 2), pytest.approx(6e7, rel=1e-6), SITES[0]),
    ]
    assert all(len(one.nodes) == 1 for one in told.talks[:2])
    (shown,) = [
        block
        for part in explanation_section(found.recommendation.compared, found).blocks
        for block in getattr(part, "right", ())
        if getattr(block, "caption", "") == "Ranks that send each other most"
    ]
    assert shown.rows[0][:3] == ("1 and 3", "62.9 MiB", SITES[0])


def test_where_messages_limit_the_answer_says_who_sends_most(scenario):
    found = explain(scenario, recommend(scenario, confirm=0))
    assert found.why.path_messages > 0.5
    node = found.why.told.talks[0].nodes[0]
    begin = "ranks 1 and 3 send each other 62.9 MiB, most in halo+0x1f2 (MPI_Sendrecv), and are on "
    assert limit_sentence(found).startswith(f"{begin}{node}")

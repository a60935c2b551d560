"""Both engines on random programs: identical ticks for every operation of every process, and the same errors."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from simulator import run
from simulator.base.errors import ApportionError
from simulator.engines.compiled import direct
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Exchange, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import truth_of
from tests.agreement.scenarios import TICK, doubtful, scenarios, unshared
from tests.support.programs import under_quotas

EXAMPLES = int(os.environ.get("APPORTION_EXAMPLES", "30"))
MANY = 500

quick = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
thorough = settings(quick, max_examples=MANY)


def outcome(scenario, engine):
    """Everything that a run says: results with all logs, or the lines of its error."""
    try:
        runs = run(scenario, engine=engine, log_replications=scenario.replications)
    except ApportionError as error:
        return type(error).__name__, error.lines
    logs = {
        key: sorted((e.process, e.index, e.operation, e.start_ticks, e.end_ticks) for e in log)
        for key, log in runs.logs.items()
    }
    arrays = (runs.makespan_ticks, *runs.computed_ticks, *runs.busy_ticks, *runs.finish_ticks)
    return runs.tick_s, logs, [np.asarray(a).tolist() for a in arrays]


def assert_same(scenario):
    assert outcome(scenario, "process") == outcome(scenario, "compiled")


@given(scenario=scenarios())
@quick
def test_random_programs_agree(scenario):
    assert_same(scenario)


@given(scenario=scenarios())
@quick
def test_random_programs_agree_on_the_path_that_takes_all(scenario):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "takes", lambda *_: False)
        assert_same(scenario)


@given(scenario=unshared())
@quick
def test_programs_that_share_nothing_agree(scenario):
    assert_same(scenario)


@given(scenario=scenarios(careless=True))
@quick
def test_programs_that_may_deadlock_agree(scenario):
    assert_same(scenario)


@st.composite
def limited(draw, made):
    """Some scenarios with PEs under quotas."""
    scenario = draw(made)
    pes = draw(under_quotas(scenario.platform.pes, TICK))
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


@given(scenario=limited(doubtful()))
@quick
def test_random_programs_agree_under_quotas(scenario):
    assert_same(scenario)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_ten_thousand_random_programs_agree_under_quotas(number):
    """In parts of a thousand, side by side: a long search of Hypothesis comes to stay among small programs."""

    @seed(number)
    @given(scenario=limited(scenarios() | doubtful()))
    @settings(quick, max_examples=1000, derandomize=False, database=None)
    def some(scenario):
        assert_same(scenario)

    some()


@given(scenario=doubtful())
@quick
def test_random_programs_agree_on_all_truths(scenario):
    assert_same(scenario)


@given(scenario=doubtful())
@settings(quick, max_examples=15)
def test_a_truth_alone_is_what_it_is_among_the_others(scenario):
    """Where nothing doubts speeds, to the tick: links, domains and loads of a truth are those of its replications."""
    sure = tuple(replace(pe, speeds={"k": SpeedBand.constant(1e12)}) for pe in scenario.platform.pes)
    scenario = replace(scenario, platform=replace(scenario.platform, pes=sure), replications=5, truths=2)
    try:
        runs = run(scenario, engine="process")
        alone = run(truth_of(scenario, 1), engine="compiled")
    except ApportionError:
        return
    if runs.tick_s == alone.tick_s:
        assert np.array_equal(runs.makespan_ticks[:, 1::2], alone.makespan_ticks[:, 1::2])


@pytest.mark.slow
@given(scenario=doubtful())
@thorough
def test_hundreds_of_random_programs_agree_on_all_truths(scenario):
    assert_same(scenario)


@pytest.mark.slow
@given(scenario=scenarios())
@thorough
def test_hundreds_of_random_programs_agree(scenario):
    assert_same(scenario)


@pytest.mark.slow
@given(scenario=unshared())
@thorough
def test_hundreds_of_programs_that_share_nothing_agree(scenario):
    assert_same(scenario)


# Counter-examples found on the way, by name


def alone(*rows, eager_bytes=100):
    """Processes on one PE of six cores without load, one volume per tick."""
    pe = PE("a", "n", {"k": SpeedBand.constant(1e12)}, cores=6)
    network = Network.uniform(LinkModel.from_latency(5e-12, 1e12), eager_bytes=eager_bytes)
    configuration = Configuration("c", (1,) * len(rows), (0,) * len(rows))
    program = Program(rows, (0,) * len(rows))
    return Scenario(Platform((pe,), network), Application.of_program(program, kernel="k"), (configuration,), 1)


def test_an_exchange_with_itself_takes_what_it_sent_before_first():
    """The static path once gave it its own message."""
    scenario = alone((Send(0, 0), Exchange(0, 0, 0)))
    assert_same(scenario)
    assert outcome(scenario, "compiled")[1][0].startswith("configuration c: process 0, operation 1 (exchange")
    assert_same(alone((Send(0, 0), Compute(9, 1.0), Exchange(0, 0, 40), Recv(0))))


def test_a_flow_whose_link_is_shared_twice_gets_its_rate_back():
    """The process engine once left it at the half rate: sharing moved from one link to another and ended there.

    By hand, in sevenths of a byte per tick: 1 until 4, then a half until the third flow has delivered its byte at 18,
    and 1 again for the 3 that are left.
    """
    links = tuple(Link(f"link{node}", 0.0, sevenths * 1e12 / 7) for node, sevenths in enumerate((3, 1, 2)))
    network = Network(Star(links), loopback=LinkModel.from_latency(2e-12, 1e12), contention="fair")
    pes = tuple(PE(f"pe{node}", f"node{node}", {"k": SpeedBand.constant(1e12)}) for node in range(3))
    rows = ((Send(3, 2),), (Send(2, 1),), (Recv(1), Send(4, 1)), (Recv(0),), (Recv(2),))
    application = Application.of_program(Program(rows, (0,) * 5), kernel="k")
    made = Scenario(Platform(pes, network), application, (Configuration("c", (1,) * 5, (0, 0, 2, 1, 1)),), 1)
    assert_same(made)
    assert run(made, engine="process").finish_ticks[0].tolist() == [[21, 4, 18, 21, 18]]

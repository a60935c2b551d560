"""Speeds and message times as short real runs correct them: the runs here are simulated on a truth that differs."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.verification.pieces import correct
from simulator import PE, Application, Configuration, LinkModel, Platform, Scenario, SpeedBand, run
from simulator.calibration import RealRun, Usage

STENCIL = Application("stencil", "k", {"n": 400, "iterations": 30})
EQUAL = Configuration.one_each("equal", (200, 200))


def scenario(speeds, latency_s, *, iterations=30):
    pes = tuple(PE(f"p{place}", f"n{place}", {"k": SpeedBand.constant(one)}) for place, one in enumerate(speeds))
    platform = Platform.uniform(pes, LinkModel.from_latency(latency_s, 1e9))
    application = replace(STENCIL, parameters={"n": 400, "iterations": iterations})
    return Scenario(platform, application, (EQUAL,), 5, 1)


def real(truth, *, scatter=0.0, count=5):
    """Runs of a truth, whose makespans differ by a share from run to run."""
    found = run(truth, replications=1)
    busy_s, makespan_s = found.busy_ticks[0][0] * found.tick_s, float(found.makespan_s[0, 0])
    noises = 1 + scatter * np.linspace(-1, 1, count)
    return [RealRun(makespan_s * noise, tuple(Usage(cpu_s=float(one)) for one in busy_s)) for noise in noises]


def test_what_runs_of_a_truth_show_is_what_the_scenario_says_then():
    truth, believed = scenario([1.6e9, 3e9], 3e-4), scenario([2e9, 3e9], 1e-4)
    found = correct(believed, believed, EQUAL, real(truth))
    assert [one.ratio for one in found.pieces] == pytest.approx([0.8, 1.0], rel=1e-6)
    assert found.messages == pytest.approx(3, rel=0.05)
    after, true = (float(run(one).makespan_s[0, 0]) for one in (found.scenario, truth))
    assert after == pytest.approx(true, rel=0.005)
    (line,) = found.lines
    assert "the speed of p0 by -20%; the message times between hosts by a factor of 2.9" in line


def test_a_piece_corrects_what_takes_longer():
    believed, truth = scenario([2e9, 2e9], 1e-4, iterations=3000), scenario([1e9, 2e9], 1e-4)
    found = correct(believed, replace(believed, application=STENCIL), EQUAL, real(truth))
    assert found.scenario.application == believed.application
    expected = run(scenario([1e9, 2e9], 1e-4, iterations=3000)).makespan_s[0, 0]
    assert run(found.scenario).makespan_s[0, 0] == pytest.approx(expected, rel=0.005)


def test_runs_as_predicted_and_runs_that_differ_among_themselves_correct_nothing():
    believed = scenario([2e9, 3e9], 1e-4)
    assert correct(believed, believed, EQUAL, real(believed)).lines == []
    scattered = real(scenario([2e9, 3e9], 1.2e-4), scatter=0.2)
    assert correct(believed, believed, EQUAL, scattered).scenario == believed


def test_what_no_message_explains_is_left():
    believed = scenario([2e9, 3e9], 1e-4)
    slower = [replace(one, makespan_s=100 * one.makespan_s) for one in real(believed)]
    assert correct(believed, believed, EQUAL, slower).messages == 1.0

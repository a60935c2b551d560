"""Speeds and message times as short real runs correct them: the runs here are simulated on a truth that differs."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.verification.pieces import Tried, correct
from advisor.verification.residuals import without_loads
from simulator import (
    PE,
    Application,
    Configuration,
    LinkModel,
    Platform,
    Quota,
    Scenario,
    SpeedBand,
    run,
)
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
    return tuple(RealRun(makespan_s * noise, tuple(Usage(cpu_s=float(one)) for one in busy_s)) for noise in noises)


def test_what_runs_of_a_truth_show_is_what_the_scenario_says_then():
    truth, believed = scenario([1.6e9, 3e9], 3e-4), scenario([2e9, 3e9], 1e-4)
    found = correct(believed, believed, [Tried(EQUAL, real(truth))])
    assert [one.ratio for one in found.pieces] == pytest.approx([0.8, 1.0], rel=1e-6)
    assert found.messages == pytest.approx(3, rel=0.05)
    after, true = (float(run(one).makespan_s[0, 0]) for one in (found.scenario, truth))
    assert after == pytest.approx(true, rel=0.005)
    (line,) = found.lines
    assert "the speed of p0 by -20%; the message times by a factor of 2.9" in line


def test_a_piece_corrects_what_takes_longer():
    believed, truth = scenario([2e9, 2e9], 1e-4, iterations=3000), scenario([1e9, 2e9], 1e-4)
    found = correct(believed, replace(believed, application=STENCIL), [Tried(EQUAL, real(truth))])
    assert found.scenario.application == believed.application
    expected = run(scenario([1e9, 2e9], 1e-4, iterations=3000)).makespan_s[0, 0]
    assert run(found.scenario).makespan_s[0, 0] == pytest.approx(expected, rel=0.005)


def test_runs_as_predicted_and_runs_that_differ_among_themselves_correct_nothing():
    believed = scenario([2e9, 3e9], 1e-4)
    assert correct(believed, believed, [Tried(EQUAL, real(believed))]).lines == []
    scattered = real(scenario([2e9, 3e9], 1.2e-4), scatter=0.2)
    assert correct(believed, believed, [Tried(EQUAL, scattered)]).scenario == believed


def test_speeds_of_pes_under_quotas_are_those_of_their_cpu_seconds():
    believed = scenario([2e9, 3e9], 1e-4)
    pes = tuple(replace(pe, quota=Quota(0.3, 0.002)) for pe in believed.platform.pes)
    believed = replace(believed, platform=replace(believed.platform, pes=pes))
    alone_s, under_quotas = real(without_loads(believed))[0].compute, real(believed)
    runs = tuple(replace(one, compute=alone_s) for one in under_quotas)
    assert under_quotas[0].compute[0].cpu_s > 1.5 * alone_s[0].cpu_s  # what waits for its quota is not computing
    found = correct(believed, believed, [Tried(EQUAL, runs)])
    assert [one.ratio for one in found.pieces] == pytest.approx([1.0, 1.0], rel=1e-6)
    assert found.lines == []


def test_what_no_message_explains_is_left():
    believed = scenario([2e9, 3e9], 1e-4)
    slower = [replace(one, makespan_s=100 * one.makespan_s) for one in real(believed)]
    found = correct(believed, believed, [Tried(EQUAL, tuple(slower))])
    assert found.messages == 1.0
    (line,) = found.lines
    assert "under equal took 100" in line


def tried(truth, units, count=20):
    """Runs of a truth under other units, each with its own draws."""
    one = Configuration.one_each("-".join(map(str, units)), units)
    found = run(replace(truth.with_configurations((one,)), replications=count))
    idle = run(without_loads(truth.with_configurations((one,))))
    usages = tuple(Usage(cpu_s=float(busy)) for busy in idle.busy_ticks[0][0] * idle.tick_s)
    return Tried(one, tuple(RealRun(float(makespan_s), usages) for makespan_s in found.makespan_s[0]))


def test_one_factor_of_message_times_is_the_likeliest_for_all_pieces():
    believed = scenario([1e9, 3e9], 1e-4)
    platform = replace(believed.platform, network=believed.platform.network.scaled(latency=3, bandwidth=1 / 3))
    truth, units = replace(believed, platform=platform), ((200, 200), (130, 270))
    found = correct(believed, believed, [tried(truth, one) for one in units])
    assert found.messages == pytest.approx(3, rel=0.05)
    assert found.unexplained == ()


def test_a_speed_is_corrected_at_the_sizes_that_ran():
    believed = scenario([2e9, 3e9], 1e-8)
    first, second = believed.platform.pes
    sizes = [float(np.mean(STENCIL.work.compute(2)(rows).size)) for rows in (100, 200, 300)]
    same = SpeedBand(np.array([1e3, 1e6]), *[np.full(2, 2e9)] * 3)
    slower = same.scaled([0.7, 0.9], sizes[::2])
    believed, truth = (
        replace(believed, platform=replace(believed.platform, pes=(replace(first, speeds={"k": one}), second)))
        for one in (same, slower)
    )
    found = correct(believed, believed, [tried(truth, units) for units in ((100, 300), (300, 100))])
    band = found.scenario.platform.pes[0].speeds["k"]
    assert band.speed(np.array(sizes)) == pytest.approx(slower.speed(np.array(sizes)), rel=0.03)


def test_what_all_runs_are_off_by_scales_all_times():
    believed = scenario([2e9, 3e9], 1e-8)  # no message explains it
    runs = [tried(believed, units) for units in ((200, 200), (130, 270))]
    quicker = [
        replace(one, runs=tuple(replace(real, makespan_s=real.makespan_s * 0.85) for real in one.runs)) for one in runs
    ]
    found = correct(believed, believed, quicker)
    said = run(found.scenario.with_configurations(tuple(one.configuration for one in runs))).makespan_s
    assert np.median(said, axis=1) == pytest.approx([one.makespan_s for one in quicker], rel=0.02)
    assert found.pace == pytest.approx(0.85, rel=0.01)
    assert found.unexplained == ()


def test_runs_that_are_off_to_both_sides_scale_nothing():
    believed = scenario([2e9, 3e9], 1e-8)
    first, second = (tried(believed, units) for units in ((200, 200), (130, 270)))
    off = [
        replace(one, runs=tuple(replace(real, makespan_s=real.makespan_s * by) for real in one.runs))
        for one, by in ((first, 0.8), (second, 1.12))
    ]
    found = correct(believed, believed, off)
    assert found.pace == 1.0
    assert {name for name, _ in found.unexplained} == {one.configuration.name for one in off}


def test_sizes_that_are_nearly_the_same_have_one_speed():
    believed, slower = scenario([2e9, 3e9], 1e-4), scenario([1.6e9, 3e9], 1e-4)
    slowest = scenario([1.4e9, 3e9], 1e-4)
    found = correct(believed, believed, [tried(slower, (200, 200)), tried(slowest, (201, 199))])
    assert [one.ratio for one in found.pieces if one.pe == "p0"] == pytest.approx([0.8, 0.7])
    band = found.scenario.platform.pes[0].speeds["k"]
    assert band.mid == pytest.approx(0.75 * 2e9 / found.pace)

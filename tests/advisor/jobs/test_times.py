"""Predicted times of applications, sizes and estimates that follow from them: closed forms on constant speeds."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.jobs.setting import (
    PredictedTimes,
    Setting,
    advised_sizes,
    predict_times,
    setting_of,
)
from simulator import Estimates, Policy, ScenarioError, load_scenario, make_stream
from simulator.programs.streams.stream import JobApplication

PLATFORM = """
format: 1
platform:
  nodes:
    - {{name: fast, count: 2, pes: [{{cores: 2, speeds: {{dgemm: 4 Gflop/s}}}}]}}
    - {{name: slow, count: 4, pes: [{{speeds: {{dgemm: 1 Gflop/s}}{load}}}]}}
  network: {{topology: star, link: {{latency: 1us, bandwidth: 40Gbit/s}}}}
application: {{name: matmul, kernel: dgemm, parameters: {{n: 1000}}}}
configurations: {{equal: {{partition: equal}}}}
replications: 5
"""
LOAD = ", load: {trace: {times_s: [0, 5], values: [0, 1], end_s: 10}, rule: fair}"
SPEEDS = (4e9, 1e9)
SAMPLES, VOLUME = 8400, 1e6
EP = JobApplication("ep", {"samples": SAMPLES, "volume": VOLUME})


@pytest.fixture
def scenario(tmp_path):
    def made(load="", text=PLATFORM):
        (tmp_path / "scenario.yaml").write_text(text.format(load=load))
        return load_scenario(tmp_path / "scenario.yaml")

    return made


def stream_of(sizes, applications=(EP,), **fields):
    """Jobs as (least, asked for, most) processes, all submitted at once."""
    least, asked, most = (np.array(one) for one in zip(*sizes, strict=True))
    given = {"limit_s": [1000.0] * len(sizes), "application": np.zeros(len(sizes), dtype=np.int64)} | fields
    submit = np.zeros(len(sizes))
    return make_stream(
        "s", submit_s=submit, processors=asked, least=least, most=most, applications=applications, **given
    )


# Predictions


def test_equal_parts_take_the_time_of_the_slowest_class(scenario):
    """8,400 samples of 1 Mflop: 8.4 Gflop over the processes, at the speed of the slowest that takes part."""
    found = predict_times(stream_of([(1, 1, 8)]), scenario())
    assert found.processes[0].tolist() == list(range(1, 9))
    assert (found.draws, found.cluster.slowness.tolist()) == (5, [1.0] * 4 + [4.0] * 4)
    seconds = found.mean.seconds[0]
    for row, size in enumerate(range(1, 9)):
        speeds = SPEEDS if size <= 4 else (SPEEDS[1], SPEEDS[1])
        told = [SAMPLES * VOLUME / size / speed for speed in speeds]
        assert seconds[row].tolist() == pytest.approx(told, rel=1e-4), "messages take microseconds"
    assert np.all(found.seconds[0] == found.seconds[0][:1]), "nothing is drawn"


def test_loads_are_drawn_and_quantiles_lie_between(scenario):
    """8.4 s on PEs halved in 5 of 10 s: 5 s whole, 5 s half and 0.9 s whole; or 5 s half, 5 s whole and 1.8 s half."""
    found = predict_times(stream_of([(1, 1, 1)]), replace(scenario(LOAD), seed=4), replications=20)
    seconds = found.seconds[0]
    assert seconds.shape == (20, 1, 2)
    assert seconds[:, 0, 0] == pytest.approx(2.1)
    assert len(set(seconds[:, 0, 1].round(6).tolist())) > 4
    assert (seconds[:, 0, 1].min(), seconds[:, 0, 1].max()) == pytest.approx((10.9, 11.8), abs=0.01)
    assert found.quantile(0.5).seconds[0][0, 1] == np.quantile(seconds[:, 0, 1], 0.5)
    assert found.draw(3).seconds[0].tolist() == seconds[3].tolist() == found.draw(23).seconds[0].tolist()
    again = predict_times(stream_of([(1, 1, 1)]), replace(scenario(LOAD), seed=4), replications=20)
    assert again.seconds[0].tolist() == seconds.tolist()


def by_hand(stream, scenario, sizes=(1, 2, 4, 8), seconds=((8.0,), (4.4,), (2.6,), (2.0,)), draws=1):
    """The same times for both classes and all draws, the draw's number times a tenth longer."""
    one = np.repeat(np.array(seconds), 2, axis=1)
    found = np.stack([one * (1 + draw / 10) for draw in range(draws)])
    setting = setting_of(stream, platform=scenario, pes=None, replications=1)
    table = PredictedTimes(stream, setting.predicted.cluster, (np.array(sizes),), (found,))
    return replace(setting, predicted=table)


def test_estimates_are_quantiles_over_the_draws(scenario):
    """Draws of 8, 8.8 ... 16 s for one process: the middle is 12 s, a tenth of them pass 15.2 s."""
    stream = stream_of([(1, 1, 2), (2, 2, 2)])
    setting = by_hand(stream, scenario(), draws=11)
    plan = setting.planned(stream, 0.5, Policy(processors="named"))
    assert plan.given_s.shape == (2, 2, 4)
    assert plan.given_s[0, 0].tolist() == pytest.approx([12.0, 14.0, 15.2, 15.8])
    assert plan.given_s[1, 1].tolist() == pytest.approx([4.4 * times for times in (1.5, 1.75, 1.9, 1.975)])
    assert plan.name == "predicted p50, next quantile"
    fitting = setting.planned(stream, 0.9, Policy(processors="named", sizes="fit"))
    assert fitting.given_s.shape == (3, 2, 2)
    assert fitting.given_s[:, 0, 0].tolist() == pytest.approx([15.2, 4.4 * 1.9, 4.4 * 1.9])


# Sizes


def test_a_rule_takes_the_most_processes_that_are_efficient_enough(scenario):
    """Efficiencies 1, 0.909, 0.769 and 0.5; two jobs on 8 PEs: 2 + 4 s after each other, 2.6 + 2.6 s side by side."""
    stream = stream_of([(1, 1, 8), (1, 1, 8)])
    sized, found = advised_sizes(stream, by_hand(stream, scenario()), Policy(processors="named"))
    assert found == pytest.approx(
        {
            "efficiency 0.3": 6.0,
            "efficiency 0.4": 6.0,
            "efficiency 0.5": 6.0,
            "efficiency 0.6": 5.2,
            "efficiency 0.7": 5.2,
            "efficiency 0.8": 8.8,
            "efficiency 0.9": 8.8,
        }
    )
    assert sized.processors.tolist() == sized.least.tolist() == sized.most.tolist() == [4, 4]
    assert stream.processors.tolist() == [1, 1]


def test_sizes_of_rigid_jobs_stay_and_ranges_are_kept(scenario):
    stream = stream_of([(8, 8, 8), (2, 2, 4), (1, 1, 2)])
    sized, _ = advised_sizes(stream, by_hand(stream, scenario()), Policy(processors="named"), judge=lambda _runs: 1.0)
    assert sized.processors.tolist() == [8, 4, 2], "all rules are equal, the first allows the most"


def test_fit_takes_what_is_planned_to_end_first(scenario):
    """The first job takes four PEs, the second one the others: with all eight it would end at 4.6 s."""
    stream = stream_of([(1, 1, 4), (1, 1, 8)])
    setting = by_hand(stream, scenario())
    plan = setting.planned(stream, 0.5, Policy(processors="named", sizes="fit"))
    runs = setting.run(stream, Policy(processors="named", sizes="fit"), plan)
    assert runs.processors.tolist() == [4, 4]
    assert runs.finish_s.tolist() == [2.6, 2.6]
    alone = setting.run(stream.take([1]), Policy(processors="named", sizes="fit"), Estimates("exact"))
    assert (alone.processors.tolist(), alone.finish_s.tolist()) == ([8], [2.0])


# Refusals


def test_refusals_are_one_sentence_each(scenario):
    here, plain = scenario(), make_stream("plain", submit_s=[0], processors=[1], run_s=[5], limit_s=[6])
    stream = stream_of([(1, 1, 8)])
    setting = by_hand(stream, here)
    odd = stream_of([(3, 3, 3)], (JobApplication("matmul_2d", {"n": 600, "nb": 50, "grid_rows": 2}),))
    named = Policy(processors="named")
    for said, refused in {
        "stream plain: it has durations": lambda: predict_times(plain, here),
        "stream s: matmul_2d: .* needs a multiple of grid_rows": lambda: predict_times(odd, here),
        "estimates predicted: durations have no predicted times": lambda: Setting(4).planned(plain, 0.5, named),
        "stream plain: sizes can only be advised": lambda: advised_sizes(plain, Setting(4), named),
        "stream s: its jobs run applications; name a scenario": lambda: setting_of(stream, platform=None, pes=8),
        "stream plain: it does not say its machine": lambda: setting_of(plain, platform=None, pes=None),
        "nobody knows how long simulated jobs run": lambda: replace(setting, times="simulated").run(
            stream, named, Estimates("exact")
        ),
    }.items():
        with pytest.raises(ScenarioError, match=said) as caught:
            refused()
        assert len(caught.value.lines) == 1

"""Message times under a window: closed forms, and the way through a scenario's file."""

import numpy as np
import pytest

from simulator import load_scenario, resolved_text, run
from simulator.base.errors import ScenarioError
from simulator.models.network.kinds.window import WindowModel

SITES = """\
format: 1
platform:
  nodes: [{name: "site[1-2]", pes: [{speeds: {dgemm: 1 Gflop/s}}]}]
  link: LINK
application: {name: matmul, kernel: dgemm, parameters: {n: 2000}}
configurations: {all: {partition: equal}}
"""


def sent_by_hand(model, size):
    """Byte by byte in windows: each begins when the wire is free and the window before is acknowledged."""
    begin = sent = 0.0
    while size > 0:
        part = min(size, model.window_bytes)
        sent = begin + part / model.wire_bytes_per_s
        begin, size = max(sent, begin + model.round_trip_s), size - part
    return model.latency_s + sent


@pytest.mark.parametrize("round_trip_s", [0.0, 0.04, 0.002])
def test_times_are_those_of_windows_sent_one_by_one(round_trip_s):
    model = WindowModel(0.02, 1.25e9, 4 * 2**20, round_trip_s)
    sizes = [0, 1, 4 * 2**20, 4 * 2**20 + 1, 9e6, 1e9]
    assert model.time_s(sizes) == pytest.approx([sent_by_hand(model, size) for size in sizes], rel=1e-12)
    assert np.all(np.diff(model.time_s(np.arange(0.0, 3e7, 1e5))) >= 0)
    large = 2**30 * 4.0
    assert large / (model.time_s(2 * large) - model.time_s(large)) == pytest.approx(model.bandwidth_bytes_per_s)


def test_a_wide_window_is_hockneys_line():
    model = WindowModel(1e-3, 1e8, 2**20, 2e-3)
    assert model.time_s([0, 1e7]) == pytest.approx([1e-3, 0.101])
    assert WindowModel.from_dict(model.to_dict()) == model
    assert model.scaled(2, 4).time_s(0) == pytest.approx(2e-3)


@pytest.mark.parametrize("place", range(4))
def test_other_numbers_are_refused(place):
    numbers = [1e-3, 1e8, 1e6, 2e-3]
    numbers[place] = -1.0
    name = ("latency", "bandwidth", "window", "round_trip")[place]
    with pytest.raises(ScenarioError, match=f"link: {name} is -1; give a finite number"):
        WindowModel(*numbers)


def test_a_file_may_say_it_and_it_is_written_back(tmp_path):
    path, again = tmp_path / "sites.yaml", tmp_path / "again.yaml"
    path.write_text(SITES.replace("LINK", "{latency: 20ms, bandwidth: 10Gbit/s, window: 4MiB}"))
    scenario = load_scenario(path)
    model = scenario.platform.network.uniform_model
    assert model == WindowModel(0.02, 1.25e9, 4 * 2**20, 0.04)
    again.write_text(resolved_text(path))
    assert load_scenario(again).platform.network.uniform_model == model


def test_engines_take_its_times(tmp_path):
    path = tmp_path / "sites.yaml"
    spans = {}
    for link in ("{latency: 20ms, bandwidth: 10Gbit/s, window: 4MiB}", "{latency: 20ms, bandwidth: 10Gbit/s}"):
        path.write_text(SITES.replace("LINK", link))
        runs = [run(load_scenario(path), engine=engine, replications=1) for engine in ("process", "compiled")]
        assert runs[0].makespan_ticks.tolist() == runs[1].makespan_ticks.tolist()
        spans[link] = runs[0].makespan_ticks.ravel()[0] * runs[0].tick_s
    windowed, line = spans.values()
    model = WindowModel(0.02, 1.25e9, 4 * 2**20, 0.04)
    turns = round((windowed - line) / (model.turn_s - model.window_bytes / 1.25e9), 6)
    assert turns > 0
    assert turns == int(turns)

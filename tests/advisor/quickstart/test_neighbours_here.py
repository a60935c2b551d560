"""Speeds measured with all PEs at work, taken apart into lone ones and what neighbours take, come together again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from advisor.quickstart import _scenario, measure_domains, without_neighbours
from advisor.quickstart.state import Quickstart
from simulator import Configuration, LinkModel, SpeedBand, files, matmul, read_trace, run, this_machine
from simulator.calibration import Measurement, NeighboursModel, Point, Usage
from simulator.models.neighbours import Bandwidth, KernelUses, SharingDomain
from simulator.scenario_file.load import dump_scenario

N, SPEED = 1024, 4e9
STREAM = KernelUses(np.array([1.0]), {"memory": np.array([15e9])}, {"memory": np.array([1.0])})
CHANNEL = SharingDomain("memory", "memory", "memory", (0, 1), Bandwidth(20e9, 64.0))
MODEL = NeighboursModel((CHANNEL,), {"dgemm": STREAM}, 2)


def test_one_pe_and_a_short_budget_measure_no_neighbours():
    assert measure_domains([0], budget_s=60, seed=0) == (None, "one PE has no neighbour")
    model, why = measure_domains([0, 1], budget_s=10, seed=0)
    assert model is None
    assert "30 s" in why


def test_a_band_without_neighbours_is_faster_by_what_they_take():
    band = SpeedBand(np.array([1e3, 1e6]), np.array([1.0, 2.0]), np.array([2.0, 3.0]), np.array([3.0, 4.0]))
    alone = without_neighbours(band, MODEL, "dgemm", 2)
    assert alone.mid == pytest.approx(band.mid * 1.5, rel=1e-6)  # 30 GB/s asked of 20
    assert alone.low == pytest.approx(band.low * 1.5, rel=1e-6)
    assert without_neighbours(band, MODEL, "fft", 2) is band
    assert without_neighbours(band, None, "dgemm", 2) is band


def made_up(folder: Path) -> Quickstart:
    trace = read_trace(files.shipped("traces", "on-off-1-2.csv"))
    machine = replace(this_machine(), cores=this_machine().cores[:2])
    state = Quickstart(folder, 60.0, 0, machine, trace, lambda _stage, _share: None)
    points = [Point("dgemm", N, rows) for rows in (64, 512, 1024)]
    state.measured = [
        Measurement(
            point.size,
            point.volume,
            (Usage(point.volume / SPEED, point.volume / SPEED),) * 6,
            n=N,
            kernel="dgemm",
            rows=point.rows,
            pe=name,
        )
        for name in state.names
        for point in points
    ]
    state.link = LinkModel.from_latency(1e-9, 1e15)
    state.neighbours = MODEL
    return state


@pytest.mark.skipif(this_machine().pe_count < 2, reason="the model is of two PEs")
def test_the_scenario_has_domains_and_takes_as_long_as_was_measured_together(tmp_path):
    state = made_up(tmp_path)
    scenario = _scenario(state, N)
    pes = tuple(replace(pe, load=None) for pe in scenario.platform.pes)  # which takes part of the pressure away
    scenario = replace(scenario, platform=replace(scenario.platform, pes=pes))
    assert [domain.kind for domain in scenario.platform.domains] == ["memory"]
    equal = Configuration.one_each("equal", (N // 2, N // 2))
    alone = Configuration("alone", (N, 0), (0, 1))
    assert "memory of {node}" in dump_scenario(scenario)  # quickstart leaves it as a file
    found = run(scenario.with_configurations((equal, alone)))
    panel_s = matmul.volume(N, N // 2) / SPEED
    assert np.median(found.busy_ticks[0][:, 0]) * found.tick_s == pytest.approx(panel_s, rel=0.01)
    assert np.median(found.busy_ticks[1][:, 0]) * found.tick_s == pytest.approx(2 * panel_s / 1.5, rel=0.01)
    assert pes[0].speed_of("dgemm").mid == pytest.approx(1.5 * SPEED, rel=1e-3)

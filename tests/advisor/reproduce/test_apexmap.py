"""`apportion lab reproduce apexmap` on its recording, and held-out cells on a sweep with known constants."""

from pathlib import Path

import numpy as np
import pytest

from advisor.reproduce import apexmap
from simulator import this_machine
from simulator.base.randomness import stream
from simulator.calibration import fit_held_out, make_sweep
from simulator.models.memory.forms import Constants, MemoryTimes


def made(seed=3):
    """Times as of a machine of two levels: 4096 words at 2 ns and 1 ns, the rest at 40 ns and 1.5 ns, 2 % noise."""
    plan = make_sweep(this_machine(), max_memory="1MiB", alphas=(0.1, 0.5, 1.0), lengths=(1, 16, 256), seed=seed)
    columns = np.array([(cell.m_words, cell.alpha, cell.length, 1.0) for cell in plan.cells]).T
    truth = Constants(np.array([4096.0]), np.array([2e-9, 40e-9]), np.array([1e-9, 1.5e-9]))
    noise = np.exp(0.02 * stream(seed, "noise").standard_normal(columns.shape[1]))
    return MemoryTimes(*columns[:3], truth.times_s(MemoryTimes(*columns)) * noise)


@pytest.mark.slow
def test_held_out_cells_reach_no_fit():
    times = made()
    judged = fit_held_out(times, seed=5)
    assert len(judged.fit.selection.points) == np.count_nonzero(~judged.held_out)
    off = MemoryTimes(times.m_words, times.alpha, times.run_words, np.where(judged.held_out, 2.0, 1.0) * times.time_s)
    again = fit_held_out(off, seed=5)
    assert np.array_equal(again.held_out, judged.held_out)
    for one, other in zip(judged.judged, again.judged, strict=True):
        assert np.array_equal(one.times_s, other.times_s)
        assert other.mean > 0.3


@pytest.mark.slow
def test_the_shipped_table(tmp_path):
    found = apexmap.reproduce(tmp_path)
    chosen = next(model for model in found["models"] if model["name"] == found["chosen"])
    assert chosen["on_held_out"]["mean"] < 0.2
    assert chosen["physical"]
    said = apexmap.text(found)
    assert said.count(", chosen") == 1
    assert len(found["figures"]) == sum(model["physical"] for model in found["models"])
    for path in found["figures"]:
        assert Path(path).read_text().rstrip().endswith("</svg>")
        assert f"figure: {path}" in said

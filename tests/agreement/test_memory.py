"""Processes that share a cache all the time, or RAM, slow down exactly as the formula says, in both engines."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.engines.run import run
from simulator.models.memory import MemoryLevel, MemoryUse
from simulator.models.memory.levels import SwapTimes
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network
from simulator.platform.nodes import PE, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program
from simulator.scenario_file.scenario import Application, Scenario

LEVELS = (
    MemoryLevel("L2", 1000, 1e-9, 1e-9),
    MemoryLevel("L3", 10_000, 4e-9, 2e-9, shared=True),
    MemoryLevel("RAM", np.inf, 50e-9, 3e-9),
)
VOLUME, SPEED = 1e9, 1e9
USE = MemoryUse(0.5, 0.7, 4.0)
ENGINES = pytest.mark.parametrize("engine", ["process", "compiled"])


def word_s(level, run=4):
    return (level.latency_s + level.gap_s * (run - 1)) / run


def four(footprint, *, use=USE, processes=4, **node):
    pes = tuple(PE(f"pe{i}", "n", {"k": SpeedBand.constant(SPEED)}) for i in range(4))
    node = Node("n", **({"levels": LEVELS} | node))
    program = Program(((Compute(VOLUME, 1),),) * processes, (footprint,) * processes)
    platform = Platform(pes, Network.uniform(LinkModel.from_latency(1e-6, 1e9)), (node,))
    application = Application("program", "k", {}, written=program, memory=use)
    placed = Configuration("c", (1,) * processes, tuple(range(processes)))
    return Scenario(platform, application, (placed,), replications=1)


def seconds(scenario, engine):
    runs = run(scenario, engine=engine)
    return float(runs.makespan_ticks[0, 0]) * runs.tick_s


@ENGINES
def test_four_working_sets_fit_the_shared_cache_alone_but_not_together(engine):
    """M = 8000 fits L3 alone; together each has 2500 of it: P_3 = (2500/8000)^0.7, the rest comes from RAM."""
    near, third, ram = (word_s(level) for level in LEVELS)
    inner, outer = (1000 / 8000) ** 0.7, (2500 / 8000) ** 0.7
    together = inner * near + (outer - inner) * third + (1 - outer) * ram
    alone = inner * near + (1 - inner) * third
    expected = VOLUME / SPEED + VOLUME * 0.5 * (together - alone)
    assert seconds(four(8000), engine) == pytest.approx(expected, rel=2e-9), "shares count 2^-30"
    assert seconds(four(8000, processes=1), engine) == pytest.approx(1.0, abs=2e-12)
    assert seconds(four(2500), engine) == pytest.approx(1.0, abs=2e-12)


@ENGINES
def test_working_sets_past_ram_page(engine):
    """40,000 bytes on 32,000 of RAM: each has 8000 of its 10,000; the rest is in swap."""
    use, swap = MemoryUse(1e-3, 1.0, 4.0), SwapTimes(1e-5, 1e-8)
    paging = four(10_000, use=use, memory_bytes=32_000, swap_times=swap)
    near, third, ram = (word_s(level) for level in LEVELS)
    together = 0.1 * near + 0.15 * third + (0.8 - 0.25) * ram + 0.2 * (1e-5 + 3e-8) / 4
    alone = 0.1 * near + 0.9 * third
    expected = 1 + VOLUME * 1e-3 * (together - alone)
    assert seconds(paging, engine) == pytest.approx(expected, abs=2e-12)
    assert expected > 1.5
    assert any("node n pages: its processes need 39.1 KiB and it has 31.2 KiB" in line for line in paging.warnings)


@ENGINES
def test_nothing_known_but_the_size_of_memory_pages_too_and_says_what_is_assumed(engine):
    paging = four(10_000, use=None, levels=(), memory_bytes=32_000)
    expected = 1 + VOLUME * 0.2 * (1e-4 + 4095 * 1.6e-8) / 4096
    assert seconds(paging, engine) == pytest.approx(expected, abs=2e-12)
    assert any("swap: not measured, assumed: latency 100 us" in line for line in paging.warnings)
    assert any("memory: not said, assumed for paging: 1 word per unit" in line for line in paging.warnings)
    fits = four(8_000, use=None, levels=(), memory_bytes=32_000)
    assert seconds(fits, engine) == pytest.approx(1.0, abs=2e-12)
    assert fits.warnings == ()


def test_swap_is_on_the_disk_where_there_is_one():
    paging = four(10_000, memory_bytes=32_000, disk=Link("disk", 1e-2, 1e8, shared=True))
    assert any("taken from the disk: latency 10 ms and 80 ns" in line for line in paging.warnings)
    assert seconds(paging, "process") > seconds(four(10_000, memory_bytes=32_000), "process")


def test_a_level_named_swap_ends_ram_without_a_word_of_memory():
    levels = (
        *LEVELS[:2],
        MemoryLevel("RAM", 32_000, 50e-9, 3e-9, shared=True),
        MemoryLevel("swap", np.inf, 1e-5, 1e-8),
    )
    use = MemoryUse(1e-3, 1.0, 4.0)
    same = four(10_000, use=use, memory_bytes=32_000, swap_times=SwapTimes(1e-5, 1e-8))
    assert seconds(four(10_000, use=use, levels=levels), "process") == seconds(same, "process")


def test_more_than_memory_and_the_swap_that_is_said_to_be_there_is_refused():
    with pytest.raises(ScenarioError, match=r"its processes need 39\.1 KiB, 3\.91 KiB more than its memory"):
        seconds(four(10_000, memory_bytes=32_000, swap_bytes=4000), "process")

"""Chunks of one size beside the formula of Kruskal and Weiss 1985, and other rules in the setting of Hagerup 1997."""

import math

import pytest

from simulator import load_scenario, run
from tests.support.command_line import ROOT

PATH = ROOT / "scenarios" / "papers" / "kruskal-weiss-chunks.yaml"
TASKS, PROCESSORS, PULL_S = 65_536, 64, 0.5


def formula_s(chunk):
    """Mean 1 s, deviation 1 s."""
    return TASKS / PROCESSORS * (1 + PULL_S / chunk) + math.sqrt(2 * chunk * math.log(PROCESSORS))


def simulated_s(**parameters):
    changes = [f"application.parameters.{name}={value}" for name, value in parameters.items()]
    return float(run(load_scenario(PATH, changes=changes)).makespan_s.mean())


def test_the_best_chunk_is_near_that_of_the_scenario():
    best = (math.sqrt(2) * TASKS * PULL_S / (PROCESSORS * math.sqrt(math.log(PROCESSORS)))) ** (2 / 3)
    assert round(best) == 50


def test_makespans_are_near_those_of_the_formula_and_the_best_chunk_is_the_same():
    """Within 3 %; the other chunks are too near each other for the formula's order."""
    chunks = (8, 64, 256, 1024)
    found = {chunk: simulated_s(chunk=chunk) for chunk in chunks}
    assert min(chunks, key=found.get) == min(chunks, key=formula_s) == 64
    for chunk in chunks:
        assert found[chunk] == pytest.approx(formula_s(chunk), rel=0.03), found

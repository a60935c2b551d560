"""What processes ask of the domains that they share, by hand."""

import numpy as np
import pytest

from simulator import capacity_of, domain_meetings, kept_shares, load_scenario, run
from simulator.platform.nodes import meetings
from simulator.programs.configuration import Configuration

FILE = """
format: 1
platform:
  nodes:
    - name: n
      domains:
        - {{kind: memory, each: 2, capacity: 40GB/s, softness: 64}}
        - {{kind: clock, shares: [1, 1, 1, 0.75]}}
        - {{kind: cache, level: L3, pes: [0, 2], capacity: 1MiB}}
      uses: {{sort: {{memory: {{demand: 25GB/s, sensitivity: {felt}}}, L3: {{demand: 2MiB, sensitivity: 0.5}}}}}}
      pes: [{{name: "c[0-3]", speeds: {{sort: 1 Gunits/s}}{load}}}]
  link: {{latency: 1us, bandwidth: 100GB/s}}
application: {{name: ep, kernel: sort, parameters: {{samples: 400, volume: 1e7, result_bytes: 8}}}}
configurations: {{equal: {{partition: equal}}}}
replications: 1
"""
LOAD = ", load: {trace: {times_s: [0], values: [1], end_s: 9}, rule: given, demands: {memory: 30GB/s}}"


@pytest.fixture
def made(tmp_path):
    def make(*, felt=1, load=""):
        path = tmp_path / "s.yaml"
        path.write_text(FILE.format(felt=felt, load=load))
        return load_scenario(path)

    return make


def kept(scenario, *pes):
    return kept_shares(scenario.platform, "sort", pes, [1e6] * len(pes))


def test_what_each_keeps_is_the_product_over_its_domains(made):
    """Two on a channel ask for 50 of 40 GB/s; two in the cache of 1 MiB hold half of it each: 1 / (1 + 0.5 / 2)."""
    scenario = made()
    np.testing.assert_allclose(kept(scenario, 0, 1, 2, 3), 0.75 * 0.8 * np.array([0.8, 1, 0.8, 1]), rtol=1e-6)
    np.testing.assert_allclose(kept(scenario, 0, 3), [1, 1])
    np.testing.assert_allclose(kept(scenario, 0, 2), [0.8, 0.8])  # the cache alone
    np.testing.assert_allclose(kept(scenario, 0, 1), [0.8, 0.8], rtol=1e-6)  # the channel alone
    np.testing.assert_allclose(kept(made(felt=0.5), 0, 1), [1 / (1 + 0.5 * 0.25)] * 2, rtol=1e-6)
    found = meetings(scenario.platform, "sort", (0, 1, 2, 3), [1e6] * 4)
    assert [(one.domain.name, one.asked, capacity_of(one.domain)) for one in found] == [
        ("memory 1 of n", 50e9, 40e9),
        ("memory 2 of n", 50e9, 40e9),
        ("clock of n", 4, None),
        ("L3 of n", 2**22, 2**20),
    ]


def test_the_same_from_a_configuration(made):
    """By the engines' own uses: of these, those that the node says."""
    scenario = made(load=LOAD.replace("values: [1]", "values: [0.5]"))
    for pes in ((0, 1, 2, 3), (0, 2)):
        found = domain_meetings(scenario, Configuration("one", (400 // len(pes),) * len(pes), pes))
        plain = meetings(scenario.platform, "sort", pes, [1e6] * len(pes))
        assert [(one.domain, one.asked, one.processes) for one in found] == [
            (one.domain, pytest.approx(one.asked), one.processes) for one in plain
        ]
        np.testing.assert_allclose([one.least for one in found], [one.least for one in plain])


def test_what_follows_from_memory_levels_binds_too():
    """Two look-ups of 16 MiB each in an L3 of 8 MiB that both share: by hand, from the tutorial, 44.4 and 61.9 ns."""
    scenario = load_scenario("memory")
    (found,) = domain_meetings(scenario, scenario.configurations[1])
    assert (found.domain.name, found.asked, capacity_of(found.domain)) == ("L3 of desk", 2 * 2**24, 2**23)
    assert found.least == pytest.approx(44.4375 / 61.9375, rel=1e-3)


def test_a_kernel_of_which_nothing_is_known_loses_to_the_clock_alone(made):
    platform = made().platform
    np.testing.assert_allclose(kept_shares(platform, "other", (0, 1, 2, 3), [1.0] * 4), [0.75] * 4)


def test_background_load_asks_too(made):
    """`given` 1 leaves all of a PE: a load of 0; of 0.5 half a core, which takes 15 GB/s on each of two PEs."""
    scenario = made(load=LOAD.replace("values: [1]", "values: [0.5]"))
    (one,) = (found for found in meetings(scenario.platform, "sort", (0,), [1e6]) if found.domain.kind == "memory")
    assert one.asked == pytest.approx(25e9 + 2 * 15e9)
    assert one.least == pytest.approx(40 / 55, rel=1e-6)


@pytest.mark.parametrize("pes", [(0, 1, 2, 3), (0, 1), (0, 2), (0, 3), (0, 1, 2)])
def test_it_is_what_the_engine_simulates_where_all_compute_all_the_time(made, pes):
    """Units in proportion to what each keeps, so that all end together, whatever whole units leave."""
    scenario, shares = made(), kept(made(), *pes)
    units = np.floor(400 * shares / shares.sum()).astype(int)
    units[0] += 400 - units.sum()
    runs = run(scenario.with_configurations((Configuration("one", tuple(units.tolist()), pes),)), engine="process")
    predicted_s = 400 * 1e7 / 1e9 / shares.sum()
    assert runs.makespan_s[0, 0] == pytest.approx(predicted_s, rel=0.02)

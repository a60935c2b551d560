"""Messages within a node where no loopback is given: a default that every result names, and only where it is used."""

import numpy as np
import pytest

from simulator import load_scenario, resolved_text, run
from simulator.platform.networks import ASSUMED_LOOPBACK

LINE = "platform.network.loopback is not given; messages within a node take the default, 500 ns + bytes / 8 GB/s"
LINK = "{latency: 10us, bandwidth: 1Gbit/s}"
NETWORKS = {
    "uniform": f"topology: uniform, link: {LINK}",
    "star": f"topology: star, link: {LINK}, contention: fair",
    "bus": f"topology: bus, link: {LINK}",
    "tree": f"topology: tree, link: {LINK}, uplink: {LINK}, nodes_per_switch: 1",
    "torus": f"topology: torus, shape: [2], link: {LINK}",
    "mesh": f"topology: mesh, link: {LINK}, contention: fifo",
    "listed": f"topology: listed, links: {{l: {LINK}}}, routes: [{{from: a, to: b, via: [l]}}]",
}
TEXT = """
format: 1
platform:
  nodes:
    - {name: a, pes: [{cores: 2, speeds: {k: 2 Gflop/s}}]}
    - {name: b, pes: [{cores: 2, speeds: {k: 2 Gflop/s}}]}
  network: {NETWORK}
application: {name: sort, kernel: k, parameters: {n: 100000}}
configurations: {CONFIGURATIONS}
replications: 1
"""
WITHIN = "two: {partition: equal, allocation: {a: 2, b: 1}}"
BETWEEN = "one: {partition: equal}"


@pytest.fixture
def made(tmp_path):
    def make(network, configurations=WITHIN):
        path = tmp_path / "s.yaml"
        path.write_text(TEXT.replace("NETWORK", network).replace("CONFIGURATIONS", configurations))
        return path

    return make


@pytest.mark.parametrize("topology", NETWORKS)
def test_every_topology_has_the_default_and_both_engines_take_it(made, topology):
    """As many ticks as with the same loopback written out, which is another figure than the link's."""
    path = made(NETWORKS[topology])
    loaded = load_scenario(path)
    assert loaded.platform.network.within is ASSUMED_LOOPBACK
    assert loaded.warnings == (LINE,)
    written = load_scenario(made(f"{NETWORKS[topology]}, loopback: {{latency: 500ns, bandwidth: 8GB/s}}"))
    assert written.warnings == ()
    slower = load_scenario(made(f"{NETWORKS[topology]}, loopback: {LINK}"))
    for engine in ("process", "compiled"):
        ticks = [run(one, engine=engine).finish_ticks[0].tolist() for one in (loaded, written, slower)]
        assert ticks[0] == ticks[1] != ticks[2]


def test_it_is_named_only_where_messages_can_use_it(made):
    star = NETWORKS["star"]
    assert load_scenario(made(star, BETWEEN)).warnings == ()
    idle = "two: {partition: [100000, 0], pes: [a, a]}"
    assert load_scenario(made(star, idle)).warnings == ()
    path = made(star)
    path.write_text(path.read_text().replace("sort", "farm").replace("{n: 100000}", "PARAMETERS"))
    silent = path.read_text().replace("PARAMETERS", "{units: 100000, volume: 1, size: 1}")
    path.write_text(silent)
    assert load_scenario(path).warnings == ()  # its processes pull without payload
    path = made("NONE")
    path.write_text(path.read_text().replace("network: {NONE}", f"link: {LINK}"))
    assert load_scenario(path).warnings == ()  # one message time between any two PEs, as the file says


def test_the_explicit_form_writes_it_out_and_keeps_the_line(made, tmp_path):
    path, again = made(NETWORKS["star"]), tmp_path / "again.yaml"
    again.write_text(resolved_text(path))
    first, second = load_scenario(path), load_scenario(again)
    assert "loopback:" in again.read_text()
    assert first.warnings == second.warnings == (LINE,)
    assert np.array_equal(first.platform.network.within.times_s, second.platform.network.within.times_s)
    assert resolved_text(again) == again.read_text()
    assert run(first).makespan_ticks.tolist() == run(second).makespan_ticks.tolist()

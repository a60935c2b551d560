"""What messages cost: lines by hand, in files and joined scenarios, and really measured."""

import json

import numpy as np
import pytest

from simulator import join_platform, this_machine
from simulator.base.documents import to_dict
from simulator.base.errors import ScenarioError
from simulator.base.files import shipped
from simulator.calibration.pingpong.pairs import local_pairs, measure_cost
from simulator.models.network.file import fit_network_table, message_cost
from simulator.models.network.message_cost import CpuCost, MessageCost, fit_cpu_cost, memory_bytes_per_byte

SIZES = [1, 4096, 65_536, 2**20]


def test_costs_by_hand():
    """3 us a message and 0.25 ns a byte come back; sizes count alike, however long their messages take."""
    exact = fit_cpu_cost(SIZES, 3e-6 + 0.25e-9 * np.array(SIZES))
    assert (exact.per_message_s, exact.per_byte_s) == (pytest.approx(3e-6), pytest.approx(0.25e-9))
    assert exact.at([0, 4000]).tolist() == pytest.approx([3e-6, 4e-6])
    falling = fit_cpu_cost([1, 1000], [3e-6, 1e-6])
    assert falling.per_byte_s == 0
    assert 1e-6 < falling.per_message_s < 3e-6
    assert [memory_bytes_per_byte(medium) for medium in ("unix", "mpi")] == [4.0, None]


def test_costs_in_files():
    cost = MessageCost(CpuCost(3e-6, 2e-10), CpuCost(4e-6, 3e-10), 4.0)
    document = to_dict(cost.entries)
    assert document["cpu"]["per_message_s"] == 3e-6
    assert message_cost(json.loads(json.dumps(document)), "f") == cost
    plain = MessageCost(CpuCost(3e-6, 2e-10), None, None)
    assert message_cost(to_dict(plain.entries), "f") == plain
    assert len(plain.lines()) == 1
    assert message_cost({}, "f") is None
    bad = {"per_message_s": -1.0, "per_byte_s": 0.0}, 3, {"per_byte_s": 1}, {"per_message_s": "x", "per_byte_s": 1}
    for entry in bad:
        with pytest.raises(ScenarioError, match=r"f: cpu.*; name a file that `apportion calibrate network` wrote"):
            message_cost({"cpu": entry}, "f")
    with pytest.raises(ScenarioError, match="memory_bytes_per_byte"):
        message_cost(document | {"memory_bytes_per_byte": -1}, "f")


def test_a_joined_scenario_keeps_them_in_a_note(tmp_path):
    fit = fit_network_table(shipped("scenarios", "papers/characterisation_unix.csv"))
    link, speed = tmp_path / "link.json", tmp_path / "speed.json"
    link.write_text(json.dumps(fit.to_dict() | to_dict(MessageCost(CpuCost(3e-6, 2e-10), None, 4.0).entries)))
    band = {"sizes": [1e3, 1e5]} | {name: [1e9, 5e8] for name in ("low", "mid", "high")}
    speed.write_text(json.dumps({"format": 2, "kind": "speed", "kernel": "triad", "model": band}))
    text = join_platform([speed, link], names="n1").text
    assert "CPU of a message at each end: 3 us and 0.2 ns a byte" in " ".join(text.split())


@pytest.mark.skipif(this_machine().pe_count < 2, reason="one PE")
def test_large_messages_really_cost_more():
    """A mebibyte is copied twice: at least ten times the CPU of a byte, and the two ends cost much the same."""
    cpus = [core.cpu for core in this_machine().cores[:2]]
    with local_pairs("unix", [(cpus[0], cpus[1])]) as pairs:
        found = measure_cost(pairs, "unix", max_bytes=2**20, cpus=())
    assert found.busy is None
    assert found.cpu.per_byte_s * 2**20 > 10 * 1e-6
    assert 1e-7 < found.cpu.per_message_s < 1e-2
    assert found.memory_bytes_per_byte == 4

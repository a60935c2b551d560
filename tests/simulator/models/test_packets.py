"""Message times in whole packets."""

import pytest

from simulator.base.errors import ScenarioError
from simulator.models.network import PacketModel


def test_payloads_are_rounded_up_to_whole_packets():
    model = PacketModel(latency_s=1e-5, packet_bytes=1000, packet_s=2e-6)
    assert model.time_s([0, 1, 1000, 1001, 2000, 10_000]).tolist() == pytest.approx(
        [1.2e-5, 1.2e-5, 1.2e-5, 1.4e-5, 1.4e-5, 3e-5]
    )
    assert model.bandwidth_bytes_per_s == pytest.approx(5e8)
    assert PacketModel.from_dict(model.to_dict()) == model


@pytest.mark.parametrize(
    ("latency_s", "packet_bytes", "packet_s", "field"),
    [(-1, 1, 1, "latency"), (0, 0, 1, "packet"), (0, 1, 0, "packet_time"), (float("inf"), 1, 1, "latency")],
)
def test_other_numbers_are_refused(latency_s, packet_bytes, packet_s, field):
    with pytest.raises(ScenarioError, match=f"link: {field} is "):
        PacketModel(latency_s, packet_bytes, packet_s)

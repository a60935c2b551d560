"""Message-time forms, links and packets against values computed by hand."""

import json

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.network import (
    KnotsModel,
    LinkModel,
    NetworkModel,
    PacketisedModel,
    PacketModel,
    PiecewiseModel,
    fit_link,
    fit_network,
    make_points,
)


def arrays(*columns):
    return tuple(np.array(column, dtype=float) for column in columns)


PACKETS = PacketisedModel(
    alpha_s=100.0, alpha2_s=7.0, beta_s=10.0, tau_s_per_byte=0.5, packet_bytes=8.0, header_bytes=2.0
)
LINES = PiecewiseModel(*arrays([10], [1, 6], [0.5, 0.25], [2, 1], [0, 0.125]))


def test_equation_5_up_to_one_packet():
    """alpha + d*(beta + tau*(l + h)): 100 + 1*(10 + 0.5*(4 + 2)) = 113; 100 + 3*(10 + 0.5*(8 + 2)) = 145."""
    assert PACKETS.time_s([4, 8, 0], [1, 3, 1]).tolist() == [113.0, 145.0, 111.0]


def test_equation_5_beyond_one_packet():
    """alpha + d*(beta + tau*p) + (l/p - 1)*(alpha2 + beta + tau*p).

    24 bytes over 1 hop: 100 + 14 + 2*(7 + 10 + 4) = 156; over 3 hops 100 + 3*14 + 42 = 184; 12 bytes: 114 + 0.5*21.
    """
    assert PACKETS.time_s([24, 24, 12], [1, 3, 1]).tolist() == [156.0, 184.0, 124.5]


@pytest.mark.parametrize("hops", [1, 2, 5])
def test_equation_5_jumps_by_d_tau_h_at_one_packet(hops):
    above = PACKETS.time_s(np.nextafter(8.0, 9.0), hops) - PACKETS.time_s(8.0, hops)
    assert float(above) == pytest.approx(-hops * 0.5 * 2.0, abs=1e-12)
    assert float(PACKETS.jump_s(hops)) == -hops * 1.0


def test_equation_5_as_a_link():
    assert (PACKETS.latency_s, PACKETS.bandwidth_bytes_per_s) == (111.0, pytest.approx(8 / 21))


def test_equation_5_scaled():
    """Preparing and start-up take twice as long, and a further packet a quarter: 21 s before."""
    scaled = PACKETS.scaled(latency=2.0, bandwidth=4.0)
    assert (scaled.alpha_s, scaled.beta_s, scaled.tau_s_per_byte) == (200.0, 20.0, 0.125)
    assert float(scaled.time_s(24) - scaled.time_s(16)) == pytest.approx(21 / 4)


def test_lines_by_message_size_and_their_jump():
    """Up to 10 bytes 1 + 0.5 l (2 more per further hop), beyond 6 + 0.25 l (1 + 0.125 l more)."""
    assert LINES.time_s([0, 10, 11, 10, 12], [1, 1, 1, 3, 3]).tolist() == [1.0, 6.0, 8.75, 10.0, 14.0]
    assert (LINES.latency_s, LINES.bandwidth_bytes_per_s, LINES.knows_hops) == (1.0, 4.0, True)


def test_smooth_curves_pass_their_knots_and_never_fall():
    knots = KnotsModel(np.array([1.0]), *((column,) for column in arrays([1, 3, 7, 15], [2, 2, 4, 64])))
    assert knots.time_s([1, 3, 7, 15]) == pytest.approx([2, 2, 4, 64])
    times = knots.time_s(np.linspace(0, 40, 400))
    assert np.all(np.diff(times) >= -1e-12)
    assert float(knots.time_s(23.0)) == pytest.approx(64 + 8 * 60 / 8)  # the bandwidth of the last octave


def test_smooth_curves_between_and_beyond_measured_hops():
    sizes = arrays([1, 3], [1, 3])
    far = KnotsModel(np.array([1.0, 3.0]), sizes, arrays([2, 2], [6, 6]))
    assert far.time_s(2.0, [1, 2, 3, 4]).tolist() == pytest.approx([2, 4, 6, 8])


@pytest.mark.parametrize("form", [PACKETS, LINES], ids=["packetised", "piecewise"])
def test_forms_survive_json(form):
    again = type(form).from_dict(json.loads(json.dumps(form.to_dict())))
    sizes, hops = np.array([0, 5, 8, 9, 100.0]), np.array([1, 2, 3, 4, 5])
    assert again.time_s(sizes, hops).tolist() == form.time_s(sizes, hops).tolist()


def test_a_model_survives_json_with_its_intervals():
    sizes = 2.0 ** np.arange(20)
    noise = np.exp(0.02 * np.random.default_rng(1).standard_normal(20))
    model = fit_network(make_points(sizes, np.ones(20), (1e-5 + 1e-9 * sizes) * noise)).model
    again = NetworkModel.from_dict(json.loads(json.dumps(model.to_dict())))
    asked = [0, 100, 3e5, 1e7]
    first, second = model.predict(asked), again.predict(asked)
    for name in ("mean_s", "low_s", "high_s", "extrapolation"):
        assert getattr(first, name).tolist() == getattr(second, name).tolist()
    assert first.extrapolation.tolist() == [True, False, False, True]
    assert np.all((first.low_s < first.mean_s) & (first.mean_s < first.high_s))
    width = first.high_s / first.mean_s
    assert width[3] > width[2]  # less is known outside
    assert model.predict(100, level=0.5).high_s < first.high_s[1]


def test_what_is_not_physical_is_told():
    assert PacketisedModel(1e-6, -1e-6, 1e-6, -1e-9, 100.0, 0.0).faults == (
        "alpha2 -1e-06 is negative",
        "tau -1e-09 is negative",
    )
    assert PiecewiseModel(*arrays([10], [-1, -6], [1, 2], [0, 0], [0, 0])).faults == ("latency -1 s is negative",)
    assert LINES.faults == ()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([10], [1], [1], [0], [0]), "breaks_bytes has 1 numbers; 1 lines need 0"),
        (([], [np.inf], [1], [0], [0]), "latencies_s: .*finite"),
        (([10, 5], [1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]), "breaks_bytes: sizes have to ascend"),
    ],
)
def test_what_is_no_line_is_refused(columns, message):
    with pytest.raises(ScenarioError, match=message):
        PiecewiseModel(*arrays(*columns))


def test_latency_and_bandwidth():
    link = LinkModel.from_latency(1e-5, 1e9)
    assert link.time_s([0, 1000, 10**9]) == pytest.approx([1e-5, 1.1e-5, 1.00001])


def test_knots_lines_and_the_last_slope():
    link = LinkModel(np.array([10.0, 20.0, 40.0]), np.array([1.0, 2.0, 8.0]))
    assert link.time_s([0, 10, 15, 30, 50]) == pytest.approx([1, 1, 1.5, 5, 11])


def test_measured_times_that_decrease_are_pooled():
    assert fit_link([1, 2, 3], [2.0, 1.0, 5.0]).times_s.tolist() == [1.5, 1.5, 5.0]


@pytest.mark.parametrize(("sizes", "times"), [([1], [1]), ([2, 1], [1, 1]), ([1, 2], [2, 1]), ([1, 2], [0, 1])])
def test_what_is_no_link_is_refused(sizes, times):
    with pytest.raises(ScenarioError, match="link"):
        LinkModel(np.array(sizes, dtype=float), np.array(times, dtype=float))


def test_a_link_that_is_known_is_the_same_in_every_truth():
    link = LinkModel.from_latency(1e-5, 1e9)
    assert link.drawn(2.0).time_s([0, 1000, 10**9]).tolist() == link.time_s([0, 1000, 10**9]).tolist()


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
def test_what_are_no_packets_is_refused(latency_s, packet_bytes, packet_s, field):
    with pytest.raises(ScenarioError, match=f"link: {field} is "):
        PacketModel(latency_s, packet_bytes, packet_s)

"""Message times with another latency or bandwidth: what a link would take that is so many times as slow or as fast."""

from dataclasses import replace

import numpy as np

from simulator.models.network.fitted_forms import FittedForm, KnotsModel, PacketisedModel, PiecewiseModel
from simulator.models.network.link_models import Floats, LinkModel, PacketModel


def scaled_model(
    model: LinkModel | PacketModel | FittedForm, *, latency: float = 1.0, bandwidth: float = 1.0
) -> LinkModel | PacketModel | FittedForm:
    """The model with `latency` times the time of the least message, and the rest of each time over `bandwidth`.

    A time `t` becomes `latency * L + (t - L) / bandwidth`, where `L` is that of the least message; of fitted forms with
    hops, what a further hop costs likewise.

    Parameters
    ----------
    latency, bandwidth
        Factors above 0.
    """

    def times(values: Floats) -> Floats:
        return np.asarray(latency * values[0] + (values - values[0]) / bandwidth)

    if isinstance(model, LinkModel):
        return LinkModel(model.sizes_bytes, times(model.times_s))
    if isinstance(model, PacketModel):
        return replace(model, latency_s=latency * model.latency_s, packet_s=model.packet_s / bandwidth)
    if isinstance(model, KnotsModel):
        return replace(model, knots_s=tuple(times(knots) for knots in model.knots_s))
    if isinstance(model, PiecewiseModel):
        return replace(
            model,
            latencies_s=times(model.latencies_s),
            gaps_s_per_byte=model.gaps_s_per_byte / bandwidth,
            hop_latencies_s=times(model.hop_latencies_s),
            hop_gaps_s_per_byte=model.hop_gaps_s_per_byte / bandwidth,
        )
    return _packetised(model, latency, bandwidth)


def drawn_model(model: LinkModel | PacketModel | FittedForm, deviate: float) -> LinkModel | PacketModel | FittedForm:
    """The message times of one truth: those of the model times its doubt's factor, by size; without doubt.

    Curves through knots have the factor of each knot; formulas that of their ends, the smallest size for latencies and
    the largest for bytes.

    Parameters
    ----------
    deviate
        Standard normal.
    """
    doubt = model.doubt
    if doubt is None:
        return model
    if isinstance(model, LinkModel):
        sizes = np.union1d(model.sizes_bytes, doubt.sizes) if doubt.sizes.size > 1 else model.sizes_bytes
        times = np.maximum.accumulate(model.time_s(sizes) * doubt.factor(sizes, deviate))
        return LinkModel(sizes, times)
    if isinstance(model, KnotsModel):
        pairs = zip(model.knots_bytes, model.knots_s, strict=True)
        curves = tuple(np.maximum.accumulate(times * doubt.factor(sizes, deviate)) for sizes, times in pairs)
        return replace(model, knots_s=curves, doubt=None)
    least, most = doubt.factor(doubt.sizes[[0, -1]], deviate).tolist()
    return replace(scaled_model(model, latency=least, bandwidth=1 / most), doubt=None)


def _packetised(model: PacketisedModel, latency: float, bandwidth: float) -> PacketisedModel:
    """A further packet, start-up of the hop included, goes by the bandwidth."""
    return replace(
        model,
        alpha_s=latency * model.alpha_s,
        beta_s=latency * model.beta_s,
        alpha2_s=(model.alpha2_s + model.beta_s) / bandwidth - latency * model.beta_s,
        tau_s_per_byte=model.tau_s_per_byte / bandwidth,
    )

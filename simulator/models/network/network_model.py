"""A fitted network model: message times with the range of what was measured and an interval from held-out errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from simulator.base.arrays import Flags, Floats, Vector
from simulator.base.documents import FormError, Record, at, named, read
from simulator.models.file import check_level
from simulator.models.network.kinds import FORMS
from simulator.models.network.kinds.kind import MessageModel, message_page

NEAREST = 20
"""Held-out errors of so many nearest sizes make an interval, or of a third of all where that is more."""


@dataclass(frozen=True)
class Spread(Record):
    """Errors of rows that were held out, and the range measured."""

    size_bytes: Vector
    hops: Vector
    relative_errors: Vector
    size_range: Vector
    hop_range: Vector
    residuals: Vector | None = None
    """Logarithms of measured over fitted times, of the same rows; None in files of before."""
    rate: float = 0.0
    """Standard deviation of the log time per unit of log size beyond what was measured; 0 in files of before."""
    power: float = 0.0
    """Of the size by which errors go with it where that is no chance; 0 in files of before."""

    def contradicted(self, size_bytes: Floats, hops: Floats) -> tuple[Floats, Floats]:
        """How far the rows next to each size, on either side, lie below and above what was fitted; factors."""
        low, high = np.ones(size_bytes.shape), np.ones(size_bytes.shape)
        if self.residuals is None:
            return low, high
        for place, size in np.ndenumerate(size_bytes):
            mine = self.hops == self.hops[np.argmin(np.abs(self.hops - hops[place]))]
            below, above = (self.size_bytes[mine & near] for near in (self.size_bytes <= size, self.size_bytes >= size))
            ends = {float(below.max())} if below.size else set()
            ends |= {float(above.min())} if above.size else set()
            middles = [float(np.median(self.residuals[mine & (self.size_bytes == end)])) for end in ends]
            low[place], high[place] = np.exp(min(0.0, *middles)), np.exp(max(0.0, *middles))
        return low, high

    def half_width(self, size_bytes: Floats, hops: Floats, *, level: float) -> Floats:
        """Relative half width that holds `level` of the held-out errors at the nearest sizes; wider outside."""
        count = min(self.size_bytes.size, max(NEAREST, self.size_bytes.size // 3))
        known, at = np.log1p(self.size_bytes), np.log1p(size_bytes)
        errors, width = self.relative_errors * np.exp(-self.power * known), np.empty(at.shape)
        for place, x in np.ndenumerate(at):
            nearest = np.argsort(np.abs(known - x), kind="stable")[:count]
            rank = min(int(np.ceil(level * (count + 1))), count)  # one more: the next error may be the largest
            width[place] = np.sort(errors[nearest])[rank - 1]
        low, high = np.log1p(self.size_range)
        width *= np.exp(self.power * np.clip(at, low, high))
        beyond = np.maximum(np.maximum(low - at, at - high), 0.0)
        far = np.maximum(np.maximum(self.hop_range[0] / hops, hops / self.hop_range[1]), 1.0)
        more = np.expm1(self.rate * beyond * ndtri((1 + level) / 2))
        return np.asarray(np.hypot(width * (1 + beyond) * far, more))

    def is_outside(self, size_bytes: Floats, hops: Floats) -> Flags:
        """Where nothing was measured on one side."""
        outside = (size_bytes < self.size_range[0]) | (size_bytes > self.size_range[1])
        return np.asarray(outside | (hops < self.hop_range[0]) | (hops > self.hop_range[1]))


@dataclass(frozen=True)
class MessageTimes:
    """Message times with intervals of one message, in seconds; as the sizes asked for."""

    mean_s: Floats
    low_s: Floats
    high_s: Floats
    extrapolation: Flags


@dataclass(frozen=True)
class NetworkModel(Record):
    """The form chosen, and how far it can be trusted."""

    name: str = field(metadata=named("form"))
    """Of the form: `hockney`, `packetised`, `piecewise`, `smooth`."""
    form: MessageModel = field(metadata=named("parameters"))
    spread: Spread

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        return self.form.time_s(size_bytes, hops)

    def predict(self, size_bytes: ArrayLike, hops: ArrayLike = 1, *, level: float = 0.95) -> MessageTimes:
        """Message times with intervals that hold with probability `level`; sizes and hops of any shapes that broadcast.

        Raises ScenarioError if `level` is not between 0 and 1.
        """
        check_level(level)
        size, distance = np.broadcast_arrays(np.asarray(size_bytes, np.float64), np.asarray(hops, np.float64))
        mean = self.form.time_s(size, distance)
        half = self.spread.half_width(size, distance, level=level)
        outside = self.spread.is_outside(size, distance)
        below, above = self.spread.contradicted(size, distance)
        return MessageTimes(mean, mean * np.minimum(below, 1 / (1 + half)), mean * np.maximum(above, 1 + half), outside)

    def __repr__(self) -> str:
        low, high = self.spread.size_range
        return f"NetworkModel({self.name}, measured from {low:g} to {high:g} bytes)"

    def _repr_html_(self) -> str:
        return message_page(f"Message times, form {self.name}", self.time_s, None, None)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "NetworkModel":
        """The model that `to_dict` wrote; see `documents.read` for what is refused."""
        plain = read(_PlainModel, data)
        if plain.form not in FORMS:
            raise FormError([(("form",), f"{plain.form!r} is not known; give {' or '.join(FORMS)}")])
        with at("parameters"):
            return cls(plain.form, FORMS[plain.form].from_dict(plain.parameters), plain.spread)


@dataclass(frozen=True)
class _PlainModel:
    """A network model's entry of a file, before its form says what its parameters are."""

    form: str
    parameters: Mapping[str, object]
    spread: Spread

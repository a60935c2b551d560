"""What all kinds of message times have in common, and what a kind is."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import notebook, units
from simulator.base.arrays import Floats
from simulator.base.documents import NOT_WRITTEN, Data, Record
from simulator.base.errors import ScenarioError
from simulator.base.form import Form
from simulator.models.doubt import Doubt

if TYPE_CHECKING:
    from simulator.models.network.points import NetworkPoints

LEAST_S = 1e-12
"""No message takes less: a line that was fitted far away may pass below zero."""
NO_LIMIT = 1e30
"""Bytes per second where time does not grow."""


@dataclass(frozen=True)
class MessageModel(Record):
    """Message times by payload, and by hops where the kind knows what these cost."""

    doubt: Doubt | None = field(default=None, kw_only=True)
    """What is not known of its times, over bytes. None: nothing is doubted, or nothing is known of it."""
    source: str = field(default="", compare=False, kw_only=True, metadata=NOT_WRITTEN)
    """What links share a doubt by: the model's file, or the entry that says it; empty: each link alone."""
    title: ClassVar[str] = "Link"
    is_fitted: ClassVar[bool] = True
    """Whether it comes from measurements; otherwise it is as somebody gave it."""

    if TYPE_CHECKING:  # of each kind, as a field or a property

        @property
        def latency_s(self) -> float:
            """Time of the least message to the next node."""

        @property
        def bandwidth_bytes_per_s(self) -> float:
            """Bytes per second of the largest messages; `NO_LIMIT` where time does not grow."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not physical."""
        return ()

    @property
    def knows_hops(self) -> bool:
        """Whether further hops cost something here: otherwise none were measured."""
        return False

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        raise NotImplementedError

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> Self:
        """The model with `latency` times the time of the least message, and the rest of each time over `bandwidth`."""
        raise NotImplementedError

    def drawn(self, deviate: float) -> Self:
        """The times of one truth: those of the model times its doubt's factor, by size; without doubt.

        A formula has the factor of the smallest size for latencies and that of the largest for bytes.

        `deviate`: standard normal.
        """
        if self.doubt is None:
            return self
        least, most = self.doubt.factor(self.doubt.sizes[[0, -1]], deviate).tolist()
        return replace(self.scaled(least, 1 / most), doubt=None)

    def to_data(self) -> Data:
        """As a scenario's file writes it."""
        return self.to_dict()

    def _repr_html_(self) -> str:
        return message_page(self.title, self.time_s, self.latency_s, self.bandwidth_bytes_per_s)


@dataclass(frozen=True)
class Parameter:
    """A fitted number; what the points do not determine has no value, and says so by name."""

    name: str
    value: float | None
    standard_error: float | None
    unit: str
    note: str | None = None


@dataclass(frozen=True)
class Fitted:
    """One form fitted to points."""

    model: MessageModel
    parameters: tuple[Parameter, ...]
    free: int
    notes: tuple[str, ...] = ()
    same_as: str = ""
    """The simpler form that the fit came out as; then that one is chosen, not this."""


@dataclass(frozen=True)
class Fit:
    """How points become a form."""

    name: str
    rank: float
    """Forms are tried from the least rank on: the simplest first."""
    needs: str
    run: Callable[["NetworkPoints"], Fitted]


class KindForm(Form):
    """What a file says of message times of a kind: its own numbers, which say by their names which kind it is."""

    def times(self) -> MessageModel:
        """The model that it says."""
        raise NotImplementedError

    def numbers(self) -> Data:
        """What it says, without what every link may say."""
        return self.model_dump(exclude=set(MessageModel.__dataclass_fields__) | {"shared"})


@dataclass(frozen=True)
class Kind:
    """A kind of message times."""

    model: type[MessageModel]
    form: type[KindForm]
    fits: tuple[Fit, ...] = ()
    """Under which names it is fitted to measured times."""

    @property
    def rank(self) -> float:
        """That of its simplest fit; 0 without fits."""
        return min((fit.rank for fit in self.fits), default=0)


def refuse_unless(ok: object, what: str) -> None:
    """Refuse numbers of a model."""
    if not ok:
        raise ScenarioError(f"link: {what}")


def check_curve(sizes: Floats, times: Floats, names: tuple[str, str]) -> None:
    """Refuse what is no curve of message times over sizes."""
    refuse_unless(
        sizes.ndim == 1 and sizes.size >= 2 and sizes.shape == times.shape,
        f"{names[0]}: give two or more sizes and as many {names[1]}",
    )
    refuse_unless(np.all(np.diff(sizes) > 0) and np.all(sizes >= 0), f"{names[0]}: sizes have to ascend from 0")
    refuse_unless(
        np.all(np.diff(times) >= 0) and np.all(np.isfinite(times)) and times[0] > 0,
        f"{names[1]}: times have to be finite, above 0 and not fall",
    )


def bandwidth_of(slope: float) -> float:
    """Bytes per second by the seconds of a byte."""
    return 1.0 / slope if slope > 0 else NO_LIMIT


def stretched(times: Floats, latency: float, bandwidth: float) -> Floats:
    """Times from the least one on, with `latency` times that one and what is more over `bandwidth`."""
    return np.asarray(latency * times[0] + (times - times[0]) / bandwidth)


def message_page(
    title: str, time_s: Callable[[Floats], Floats], latency_s: float | None, bandwidth_bytes_per_s: float | None
) -> str:
    """How message times show themselves in a notebook: from a byte to 16 MiB."""
    sizes = np.logspace(0, 24, 97, base=2)
    chart = notebook.curves(sizes, {"time": time_s(sizes)}, labels=("payload (bytes)", "seconds"), log=(True, True))
    examples = np.array([1.0, 1024.0, 2.0**20, 2.0**24])
    rows = [
        {"payload": units.show_size(size), "time": units.show_duration(float(time))}
        for size, time in zip(examples, time_s(examples), strict=True)
    ]
    facts = {
        "latency": None if latency_s is None else units.show_duration(latency_s),
        "bandwidth (MB/s)": None if bandwidth_bytes_per_s is None else bandwidth_bytes_per_s / 1e6,
    }
    return notebook.page(title, notebook.facts(facts), chart, notebook.table(rows))

"""Links: a latency and a bandwidth or a model of message times, and the kinds of them that a file can say."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter

from simulator.base import given, units
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.form import Bandwidth, FileName, Form, Latency, any_kind
from simulator.base.units import write_bandwidth, write_duration
from simulator.models.doubt import Doubt, doubt_data
from simulator.models.doubt_forms import DoubtForm
from simulator.models.network import KINDS, Kind, LinkModel, MessageModel
from simulator.models.network.kinds.kind import KindForm
from simulator.platform.named_files import Site

NETWORKS: Mapping[str, tuple[str, str]] = {
    "1GbE": ("50us", "1Gbit/s"),
    "10GbE": ("30us", "10Gbit/s"),
    "25GbE": ("20us", "25Gbit/s"),
    "100GbE": ("10us", "100Gbit/s"),
    "EDR": ("2us", "100Gbit/s"),
    "HDR": ("1.5us", "200Gbit/s"),
    "NDR": ("1.5us", "400Gbit/s"),
}
"""Usual latency and bandwidth of a message between two programs, by the name of the network."""


def usual_link(name: str) -> dict[str, str] | None:
    """Latency and bandwidth of a network of `NETWORKS`, as a scenario file writes them; None for another name."""
    ends = next((ends for known, ends in NETWORKS.items() if known.lower() == name.strip().lower()), None)
    return None if ends is None else {"latency": ends[0], "bandwidth": ends[1]}


@dataclass(frozen=True)
class Link:
    """Something that messages pass; a disk is one too."""

    name: str
    latency_s: float
    bandwidth_bytes_per_s: float
    shared: bool = False
    """Whether both directions share the bandwidth (a bus); otherwise each has it (full duplex)."""
    model: MessageModel | None = None
    """Message times by payload, where one latency and one bandwidth do not describe them; not under `fair`."""
    doubt: Doubt | None = None
    """What is not known of its times, over bytes; None: nothing is doubted."""
    source: str = field(default="", compare=False)
    """What links share most of their doubt by; empty: each link alone."""

    if TYPE_CHECKING:  # what a program may hand over becomes what the fields say

        def __init__(
            self,
            name: str,
            latency_s: str | float,
            bandwidth_bytes_per_s: str | float,
            shared: bool = False,  # noqa: FBT001, FBT002
            model: MessageModel | None = None,
            doubt: Doubt | None = None,
            source: str = "",
        ) -> None: ...

    def __post_init__(self) -> None:
        where = f"platform: link {self.name}"
        self._read("latency_s", units.DURATION, f"{where}: latency", "'30us' or a number of seconds")
        self._read("bandwidth_bytes_per_s", units.BANDWIDTH, f"{where}: bandwidth", "'10 Gbit/s' or bytes per second")
        if not (math.isfinite(self.latency_s) and self.latency_s >= 0):
            raise ScenarioError(f"{where}: latency is {self.latency_s:g} s; give at least 0 s")
        if not (math.isfinite(self.bandwidth_bytes_per_s) and self.bandwidth_bytes_per_s > 0):
            raise ScenarioError(f"{where}: bandwidth is {self.bandwidth_bytes_per_s:g} B/s; give more than 0")

    def _read(self, field: str, kind: dict[str, Decimal], where: str, example: str) -> None:
        """Put the number in the place of a text with a unit."""
        value = getattr(self, field)
        if not isinstance(value, float | int) or isinstance(value, bool):
            found = given.quantity(value, kind, where=where, example=example, zero=True)
            object.__setattr__(self, field, found)

    @classmethod
    def of_model(cls, name: str, model: MessageModel, *, shared: bool = False) -> "Link":
        """A link with measured times: latency and bandwidth are the model's."""
        rest = model.doubt, model.source
        return cls(name, model.latency_s, model.bandwidth_bytes_per_s, shared, model, *rest)

    def drawn(self, deviate: float) -> "Link":
        """The link in one truth, by a standard normal deviate."""
        if self.doubt is None:
            return self
        if self.model is not None:
            return Link.of_model(self.name, self.model.drawn(deviate), shared=self.shared)
        least, most = self.doubt.factor(self.doubt.sizes[[0, -1]], deviate).tolist()
        return replace(self.scaled(latency=least, bandwidth=1 / most), doubt=None)

    def scaled(self, *, latency: float = 1.0, bandwidth: float = 1.0) -> "Link":
        """The same link with so many times the latency and the bandwidth; see `MessageModel.scaled`."""
        if self.model is not None:
            model = self.model.scaled(latency, bandwidth)
            return Link.of_model(self.name, model, shared=self.shared)
        return replace(
            self, latency_s=latency * self.latency_s, bandwidth_bytes_per_s=bandwidth * self.bandwidth_bytes_per_s
        )

    def to_data(self, *, says_shared: bool = True) -> Data:
        """The link as a file writes it, without its name."""
        if self.model is None:
            data = {
                "latency": write_duration(self.latency_s),
                "bandwidth": write_bandwidth(self.bandwidth_bytes_per_s),
                **doubt_data(self.doubt),
                **_source_data(self),
            }
        else:
            data = message_data(self.model)
        return data | ({"shared": True} if self.shared and says_shared else {})


def message_data(model: MessageModel) -> Data:
    """Message times as a file writes them."""
    return model.to_data() | _source_data(model)


def _source_data(of: MessageModel | Link) -> Data:
    """What links share their doubt by, where they have some."""
    return {} if of.doubt is None else {"source": of.source}


Maker = Callable[[str], Link]
"""A link like those of an entry, by its name."""


class AnyLinkForm(Form):
    """What every link says."""

    shared: bool = False
    """`true`: both directions share it; otherwise each has it for itself."""
    doubt: DoubtForm | None = None
    """What is not known of its times, over bytes."""
    source: str | None = None
    """What all links that name it share most of their doubt by, `""` for each alone; by default those of one entry."""

    def _times(self, site: Site | None) -> MessageModel:  # noqa: ARG002 - only some name a file
        """Message times without the doubt that the entry itself says; without a site no file can be named."""
        return cast("KindForm", self).times()

    def message_times(self, site: Site | None, *where: str | int) -> MessageModel:
        """Message times with the doubt that the entry says, else their own; and what links share it by."""
        model = self._times(site)
        if model.faults:
            raise ScenarioError(f"{', '.join(model.faults)}: this is not physical; give numbers of at least 0")
        doubt = model.doubt if self.doubt is None else self.doubt.doubt()
        if doubt is None or (self.doubt is None and self.source is None and model.source):
            # One file's model stays one object: times over several of its links are those over as many hops.
            return model
        own = model.source if self.source is None else ""
        return replace(model, doubt=doubt, source=own or self._shared_by(where))

    def end_to_end(self, site: Site, *where: str | int) -> MessageModel:
        """Message times where messages do not meet; see `message_times`."""
        with site.at(*where):
            if self.shared:
                raise ScenarioError("shared: messages do not meet here; leave it out, or write a network with links")
            return self.message_times(site, *where)

    def maker(self, site: Site, *where: str | int, always_shared: bool = False) -> Maker:
        """What makes links like this one."""
        with site.at(*where):
            if always_shared and "shared" in self.model_fields_set and not self.shared:
                raise ScenarioError("shared: messages of both directions meet here; write true, or leave it out")
            return self._maker(site, where, shared=self.shared or always_shared)

    def _maker(self, site: Site, where: Sequence[str | int], *, shared: bool) -> Maker:
        model = self.message_times(site, *where)
        if not site.latency_and_bandwidth or not model.is_fitted:
            return lambda name: Link.of_model(name, model, shared=shared)
        ends = model.latency_s, model.bandwidth_bytes_per_s
        return lambda name: Link(name, *ends, shared, doubt=model.doubt, source=model.source)

    def _shared_by(self, where: Sequence[str | int]) -> str:
        """What links of an entry share their doubt by: as it says, else the entry itself."""
        return ".".join(map(str, where)) if self.source is None else self.source


class LineForm(AnyLinkForm):
    """Message times: latency plus bytes over bandwidth."""

    latency: Latency
    """Time of a message without bytes, such as `10us`."""
    bandwidth: Bandwidth
    """Bytes or bits per second, such as `1Gbit/s` or `125MB/s`."""

    def _times(self, site: Site | None) -> MessageModel:  # noqa: ARG002 - names no file
        return LinkModel.from_latency(self.latency, self.bandwidth)

    def _maker(self, site: Site, where: Sequence[str | int], *, shared: bool) -> Maker:  # noqa: ARG002 - likewise
        doubt = None if self.doubt is None else self.doubt.doubt()
        of = "" if doubt is None else self._shared_by(where)
        return lambda name: Link(name, self.latency, self.bandwidth, shared, doubt=doubt, source=of)


class FileForm(AnyLinkForm):
    """A network model."""

    model: FileName
    """The file, which `apportion calibrate network` wrote."""

    def _times(self, site: Site | None) -> MessageModel:
        if site is None:
            raise ScenarioError("link: this names a file; give message times")
        return site.named.message_model(self.model)


def _form_of(kind: Kind) -> type[AnyLinkForm]:
    """What a file says of links of a kind: its own numbers, and what every link may."""
    own = kind.form
    return cast("type[AnyLinkForm]", type(own.__name__, (own, AnyLinkForm), {"__doc__": own.__doc__}))


LINK_KINDS: tuple[type[AnyLinkForm], ...] = (
    LineForm,
    *(_form_of(kind) for kind in KINDS if not kind.fits),
    FileForm,
    *(_form_of(kind) for kind in KINDS if kind.fits),
)
"""Kinds of links, the usual one first; another one says by its own keys which it is."""


def _kind_of(value: Any) -> type[AnyLinkForm]:
    keys = set(value) - set(LineForm.model_fields) if isinstance(value, dict) else set()
    needed = ({name for name, field in kind.model_fields.items() if field.is_required()} for kind in LINK_KINDS)
    return next((kind for kind, own in zip(LINK_KINDS, needed, strict=True) if own & keys), LineForm)


def is_line(entry: Mapping[str, Any]) -> bool:
    """Whether an entry says its message times by a latency and a bandwidth, or should."""
    return _kind_of(entry) is LineForm


if TYPE_CHECKING:
    LinkForm = AnyLinkForm
else:
    LinkForm = any_kind(LINK_KINDS, _kind_of)


def model_of(data: Mapping[str, object]) -> MessageModel:
    """The message times of a link written as plain data, which names no file."""
    form: AnyLinkForm = TypeAdapter(LinkForm).validate_python(dict(data))
    return form.message_times(None)


class DiskForm(Form):
    """A node's disk, shared by reads and writes."""

    latency: Latency
    """Time before the first byte."""
    bandwidth: Bandwidth
    """Bytes per second, such as `500MB/s`."""

    def disk(self) -> Link:
        """What I/O passes."""
        return Link("disk", self.latency, self.bandwidth, shared=True)

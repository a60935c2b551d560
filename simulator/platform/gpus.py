"""GPUs: what makes a PE one, and the links over which data move to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag

from simulator.base.arrays import Floats, Ints
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.form import Form, Name, Size
from simulator.base.units import write_size
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm


@dataclass(frozen=True)
class Gpu:
    """What makes a PE a GPU."""

    host: str
    """The PE of its node that its process occupies: nothing else runs there while the GPU is used."""
    into: Link
    """What data move to it over, from pinned or from pageable memory of the host as it was measured."""
    out: Link
    memory_bytes: int | None = None
    """What a process on it may hold; more is refused, as a GPU does not page."""
    streams: int = 1
    """With 2, half of what a computation needs moves while the other half is computed."""
    switch: str = ""
    """GPUs of a node that name the same one share its link; without a name each has its own."""

    @property
    def doubtful(self) -> bool:
        """Whether something of its links is not known for certain."""
        return self.into.doubt is not None or self.out.doubt is not None

    def to_data(self) -> Data:
        """The keys of a file that only GPUs have."""
        into, out = self.into.to_data(), self.out.to_data()
        said: Data = {"kind": "gpu", "host": self.host, "link": into if into == out else {"into": into, "out": out}}
        memory = None if self.memory_bytes is None else write_size(self.memory_bytes)
        more = {"memory": memory, "streams": self.streams if self.streams > 1 else None, "switch": self.switch}
        return said | {name: value for name, value in more.items() if value}


class BothWaysForm(Form):
    """Links of a GPU that differ by direction."""

    into: LinkForm
    """To the GPU."""
    out: LinkForm
    """Back to the host."""


class GpuKeysForm(Form):
    """What only GPUs say."""

    kind: Literal["gpu"]
    """`gpu`."""
    host: Name
    """The PE of this node that its process occupies; `{node}` stands for the node's name."""
    link: Annotated[
        Annotated[LinkForm, Tag("<one>")] | Annotated[BothWaysForm, Tag("<two>")],
        Discriminator(lambda value: "<two>" if isinstance(value, dict) and {"into", "out"} & set(value) else "<one>"),
    ]
    """What data move over: a link, such as `{model: pcie-h2d-pinned.json}` of `apportion calibrate network`, or one for
    each direction, `{into: ..., out: ...}`. Each direction is for itself, unless the link is `shared`."""
    memory: Size | None = Field(default=None)
    """What a process on it may hold, such as `80GiB`: more is refused."""
    streams: Annotated[int, Field(ge=1, le=2)] = 1
    """`2`: half of what a computation needs moves while the other half is computed."""
    switch: Name | None = None
    """GPUs of the node that name the same switch share its link, where messages meet on links (`contention`)."""

    def gpu(self, site: Site, *here: str | int) -> Gpu:
        """The GPU, its host with the name that stands for the node's."""
        ends = (self.link.into, self.link.out) if isinstance(self.link, BothWaysForm) else (self.link, self.link)
        names = ("into", "out") if isinstance(self.link, BothWaysForm) else (None, None)
        into, out = (
            end.maker(site, *here, "link", *(() if name is None else (name,)))("host link")
            for end, name in zip(ends, names, strict=True)
        )
        return Gpu(self.host, into, out, self.memory, self.streams, self.switch or "")


@dataclass(frozen=True)
class HostLinks:
    """The links of all GPUs of a platform, one for each switch and direction."""

    links: tuple[Link, ...]
    of_pe: Ints
    """Place in `links` by direction, -1 of PEs that are no GPUs; (PE, 2)."""

    @classmethod
    def of(cls, pes: Sequence[tuple[str, str, Gpu | None]]) -> "HostLinks":
        """Of PEs by name and node."""
        links, known = list[Link](), dict[tuple[str, str, int], int]()
        of_pe = np.full((len(pes), 2), -1, dtype=np.int64)
        for place, (name, node, gpu) in enumerate(pes):
            for direction, link in enumerate(() if gpu is None else (gpu.into, gpu.out)):
                key = node, gpu.switch if gpu and gpu.switch else f"\n{name}", 0 if link.shared else direction
                if key not in known:
                    known[key] = len(links)
                    links.append(link)
                of_pe[place, direction] = known[key]
                if links[known[key]] != link and gpu and gpu.switch:
                    raise ScenarioError(
                        f"platform: PE {name}: switch {gpu.switch} has unlike links; write the same for all"
                    )
        return cls(tuple(links), of_pe)

    def times_s(self, link: Ints, size_bytes: Floats) -> Floats:
        """Seconds of moves that meet no others; (moves,)."""
        found = np.zeros(size_bytes.size)
        for number in np.unique(link).tolist():
            one, mine = self.links[number], link == number
            times = one.latency_s + size_bytes[mine] / one.bandwidth_bytes_per_s
            found[mine] = times if one.model is None else one.model.time_s(size_bytes[mine])
        return found


def check_hosts(pes: Sequence[tuple[str, str, Gpu | None]]) -> dict[int, int]:
    """The PE that hosts each GPU, by PE."""
    by_name: Mapping[tuple[str, str], int] = {(node, name): place for place, (name, node, _) in enumerate(pes)}
    found = {}
    for place, (name, node, gpu) in enumerate(pes):
        if gpu is not None:
            host = by_name.get((node, gpu.host))
            if host is None or pes[host][2] is not None:
                cores = ", ".join(other for other, on, it in pes if on == node and it is None) or "none"
                raise ScenarioError(f"platform: PE {name}: host: {gpu.host!r} is no core of its node; take {cores}")
            found[place] = host
    return found

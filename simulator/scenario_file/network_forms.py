"""What a scenario file says of links and networks."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from simulator.networks import Contention
from simulator.scenario_file.form import Bandwidth, Duration, Form, Latency, Payload, Size


def text_or_list(value: Any) -> str:
    """Which of two forms a value has; the names stand in no message."""
    return "<text>" if isinstance(value, str) else "<list>"


Names = Annotated[
    Annotated[list[str], Field(min_length=1), Tag("<list>")] | Annotated[str, Tag("<text>")],
    Discriminator(text_or_list),
]
"""Names, or patterns such as `fast[01-08]`."""


class LineForm(Form):
    """Message times: latency plus bytes over bandwidth."""

    latency: Latency
    bandwidth: Bandwidth
    shared: bool = False


class KnotsForm(Form):
    """Message times through knots: straight lines between, the last slope beyond."""

    sizes_bytes: list[float]
    times_s: list[float]
    shared: bool = False


class PacketsForm(Form):
    """Message times in whole packets."""

    latency: Latency
    packet: Payload
    packet_time: Duration
    shared: bool = False


class FileForm(Form):
    """A network model that `apportion calibrate network` wrote."""

    model: str
    shared: bool = False


class LinesForm(Form):
    """Straight lines by message size, as fitted: one more of each than breaks; `hop_...` for each further hop."""

    breaks_bytes: list[float]
    latencies_s: list[float]
    gaps_s_per_byte: list[float]
    hop_latencies_s: list[float] | None = None
    hop_gaps_s_per_byte: list[float] | None = None
    shared: bool = False


class PacketisedForm(Form):
    """The packetised linear model, equation 5: packets of `packet_bytes` with headers of `header_bytes`."""

    alpha_s: float
    alpha2_s: float
    beta_s: float
    tau_s_per_byte: float
    packet_bytes: float
    header_bytes: float
    shared: bool = False


class CurvesForm(Form):
    """Smooth curves through knots, one for each number of hops."""

    hops: list[float]
    knots_bytes: list[list[float]]
    knots_s: list[list[float]]
    shared: bool = False


def _link_kind(value: Any) -> str:
    keys = set(value) if isinstance(value, dict) else set()
    kinds = {
        "<file>": {"model"},
        "<packets>": {"packet", "packet_time"},
        "<knots>": {"sizes_bytes", "times_s"},
        "<lines>": {"breaks_bytes", "latencies_s", "gaps_s_per_byte"},
        "<packetised>": {"alpha_s", "alpha2_s", "beta_s", "tau_s_per_byte", "packet_bytes", "header_bytes"},
        "<curves>": {"knots_bytes", "knots_s"},
    }
    return next((kind for kind, own in kinds.items() if keys & own), "<line>")


LinkForm = Annotated[
    Annotated[LineForm, Tag("<line>")]
    | Annotated[KnotsForm, Tag("<knots>")]
    | Annotated[PacketsForm, Tag("<packets>")]
    | Annotated[FileForm, Tag("<file>")]
    | Annotated[LinesForm, Tag("<lines>")]
    | Annotated[PacketisedForm, Tag("<packetised>")]
    | Annotated[CurvesForm, Tag("<curves>")],
    Discriminator(_link_kind),
]


class DiskForm(Form):
    """A node's disk, shared by reads and writes."""

    latency: Latency
    bandwidth: Bandwidth


class _NetworkForm(Form):
    """What every network says."""

    contention: Contention = "none"
    eager: Size = 0
    loopback: LinkForm | None = None


class UniformForm(_NetworkForm):
    """One message time between any two nodes."""

    topology: Literal["uniform"]
    link: LinkForm


class StarForm(_NetworkForm):
    """A link for each node to one switch, and maybe a backbone that all messages pass."""

    topology: Literal["star"]
    link: LinkForm | None = None
    backbone: LinkForm | None = None


class BusForm(_NetworkForm):
    """One link that all nodes share."""

    topology: Literal["bus"]
    link: LinkForm


class SwitchForm(Form):
    """One switch of a tree."""

    nodes: Names
    name: str | None = Field(default=None, min_length=1)
    uplink: LinkForm | None = None


class TreeForm(_NetworkForm):
    """Nodes on switches, switches on a core that never fills."""

    topology: Literal["tree"]
    link: LinkForm | None = None
    uplink: LinkForm | None = None
    switches: list[SwitchForm] | None = Field(default=None, min_length=1)
    nodes_per_switch: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _switches_one_way(self) -> "TreeForm":
        if (self.switches is None) == (self.nodes_per_switch is None):
            raise ValueError("either switches or nodes_per_switch allowed")
        return self


class TorusForm(_NetworkForm):
    """A grid of nodes whose rows close to rings."""

    topology: Literal["torus"]
    shape: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=3)
    link: LinkForm


class MeshForm(_NetworkForm):
    """A link between any two nodes."""

    topology: Literal["mesh"]
    link: LinkForm


class RouteForm(Form):
    """The links from one node to another; `-NAME` is a link in its other direction."""

    source: str = Field(alias="from")
    to: str
    via: list[str] = Field(min_length=1)
    one_way: bool = False


class ListedForm(_NetworkForm):
    """Links by name, and the routes over them."""

    topology: Literal["listed"]
    links: dict[Annotated[str, Field(pattern=r"^[^-]")], LinkForm] = Field(min_length=1)
    routes: list[RouteForm]


NetworkForm = Annotated[
    UniformForm | StarForm | BusForm | TreeForm | TorusForm | MeshForm | ListedForm, Discriminator("topology")
]

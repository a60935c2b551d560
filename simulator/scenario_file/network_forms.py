"""What a scenario file says of links and networks."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator

from simulator.platform.networks import Contention
from simulator.scenario_file.doubt_forms import DoubtForm
from simulator.scenario_file.form import (
    NOT_BACKWARDS,
    Bandwidth,
    Duration,
    FileName,
    Form,
    Latency,
    Payload,
    Size,
)


def text_or_list(value: Any) -> str:
    """Which of two forms a value has; the names stand in no message."""
    return "<text>" if isinstance(value, str) else "<list>"


Names = Annotated[
    Annotated[list[str], Field(min_length=1), Tag("<list>")] | Annotated[str, Tag("<text>")],
    Discriminator(text_or_list),
]
"""Names, or patterns such as `fast[01-08]`."""


def one_of(*names: str) -> dict[str, JsonValue]:
    """The JSON Schema of fields one of which is there."""
    return {"oneOf": [{"required": [name]} for name in names]}


class _LinkForm(Form):
    """What every link says."""

    shared: bool = False
    """`true`: both directions share it; otherwise each has it for itself."""
    doubt: DoubtForm | None = None
    """What is not known of its times, over bytes."""
    source: str | None = None
    """What all links that name it share most of their doubt by, `""` for each alone; by default those of one entry."""


class LineForm(_LinkForm):
    """Message times: latency plus bytes over bandwidth."""

    latency: Latency
    """Time of a message without bytes, such as `10us`."""
    bandwidth: Bandwidth
    """Bytes or bits per second, such as `1Gbit/s` or `125MB/s`."""


class KnotsForm(_LinkForm):
    """Message times through knots: straight lines between, the last slope beyond."""

    sizes_bytes: list[float]
    """Bytes, ascending."""
    times_s: list[float]
    """Seconds that a message of each size takes."""


class PacketsForm(_LinkForm):
    """Message times in whole packets, at least one."""

    latency: Latency
    """Time before the first packet."""
    packet: Payload
    """Payload of a packet, such as `1500B`."""
    packet_time: Duration
    """Time of each packet, such as `12us`."""


class FileForm(_LinkForm):
    """A network model."""

    model: FileName
    """The file, which `apportion calibrate network` wrote."""


class LinesForm(_LinkForm):
    """Straight lines by message size, as fitted.

    A line for each range of sizes, the first up to and with the first break: latency + l gap, and for each hop beyond
    the first the hop latency + l times the hop gap.
    """

    breaks_bytes: list[float]
    """Where one range ends, ascending; the first range goes up to and with the first break."""
    latencies_s: list[float]
    """Seconds of a message without bytes, by range."""
    gaps_s_per_byte: list[float]
    """Seconds per byte, by range."""
    hop_latencies_s: list[float] | None = None
    """Seconds of each hop beyond the first, by range."""
    hop_gaps_s_per_byte: list[float] | None = None
    """Seconds per byte of each hop beyond the first, by range."""


class PacketisedForm(_LinkForm):
    """The packetised linear model, equation 5.

    alpha + d (beta + tau (l + h)) up to p bytes; alpha + d (beta + tau p) + (l / p - 1) (alpha2 + beta + tau p) beyond.
    It jumps by -d tau h at l = p.
    """

    alpha_s: float
    """alpha, seconds."""
    alpha2_s: float
    """alpha2, seconds of each further packet."""
    beta_s: float
    """beta, seconds of each hop."""
    tau_s_per_byte: float
    """tau, seconds per byte."""
    packet_bytes: float
    """p, bytes of a packet."""
    header_bytes: float
    """h, bytes of its header."""


class CurvesForm(_LinkForm):
    """A monotone curve through knots for each distance, logarithms on both axes."""

    hops: list[float]
    """Distances."""
    knots_bytes: list[list[float]]
    """Bytes, ascending, for each distance."""
    knots_s: list[list[float]]
    """Seconds at each of them."""


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
    """Time before the first byte."""
    bandwidth: Bandwidth
    """Bytes per second, such as `500MB/s`."""


class _NetworkForm(Form):
    """What every network says."""

    contention: Contention = "none"
    """What messages do that meet on a link: `none` (they do not notice), `fifo` (one after the other, holding all links
    of the route), `fair` (they share the bandwidth, max-min fair; links by latency and bandwidth only)."""
    eager: Size = Field(default=0, json_schema_extra={"default": "0B"})
    """Messages up to this size do not wait for their receiver."""
    loopback: LinkForm | None = None
    """Message times between processes of one node, without contention. If not given, 500 ns + bytes / 8 GB/s, a copy
    through shared memory; results name this default where messages use it."""


class UniformForm(_NetworkForm):
    """One message time between any two nodes."""

    topology: Literal["uniform"]
    """One message time between any two nodes; no routes."""
    link: LinkForm
    """Message times between two nodes."""


class StarForm(_NetworkForm):
    """A link for each node to one switch, and maybe a backbone that all messages pass."""

    topology: Literal["star"]
    """Up, over the backbone, down; the switch never fills, the backbone is shared."""
    link: LinkForm | None = None
    """Of each node that has none of its own."""
    backbone: LinkForm | None = None
    """What all messages between nodes pass."""


class BusForm(_NetworkForm):
    """One link that all nodes share."""

    topology: Literal["bus"]
    """The one link that all share."""
    link: LinkForm
    """The bus."""


class SwitchForm(Form):
    """One switch of a tree."""

    nodes: Names
    """Nodes on it, ranges allowed."""
    name: str | None = Field(default=None, min_length=1)
    """What its uplink is called; `switch1` ... if not said."""
    uplink: LinkForm | None = None
    """Its link to the core; the network's `uplink` if not said."""


class TreeForm(_NetworkForm):
    """Nodes on switches, switches on a core that never fills."""

    model_config = ConfigDict(json_schema_extra=one_of("switches", "nodes_per_switch"))

    topology: Literal["tree"]
    """Up and down, over both uplinks between switches; the core never fills."""
    link: LinkForm | None = None
    """Of each node that has none of its own."""
    uplink: LinkForm | None = None
    """Of each switch that has none of its own."""
    switches: list[SwitchForm] | None = Field(default=None, min_length=1)
    """The switches with their nodes."""
    nodes_per_switch: int | None = Field(default=None, ge=1)
    """In place of `switches`: so many nodes on each, in order."""

    @model_validator(mode="after")
    def _switches_one_way(self) -> "TreeForm":
        if (self.switches is None) == (self.nodes_per_switch is None):
            raise ValueError("either switches or nodes_per_switch allowed")
        return self


class TorusForm(_NetworkForm):
    """A grid of nodes whose rows close to rings."""

    topology: Literal["torus"]
    """Dimension by dimension, the shortest way round, where both are as long upwards; a ring of two nodes has one
    link."""
    shape: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=3)
    """Nodes in each of one to three dimensions, the last one counts fastest."""
    link: LinkForm
    """Between neighbours."""


class MeshForm(_NetworkForm):
    """A link between any two nodes."""

    topology: Literal["mesh"]
    """The one link between the two (at most 1,024 nodes)."""
    link: LinkForm
    """Between any two nodes."""


class RouteForm(Form):
    """The links from one node to another."""

    source: str = Field(alias="from")
    """A node."""
    to: str
    """Another node."""
    via: list[str] = Field(min_length=1)
    """Links in order, `[up, -down]`: `-` is a link in its other direction."""
    one_way: bool = False
    """Whether messages do not take the same links back."""


class ListedForm(_NetworkForm):
    """Links by name, and the routes over them."""

    topology: Literal["listed"]
    """As listed, and back the same way unless that is listed too or `one_way: true`."""
    links: dict[Annotated[str, Field(pattern=NOT_BACKWARDS)], LinkForm] = Field(min_length=1)
    """Links by name."""
    routes: list[RouteForm]
    """The links from each node to each other one."""


NetworkForm = Annotated[
    UniformForm | StarForm | BusForm | TreeForm | TorusForm | MeshForm | ListedForm, Discriminator("topology")
]

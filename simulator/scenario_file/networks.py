"""From what a scenario file says of links and networks to a `Network`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pydantic import TypeAdapter

from simulator.base.errors import ScenarioError, meant
from simulator.models.doubt import Doubt
from simulator.models.network import (
    FittedForm,
    KnotsModel,
    LinkModel,
    MessageModel,
    PacketisedModel,
    PacketModel,
    PiecewiseModel,
)
from simulator.platform.networks import ASSUMED_LOOPBACK, Bus, Link, Listed, Mesh, Network, Star, Topology, Torus, Tree
from simulator.scenario_file.faults import Faults
from simulator.scenario_file.forms import NodesForm
from simulator.scenario_file.named_files import NamedFiles
from simulator.scenario_file.names import MAX_NAMES, expanded, how_many
from simulator.scenario_file.network_forms import (
    BusForm,
    CurvesForm,
    FileForm,
    KnotsForm,
    LineForm,
    LinesForm,
    LinkForm,
    ListedForm,
    MeshForm,
    NetworkForm,
    PacketisedForm,
    PacketsForm,
    RouteForm,
    StarForm,
    TorusForm,
    TreeForm,
    UniformForm,
)
from simulator.scenario_file.yaml_text import Document

WHERE = ("platform", "network")
Maker = Callable[[str], Link]
"""A link like those of a form, by its name."""


@dataclass(frozen=True)
class LinkSource:
    """Where links are read from: the scenario file, and the model files that it names."""

    document: Document
    named: NamedFiles
    latency_and_bandwidth: bool = False
    """Whether links keep no more of a fitted model: flows that share a link fairly need these two."""

    def at(self, *where: str | int) -> AbstractContextManager[None]:
        """A place in the scenario file, for messages."""
        return self.document.at(*where)


def message_model(form: LinkForm, source: LinkSource, *where: str | int) -> MessageModel:
    """Message times from end to end."""
    with source.at(*where):
        if form.shared:
            raise ScenarioError("shared: true found, allowed for links of a network that messages meet on")
        return _doubted(form, _message_model(form, source), *where)


def _message_model(form: LinkForm, source: LinkSource | None) -> MessageModel:
    if isinstance(form, LineForm):
        return LinkModel.from_latency(form.latency, form.bandwidth)
    return _measured(form, source)


def _doubted(form: LinkForm, model: MessageModel, *where: str | int) -> MessageModel:
    """The model with the doubt that the entry says, else its own; and what links share it by."""
    doubt = model.doubt if form.doubt is None else form.doubt.doubt()
    if doubt is None or (form.doubt is None and form.source is None and model.source):
        return model  # one file's model stays one object: times over several of its links are those over as many hops
    own = model.source if form.source is None else ""
    return replace(model, doubt=doubt, source=own or _source_of(form, *where))


def _source_of(form: LinkForm, *where: str | int) -> str:
    """What links of an entry share their doubt by: as it says, else the entry itself."""
    return ".".join(map(str, where)) if form.source is None else form.source


def _measured(
    form: KnotsForm | PacketsForm | FileForm | LinesForm | PacketisedForm | CurvesForm, source: LinkSource | None
) -> MessageModel:
    if isinstance(form, KnotsForm):
        return LinkModel(np.array(form.sizes_bytes, dtype=np.float64), np.array(form.times_s, dtype=np.float64))
    if isinstance(form, PacketsForm):
        return PacketModel(form.latency, float(form.packet), form.packet_time)
    if isinstance(form, FileForm):
        if source is None:
            raise ScenarioError("link: a file found, measured message times allowed")
        model = source.named.message_model(form.model)
    else:
        model = _fitted(form)
    if model.faults:
        raise ScenarioError(f"{', '.join(model.faults)}: not physical, numbers of at least 0 allowed")
    return model


def model_of(data: Mapping[str, object]) -> MessageModel:
    """The message times of a link written as plain data, which names no file."""
    form: LinkForm = TypeAdapter(LinkForm).validate_python(dict(data))
    return _doubted(form, _message_model(form, None))


def _fitted(form: LinesForm | PacketisedForm | CurvesForm) -> FittedForm:
    data = form.model_dump(exclude={"shared", "doubt", "source"})
    if isinstance(form, PacketisedForm):
        return PacketisedModel.from_dict(data)
    if isinstance(form, CurvesForm):
        return KnotsModel.from_dict(data)
    nothing = [0.0] * len(form.latencies_s)
    return PiecewiseModel.from_dict({name: nothing if values is None else values for name, values in data.items()})


def link_maker(form: LinkForm, source: LinkSource, *where: str | int, always_shared: bool = False) -> Maker:
    """What makes links like the one of a form."""
    with source.at(*where):
        if always_shared and "shared" in form.model_fields_set and not form.shared:
            raise ScenarioError("shared: false found, true allowed: messages of both directions meet here")
        shared = form.shared or always_shared
        if isinstance(form, LineForm):
            doubt = None if form.doubt is None else form.doubt.doubt()
            of = "" if doubt is None else _source_of(form, *where)
            ends = form.latency, form.bandwidth
            return partial(_line, ends=ends, shared=shared, doubt=doubt, source=of)
        model = _doubted(form, _measured(form, source), *where)
        if source.latency_and_bandwidth and not isinstance(model, LinkModel | PacketModel):
            ends = model.latency_s, model.bandwidth_bytes_per_s
            return partial(_line, ends=ends, shared=shared, doubt=model.doubt, source=model.source)
        return partial(Link.of_model, model=model, shared=shared)


def _line(name: str, *, ends: tuple[float, float], shared: bool, doubt: Doubt | None, source: str) -> Link:
    """A link by its latency and bandwidth."""
    return Link(name, *ends, shared, doubt=doubt, source=source)


def make_network(form: NetworkForm, source: LinkSource, names: Sequence[str], makers: Mapping[str, Maker]) -> Network:
    """The network between nodes.

    Parameters
    ----------
    names
        Nodes, in order.
    makers
        Of the links of nodes that have one of their own kind.
    """
    loopback = None if form.loopback is None else message_model(form.loopback, source, *WHERE, "loopback")
    if isinstance(form, UniformForm):
        topology, model = None, message_model(form.link, source, *WHERE, "link")
        loopback = loopback or ASSUMED_LOOPBACK
    else:
        topology, model = _topology(form, source, names, makers), None
    with source.at(*WHERE):
        return Network(topology, model, loopback, form.contention, form.eager)


def check_links(form: NodesForm, source: LinkSource, faults: Faults) -> None:
    """Note the faults of links that need no nodes, where a platform has none to go by."""
    if form.link is not None:
        with faults.at("platform", "link"):
            message_model(form.link, source, "platform", "link")
    for key in () if form.network is None else ("loopback", "link", "uplink", "backbone"):
        link = getattr(form.network, key, None)
        if link is not None:
            with faults.at(*WHERE, key):
                link_maker(link, source, *WHERE, key)


def _topology(
    form: StarForm | BusForm | TreeForm | TorusForm | MeshForm | ListedForm,
    source: LinkSource,
    names: Sequence[str],
    makers: Mapping[str, Maker],
) -> Topology:
    if isinstance(form, StarForm):
        backbone = form.backbone and link_maker(form.backbone, source, *WHERE, "backbone", always_shared=True)
        return Star(_private(form, source, names, makers), backbone("backbone") if backbone else None)
    if isinstance(form, BusForm):
        return Bus(link_maker(form.link, source, *WHERE, "link", always_shared=True)("bus"))
    if isinstance(form, TreeForm):
        private = _private(form, source, names, makers)
        switch_of, uplinks = _switches(form, source, names)
        with source.at(*WHERE):
            return Tree(private, switch_of, uplinks)
    if isinstance(form, TorusForm):
        with source.at(*WHERE, "shape"):
            if np.prod(form.shape, dtype=np.float64) != len(names):
                found = f"{' x '.join(map(str, form.shape))} nodes and {len(names)} named ones found"
                raise ScenarioError(f"{found}, as many of each allowed")
        return Torus(tuple(form.shape), link_maker(form.link, source, *WHERE, "link")("torus"))
    if isinstance(form, MeshForm):
        with source.at(*WHERE):
            return Mesh(len(names), link_maker(form.link, source, *WHERE, "link")("mesh"))
    return _listed(form, source, names)


def _private(
    form: StarForm | TreeForm, source: LinkSource, names: Sequence[str], makers: Mapping[str, Maker]
) -> tuple[Link, ...]:
    """Every node's own link: of its kind, or the network's."""
    usual = None if form.link is None else link_maker(form.link, source, *WHERE, "link")
    links = []
    for name in names:
        maker = makers.get(name, usual)
        if maker is None:
            with source.at(*WHERE):
                raise ScenarioError(f"no link of node {name} found, one with its nodes entry or here (link) allowed")
        links.append(maker(name))
    return tuple(links)


def _switches(form: TreeForm, source: LinkSource, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[Link, ...]]:
    """Switch of each node, and the uplinks."""
    usual = None if form.uplink is None else link_maker(form.uplink, source, *WHERE, "uplink")
    if form.switches is None:
        each = form.nodes_per_switch or 1
        switch_of = tuple(number // each for number in range(len(names)))
        with source.at(*WHERE):
            if usual is None:
                raise ScenarioError("uplink: none found, one for the switches allowed")
        return switch_of, tuple(usual(f"switch{number + 1}") for number in range(switch_of[-1] + 1))
    found: dict[str, int] = {}
    uplinks, faults = [], Faults(source.document)
    for number, switch in enumerate(form.switches):
        here = (*WHERE, "switches", number)
        with faults.at(*here):
            maker = usual if switch.uplink is None else link_maker(switch.uplink, source, *here, "uplink")
            if maker is None:
                raise ScenarioError("uplink: none found, one here or in network allowed")
            uplinks.append(maker(switch.name or f"switch{number + 1}"))
        with faults.at(*here, "nodes"):
            for name in all_names(switch.nodes):
                known(name, names, what="node")
                if name in found:
                    raise ScenarioError(f"{name!r} twice found, each node on one switch allowed")
                found[name] = number
    faults.tell()
    with source.at(*WHERE, "switches"):
        for name in names:
            if name not in found:
                raise ScenarioError(f"node {name!r} on none found, each node on one switch allowed")
    return tuple(found[name] for name in names), tuple(uplinks)


def _listed(form: ListedForm, source: LinkSource, names: Sequence[str]) -> Listed:
    faults, made = Faults(source.document), []
    for name, link in form.links.items():
        with faults.at(*WHERE, "links", name):
            made.append(link_maker(link, source, *WHERE, "links", name)(name))
    faults.tell()
    links = tuple(made)
    numbers = {link.name: number for number, link in enumerate(links)}
    nodes = {name: number for number, name in enumerate(names)}
    forth: dict[tuple[int, int], tuple[int, ...]] = {}
    back: dict[tuple[int, int], tuple[int, ...]] = {}
    for place, route in enumerate(form.routes):
        here = (*WHERE, "routes", place)
        with faults.at(*here):
            pair = _ends(route, source, nodes, here)
            if pair in forth:
                raise ScenarioError(f"from {route.source} to {route.to} twice found, each once allowed")
            with source.at(*here, "via"):
                forth[pair] = tuple(_directed(name, numbers) for name in route.via)
                Listed(tuple(names), links, {pair: forth[pair]})  # its faults are told here
            if not route.one_way:
                back[pair[::-1]] = tuple(link ^ 1 for link in reversed(forth[pair]))
    faults.tell()
    return Listed(tuple(names), links, back | forth)


def _ends(route: RouteForm, source: LinkSource, nodes: Mapping[str, int], here: Sequence[str | int]) -> tuple[int, int]:
    ends, faults = [], Faults(source.document)
    for key, name in (("from", route.source), ("to", route.to)):
        with faults.at(*here, key):
            known(name, nodes, what="node")
            ends.append(nodes[name])
    faults.tell()
    with source.at(*here):
        if ends[0] == ends[1]:
            raise ScenarioError(f"from {route.source} to itself found, two nodes allowed (within a node: loopback)")
    return ends[0], ends[1]


def _directed(name: str, numbers: Mapping[str, int]) -> int:
    link = name.removeprefix("-")
    known(link, numbers, what="link")
    return 2 * numbers[link] + (name != link)


def all_names(names: str | list[str]) -> list[str]:
    """Names with patterns such as `fast[01-08]` written out.

    Raises
    ------
    ScenarioError
        As `expanded`, and for more than `MAX_NAMES` in all.
    """
    patterns = [names] if isinstance(names, str) else names
    number = sum(map(how_many, patterns))
    if number > MAX_NAMES:
        raise ScenarioError(f"{number} names found, at most {MAX_NAMES} in all allowed")
    return [name for pattern in patterns for name in expanded(pattern)]


def known(name: str, names: Sequence[str] | Mapping[str, int], *, what: str) -> None:
    """Refuse a name that is not among others.

    Raises
    ------
    ScenarioError
        With some that are allowed.
    """
    if name not in names:
        some = ", ".join(list(names)[:12])
        more = f", ... ({len(names)} in all)" if len(names) > 12 else ""
        raise ScenarioError(f"{what} {name!r} found, one of {some}{more} allowed{meant(name, names)}")

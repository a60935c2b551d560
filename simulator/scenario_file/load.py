"""Scenario files: YAML (1.2 rules), JSON, TOML -> checked form -> frozen Scenario, faults at their places; and back."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base.documents import Data
from simulator.base.errors import ApportionError, ScenarioError, some_names
from simulator.base.faults import Faults, validated
from simulator.base.names import all_names, check_known, compact, counted, expanded, how_many, in_few
from simulator.base.shipped import locate
from simulator.base.units import write_size
from simulator.base.yaml_document import Document, document_of, read_value, yaml_text
from simulator.models.neighbours_forms import uses_data
from simulator.models.resource import HardwareModel
from simulator.models.speed import SpeedBand
from simulator.platform.domains import NODE, DomainsModelForm, domain_data, domains_of, uses_of
from simulator.platform.named_files import NamedFiles, Site
from simulator.platform.networks import Link, Network
from simulator.platform.networks.link import message_data
from simulator.platform.networks.network import alike
from simulator.platform.nodes import PE, LoadForm, Platform
from simulator.programs.applications import make_work
from simulator.programs.applications.hpl import with_hpl_dat
from simulator.programs.applications.work import Shape
from simulator.programs.configuration import AS_NOW, MOST_PLACED, MOST_PROCESSES, Configuration, Repartition
from simulator.programs.graphs.work import Asked, make_seg_work
from simulator.scenario_file.changes import with_changes
from simulator.scenario_file.extending import read_extended
from simulator.scenario_file.forms import (
    ApplicationForm,
    ConfigurationForm,
    NodesForm,
    PlatformFileForm,
    RecordedApplicationForm,
    ScenarioForm,
    SegApplicationForm,
    StepForm,
)
from simulator.scenario_file.memory import LevelsModelForm, level_data
from simulator.scenario_file.nodes import NodeForm, PEForm, node_data
from simulator.scenario_file.partitions import divided, rule_of, scaled
from simulator.scenario_file.platforms import (
    MadePlatform,
    Measured,
    check_number,
    extrapolation_lines,
    make_platform,
    measured_on,
    use_of,
)
from simulator.scenario_file.recorded import recorded_application, recorded_data
from simulator.scenario_file.scenario import (
    ONE_PER_CORE,
    Application,
    Change,
    Extrapolation,
    Scenario,
    check_memory,
    check_routes,
    lacking_kernel,
    with_derived_speeds,
    without_derived_speeds,
)
from simulator.scenario_file.segs import application_data, load_seg, seg_of

Stated = tuple[Mapping[str, int], list[str]]
"""Names of PEs with their places, and the kernels that they have speeds of."""
_NOTHING = ApplicationForm(name="hpl", kernel="dgemm", parameters={})
"""Stands for what runs where a platform alone is looked at."""
_STANDING_IN: Data = {
    "format": 1,
    "platform": {
        "nodes": [{"name": "n", "pes": [{"speeds": {"k": "1 flop/s"}}]}],
        "link": {"latency": "1s", "bandwidth": "1B/s"},
    },
    "application": {"name": "ep", "kernel": "k", "parameters": {"samples": 1}},
    "configurations": {"c": {"partition": [1]}},
}
"""A scenario whose form is sound: what stands in for sections that are not, while the others are looked at."""


def dump_scenario(
    scenario: Scenario,
    *,
    traces: Mapping[str, str] | None = None,
    model: str | None = None,
) -> str:
    """Write a scenario as YAML text, which loads to an equal scenario; names of links only where routes are listed.

    Units that a rule divides (`partitions.RULES`) are written as the rule, so that the problem may change.

    Raises ScenarioError if the application has a model and no file is named, or the other way round; or if its program
    was written by hand, or a name or a network is of a kind that a file cannot hold.

    `traces`: the trace file of PEs that have a load; the loads of others are written out.
    `model`: the file of the application's run-time model, if it has one.
    """
    if (model is None) != (scenario.application.model is None):
        has = "no model" if scenario.application.model is None else "a model"
        raise ScenarioError(f"application: model: it has {has} and the file is {model!r}; give both or neither")
    if scenario.application.written is not None:
        raise ScenarioError(
            "application: a program written by hand cannot stand in a file; take one of the named applications"
        )
    if scenario.application.own is not None:
        raise ScenarioError(
            "application: costs of your own are Python's, and no file holds them; keep the scenario in Python, or "
            "take an application that a file can name, such as farm with a profile, or modelled"
        )
    names = [pe.name for pe in scenario.platform.pes]
    notes = list(dict.fromkeys((*scenario.notes, *scenario.assumed)))
    document = {
        "format": 1,
        "platform": _platform_data(_written(scenario), traces or {}),
        "application": {
            "name": scenario.application.name,
            "kernel": scenario.application.kernels[0],
            **recorded_data(scenario.application),
            **({} if scenario.application.prepared is None else application_data(scenario.application.prepared)),
            **({} if model is None else {"model": model}),
            "parameters": dict(scenario.application.parameters),
            **({} if scenario.application.memory is None else {"memory": asdict(scenario.application.memory)}),
            **({} if scenario.application.moves is None else {"moves": scenario.application.moves.to_data()}),
        },
        "configurations": {c.name: _configuration_data(scenario, c, names) for c in scenario.configurations},
        "replications": scenario.replications,
        **({} if scenario.truths is None else {"truths": scenario.truths}),
        "seed": scenario.seed,
        **({"notes": notes} if notes else {}),
    }
    return yaml_text(document)


def _configuration_data(scenario: Scenario, configuration: Configuration, names: Sequence[str]) -> Data:
    return {
        "partition": rule_of(scenario, configuration) or list(configuration.partition),
        "pes": in_few([names[place] for place in configuration.placement], least=17),
        **({} if configuration.grid is None else {"grid": list(configuration.grid)}),
        **({} if configuration.repartition is None else {"repartition": asdict(configuration.repartition)}),
    }


def _written(scenario: Scenario) -> Platform:
    """The platform without speeds that follow from what runs."""
    application = scenario.application
    if application.prepared is None and application.recorded is None:
        return scenario.platform
    return without_derived_speeds(scenario.platform, application)


def _platform_data(platform: Platform, traces: Mapping[str, str]) -> Data:
    network = platform.network
    private: tuple[Link, ...] = getattr(network.topology, "private", ())
    own = {} if alike(private) else dict(enumerate(private))
    pes_of: dict[str, list[PE]] = {}
    for pe in platform.pes:
        pes_of.setdefault(pe.node, []).append(pe)
    if list(pes_of) != [node for node, _ in groupby(platform.pes, key=lambda pe: pe.node)]:
        raise ScenarioError("platform: PEs of one node lie apart from each other; order them node after node")
    domains = _domains_data(platform)
    bodies = [
        (name, node_data(node, pes_of[name], own.get(number), traces, domains.get(name, [])))
        for number, (name, node) in enumerate(zip(platform.node_names, platform.known_nodes, strict=True))
    ]
    nodes = []
    for _, group in groupby(bodies, key=lambda entry: entry[1][0]):
        nodes += _entries([(name, body) for name, (_, body) in group])
    if network.topology is None and network.loopback is None and not network.eager_bytes:
        return {"nodes": nodes, "link": message_data(network.uniform_model)}
    return {"nodes": nodes, "network": _network_data(network, platform.node_names)}


def _entries(alike: list[tuple[str, Data]]) -> list[Data]:
    """One entry for alike nodes, if their names and those of their PEs follow a pattern; else one for each."""
    names, body = [name for name, _ in alike], alike[0][1]
    pattern = compact(names)
    if len(names) > 1 and (pattern is None or any(NODE not in pe["name"] for pe in body["pes"])):
        return [entry for node in alike for entry in _entries([node])]
    if pattern is None:
        raise ScenarioError(f"platform: the name of node {names[0]!r} has a range in brackets; take another one")
    if len(names) == 1:
        body = body | {"pes": [pe | {"name": pe["name"].replace(NODE, names[0])} for pe in body["pes"]]}
        if "host" in body:
            body["host"] = body["host"].replace(NODE, names[0])
    return [{"name": pattern} | body]


def _domains_data(platform: Platform) -> dict[str, list[Data]]:
    """The domains of each node that has some."""
    found: dict[str, list[Data]] = {}
    for domain in platform.domains:
        names = [platform.pes[place].name for place in domain.pes]
        node = platform.pes[domain.pes[0]].node
        found.setdefault(node, []).append(domain_data(domain, node, names))
    return found


def _network_data(network: Network, names: tuple[str, ...]) -> Data:
    topology = network.topology
    if topology is None:
        data: Data = {"topology": "uniform", "link": message_data(network.uniform_model)}
    elif hasattr(topology, "to_data"):
        data = topology.to_data(names)
    else:
        raise ScenarioError(
            f"platform: network: a file cannot name {type(topology).__name__}; take a topology that it can"
        )
    return data | {
        "contention": network.contention,
        "eager": write_size(network.eager_bytes),
        "loopback": message_data(network.within),
    }


def seg_application(form: SegApplicationForm, site: Site, platform: Platform) -> Application:
    """The application that a form means, on a platform whose PEs have resource models."""
    if isinstance(form.graph, str):
        with site.at("application", "graph"):
            seg = load_seg(site.named.path(form.graph))
    else:
        seg = seg_of(form.graph, site.document, at=("application", "graph"))
    with site.at("application"):
        if form.model is not None:
            raise ScenarioError("model: the costs of seg follow from resource models; leave the model out")
        for pe in platform.pes:
            if form.kernel in pe.speeds:
                found = f"kernel: {pe.name} has speeds of {form.kernel!r}, and those of seg follow from its resource"
                raise ScenarioError(f"{found}; give another name")
        work = make_seg_work(seg, _asked(form), _resources(platform))
    memory = None if form.memory is None else form.memory.use()
    return Application(form.name, form.kernel, form.parameters, memory=memory, prepared=work)


def _asked(form: SegApplicationForm) -> Asked:
    steps = {
        name: (step.graph, step.arguments) if isinstance(step, StepForm) else (step, {})
        for name, step in form.steps.items()
    }
    return Asked(
        form.template,
        form.units,
        form.parameters,
        form.iterations,
        steps,
        form.messages,
        form.grid_rows,
        form.footprint,
        form.resource_model,
    )


def _resources(platform: Platform) -> tuple[HardwareModel, ...]:
    """The unlike resource models of the PEs that have one."""
    found = {id(pe.resource): pe.resource for pe in platform.pes if pe.resource is not None}
    if not found:
        name = platform.pes[0].name
        raise ScenarioError(f"resource_model: no PE has a resource model; give one to PEs such as {name}")
    return tuple(found.values())


def resolve(
    form: ScenarioForm, site: Site, measured: Measured, *, oversized: bool = False, listed_for: int | None = None
) -> Scenario:
    """The scenario that a file means.

    `measured`: levels that speeds were measured on, where the command line sets others.
    `oversized`: take configurations that memory and swap do not hold.
    `listed_for`: the units that lists of the file divide; where a change makes them others, lists are scaled, and a
    note says so.
    """
    made, application, about_it = _parts(form, site, replace(measured, application=form.application))
    platform = made.platform
    if application.prepared is not None:
        with site.at("application"):
            platform = with_derived_speeds(platform, application.kernel, application.prepared)
    if application.recorded is None:
        _check_kernel(_of_platform(platform)[1], application.kernel, site.document)
    notes = tuple(dict.fromkeys((*form.notes, *made.notes, *about_it)))
    scenario = Scenario(platform, application, (), form.replications, form.seed, notes=notes, truths=form.truths)
    configurations, listed = _configurations(form, site, scenario, oversized=oversized, listed_for=listed_for)
    if listed:
        notes = (*notes, _scaled_note(listed, listed_for or 0))
    scenario = replace(scenario, configurations=configurations, notes=notes)
    if not made.extrapolations:
        return scenario
    found = tuple(replace(one, needed_elements=_needed(scenario, one)) for one in made.extrapolations)
    notes = (*notes, *dict.fromkeys(line for one in found for line in extrapolation_lines(one)))
    return replace(scenario, notes=notes, extrapolations=found)


def _configurations(
    form: ScenarioForm, site: Site, scenario: Scenario, *, oversized: bool, listed_for: int | None
) -> tuple[tuple[Configuration, ...], list[str]]:
    """The configurations, checked now and not in the middle; and the names of those whose lists are scaled."""
    work, platform, faults, document = scenario.application.work, scenario.platform, site.faults(), site.document
    places = {pe.name: index for index, pe in enumerate(platform.pes)}
    cores = tuple(place for place in platform.at_once for _ in range(platform.pes[place].cores))
    if form.truths is not None and form.truths > form.replications:
        with faults.at("truths"):
            raise ScenarioError(f"{form.replications} replications cannot share out {form.truths} truths; write fewer")
    configurations, placed, listed = [], 0, list[str]()
    for name, entry in form.configurations.items():
        with faults.at("configurations", name, once=True):
            _check_name(name)
            placement = _placement(entry, document, places, name=name, cores=cores, at_once=platform.at_once)
            placed += len(placement)
            if placed > MOST_PLACED:
                raise ScenarioError(
                    f"the configurations up to here have {placed} processes; give at most {MOST_PLACED} to all"
                )
            partition = _partition(entry, scenario, document, placement, name=name)
            if listed_for == sum(partition) != work.units and not _is_set(document, name):
                partition = work.fitting(scaled(work.units, partition), _grid(entry))
                listed.append(name)
            rule = entry.partition if isinstance(entry.partition, str) else ""
            configuration = Configuration(name, partition, placement, _grid(entry), _repartition(entry), rule)
            _check(replace(scenario, configurations=(configuration,)), configuration, platform, oversized=oversized)
            configurations.append(configuration)
        if placed > MOST_PLACED:
            break  # all that follow are too many too
    faults.tell()
    return tuple(configurations), listed


def _is_set(document: Document, name: str) -> bool:
    """Whether units of a configuration are set in place of what its file says."""
    return any(field[:3] == ("configurations", name, "partition")[: len(field)] for field in document.fields_set)


def _scaled_note(names: Sequence[str], units: int) -> str:
    """What is to be known of configurations whose listed units were written for another problem."""
    one = len(names) == 1
    which = f"configuration{'' if one else 's'} {some_names(names)}: {'its' if one else 'their'} units are listed for"
    instead = "functional or another rule for its partition" if one else "rules such as functional for their partitions"
    return f"{which} {units} in all; for another number they keep their proportion: write {instead} to divide it afresh"


def _parts(form: ScenarioForm, site: Site, measured: Measured) -> tuple[MadePlatform, Application, tuple[str, ...]]:
    """Platform, application and what is to be known of it; all faults that do not follow from one another."""
    faults = site.faults()
    made, found = _made(_Sections(form.platform, form.application, form.configurations), site, measured, faults)
    faults.tell()
    assert made is not None and found is not None  # noqa: S101, PT018 - or their faults were told
    return made, *found


@dataclass(frozen=True)
class _Sections:
    """The sections of a scenario whose form is sound."""

    platform: Any = None
    application: ApplicationForm | None = None
    configurations: Mapping[str, ConfigurationForm] = field(default_factory=dict)


def _made(
    form: _Sections, site: Site, measured: Measured, faults: Faults
) -> tuple[MadePlatform | None, tuple[Application, tuple[str, ...]] | None]:
    """Platform and application as far as they can be made; faults that do not follow from one another are noted."""
    made, found, what = None, None, form.application
    if form.platform is not None:
        with faults.at("platform"):
            made = make_platform(form.platform, site, measured)
    if what is not None and (made is not None or not isinstance(what, SegApplicationForm | RecordedApplicationForm)):
        with faults.at("application"):
            found = _application(what, site, None if made is None else made.platform, measured)
    if faults.lines and form.platform is not None and what is not None:
        stated = _stated(form.platform, site.document) if made is None else _of_platform(made.platform)
        _note_places(stated, what, form.configurations, faults)
    return made, found


def _of_platform(platform: Platform) -> Stated:
    kernels = sorted({name for pe in platform.pes for name in pe.speeds})
    return {pe.name: index for index, pe in enumerate(platform.pes)}, kernels


def _stated(form: Any, document: Document) -> Stated | None:
    """The same of a platform that cannot be made, by what its form says; None where that takes reading a file."""
    if not isinstance(form, NodesForm):
        return None
    try:
        check_number(form, document)
        names = [name for *_, name in _named_pes(form)]
    except ScenarioError:
        return None  # of names and their number, which is said of the platform
    if len(set(names)) < len(names):
        return None  # the same: who is meant is not known
    kernels = {kernel for node in form.nodes for pe in node.pes for kernel in pe.speeds}
    return {name: index for index, name in enumerate(names)}, sorted(kernels)


def _named_pes(form: NodesForm) -> Iterator[tuple[NodeForm, PEForm, str]]:
    """The name of every PE, and the entries that make it."""
    for node in form.nodes:
        inner = [(pe, name) for pe in node.pes for name in counted(pe.name, pe.count)]
        for outer in counted(node.name, node.count):
            yield from ((node, pe, name.replace(NODE, outer)) for pe, name in inner)


def _note_places(
    stated: Stated | None,
    application: ApplicationForm | SegApplicationForm,
    configurations: Mapping[str, ConfigurationForm],
    faults: Faults,
) -> None:
    """Note a kernel that no PE has, and configurations on PEs that are not there."""
    if stated is None:
        return
    places, kernels = stated
    if not isinstance(application, SegApplicationForm):
        with faults.at("application", "kernel"):
            _check_kernel(kernels, application.kernel, faults.document)
    placed = 0
    for name, entry in configurations.items():
        with faults.at("configurations", name, once=True):
            _check_name(name)
            placed += len(_placement(entry, faults.document, places, name=name))
        if placed > MOST_PLACED:
            break  # no more work for a file that has other faults


def _sound_form(site: Site) -> ScenarioForm:
    """The form of a scenario."""
    try:
        return validated(ScenarioForm, site.document)
    except ScenarioError as error:
        if not isinstance(site.document.data, dict):
            raise
        faults = Faults(site.document, list(error.lines))
        _note_of_sections(site, faults)
        faults.tell()
        raise


def _note_of_sections(site: Site, faults: Faults) -> None:
    """Note what is wrong with a platform, an application and configurations where the form of each is sound."""
    sound, document = Data(), site.document
    for section in ("platform", "application", "configurations"):
        with suppress(ScenarioError):
            data = _STANDING_IN | {section: document.data.get(section)}
            sound[section] = getattr(validated(ScenarioForm, replace(document, data=data)), section)
    _made(_Sections(**sound), site, Measured({}, sound.get("application", _NOTHING)), faults)


def _needed(scenario: Scenario, found: Extrapolation) -> float:
    """The largest problem size of the computations on PEs whose speeds are taken to other levels."""
    here = {number for number, pe in enumerate(scenario.platform.pes) if pe.speeds.get(found.kernel) is found.band}
    largest = 0.0
    for configuration in scenario.configurations:
        compute = scenario.application.work.compute(sum(units > 0 for units in configuration.partition))
        for pe, units in zip(configuration.placement, configuration.partition, strict=True):
            if pe in here and units:
                largest = max(largest, float(np.max(compute(units).size)))
    return largest


def _check_kernel(known: Sequence[str], kernel: str, document: Document) -> None:
    """Refuse a kernel that no PE has."""
    if lacking := lacking_kernel(known, kernel):
        with document.at("application", "kernel"):
            raise ScenarioError(lacking)


def _check_name(name: str) -> None:
    """Refuse `as now`, `as_now` and the like, which nobody would count gains from."""
    if name != AS_NOW and re.sub(r"[\W_]", "", name.lower()) == AS_NOW.replace("-", ""):
        raise ScenarioError(f"the configuration that gains are counted from is called {AS_NOW}; write {AS_NOW} here")


def _check(scenario: Scenario, configuration: Configuration, platform: Platform, *, oversized: bool) -> None:
    program = scenario.program(configuration)
    placed = scenario.placed(configuration).tolist()
    for kernel in scenario.application.kernels:
        if lacking := platform.without_speed(kernel, placed):
            raise ScenarioError(f"platform: {lacking}; add one to its speeds, or run no process there")
    if not oversized:
        check_memory(scenario, configuration, np.array(program.footprints_bytes, dtype=np.int64))
    check_routes(platform, configuration, program)
    if configuration.repartition is not None:
        scenario.movable(configuration)


def _placement(
    form: ConfigurationForm,
    document: Document,
    places: Mapping[str, int],
    *,
    name: str,
    cores: tuple[int, ...] = (),
    at_once: tuple[int, ...] = (),
) -> tuple[int, ...]:
    """Index of the PE of each process; without any, rules divide among all that may run at once."""
    here = ("configurations", name)
    if form.allocation is not None:
        found, number = [], 0
        for pattern, processes in form.allocation.items():
            with document.at(*here, "allocation", pattern):
                number += how_many(pattern) * max(1, processes)
                if number > MOST_PROCESSES:
                    raise ScenarioError(f"these are {number} processes up to here; give at most {MOST_PROCESSES}")
                for pe in expanded(pattern):
                    check_known(pe, places, what="PE")
                    found += [places[pe]] * processes
        return tuple(found)
    if form.pes is None and isinstance(form.partition, str):
        return cores if form.partition == ONE_PER_CORE else at_once
    if form.pes is None:
        with document.at(*here, "partition"):
            if len(form.partition) > len(places):
                there = f"{_parts_of(form.partition)}, for one process on each of {len(places)} PEs"
                raise ScenarioError(f"{there}; say with pes or allocation where more processes run")
        return tuple(range(len(form.partition)))
    with document.at(*here, "pes"):
        names = all_names(form.pes)
        for pe in names:
            check_known(pe, places, what="PE")
        return tuple(places[pe] for pe in names)


def _parts_of(partition: Sequence[object]) -> str:
    return f"it has {len(partition)} part{'' if len(partition) == 1 else 's'}"


def _partition(
    form: ConfigurationForm, scenario: Scenario, document: Document, placement: Sequence[int], *, name: str
) -> tuple[int, ...]:
    """Units per process: as listed, or the application's by a rule."""
    processes = len(placement)
    if not isinstance(form.partition, str):
        with document.at("configurations", name, "partition"):
            if len(form.partition) != processes:
                where = "allocation" if form.allocation is not None else "pes"
                placed = f"{where} places {processes}; write a part for each process"
                raise ScenarioError(f"{_parts_of(form.partition)}, and {placed}")
        return tuple(form.partition)
    with document.at("configurations", name):
        if not processes:
            raise ScenarioError("allocation: it places no process; place at least one")
        lacking = scenario.platform.without_speed(scenario.application.kernel, placement)
        if lacking and form.partition not in {"equal", ONE_PER_CORE}:
            raise ScenarioError(f"partition: {lacking}; add one to its speeds, or run no process there")
    return divided(form.partition, scenario, placement, _grid(form))


def _grid(form: ConfigurationForm) -> Shape | None:
    return None if form.grid is None else (form.grid[0], form.grid[1])


def _repartition(form: ConfigurationForm) -> Repartition | None:
    given = form.repartition
    return None if given is None else Repartition(given.when, given.every, given.threshold)


def _application(
    form: ApplicationForm, site: Site, platform: Platform | None, measured: Measured
) -> tuple[Application, tuple[str, ...]]:
    """What runs, and what is to be known of it."""
    if isinstance(form, SegApplicationForm) and platform is not None:
        return seg_application(form, site, platform), ()
    if isinstance(form, RecordedApplicationForm) and platform is not None:
        return recorded_application(form, site, platform, measured.platform or platform), ()
    parameters, notes, model = form.parameters, tuple[str, ...](), None
    if form.name == "hpl":
        with site.at("application", "parameters", "hpl_dat"):
            parameters, notes = with_hpl_dat(parameters, site.named)
    if form.model is not None:
        with site.at("application", "model"):
            model = site.named.runtime_model(form.model)
    with site.at("application"):
        make_work(form.name, parameters, model)  # which says what is wrong with it
    nodes = () if platform is None else platform.nodes
    matters = form.memory is not None or any(node.levels or node.memory_bytes is not None for node in nodes)
    memory = use_of(form) if matters else None
    moves = None if form.moves is None else form.moves.moves()
    return Application(form.name, form.kernel, parameters, model, memory=memory, moves=moves), notes


@dataclass(frozen=True)
class Template:
    """A scenario file and the files that it names, read once for many scenarios that differ by changes."""

    form: ScenarioForm
    site: Site

    @classmethod
    def of(cls, document: Document, named: NamedFiles) -> "Template":
        """What a document says."""
        return cls(validated(ScenarioForm, document), Site(document, named))

    @classmethod
    def of_data(cls, data: Any, path: Path, paths: Mapping[str, Path]) -> "Template":
        """What a file at `path` held, without the file; and where the files lie now that it names."""
        return cls.of(Document(path, data, None), NamedFiles(path.parent, dict(paths)))

    @property
    def document(self) -> Document:
        """What the file says."""
        return self.site.document

    def as_now(self) -> "Template":
        """The same with one configuration: what it says runs now, else equal shares."""
        own, kept = self.document.data.get("configurations"), {"equal": {"partition": "equal"}}
        if isinstance(own, dict) and (AS_NOW in own or isinstance(self.form.application, RecordedApplicationForm)):
            name = AS_NOW if AS_NOW in own else next(iter(own))  # ranks of a recording fit no other number of PEs
            kept = {name: own[name]}
        data = {**self.document.data, "configurations": kept}
        return Template.of(replace(self.document, data=data), self.site.named)

    def on(self, scenario: Scenario, configurations: Mapping[str, Data]) -> "Template":
        """The same with the platform and the parameters of a scenario, and configurations as a file says them."""
        own = recorded_data(scenario.application)
        application = {**self.document.data["application"], **own, "parameters": dict(scenario.application.parameters)}
        platform = _platform_data(_written(scenario), {})
        parts = {"platform": platform, "application": application, "configurations": dict(configurations)}
        return Template.of(replace(self.document, data={**self.document.data, **parts}, root=None), self.site.named)

    def changed(self, changes: Sequence[str]) -> tuple[Any, tuple[Change, ...]]:
        """What the file would hold with some changes, and what these are; see `load_scenario`."""
        document, made = with_changes(self.document, changes, expand=partial(_written_out, self.site.named))
        return document.data, made

    @cached_property
    def _units(self) -> int | None:
        """How many units the file's own application divides; None where that cannot be said."""
        try:
            return _parts(self.form, self.site, Measured({}, self.form.application))[1].work.units
        except ApportionError:
            return None

    def scenario(self, changes: Sequence[str] = (), *, oversized: bool = False) -> Scenario:
        """The scenario with some changes, without the hashes of what it was read from; see `load_scenario`."""
        return self._made(changes, oversized=oversized)[0]

    def _made(self, changes: Sequence[str], *, oversized: bool = False) -> tuple[Scenario, ScenarioForm]:
        form, site, measured = self.form, self.site, Measured({}, self.form.application)
        made: tuple[Change, ...] = ()
        if changes:
            document, made = with_changes(self.document, changes, expand=partial(_written_out, site.named))
            form, site = validated(ScenarioForm, document), replace(site, document=document)
            measured = measured_on(self.form, self.site, document)
            if isinstance(self.form.application, RecordedApplicationForm):
                now = make_platform(self.form.platform, self.site, Measured({}, self.form.application)).platform
                measured = replace(measured, platform=now)
        listed_for = self._units if any(field[0] == "application" for field in site.document.fields_set) else None
        scenario = resolve(form, site, measured, oversized=oversized, listed_for=listed_for)
        return replace(scenario, changes=made, notes=(*scenario.notes, *_change_notes(scenario, made))), form


def load_scenario(path: str | Path, *, changes: Sequence[str] = (), oversized: bool = False) -> Scenario:
    """Read a scenario file; a path in it is relative to the file.

    >>> load_scenario("two-cores").application.name
    'matmul'

    Raises ScenarioError with one line per fault, each naming file, line, column and field.

    `path`: the file, or the name of a shipped one; see `shipped.locate`.
    `changes`: `PATH=VALUE` to set in place of what the file says, or `PATH=x2`, `PATH=/2`; see scenarios/README.md.
    Where they set other memory levels, measured speeds are taken there by the memory model (`Scenario.extrapolations`).
    `oversized`: take configurations that memory and swap do not hold, where these are not what is asked about.
    """
    return _scenario(read_extended(locate(path)), changes, oversized=oversized)[0]


def scenario_of_text(text: str, path: Path) -> Scenario:
    """The scenario of a text that is not in a file yet; faults name it by that path. See `load_scenario`."""
    return Template.of(document_of(text, path), NamedFiles(path.parent, {})).scenario()


def load_platform(path: str | Path) -> Platform:
    """Read the platform of a scenario file, or of a file that holds nothing but `format` and `platform`.

    Raises ScenarioError as `load_scenario`.
    """
    document = read_extended(locate(path))
    if isinstance(document.data, dict) and "application" in document.data:
        return _scenario(document, (), oversized=True)[0].platform
    return _platform(document)


def load_either(path: str | Path, *, changes: Sequence[str] = ()) -> Scenario | Platform:
    """Read a scenario file, or one that holds nothing but `format` and `platform`.

    Raises ScenarioError as `load_scenario`.
    """
    document = read_extended(locate(path))
    return _platform(document) if _is_platform(document) and not changes else _scenario(document, changes)[0]


def _is_platform(document: Document) -> bool:
    """Whether a file says nothing of what runs: a scenario that lacks its application says something else of it."""
    beyond = set(ScenarioForm.model_fields) - set(PlatformFileForm.model_fields)
    return isinstance(document.data, dict) and "platform" in document.data and not beyond & set(document.data)


def _platform(document: Document) -> Platform:
    form = validated(PlatformFileForm, document)
    return make_platform(form.platform, Site(document, _named_by(document)), Measured({}, _NOTHING)).platform


def resolved_text(path: str | Path, *, changes: Sequence[str] = ()) -> str:
    """The explicit form of a scenario file: every default written out, models in place of the files that hold them.

    Load traces and run-time models stay files, by their whole paths: the text means the same in any folder.

    Raises ScenarioError as `load_scenario`.
    """
    document = read_extended(locate(path))
    scenario, form = _scenario(document, changes)
    folder = document.path.parent.absolute()
    traces = {pe: _whole(folder, name) for pe, name in _trace_files(form).items()}
    model = form.application.model
    return dump_scenario(scenario, traces=traces, model=None if model is None else _whole(folder, model))


def _whole(folder: Path, name: str) -> str:
    return os.path.normpath(folder / name)


def read_template(path: str | Path) -> Template:
    """Read a scenario file for many scenarios; see `load_scenario`."""
    return _template(read_extended(locate(path)))


def template_of(scenario: Scenario) -> Template:
    """A scenario as what `dump_scenario` would write of it, for many scenarios that differ by changes.

    Raises ScenarioError as `dump_scenario`.
    """
    return Template.of_data(read_value(dump_scenario(scenario)), Path("<scenario>"), {})


def _template(document: Document) -> Template:
    site = Site(document, _named_by(document))
    return Template(_sound_form(site), site)


def _named_by(document: Document) -> NamedFiles:
    return NamedFiles(document.path.parent, {document.path.name: document.path, **document.bases})


def _scenario(document: Document, changes: Sequence[str], *, oversized: bool = False) -> tuple[Scenario, ScenarioForm]:
    template = _template(document)
    scenario, form = template._made(changes, oversized=oversized)  # noqa: SLF001 - of this file
    return replace(scenario, inputs=template.site.named.hashes()), form


def _written_out(named: NamedFiles, field: str, entry: Any) -> Data:
    """Fields of a node that come of a model, written out so that a part of one can be set; see `changes.Expand`."""
    if field == "link":
        return (
            {
                **message_data(named.message_model(entry["model"])),
                **{key: entry[key] for key in entry if key != "model"},
            }
            if "model" in entry
            else entry
        )
    if field == "speeds":
        if not isinstance(entry.get("model"), str):
            return dict(entry)
        found = named.speed(entry["model"])
        return found.to_dict() | ({"source": entry["model"]} if isinstance(found, SpeedBand) else {})
    if field == "levels":
        return {
            "levels": [level_data(level) for level in LevelsModelForm.model_validate(entry["levels"]).levels(named)]
        }
    model = named.neighbours(DomainsModelForm.model_validate(entry["domains"]).model)
    return {"domains": domains_of(model), "uses": uses_data(uses_of(model)) | (entry.get("uses") or {})}


def _change_notes(scenario: Scenario, changes: Sequence[Change]) -> list[str]:
    """What is to be known of changes other than of speeds."""
    lines = []
    for change in changes:
        parts = change.path.split(".")
        if {"link", "network", "uplink", "backbone", "loopback"} & set(parts):
            lines.append(
                f"{change.path}: set to {change.after!r}: message times follow from this, not from measurement"
            )
        if parts[-1] in ("memory", "swap") and not scenario.pages:
            lines.append(f"{change.path}: set to {change.after!r}: no process needs more memory, so times stay")
    return lines


def _trace_files(form: ScenarioForm) -> dict[str, str]:
    """The trace file of each PE whose load is one."""
    named = _named_pes(form.platform) if isinstance(form.platform, NodesForm) else ()
    loads = ((name, pe.load or node.load) for node, pe, name in named)
    return {name: load.trace for name, load in loads if isinstance(load, LoadForm) and isinstance(load.trace, str)}

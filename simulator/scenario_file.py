"""Scenario files: YAML (1.2 rules), JSON or TOML -> checked form -> frozen `Scenario`, and back to YAML."""

import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from simulator import files, units
from simulator.configuration import Configuration
from simulator.errors import ScenarioError
from simulator.load_traces import read_trace
from simulator.models.load import AfterEnd, AvailabilityRule
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform import PE, Load, Platform
from simulator.scenario import Application, Scenario

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import RuntimeModel

MAX_BYTES = 16 * 2**20
MAX_NODES = 2_000_000
"""Most YAML nodes after aliases are expanded."""
MAX_DEPTH = 50


class _Form(BaseModel):
    """What a file may say; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class BandForm(_Form):
    """A speed band: speeds in units of volume per second over problem sizes in elements."""

    sizes: list[float]
    low: list[float]
    mid: list[float]
    high: list[float]


class LoadForm(_Form):
    """A load trace and the rule by which it shares the PE."""

    trace: str
    rule: AvailabilityRule
    after_end: AfterEnd = "cycle"


class PEForm(_Form):
    """One PE."""

    name: str = Field(min_length=1)
    cpu: int | None = None
    speeds: dict[str, BandForm]
    load: LoadForm | None = None


class NodeForm(_Form):
    """A machine that holds PEs."""

    name: str = Field(min_length=1)
    pes: list[PEForm] = Field(min_length=1)


class LinkForm(_Form):
    """Message times: knots, or latency and bandwidth with units."""

    sizes_bytes: list[float] | None = None
    times_s: list[float] | None = None
    latency: str | None = None
    bandwidth: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "LinkForm":
        knots = (self.sizes_bytes is not None, self.times_s is not None)
        line = (self.latency is not None, self.bandwidth is not None)
        if not (all(knots) and not any(line)) and not (all(line) and not any(knots)):
            raise ValueError("either sizes_bytes and times_s, or latency and bandwidth, allowed")
        return self


class PlatformForm(_Form):
    """Nodes and the link that joins their PEs."""

    nodes: list[NodeForm] = Field(min_length=1)
    link: LinkForm


def _parameter(value: Any) -> float | str:
    """A number or a text; an integer stays one, a boolean is neither."""
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return value
    except OverflowError:  # an integer that no float can hold
        pass
    raise ValueError("a finite number or a text allowed")


class ApplicationForm(_Form):
    """What runs."""

    name: str
    kernel: str
    model: str | None = None
    parameters: dict[str, Annotated[float | str, PlainValidator(_parameter)]]


class ConfigurationForm(_Form):
    """Work per process; `pes` names the PE of each process, by default one process per PE in order."""

    partition: list[int] = Field(min_length=1)
    pes: list[str] | None = None


class ScenarioForm(_Form):
    """A whole scenario file."""

    format: Literal[1]
    platform: PlatformForm
    application: ApplicationForm
    configurations: dict[str, ConfigurationForm] = Field(min_length=1)
    replications: int = Field(default=200, ge=1, le=1_000_000)
    seed: int = Field(default=0, ge=0, lt=2**63)


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file; a path in it is relative to the file.

    Raises
    ------
    ScenarioError
        With one line per fault, each naming file and field.
    """
    path = Path(path)
    try:
        form = ScenarioForm.model_validate(_parse(path))
    except ValidationError as error:
        raise ScenarioError([f"{path}: {_fault(dict(fault))}" for fault in error.errors()]) from None
    try:
        scenario = _resolve(form, path.parent)
    except ScenarioError as error:
        lines = [line if line.startswith(str(path.parent)) else f"{path}: {line}" for line in error.lines]
        raise ScenarioError(lines) from None
    return replace(scenario, inputs=_hashes(form, path))


def dump_scenario(scenario: Scenario, *, traces: dict[str, str], model: str | None = None) -> str:
    """Write a scenario as YAML text.

    Parameters
    ----------
    traces
        The trace file of each PE that has a load.
    model
        The file of the application's run-time model, if it has one.

    Raises
    ------
    ScenarioError
        If the application has a model and no file is named, or the other way round.
    """
    if (model is None) != (scenario.application.model is None):
        has = "no model" if scenario.application.model is None else "a model"
        raise ScenarioError(f"application: model: {has} and file {model!r} found, both or neither allowed")
    nodes: dict[str, list[dict[str, Any]]] = {}
    for pe in scenario.platform.pes:
        entry: dict[str, Any] = {"name": pe.name}
        if pe.cpu is not None:
            entry["cpu"] = pe.cpu
        entry["speeds"] = {kernel: band.to_dict() for kernel, band in pe.speeds.items()}
        if pe.load is not None:
            after_end = pe.load.trace.after_end
            entry["load"] = {"trace": traces[pe.name], "rule": pe.load.rule, "after_end": after_end}
        nodes.setdefault(pe.node, []).append(entry)
    names = [pe.name for pe in scenario.platform.pes]
    document = {
        "format": 1,
        "platform": {
            "nodes": [{"name": node, "pes": pes} for node, pes in nodes.items()],
            "link": scenario.platform.network.uniform_model.to_dict(),
        },
        "application": {
            "name": scenario.application.name,
            "kernel": scenario.application.kernel,
            **({} if model is None else {"model": model}),
            "parameters": dict(scenario.application.parameters),
        },
        "configurations": {
            c.name: {"partition": list(c.partition), "pes": [names[place] for place in c.placement]}
            for c in scenario.configurations
        },
        "replications": scenario.replications,
        "seed": scenario.seed,
    }
    return str(yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120))


def _resolve(form: ScenarioForm, folder: Path) -> Scenario:
    pes = tuple(_pe(pe, node.name, folder) for node in form.platform.nodes for pe in node.pes)
    platform = Platform.uniform(pes, _link(form.platform.link))
    places = {pe.name: index for index, pe in enumerate(pes)}
    configurations = []
    for name, entry in form.configurations.items():
        named = entry.pes if entry.pes is not None else list(places)[: len(entry.partition)]
        for pe in named:
            if pe not in places:
                raise ScenarioError(f"configurations.{name}.pes: {pe!r} found, one of {', '.join(places)} allowed")
        if len(named) != len(entry.partition):
            counts = f"{len(entry.partition)} processes, {len(named)} PEs"
            raise ScenarioError(f"configurations.{name}.partition: {counts} found, one PE for each process allowed")
        configurations.append(Configuration(name, tuple(entry.partition), tuple(places[pe] for pe in named)))
    scenario = Scenario(
        platform, _application(form.application, folder), tuple(configurations), form.replications, form.seed
    )
    for configuration in scenario.configurations:  # partition and parameters are checked now, not in the middle
        scenario.program(configuration)
    return scenario


def _application(form: ApplicationForm, folder: Path) -> Application:
    model: RuntimeModel | None = None
    if form.model is not None:
        from simulator.calibration.runtime_files import load_runtime_model  # only here: SciPy is slow to import

        model = load_runtime_model(folder / form.model)
    return Application(form.name, form.kernel, form.parameters, model)


def _hashes(form: ScenarioForm, path: Path) -> dict[str, str]:
    """The scenario's own file by its name, and the files that it names as it names them."""
    loads = [pe.load for node in form.platform.nodes for pe in node.pes]
    named = [load.trace for load in loads if load is not None]
    named += [form.application.model] if form.application.model is not None else []
    found = {path.name: path} | {name: path.parent / name for name in named}
    return {name: files.digest(files.read_bytes(file, limit_bytes=2**30)) for name, file in found.items()}


def _pe(form: PEForm, node: str, folder: Path) -> PE:
    load = None
    if form.load is not None:
        load = Load(read_trace(folder / form.load.trace, after_end=form.load.after_end), form.load.rule)
    try:
        speeds = {kernel: SpeedBand.from_dict(band.model_dump()) for kernel, band in form.speeds.items()}
        return PE(form.name, node, speeds, load, form.cpu)
    except ScenarioError as error:
        raise ScenarioError([f"platform.nodes.{node}.{form.name}: {line}" for line in error.lines]) from None


def _link(form: LinkForm) -> LinkModel:
    if form.latency is not None and form.bandwidth is not None:
        latency_s = units.parse_duration(form.latency, field="platform.link.latency")
        bandwidth = units.parse(form.bandwidth, units.BANDWIDTH, field="platform.link.bandwidth")
        if bandwidth <= 0:
            raise ScenarioError(f"platform.link.bandwidth: {form.bandwidth!r} found, a bandwidth above zero allowed")
        return LinkModel.from_latency(latency_s, bandwidth)
    return LinkModel.from_dict(form.model_dump())


def _fault(fault: dict[str, Any]) -> str:
    field = ".".join(str(part) for part in fault["loc"]) or "top level"
    if fault["type"] == "extra_forbidden":
        return f"{field}: unknown key"
    if fault["type"] == "missing":
        return f"{field}: missing"
    found = repr(fault["input"])
    shown = found if len(found) <= 60 else f"{found[:57]}..."
    message = str(fault["msg"])
    return f"{field}: {shown} found, {message[0].lower()}{message[1:]}"


# The core schema of YAML 1.2: `1e9` is a number, `12:30`, `NO` and `010`-like surprises of 1.1 are not.
_SCALARS = {
    "null": (r"~|null|Null|NULL|", "~nN"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}


class _Loader(yaml.SafeLoader):
    """YAML 1.2 scalars, no duplicate keys."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's own protocol

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [*_first, ""])


def _integer(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = node.value
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


def _parse(path: Path) -> Any:
    text = files.read_text(path, limit_bytes=MAX_BYTES)
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError(f"{path}: {error}, TOML allowed") from None
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise ScenarioError(f"{path}: an empty file found, a scenario allowed")
        _count(node, {}, 0, path)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ScenarioError(f"{path}{place}: {error.problem}, YAML allowed") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ScenarioError(f"{path}: {str(error).splitlines()[0]}, YAML allowed") from None
    finally:
        loader.dispose()


def _count(node: yaml.Node, sizes: dict[int, int], depth: int, path: Path) -> int:
    """Nodes below one, aliases expanded; refuses what would grow without bound."""
    if depth > MAX_DEPTH:
        raise ScenarioError(f"{path}:{node.start_mark.line + 1}: more than {MAX_DEPTH} levels found, fewer allowed")
    if id(node) not in sizes:
        children = [] if isinstance(node, yaml.ScalarNode) else node.value
        flat = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
        sizes[id(node)] = 1 + sum(_count(part, sizes, depth + 1, path) for part in flat)
        if sizes[id(node)] > MAX_NODES:
            raise ScenarioError(f"{path}:{node.start_mark.line + 1}: more than {MAX_NODES} values found, fewer allowed")
    return sizes[id(node)]

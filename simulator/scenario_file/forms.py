"""What a scenario file may say, as it is written; `resolve` makes a `Scenario` of it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from simulator.base.form import FileName, Form, Name, Names, Parameter, Schema, Size, one_of, text_or_list
from simulator.base.yaml_document import MOST_CONFIGURATIONS
from simulator.models.resource import Method
from simulator.platform.networks import Contention
from simulator.platform.networks.link import LinkForm
from simulator.platform.networks.topologies import AnyNetworkForm
from simulator.programs.applications import APPLICATIONS, PARAMETERS, recorded
from simulator.programs.applications.parameters import Field as ParameterField
from simulator.programs.configuration import MOST_PROCESSES
from simulator.programs.moves import Amount, StatedMoves
from simulator.scenario_file.memory import MemoryUseForm
from simulator.scenario_file.nodes import NodeForm, SpeedForm
from simulator.scenario_file.scenario import MOST_REPLICATIONS
from simulator.scenario_file.segs import Expression, SegForm


class NodesForm(Form):
    """Nodes and what joins them: one link for all pairs, or a network."""

    model_config = ConfigDict(json_schema_extra=one_of("link", "network"))

    nodes: list[NodeForm] = Field(min_length=1)
    """Nodes and kinds of nodes."""
    link: LinkForm | None = None
    """One message time between any two PEs, whatever else is sent."""
    network: AnyNetworkForm | None = None
    """Links, routes over them, and what messages do that meet on one."""

    @model_validator(mode="after")
    def _one_way(self) -> "NodesForm":
        if (self.link is None) == (self.network is None):
            raise ValueError("give either link or network")
        return self


class SimgridForm(Form):
    """A platform file of SimGrid."""

    simgrid: FileName
    """The XML file."""
    contention: Contention = "fair"
    """What messages do that meet on a link: `none`, `fifo` or `fair`."""
    eager: Size = Field(default=0, json_schema_extra={"default": "0B"})
    """Messages up to this size do not wait for their receiver."""


PlatformForm = Annotated[
    Annotated[NodesForm, Tag("<nodes>")] | Annotated[SimgridForm, Tag("<simgrid>")],
    Discriminator(lambda value: "<simgrid>" if isinstance(value, dict) and "simgrid" in value else "<nodes>"),
]


class HeadForm(Form):
    """What is read of a file before what it extends is."""

    model_config = ConfigDict(extra="ignore")

    extends: FileName | None = None
    """See `ScenarioForm`."""


class BaseForm(HeadForm):
    """What is read first of a file that another one extends."""

    format: Literal[1]
    """Of every file."""


class PlatformFileForm(Form):
    """A platform of Apportion; see scenarios/README.md."""

    format: Literal[1]
    """Always `1`, in every file."""
    extends: FileName | None = None
    """Another file whose fields this one starts from, its path relative to this file; see Files that extend others."""
    platform: PlatformForm
    """Nodes with what joins them, or a platform file of SimGrid."""


def _by_application(schema: Schema) -> None:
    """Add the names of applications, and what parameters each has."""
    schema["properties"]["name"]["enum"] = sorted({*APPLICATIONS} - {recorded.NAME})
    schema["allOf"] = [
        {
            "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
            "then": {"properties": {"parameters": _parameters(fields)}},
        }
        for name, fields in PARAMETERS.items()
    ]


def _parameters(fields: Mapping[str, ParameterField]) -> Schema:
    shown = {}
    for name, field in fields.items():
        said = {"default": field.default} if isinstance(field.default, str | int) else {}
        shown[name] = {"description": f"{field.meaning[0].upper()}{field.meaning[1:]}.", **said, **field.schema}
    needed = [name for name, field in fields.items() if field.default is None]
    return {"properties": shown, "required": needed, "additionalProperties": False}


class AmountForm(Form):
    """Bytes that a process moves."""

    unit: Size = 0
    """For each of its units, such as `8kB`."""
    process: Size = 0
    """Whatever its units."""


class MovesForm(Form):
    """What a process with units moves to and from a GPU that it runs on."""

    into: AmountForm = AmountForm()
    """Before its first computation."""
    out: AmountForm = AmountForm()
    """After its last one."""
    each_into: AmountForm = AmountForm()
    """Before each computation."""
    each_out: AmountForm = AmountForm()
    """After each computation."""

    def moves(self) -> StatedMoves:
        """The moves that it says."""
        said = {name: getattr(self, name) for name in type(self).model_fields}
        return StatedMoves(**{name: Amount(one.unit, one.process) for name, one in said.items()})


class ApplicationForm(Form):
    """What runs."""

    model_config = ConfigDict(json_schema_extra=_by_application)

    name: str
    """One of the applications, such as `matmul`; see Applications."""
    kernel: Name
    """Whose speeds its computations have; in `speeds` of every PE that computes."""
    model: FileName | None = None
    """The run-time model of the application `modelled`, which `apportion fit` wrote."""
    parameters: dict[str, Parameter]
    """The problem, such as `{n: 4000}`; see Applications."""
    memory: MemoryUseForm | None = None
    """How the kernel uses memory, see Memory; known of `triad` and `matmul`."""
    moves: MovesForm | None = None
    """What processes move to and from GPUs that they run on; known of `matmul`, `matmul_2d`, `stencil` and `ep`."""


class StepForm(Form):
    """A graph for a step of a template."""

    graph: Name
    """One of the file's graphs."""
    arguments: dict[str, Expression] = Field(default={})
    """Formulas for those of its parameters that have other names here."""


class SegApplicationForm(ApplicationForm):
    """A software execution graph under a parallel template."""

    model_config = ConfigDict(json_schema_extra={})

    name: Literal["seg"]
    """`seg`."""
    kernel: str
    """A name for the speeds that follow."""
    parameters: dict[str, Parameter] = Field(default={})
    """Numbers, by names of your own: not `P`, `total`, `units`, `iteration`, `partner`, `round`."""
    graph: Annotated[
        Annotated[FileName, Tag("<file>")] | Annotated[SegForm, Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    """The file of the graphs (`NAME.seg.yaml`), or the graphs written out."""
    template: str
    """See the next table."""
    units: Expression
    """What a partition divides: a whole number, or a formula of the parameters."""
    iterations: Expression = "1"
    """Of the template: a whole number, or a formula of the parameters."""
    steps: dict[
        str,
        Annotated[
            Annotated[str, Tag("<name>")] | Annotated[StepForm, Tag("<step>")],
            Discriminator(lambda value: "<step>" if isinstance(value, dict) else "<name>"),
        ],
    ] = Field(default={})
    """By step: a graph, or `{graph, [arguments]}`: formulas for those of its parameters that have another name here.
    The template's first step is the file's first graph if not said; others can be left out."""
    messages: dict[str, Expression] = Field(default={})
    """By message: bytes as a formula; all of the template's, `0` for none."""
    grid_rows: int = Field(default=1, ge=1, le=MOST_PROCESSES)
    """Rows of the grid of processes; `row_column_broadcast` only."""
    footprint: Expression | None = None
    """Bytes that a process holds, as a formula of `units`, `P` and parameters; not looked at if not said."""
    resource_model: Method | None = None
    """The method; can be left out where graph and PEs have one in common only. `--resource-model` sets it."""


def _of_recordings(schema: Schema) -> None:
    """Say what parameters there are."""
    schema["properties"]["parameters"] |= _parameters(recorded.APPLICATION.parameters)


class RecordedApplicationForm(ApplicationForm):
    """An MPI program as its ranks ran once."""

    model_config = ConfigDict(json_schema_extra=_of_recordings)

    name: Literal["recorded"]
    """`recorded`."""
    recording: FileName
    """The folder, which `apportion mpi record` or `import` wrote."""
    speeds: dict[Name, SpeedForm] = Field(default={})
    """By kernel: how quick the PE was that it was recorded on, as `speeds` of PEs; by default those of the PE that
    `recorded_on` names."""
    second_recording: FileName | None = None
    """The same program recorded on another PE, `second_recorded_on`, from which `weight` follows."""


def _application_kind(value: Any) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return f"<{name}>" if name in {"seg", "recorded"} else "<application>"


AnyApplicationForm = Annotated[
    Annotated[ApplicationForm, Tag("<application>")]
    | Annotated[SegApplicationForm, Tag("<seg>")]
    | Annotated[RecordedApplicationForm, Tag("<recorded>")],
    Discriminator(_application_kind),
]


class RepartitionForm(Form):
    """When units move from process to process while the program runs; what is decided sees past times only."""

    when: Literal["gain", "threshold", "every"] = "gain"
    """`gain`: where the expected gain exceeds what moving costs; `threshold`: where the longest time is that much above
    the mean; `every`: always."""
    every: int = Field(default=10, ge=1, le=10**9)
    """Iterations from one decision to the next."""
    threshold: float = Field(default=0.1, ge=0, le=1e6)
    """Of `threshold`: longest time over mean time, minus 1."""


class ConfigurationForm(Form):
    """Work per process, and where each process runs: by default one on each PE in order."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["pes", "allocation"]}})

    partition: Annotated[
        Annotated[list[int], Tag("<list>")]
        | Annotated[Literal["equal", "one-per-core", "by-speed", "peak", "constant", "functional"], Tag("<text>")],
        Discriminator(text_or_list),
    ]
    """Units per process (rows for `matmul`), or a rule, which holds for any number of units: `equal` (`one-per-core`
    too); in proportion to the speed of each PE at an equal share (`by-speed`), at its highest speed (`peak`) or at its
    smallest size (`constant`); `functional`: so that all end together, by speeds, mean loads, messages, neighbours."""
    pes: Names | None = None
    """The PE of each process, ranges allowed; by default one process on each PE in order, or on each core."""
    allocation: dict[str, Annotated[int, Field(ge=0, le=MOST_PROCESSES)]] | None = Field(default=None, min_length=1)
    """In place of `pes`: processes on each PE, `{"fast[01-08]": 2, slow01: 1}`; processes are numbered in this
    order."""
    grid: list[Annotated[int, Field(ge=1, le=MOST_PROCESSES)]] | None = Field(default=None, min_length=2, max_length=2)
    """Rows and columns of the grid of processes, such as `[2, 4]`, which takes them row by row; for `hpl`, `fft3d` and
    `matmul_2d`. By default one row (`matmul_2d`: `grid_rows`)."""
    repartition: RepartitionForm | None = None
    """`when`, `every` and `threshold`: when units move while it runs; for `stencil`, and `matmul_2d` with one column.
    By default never."""

    @model_validator(mode="after")
    def _placed_one_way(self) -> "ConfigurationForm":
        if self.pes is not None and self.allocation is not None:
            raise ValueError("give pes or allocation, not both")
        return self


class ScenarioForm(Form):
    """A scenario of Apportion; see scenarios/README.md."""

    format: Literal[1]
    """Always `1`, in every file."""
    extends: FileName | None = None
    """Another file whose fields this one starts from, its path relative to this file; see Files that extend others."""
    platform: PlatformForm
    """`nodes` with `link` or `network`; or `simgrid`, a platform file of SimGrid."""
    application: AnyApplicationForm
    """What runs: `name`, `kernel`, `parameters`, `model` for `modelled`, [`memory`]; more for `seg`; see
    Applications."""
    configurations: dict[Name, ConfigurationForm] = Field(min_length=1, max_length=MOST_CONFIGURATIONS)
    """By name: who does how much where; see Configurations."""
    replications: int = Field(default=200, ge=1, le=MOST_REPLICATIONS)
    """How many draws of load and speed."""
    truths: int | None = Field(default=None, ge=1, le=MOST_REPLICATIONS)
    """Truths that the replications share out: draws of what measuring left unknown, at most as many as replications. By
    default a tenth of the replications where runs of one truth differ, else as many."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Where the draws start: the same seed, the same results."""
    notes: list[str] = Field(default=[])
    """Lines that stand with the warnings of every result; `--resolved` writes here what is predicted or rescaled."""

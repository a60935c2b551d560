"""What a scenario file may say, as it is written; `resolve` makes a `Scenario` of it."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from simulator.models.load import AfterEnd, AvailabilityRule
from simulator.models.resource import Method
from simulator.networks import Contention
from simulator.scenario_file.form import Form, Latency, Parameter, Payload, Power, Size, Speed
from simulator.scenario_file.network_forms import DiskForm, LinkForm, Names, NetworkForm, text_or_list
from simulator.scenario_file.segs.forms import Expression, SegForm

Name = Annotated[str, Field(min_length=1)]
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9{][A-Za-z0-9._{}-]*$")]
"""What launchers reach a node by; `{node}` stands for its name."""


class BandForm(Form):
    """A speed band: speeds in units of volume per second over problem sizes in elements."""

    sizes: list[float]
    low: list[float]
    mid: list[float]
    high: list[float]


class FunctionForm(Form):
    """A speed function: one speed over problem sizes."""

    sizes: list[float]
    speeds: list[float]


class ModelForm(Form):
    """A speed model that `apportion calibrate speed` wrote."""

    model: str


class MemoryUseForm(Form):
    """How a kernel uses memory (Apex-MAP): words per unit, locality, consecutive words, part of what is held."""

    accesses_per_unit: Annotated[float, Field(ge=0)]
    alpha: Annotated[float, Field(gt=0, le=1)]
    run_words: Annotated[float, Field(ge=1)] = 1.0
    footprint_share: Annotated[float, Field(gt=0, le=1)] = 1.0


class PredictionForm(Form):
    """A speed that nobody measured: the node's memory levels, and the speed with data in the nearest one."""

    flop_rate: Speed
    memory: MemoryUseForm | None = None
    half_width: Annotated[float, Field(gt=0, lt=1)] = 0.5


class PredictedForm(Form):
    """A predicted speed."""

    predicted: PredictionForm


def _speed_kind(value: Any) -> str:
    if not isinstance(value, dict):
        return "<constant>"
    if "predicted" in value:
        return "<predicted>"
    if "model" in value:
        return "<model>"
    return "<function>" if "speeds" in value else "<band>"


SpeedForm = Annotated[
    Annotated[Speed, Tag("<constant>")]
    | Annotated[BandForm, Tag("<band>")]
    | Annotated[FunctionForm, Tag("<function>")]
    | Annotated[ModelForm, Tag("<model>")]
    | Annotated[PredictedForm, Tag("<predicted>")],
    Discriminator(_speed_kind),
]


class TraceForm(Form):
    """A load trace written out: each value holds up to the next time, the last one up to the end."""

    times_s: list[float]
    values: list[float]
    end_s: float


class LoadForm(Form):
    """A load trace and the rule by which it shares the PE."""

    trace: Annotated[
        Annotated[str, Tag("<file>")] | Annotated[TraceForm, Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    rule: AvailabilityRule
    after_end: AfterEnd = "cycle"
    start: Literal["drawn", "zero"] = "drawn"


class PEForm(Form):
    """One PE, or several alike: `{node}` in its name stands for that of the node."""

    name: Name = "{node}"
    count: int | None = Field(default=None, ge=1)
    cpu: int | None = None
    cores: int = Field(default=1, ge=1)
    speeds: dict[str, SpeedForm]
    load: LoadForm | None = None
    cost: Annotated[float, Field(ge=0)] | None = None
    power: Power | None = None
    slice: Latency = 0.0


class ResourcePEForm(PEForm):
    """A PE of which it is known what operations cost: a resource model, as its file or written out."""

    speeds: dict[str, SpeedForm] = Field(default={})
    resource: Annotated[
        Annotated[str, Tag("<file>")] | Annotated[dict[str, Any], Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]


AnyPEForm = Annotated[
    Annotated[PEForm, Tag("<pe>")] | Annotated[ResourcePEForm, Tag("<resource>")],
    Discriminator(lambda value: "<resource>" if isinstance(value, dict) and "resource" in value else "<pe>"),
]


class LevelForm(Form):
    """A memory level of a node's PEs; `gap` is the time of each further word of a run."""

    name: Name
    capacity: Payload | None = None
    latency: Latency
    gap: Latency
    shared: bool = False


class LevelsModelForm(Form):
    """Levels of a memory model that `apportion calibrate memory` wrote, and which of them the node's PEs share."""

    model: str
    shared: list[Name] = Field(default=[])


class SwapForm(Form):
    """Swap, and what the level past RAM costs: until a page is there, and for each further word."""

    size: Size | None = None
    latency: Latency
    gap: Latency


class NodeForm(Form):
    """A machine that holds PEs, or several alike."""

    name: Name
    count: int | None = Field(default=None, ge=0)
    host: Host | None = None
    memory: Size | None = None
    swap: (
        Annotated[
            Annotated[Size, Tag("<size>")] | Annotated[SwapForm, Tag("<times>")],
            Discriminator(lambda value: "<times>" if isinstance(value, dict) else "<size>"),
        ]
        | None
    ) = None
    levels: Annotated[
        Annotated[list[LevelForm], Field(max_length=16), Tag("<list>")] | Annotated[LevelsModelForm, Tag("<model>")],
        Discriminator(lambda value: "<model>" if isinstance(value, dict) else "<list>"),
    ] = Field(default=[])
    disk: DiskForm | None = None
    link: LinkForm | None = None
    pes: list[AnyPEForm] = Field(min_length=1)


class NodesForm(Form):
    """Nodes and what joins them: one link for all pairs, or a network."""

    nodes: list[NodeForm] = Field(min_length=1)
    link: LinkForm | None = None
    network: NetworkForm | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "NodesForm":
        if (self.link is None) == (self.network is None):
            raise ValueError("either link or network allowed")
        return self


class SimgridForm(Form):
    """A platform file of SimGrid."""

    simgrid: str
    contention: Contention = "fair"
    eager: Size = 0


PlatformForm = Annotated[
    Annotated[NodesForm, Tag("<nodes>")] | Annotated[SimgridForm, Tag("<simgrid>")],
    Discriminator(lambda value: "<simgrid>" if isinstance(value, dict) and "simgrid" in value else "<nodes>"),
]


class PlatformFileForm(Form):
    """A platform alone."""

    format: Literal[1]
    platform: PlatformForm


class ApplicationForm(Form):
    """What runs."""

    name: str
    kernel: str
    model: str | None = None
    parameters: dict[str, Parameter]
    memory: MemoryUseForm | None = None


class StepForm(Form):
    """A graph for a step of a template, and formulas for those of its parameters that have other names here."""

    graph: Name
    arguments: dict[str, Expression] = Field(default={})


class SegApplicationForm(ApplicationForm):
    """A software execution graph under a parallel template."""

    name: Literal["seg"]
    parameters: dict[str, Parameter] = Field(default={})
    graph: Annotated[
        Annotated[str, Tag("<file>")] | Annotated[SegForm, Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    template: str
    units: Expression
    iterations: Expression = "1"
    steps: dict[
        str,
        Annotated[
            Annotated[str, Tag("<name>")] | Annotated[StepForm, Tag("<step>")],
            Discriminator(lambda value: "<step>" if isinstance(value, dict) else "<name>"),
        ],
    ] = Field(default={})
    messages: dict[str, Expression] = Field(default={})
    grid_rows: int = Field(default=1, ge=1)
    footprint: Expression | None = None
    resource_model: Method | None = None


AnyApplicationForm = Annotated[
    Annotated[ApplicationForm, Tag("<application>")] | Annotated[SegApplicationForm, Tag("<seg>")],
    Discriminator(lambda value: "<seg>" if isinstance(value, dict) and value.get("name") == "seg" else "<application>"),
]


class ConfigurationForm(Form):
    """Work per process, and where each process runs: by default one on each PE in order."""

    partition: Annotated[
        Annotated[list[int], Tag("<list>")] | Annotated[Literal["equal"], Tag("<text>")], Discriminator(text_or_list)
    ]
    pes: Names | None = None
    allocation: dict[str, Annotated[int, Field(ge=0)]] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _placed_one_way(self) -> "ConfigurationForm":
        if self.pes is not None and self.allocation is not None:
            raise ValueError("either pes or allocation allowed")
        return self


class ScenarioForm(Form):
    """A scenario of Apportion; see scenarios/README.md."""

    format: Literal[1]
    platform: PlatformForm
    application: AnyApplicationForm
    configurations: dict[str, ConfigurationForm] = Field(min_length=1)
    replications: int = Field(default=200, ge=1, le=1_000_000)
    seed: int = Field(default=0, ge=0, lt=2**63)
    notes: list[str] = Field(default=[])

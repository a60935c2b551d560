"""What the results of several commands have in common, as values that pages and texts read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from simulator import Machine, RunSet, Scenario, ScenarioError, documents, provenance


class Stated(Protocol):
    """A value with its stated interval."""

    @property
    def mean(self) -> float | None:
        """The value; None where it is not known."""

    @property
    def low(self) -> float | None:
        """Lower end; None where replications tell none."""

    @property
    def high(self) -> float | None:
        """Upper end."""


ANSWER_FILES = {
    "quickstart": "result.json",
    "cluster": "cluster.json",
    "verify": "verification.json",
    "jobs compare": "comparison.json",
    "advise": "advice.json",
    "jobs advise": "advice.json",
    "jobs run": "manifest.json",
}
"""Command -> the file of its results folder that holds its answer."""


@dataclass(frozen=True)
class Ends:
    """A value with its stated interval, which is None where replications are too few to tell it."""

    mean: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Described:
    """What replications tell of a makespan; see `simulator.describe`."""

    mean: float
    low: float | None
    high: float | None
    median: float
    run_low: float | None
    run_high: float | None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Described":
        """What `describe` says, or a row of `RunSet.summary`."""
        return cls(**{one.name: said[one.name] for one in fields(cls)})


@dataclass(frozen=True)
class Drawn:
    """What stated intervals rest on."""

    replications: int
    truths: int | None
    level: float
    """How often the intervals hold."""
    deterministic: bool
    seed: int

    @classmethod
    def of(cls, runs: RunSet, level: float) -> "Drawn":
        """What intervals of runs rest on."""
        return cls(runs.makespan_ticks.shape[1], runs.truth_count, level, runs.deterministic, runs.seed)


@dataclass(frozen=True)
class Application:
    """What runs."""

    name: str
    kernel: str
    parameters: Mapping[str, Any]
    template: str = field(metadata=documents.SPARE)
    resource_model: str = field(metadata=documents.SPARE)


def application_of(scenario: Scenario) -> Application:
    """What a scenario runs, as every result says it."""
    one = scenario.application
    prepared = one.prepared_as
    parameters = dict(one.parameters)
    return Application(
        one.name, one.kernel, parameters, prepared.get("template", ""), prepared.get("resource_model", "")
    )


@dataclass(frozen=True)
class NodeKind:
    """Nodes that are alike, as an answer names them; PEs that are, of nodes that hold several kinds."""

    names: tuple[str, ...]
    pes: tuple[tuple[int, ...], ...]
    """Of each, their indices."""
    cores: int
    """Of each, in all."""
    speed: float
    """Of one core without load, at an equal share."""
    left: float
    """How much of that a load, or a link beside the best one, leaves."""
    why: str
    """What leaves less than all, such as `busy 5 h of 24`; empty where nothing does."""


@dataclass(frozen=True)
class Provenance:
    """What a result rests on."""

    made: str
    versions: Mapping[str, str]
    seed: int | None
    inputs: Mapping[str, str]
    machine: Machine | None

    @classmethod
    def of(
        cls, seed: int | None, inputs: Mapping[str, str] | None = None, machine: Machine | None = None
    ) -> "Provenance":
        """That of a result that is made now."""
        said = provenance.provenance(seed=seed, inputs=inputs)
        return cls(said["made"], said["versions"], seed, said["inputs"], machine)


@dataclass(frozen=True)
class Objective:
    """What was to be least, of one candidate."""

    mean: float | None = field(metadata=documents.named("value"))
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Strategy:
    """One strategy that was simulated, and what the recommended one gains on it."""

    name: str
    same_as: str | None
    partition: tuple[int, ...]
    placement: tuple[int, ...]
    grid: tuple[int, ...] | None = field(metadata=documents.SPARE)
    predicted: Described = field(metadata=documents.named("predicted_makespan_s"))
    objective: Objective | None = field(metadata=documents.named("objective_s", "objective"))
    gain: Ends = field(metadata=documents.named("gain_of_recommended"))
    probability: float | None = field(metadata=documents.named("probability_recommended_faster"))

    @property
    def names(self) -> set[str]:
        """Its name, and the one that it is the same as."""
        return {one for one in (self.name, self.same_as) if one}


@dataclass(frozen=True)
class Candidate:
    """One candidate of a ranking."""

    name: str
    also: tuple[str, ...]
    """Further names that it has."""
    mean: float | None = field(metadata=documents.named("value_s", "value"))
    low: float | None = field(metadata=documents.named("low_s", "low"))
    high: float | None = field(metadata=documents.named("high_s", "high"))
    runs: int | None
    p_best: float | None
    p_within_1_percent: float | None
    expected_loss: float | None
    regret: float | None


@dataclass(frozen=True)
class Confirmed:
    """What the reference engine says of a candidate."""

    configuration: str
    reference_s: tuple[float, ...]
    """Its makespans by that engine, and by the one that screened, on the same draws."""
    screened_s: tuple[float, ...]
    screened_by: str
    agrees: bool
    """Whether they are the same but for the length of a tick."""


NO_TIMES = {"cost": "units of cost", "energy": "J"}
"""Objectives that are no times, with their units."""


@dataclass(frozen=True)
class Compared:
    """Strategies on the same draws, and the one that is recommended."""

    application: Application
    pes: tuple[str, ...]
    recommended: str
    baselines: tuple[Strategy, ...]
    drawn: Drawn = field(metadata=documents.FLAT)
    reference: str = ""
    """What gains are counted from; the equal split by default."""
    objective: str = ""
    ranking: tuple[Candidate, ...] = ()
    ties: tuple[str, ...] = ()
    """Candidates that are as good as the best one, best first."""
    expected_loss: float | None = None
    regret: float | None = None
    evaluations: int | None = None
    confirmed: tuple[Confirmed, ...] = ()
    measured_gain: float | None = field(default=None, metadata=documents.SPARE)
    largest_gain: float | None = field(default=None, metadata=documents.SPARE)
    kinds: tuple[NodeKind, ...] = ()
    """Those that do most by themselves first; nothing where that is not known."""

    def __post_init__(self) -> None:
        if self.recommended not in {one.name for one in self.baselines}:
            raise ScenarioError(f"recommended: {self.recommended!r} is none of the baselines; make the results again")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; names of values end with `_s` where the objective is a time."""
        plain = documents.by_field(self)
        if self.objective in NO_TIMES:
            for one in (*plain["baselines"], *plain["ranking"]):
                for key in ("objective", "value", "low", "high"):
                    if (timed := f"{key}_s") in one:
                        one[key] = one.pop(timed)
        return plain

    def named(self, name: str) -> Strategy | None:
        """The strategy of a name."""
        return next((one for one in self.baselines if one.name == name), None)

    @property
    def best(self) -> Strategy:
        """The recommended one."""
        return next(one for one in self.baselines if one.name == self.recommended)

"""Cost vectors: what one operation costs on one PE, by one method, and what a RUV costs by that: a sum."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.documents import Data, FormError, in_file, read, to_dict
from simulator.base.errors import ScenarioError
from simulator.models.file import ModelFile

Method: TypeAlias = Literal["dbc", "poc", "hllc", "intcc", "icc", "ct"]
METHODS: tuple[Method, ...] = get_args(Method)
"""Design based, principal operations, high-level language, intermediate code, instruction code, component timing."""
FLOP_WEIGHTS: Mapping[str, float] = {
    **dict.fromkeys(("add", "subtract", "multiply", "comparison"), 1.0),
    **dict.fromkeys(("divide", "sqrt"), 4.0),
    **dict.fromkeys(("exp", "sin"), 8.0),
}
"""Flops that each operation counts for (Papaefstathiou and others, table 1, after McMahon); `exp` and `sin` stand for
the like."""
EXAMPLES = 12
"""Known operations that a message names at most."""
FORMAT = 1
KIND = "resource"
WRITER = "apportion lab resource"


@dataclass(frozen=True)
class Guess:
    """An amount that somebody states before it can be counted, and the range that it may lie in."""

    likely: float
    low: float
    high: float


Amount: TypeAlias = float | Guess
"""How often, of at least 0."""

Ruv: TypeAlias = Mapping[str, Amount]
"""Operation -> how often one execution uses it, by one method; of `ct` it holds `seconds`."""

Ruvs: TypeAlias = Mapping[Method, Ruv]
"""One step's RUVs, by method."""

NO_RUVS: Ruvs = MappingProxyType({})


def bounds(amount: Amount) -> tuple[float, float, float]:
    """Likely amount, lower and upper end; all the same for a number."""
    return (amount.likely, amount.low, amount.high) if isinstance(amount, Guess) else (amount, amount, amount)


@dataclass(frozen=True)
class Times:
    """Seconds of any shape, and the ends of their ranges; all the same where nothing is a range."""

    s: Floats
    low_s: Floats
    high_s: Floats

    @classmethod
    def zero(cls) -> "Times":
        """No time."""
        return cls(np.zeros(()), np.zeros(()), np.zeros(()))

    @property
    def is_range(self) -> bool:
        """Whether any is more than one number."""
        return bool(np.any(self.low_s != self.high_s))

    def __add__(self, other: "Times") -> "Times":
        """One after the other; ranges add up, as if all were at the same end."""
        return Times(self.s + other.s, self.low_s + other.low_s, self.high_s + other.high_s)

    def times(self, count: ArrayLike) -> "Times":
        """So many, of at least 0."""
        factor = np.asarray(count, dtype=np.float64)
        return Times(factor * self.s, factor * self.low_s, factor * self.high_s)


@dataclass(frozen=True)
class Cost:
    """Seconds of one operation, and the range that they may lie in."""

    seconds: float
    low_s: float
    high_s: float

    @classmethod
    def exactly(cls, seconds: float) -> "Cost":
        """Without a range."""
        return cls(seconds, seconds, seconds)

    @classmethod
    def within(cls, seconds: float, share: float) -> "Cost":
        """So much less or more, as a share."""
        ends = seconds * (1 - share), seconds * (1 + share)
        return cls(seconds, min(ends), max(ends))

    def to_plain(self) -> Any:
        """A number, or one with its range, for JSON."""
        if self.low_s == self.seconds == self.high_s:
            return self.seconds
        return {"seconds": self.seconds, "low": self.low_s, "high": self.high_s}


@dataclass(frozen=True)
class MemoryTerm:
    """What an access costs beyond the operation that makes it, by the working set."""

    accesses: Mapping[str, float]
    """Operation -> accesses to memory that one of it makes."""
    working_sets_bytes: tuple[float, ...]
    """Ascending, above 0."""
    access_s: tuple[float, ...]
    """Seconds of an access with each working set."""
    share: float = 0.0
    """Half the range of the times, as a share of them."""

    def time_s(self, working_set_bytes: ArrayLike | None) -> Floats:
        """Seconds of an access: linear in the logarithm of the working set, constant beyond the ends.

        What has no working set finds all its data in the nearest level: the first time.
        """
        if working_set_bytes is None:
            return np.asarray(self.access_s[0])
        sizes = np.maximum(np.asarray(working_set_bytes, dtype=np.float64), 1.0)
        return np.asarray(np.interp(np.log(sizes), np.log(self.working_sets_bytes), self.access_s))

    def __post_init__(self) -> None:
        sizes, times = self.working_sets_bytes, self.access_s
        numbers = {f"accesses.{name}": count for name, count in self.accesses.items()}
        for name in ("working_sets_bytes", "access_s"):
            numbers |= {f"{name}.{place}": count for place, count in enumerate(getattr(self, name))}
        _check_numbers(numbers | {"share": self.share}, "a finite number of at least 0", least=0)
        if len(sizes) != len(times) or not sizes or sizes[0] <= 0 or any(np.diff(sizes) <= 0):
            raise ScenarioError(
                f"working_sets_bytes: {len(sizes)} sizes for {len(times)} times; write as many ascending sizes above 0 "
                "as times, at least one"
            )


@dataclass(frozen=True)
class CostVector:
    """What operations cost on one PE by one method."""

    method: Method
    costs: Mapping[str, Cost]
    memory: MemoryTerm | None = None
    notes: tuple[str, ...] = field(default=())
    """Where the costs come from, and what is guessed."""

    @classmethod
    def principal(
        cls, rate_per_s: float, *, weights: Mapping[str, float] = FLOP_WEIGHTS, method: Method = "poc"
    ) -> "CostVector":
        """POC: `t = N_flops / R`, operations weighted as flops (table 1 and equation 6).

        `rate_per_s`: R: sustained flops per second.
        """
        costs = {name: Cost.exactly(weight / rate_per_s) for name, weight in weights.items()}
        return cls(method, costs, notes=(f"{rate_per_s:g} flops per second",))

    @classmethod
    def cycles(cls, cycle_s: float, *, external: float, method: Method = "icc") -> "CostVector":
        """ICC of the paper: `t = (n_ex + n_in_mem + e*n_ex_mem + (e-3)/2*n_inst - n_fpu_ovr) * t_cyc` (equation 7).

        `cycle_s`: t_cyc: 40 ns on its T800 transputers.
        `external`: e: cycles of a reference to external memory, 5 there.
        """
        factors = {
            "n_ex": 1.0,
            "n_in_mem": 1.0,
            "n_ex_mem": external,
            "n_inst": (external - 3) / 2,
            "n_fpu_ovr": -1.0,
        }
        costs = {name: Cost.exactly(factor * cycle_s) for name, factor in factors.items()}
        return cls(method, costs, notes=(f"cycles of {cycle_s:g} s, e = {external:g}",))

    @classmethod
    def timed(cls) -> "CostVector":
        """CT: the time of a step is what was measured, on this PE."""
        return cls("ct", {"seconds": Cost.exactly(1.0)}, notes=("steps as measured",))

    def lacking(self, ruv: Ruv) -> list[str]:
        """Operations of a RUV that have no cost here."""
        known = self.costs.keys() | (self.memory.accesses.keys() if self.memory is not None else set())
        return [name for name in ruv if name not in known]

    def refusal(self, ruv: Ruv, *, used_by: str) -> str | None:
        """What is to be said of a RUV with operations that have no cost here; None if all have one."""
        missing = self.lacking(ruv)
        if not missing:
            return None
        known = ", ".join(sorted(self.costs)[:EXAMPLES]) + (" ..." if len(self.costs) > EXAMPLES else "")
        unknown = ", ".join(map(repr, missing))
        return f"{used_by}: {self.method}: the resource model has no cost of {unknown}; it has {known or 'none'}"

    def time(self, ruv: Ruv, *, working_set_bytes: ArrayLike | None = None, used_by: str = "ruv") -> Times:
        """Seconds of one execution.

        Raises ScenarioError if an operation has no cost here.

        `working_set_bytes`: what its accesses go through, any shape; see `MemoryTerm.time_s`.
        """
        refused = self.refusal(ruv, used_by=used_by)
        if refused is not None:
            raise ScenarioError(refused)
        total = Times.zero()
        accesses = np.zeros(3)
        for name, amount in ruv.items():
            amounts = bounds(amount)
            if name in self.costs:
                total += _product(self.costs[name], amounts)
            if self.memory is not None:
                accesses += self.memory.accesses.get(name, 0.0) * np.array(amounts)
        if self.memory is None or not accesses.any():
            return total
        access_s, share = self.memory.time_s(working_set_bytes), self.memory.share
        return total + Times(
            access_s * accesses[0], access_s * (1 - share) * accesses[1], access_s * (1 + share) * accesses[2]
        )

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        data: Data = {"costs": {name: cost.to_plain() for name, cost in self.costs.items()}}
        if self.memory is not None:
            data["memory"] = to_dict(self.memory)
        if self.notes:
            data["notes"] = list(self.notes)
        return data

    @classmethod
    def from_dict(cls, method: Method, data: Any) -> "CostVector":
        """The vector of a document: `costs`; or `rate_per_s` (and `weights`); or `cycle_s` and `e`; or `timed`.

        Raises ScenarioError with one line per fault, each beginning with its keys.
        """
        return read(_Said, {"methods": {method: data}}).vectors()[method]


@dataclass(frozen=True, kw_only=True)
class _Written(ABC):
    """A vector in a document."""

    memory: MemoryTerm | None = None
    notes: tuple[str, ...] = ()

    @abstractmethod
    def by(self, method: Method) -> CostVector:
        """The costs, without what memory takes."""


@dataclass(frozen=True)
class _Range:
    seconds: float
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_numbers(vars(self), "a finite number")
        if not self.low <= self.seconds <= self.high:
            shown = f"low {self.low:g}, seconds {self.seconds:g}, high {self.high:g}"
            raise ScenarioError(f"{shown}; write low <= seconds <= high")


@dataclass(frozen=True, kw_only=True)
class _Listed(_Written):
    costs: Mapping[str, float | _Range]

    def __post_init__(self) -> None:
        _check_numbers({name: cost for name, cost in self.costs.items() if isinstance(cost, float)}, "a finite number")
        if not self.costs:
            raise FormError([(("costs",), "it is empty; write operations with their seconds")])

    def by(self, method: Method) -> CostVector:
        made = {
            name: Cost.exactly(cost) if isinstance(cost, float) else Cost(cost.seconds, cost.low, cost.high)
            for name, cost in self.costs.items()
        }
        return CostVector(method, made)


@dataclass(frozen=True, kw_only=True)
class _Rate(_Written):
    rate_per_s: float
    weights: Mapping[str, float] = field(default_factory=lambda: FLOP_WEIGHTS)

    def __post_init__(self) -> None:
        _check_numbers({"rate_per_s": self.rate_per_s}, "a finite number above 0", above=0)
        _check_numbers(self.weights, "a finite number of at least 0", least=0)

    def by(self, method: Method) -> CostVector:
        return CostVector.principal(self.rate_per_s, weights=self.weights, method=method)


@dataclass(frozen=True, kw_only=True)
class _Cycles(_Written):
    cycle_s: float
    e: float

    def __post_init__(self) -> None:
        _check_numbers({"cycle_s": self.cycle_s, "e": self.e}, "a finite number above 0", above=0)

    def by(self, method: Method) -> CostVector:
        return CostVector.cycles(self.cycle_s, external=self.e, method=method)


@dataclass(frozen=True, kw_only=True)
class _Timed(_Written):
    timed: Literal[True]

    def by(self, method: Method) -> CostVector:
        return replace(CostVector.timed(), method=method)


def _check_numbers(
    numbers: Mapping[str, float], wanted: str, *, above: float = -math.inf, least: float = -math.inf
) -> None:
    wrong = [(name, value) for name, value in numbers.items() if not (above < value < math.inf and value >= least)]
    if wrong:
        raise FormError([((name,), f"{value:g} is not {wanted}") for name, value in wrong])


@dataclass(frozen=True, kw_only=True)
class _Said(ModelFile):
    """The file of a resource model."""

    methods: Mapping[Method, _Listed | _Rate | _Cycles | _Timed]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.methods:
            raise FormError([(("methods",), f"it is empty; write costs by some of {', '.join(METHODS)}")])

    def vectors(self) -> dict[Method, CostVector]:
        made = ((method, said, said.by(method)) for method, said in self.methods.items())
        return {
            method: replace(vector, memory=said.memory, notes=said.notes or vector.notes)
            for method, said, vector in made
        }


def _product(cost: Cost, amounts: tuple[float, float, float]) -> Times:
    """Seconds of an amount, with the ends of both ranges."""
    likely, low, high = amounts
    ends = [cost.low_s * low, cost.low_s * high, cost.high_s * low, cost.high_s * high]
    return Times(np.asarray(cost.seconds * likely), np.asarray(min(ends)), np.asarray(max(ends)))


@dataclass(frozen=True)
class HardwareModel:
    """What operations cost on one PE, by every method that it has costs for."""

    name: str
    vectors: Mapping[Method, CostVector]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What to know before its times are trusted."""

    @property
    def methods(self) -> tuple[Method, ...]:
        """Those that it has costs for."""
        return tuple(method for method in METHODS if method in self.vectors)

    def vector(self, method: Method) -> CostVector:
        """The costs by a method.

        Raises ScenarioError if there are none, with the methods that have some.
        """
        if method not in self.vectors:
            known = ", ".join(self.methods) or "none"
            raise ScenarioError(f"resource model {self.name}: there are no costs by method {method}; it has {known}")
        return self.vectors[method]

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        return {
            "format": FORMAT,
            "kind": KIND,
            "name": self.name,
            "methods": {method: self.vectors[method].to_dict() for method in self.methods},
            "provenance": dict(self.provenance),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_dict(cls, data: Any) -> "HardwareModel":
        """The model that `to_dict` wrote, or that somebody wrote by hand: of each method one of several forms.

        Raises ScenarioError with one line per fault, each beginning with its field.
        """
        kind = data.get("kind") if isinstance(data, Mapping) else None
        if kind != KIND:
            found = "what stands there" if kind is None else f"kind {kind!r}"
            raise ScenarioError(f"{found} is no resource model; name a file of format {FORMAT} and kind {KIND!r}")
        files.check_format(data, FORMAT, "resource model", WRITER)
        said = read(_Said, {key: value for key, value in data.items() if key not in {"format", "kind"}})
        return cls(said.name, said.vectors(), said.provenance, said.warnings)


def save_resource_model(model: HardwareModel, path: str | Path) -> None:
    """Write a resource model as JSON, whole or not at all."""
    path = Path(path)
    files.write_json(path, model.to_dict())


def load_resource_model(path: str | Path) -> HardwareModel:
    """Read a resource model; see `HardwareModel.from_dict` for what a file may say.

    Raises ScenarioError if the file is missing, no JSON, or no resource model; one line per fault.
    """
    path = Path(path)
    document = files.read_json(path)
    with in_file(path):
        return HardwareModel.from_dict(document)

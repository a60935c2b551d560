"""What applications take: their parameters checked one by one, a line per fault."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from simulator.base import units
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.programs.applications.work import Work

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import RuntimeModel

Parameters = Mapping[str, float | str]
"""Numbers, names of algorithms, and times with their units."""
MOST_STEPS = 10**7
"""Most steps of an application's loop: each is written out for each process, with all that it computes and sends."""
BROADCAST = "how panels reach the others: `ring`, `modified_ring`, `two_rings`, `binomial`, `linear` or `scatter_ring`"


class Field(Protocol):
    """What one parameter may be."""

    @property
    def default(self) -> Any:
        """Its value where it is not given; None if it must be."""

    @property
    def meaning(self) -> str:
        """What it is, for those who write scenarios."""

    @property
    def schema(self) -> Data:
        """Its JSON Schema."""

    def parse(self, value: float | str) -> Any:
        """Its value."""


@dataclass(frozen=True)
class Whole:
    """An integer."""

    default: int | None = None
    least: int = 1
    most: int = 2**53
    meaning: str = ""

    @property
    def schema(self) -> Data:
        """Integers within the bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def parse(self, value: float | str) -> int:
        """The integer."""
        if not isinstance(value, int) or isinstance(value, bool) or not self.least <= value <= self.most:
            raise ValueError(
                f"an integer of at least {self.least}" + (f", at most {self.most}" if self.big(value) else "")
            )
        return value

    def big(self, value: float | str) -> bool:
        """Whether only the upper bound is passed, which few need to know of."""
        return isinstance(value, int) and value > self.most


ORDER = Whole(most=10**8)
"""Of a matrix: more elements than any machine holds, and bytes and operations still fit into 64 bits."""


@dataclass(frozen=True)
class Positive:
    """A finite number above 0."""

    default: float | None = None
    meaning: str = ""

    @property
    def schema(self) -> Data:
        """Numbers above 0."""
        return {"type": "number", "exclusiveMinimum": 0}

    def parse(self, value: float | str) -> float:
        """The number."""
        if isinstance(value, str | bool) or not (math.isfinite(value) and value > 0):
            raise ValueError("a finite number above 0")
        return float(value)


@dataclass(frozen=True)
class Choice:
    """One of some names."""

    names: tuple[str, ...]
    default: str
    meaning: str = ""

    @property
    def schema(self) -> Data:
        """The names."""
        return {"enum": list(self.names)}

    def parse(self, value: float | str) -> str:
        """The name."""
        if value not in self.names:
            raise ValueError(f"one of {', '.join(self.names)}")
        return str(value)


@dataclass(frozen=True)
class Share:
    """A number from 0 to 1."""

    default: float
    meaning: str = ""

    @property
    def schema(self) -> Data:
        """Numbers within the bounds."""
        return {"type": "number", "minimum": 0, "maximum": 1}

    def parse(self, value: float | str) -> float:
        """The number."""
        if isinstance(value, str | bool) or not 0 <= value <= 1:
            raise ValueError("a number from 0 to 1")
        return float(value)


@dataclass(frozen=True)
class Text:
    """A name of the user's own."""

    default: str
    meaning: str = ""

    @property
    def schema(self) -> Data:
        """A text."""
        return {"type": "string"}

    def parse(self, value: float | str) -> str:
        """The name."""
        if not isinstance(value, str) or not value:
            raise ValueError("a name")
        return value


@dataclass(frozen=True)
class Duration:
    """A time with its unit, in seconds."""

    default: float
    meaning: str = ""

    @property
    def schema(self) -> Data:
        """A text."""
        return {"type": "string"}

    def parse(self, value: float | str) -> float:
        """Seconds."""
        wanted = "a time of at least 0 with its unit, such as '10us'"
        if not isinstance(value, str):
            raise ValueError(wanted)  # noqa: TRY004 - a fault of the file, like the others
        try:
            return units.parse_duration(value, field="", positive=False)
        except ScenarioError:
            raise ValueError(wanted) from None


def check_steps(n: int, nb: int) -> None:
    """Refuse blocks so narrow that a matrix has more than `MOST_STEPS` of them."""
    if (count := -(-n // nb)) > MOST_STEPS:
        found = f"it is {nb}, which makes {count} blocks of n = {n}"
        raise ScenarioError(f"application: parameters: nb: {found}; make at most {MOST_STEPS}")


@dataclass(frozen=True)
class Counted:
    """An application whose costs are counted: its entry among the others."""

    name: str
    make: Callable[..., Work]
    """From the values of its parameters, by their names."""
    parameters: Mapping[str, Field]
    faults: Callable[[Parameters], list[str]] = lambda _: []
    """What is wrong with parameters together."""
    chosen: tuple[str, ...] = ()
    """Parameters that say how the problem is solved, which a user may choose; the others are the problem."""

    def work(self, parameters: Parameters, model: "RuntimeModel | None") -> Work:
        """The application with its parameters."""
        fault = f"application: model: the costs of {self.name} are counted; leave the model out"
        return self.make(**self.values(parameters, [] if model is None else [fault]))

    def values(self, parameters: Parameters, faults: Sequence[str] = ()) -> Data:
        """All parameters, those that are not given by default.

        Raises ScenarioError with what is wrong with them, after other faults.
        """
        known = ", ".join(self.parameters)
        values, faults = Data(), list(faults)
        for name, field in self.parameters.items():
            if name not in parameters and field.default is None:
                faults.append(f"application: parameters: {name} is missing; take {known}")
            elif name not in parameters:
                values[name] = field.default
            else:
                try:
                    values[name] = field.parse(parameters[name])
                except ValueError as fault:
                    close = meant(parameters[name], field.names) if isinstance(field, Choice) else ""
                    faults.append(f"application: parameters: {name}: it is {parameters[name]!r}; give {fault}{close}")
        faults += [
            f"application: parameters: {name} is unknown; take {known}{meant(name, self.parameters)}"
            for name in parameters
            if name not in self.parameters
        ]
        if faults := faults or self.faults(parameters):
            raise ScenarioError(faults)
        return values

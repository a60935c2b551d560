"""What applications take: their parameters checked one by one, a line per fault."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True)
class Field:
    """What one parameter may be."""

    default: Any
    """Its value where it is not given; None if it must be."""
    meaning: str
    """What it is, for those who write scenarios."""
    schema: Data
    """Its JSON Schema."""
    read: Callable[[Any], Any]
    """Its value; ValueError says what is wanted instead."""


def whole(default: int | None = None, least: int = 1, most: int = 2**53, *, meaning: str) -> Field:
    """An integer."""

    def read(value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        above = f", at most {most}" if isinstance(value, int) and value > most else ""  # which few need to know of
        raise ValueError(f"an integer of at least {least}{above}")

    return Field(default, meaning, {"type": "integer", "minimum": least, "maximum": most}, read)


def order(meaning: str) -> Field:
    """Of a matrix: more elements than any machine holds, and bytes and operations still fit into 64 bits."""
    return whole(most=10**8, meaning=meaning)


def positive(default: float | None = None, meaning: str = "") -> Field:
    """A finite number above 0."""

    def read(value: Any) -> float:
        if isinstance(value, str | bool) or not (math.isfinite(value) and value > 0):
            raise ValueError("a finite number above 0")
        return float(value)

    return Field(default, meaning, {"type": "number", "exclusiveMinimum": 0}, read)


def share(default: float, meaning: str) -> Field:
    """A number from 0 to 1."""

    def read(value: Any) -> float:
        if isinstance(value, str | bool) or not 0 <= value <= 1:
            raise ValueError("a number from 0 to 1")
        return float(value)

    return Field(default, meaning, {"type": "number", "minimum": 0, "maximum": 1}, read)


def choice(names: Sequence[str], default: str, meaning: str) -> Field:
    """One of some names."""

    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}{meant(value, names)}")
        return str(value)

    return Field(default, meaning, {"enum": list(names)}, read)


def text(default: str, meaning: str) -> Field:
    """A name of the user's own."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise ValueError("a name")
        return value

    return Field(default, meaning, {"type": "string"}, read)


def duration(*, meaning: str) -> Field:
    """A time with its unit, in seconds; 0 by default."""

    def read(value: Any) -> float:
        with suppress(ScenarioError):
            if isinstance(value, str):
                return units.parse_duration(value, field="", positive=False)
        raise ValueError("a time of at least 0 with its unit, such as '10us'")

    return Field(0.0, meaning, {"type": "string"}, read)


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
                    values[name] = field.read(parameters[name])
                except ValueError as fault:
                    faults.append(f"application: parameters: {name}: it is {parameters[name]!r}; give {fault}")
        faults += [
            f"application: parameters: {name} is unknown; take {known}{meant(name, self.parameters)}"
            for name in parameters
            if name not in self.parameters
        ]
        if faults := faults or self.faults(parameters):
            raise ScenarioError(faults)
        return values

"""Resource usage vectors: how often a step uses each operation, by method."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

Method: TypeAlias = Literal["dbc", "poc", "hllc", "intcc", "icc", "ct"]
METHODS: tuple[Method, ...] = get_args(Method)
"""Design based, principal operations, high-level language, intermediate code, instruction code, component timing."""


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

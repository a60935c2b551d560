"""Resource usage vectors (RUVs), and the resource models that turn them into time."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

Method: TypeAlias = Literal["dbc", "poc", "hllc", "intcc", "icc", "ct"]
METHODS: tuple[Method, ...] = get_args(Method)
"""Design based, principal operations, high-level language, intermediate code, instruction code, component timing."""

Ruv: TypeAlias = Mapping[str, float]
"""Operation -> how often one execution uses it, by one method; of `ct` it holds `seconds`."""

Ruvs: TypeAlias = Mapping[Method, Ruv]
"""One step's RUVs, by method."""

NO_RUVS: Ruvs = MappingProxyType({})

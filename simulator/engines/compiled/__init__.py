"""The compiled engine (Numba): many configurations and replications of a program at once."""

from simulator.engines.compiled.cache import on_compile
from simulator.engines.compiled.run import run

__all__ = ["on_compile", "run"]

"""The compiled engine (Numba): many configurations and replications of a program at once; `run` and `on_compile`.

Numba takes a second to import, so nothing here does before a kernel is needed.
"""

from simulator.engines.compiled.place import cache_folder, on_compile

__all__ = ["cache_folder", "on_compile"]

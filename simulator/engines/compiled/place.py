"""Where machine code is kept: a folder that no other version of what it was made from can find.

Numba's own cache looks at one file: it gave wrong answers when a callee in another one was edited. So the folder is
named by a hash of all sources that end up in a kernel, of the compiler's versions and of the processor.
"""

import hashlib
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from simulator.base import files

__all__ = ["cache_folder", "kernels_kept", "on_compile"]

on_compile: list[Callable[[str], None]] = []
"""Called with a kernel's name before it is compiled again, which takes seconds; what is on disk calls nobody."""

_SOURCES = (
    "engines/compiled/*.py",
    "engines/costs/*.py",
    "programs/columns.py",
    "programs/program.py",
    "scheduling/chunks.py",
    "scheduling/scores.py",
)
"""What kernels are made of, constants included; below `simulator/`."""
_COMPILERS = ("numba", "llvmlite", "numpy")


@cache
def cache_folder() -> Path | None:
    """Where this version's machine code for this processor is kept; None without a folder that nobody else can write.

    Machine code and what describes it are run and unpickled as they are: who can write there can run anything.
    """
    cached = files.user_cache()
    return None if cached is None else files.private_folder(cached / "compiled" / _fingerprint())


def kernels_kept() -> bool:
    """Whether kernels of this version were compiled for this processor before."""
    return any(folder.glob("*.nbc")) if (folder := cache_folder()) else False


def _fingerprint() -> str:
    """Hash of all that decides the machine code."""
    import llvmlite.binding

    found = hashlib.sha256()
    house = Path(__file__).parents[2]
    for pattern in _SOURCES:
        for path in sorted(house.glob(pattern)):
            found.update(path.relative_to(house).as_posix().encode() + b"\0" + files.read_bytes(path) + b"\0")
    processor = llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()
    versions = (*(version(name) for name in _COMPILERS), platform.python_version())
    found.update("\n".join((*processor, *versions)).encode())
    return found.hexdigest()[:32]

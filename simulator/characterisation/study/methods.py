"""What each method needs, what of that is here, and what it takes to use it (after the paper's table 2)."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from simulator.models.resource import Method


@dataclass(frozen=True)
class About:
    """A method."""

    title: str
    needs: tuple[str, ...]
    """Of design, source, compiler, system."""
    effort: str
    """To get its RUVs, and its costs on a machine."""
    detail: str
    """Macro or micro analysis; abstract, software or system based (section 3.1 of the paper)."""


ABOUT: Mapping[Method, About] = {
    "dbc": About(
        "design based",
        ("design",),
        "somebody states operations and their range; costs are guesses from clock and width",
        "macro, abstract",
    ),
    "poc": About("principal operations", ("source",), "flops counted by itself; one rate measured", "macro, abstract"),
    "hllc": About(
        "high-level language",
        ("source",),
        "constructs counted by itself; about ninety micro-benchmarks, once per machine and compiler",
        "micro, software based",
    ),
    "intcc": About(
        "intermediate code",
        ("source", "compiler"),
        "instructions of LLVM counted by itself; costs fitted to about a hundred programs, once per machine",
        "micro, software based",
    ),
    "icc": About(
        "instruction code",
        ("source", "compiler"),
        "machine instructions counted by itself; costs fitted to about a hundred programs, and a memory model",
        "micro, system based",
    ),
    "ct": About(
        "component timing",
        ("source", "compiler", "system"),
        "timed at other sizes; nothing carries over to another machine",
        "monitoring, system based",
    ),
}
TOOLS = {"valgrind": "valgrind", "perf": "linux-perf"}
"""Optional programs that count instructions too -> the Debian package that has them."""


def about(method: Method, *, design: bool) -> dict[str, Any]:
    """What a method needs, which of that is here, effort; as plain data.

    Parameters
    ----------
    design
        Whether somebody stated a design.
    """
    here = {"design": design, "source": True, "compiler": True, "system": True}
    known = asdict(ABOUT[method])
    return known | {"needs": list(known["needs"]), "present": {need: here[need] for need in ABOUT[method].needs}}


def tools() -> dict[str, str]:
    """Optional tools, and where each is or which package has it; none is needed."""
    found = {name: shutil.which(name) for name in TOOLS}
    return {name: path or f"not here; package {TOOLS[name]} has it, not needed" for name, path in found.items()}

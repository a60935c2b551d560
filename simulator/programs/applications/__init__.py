"""Applications: what each one's processes do, and how much, for a problem size and a configuration."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simulator.base.errors import ScenarioError, meant
from simulator.programs.applications import (
    cholesky,
    ep,
    farm,
    fft,
    fft3d,
    hpl,
    matmul,
    matmul_2d,
    modelled,
    recorded,
    sort,
    stencil,
)
from simulator.programs.applications.parameters import Counted, Field, Parameters
from simulator.programs.applications.work import Work
from simulator.programs.configuration import Configuration
from simulator.programs.program import Program

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import RuntimeModel

__all__ = [
    "APPLICATIONS",
    "CHOSEN",
    "GRAPH",
    "NOUNS",
    "PARAMETERS",
    "Parameters",
    "Work",
    "build_program",
    "make_work",
    "matmul",
    "modelled",
]

COUNTED: dict[str, Counted] = {
    module.APPLICATION.name: module.APPLICATION
    for module in (cholesky, ep, farm, fft, fft3d, hpl, matmul, matmul_2d, sort, stencil)
}
"""Applications whose costs are counted, by name."""
_ALL = {**COUNTED, recorded.NAME: recorded.APPLICATION}
APPLICATIONS: dict[str, Callable[[Parameters, "RuntimeModel | None"], Work]] = {
    "modelled": modelled.make,
    **{name: one.work for name, one in _ALL.items()},
}
"""Name of each application and what checks its parameters and its model, if it has one."""
CHOSEN: dict[str, tuple[str, ...]] = {name: one.chosen for name, one in _ALL.items()}
"""Parameters of each application that say how its problem is solved; the others are the problem."""
PARAMETERS: dict[str, Mapping[str, Field]] = {name: one.parameters for name, one in COUNTED.items()}
"""Parameters of each application whose costs are counted; those of `modelled` are its model's."""
NOUNS = {"recorded": "ranks", "matmul": "rows", "stencil": "rows", "fft": "rows", "sort": "keys", "ep": "samples"}
"""What a partition of an application counts, where that has a name; units of the others."""
GRAPH = "seg"
"""The application that is a software execution graph; `characterisation.templates` prepares it."""


def make_work(application: str, parameters: Parameters, model: "RuntimeModel | None" = None) -> Work:
    """An application with its parameters."""
    if application == GRAPH:
        raise ScenarioError(
            f"application: name: {GRAPH!r} needs a graph that is prepared; name another application here"
        )
    if application not in APPLICATIONS:
        known = sorted([*APPLICATIONS, GRAPH])
        close = f"take {', '.join(known)}{meant(application, known)}"
        raise ScenarioError(f"application: name: {application!r} is unknown; {close}")
    return APPLICATIONS[application](parameters, model)


def build_program(
    application: str, parameters: Parameters, configuration: Configuration, *, model: "RuntimeModel | None" = None
) -> Program:
    """The program of an application under a configuration."""
    return make_work(application, parameters, model).program(configuration)

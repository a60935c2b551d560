"""Applications: what each one's processes do, and how much, for a problem size and a configuration."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simulator.applications import matmul, modelled
from simulator.applications.work import Work
from simulator.configuration import Configuration
from simulator.errors import ScenarioError
from simulator.program import Program

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import RuntimeModel

__all__ = ["APPLICATIONS", "Work", "build_program", "make_work", "matmul", "modelled"]

Parameters = Mapping[str, float]

APPLICATIONS: dict[str, Callable[[Parameters, "RuntimeModel | None"], Work]] = {
    "matmul": matmul.make,
    "modelled": modelled.make,
}
"""Name of each application and what checks its parameters and its model, if it has one."""


def make_work(application: str, parameters: Parameters, model: "RuntimeModel | None" = None) -> Work:
    """An application with its parameters.

    Raises
    ------
    ScenarioError
        If there is no such application, or its parameters or the model do not fit it.
    """
    if application not in APPLICATIONS:
        known = ", ".join(sorted(APPLICATIONS))
        raise ScenarioError(f"application: name: {application!r} found, one of {known} allowed")
    return APPLICATIONS[application](parameters, model)


def build_program(
    application: str, parameters: Parameters, configuration: Configuration, *, model: "RuntimeModel | None" = None
) -> Program:
    """The program of an application under a configuration.

    Raises
    ------
    ScenarioError
        If there is no such application, or its parameters, the model or the partition do not fit it.
    """
    return make_work(application, parameters, model).program(configuration)

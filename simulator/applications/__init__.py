"""Applications: what each one's processes do, and how much, for a problem size and a configuration."""

from collections.abc import Callable, Mapping

from simulator.applications import matmul
from simulator.configuration import Configuration
from simulator.errors import ScenarioError
from simulator.program import Program

__all__ = ["APPLICATIONS", "build_program", "matmul"]

Parameters = Mapping[str, int]

APPLICATIONS: dict[str, Callable[[Parameters, Configuration], Program]] = {"matmul": matmul.program}
"""Name of each application and the maker of its program."""


def build_program(application: str, parameters: Parameters, configuration: Configuration) -> Program:
    """The program of an application under a configuration.

    Raises
    ------
    ScenarioError
        If there is no such application, or its parameters or the partition do not fit it.
    """
    if application not in APPLICATIONS:
        known = ", ".join(sorted(APPLICATIONS))
        raise ScenarioError(f"application: name: {application!r} found, one of {known} allowed")
    return APPLICATIONS[application](parameters, configuration)

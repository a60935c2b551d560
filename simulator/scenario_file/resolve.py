"""From a scenario file's form to a `Scenario`: everything that can be checked is checked, at its place in the file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from simulator.base.document import Document
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.base.faults import Faults
from simulator.base.names import all_names, check_known, expanded, how_many
from simulator.platform.named_files import NamedFiles
from simulator.platform.nodes import Platform
from simulator.programs.applications import make_work
from simulator.programs.applications.process_grid import Shape
from simulator.programs.configuration import AS_NOW, MOST_PLACED, MOST_PROCESSES, Configuration
from simulator.scenario_file.extrapolation import Measured, told, use_of
from simulator.scenario_file.forms import ApplicationForm, ConfigurationForm, ScenarioForm, SegApplicationForm
from simulator.scenario_file.hpl_dat import with_hpl_dat
from simulator.scenario_file.platforms import MadePlatform, make_platform
from simulator.scenario_file.scenario import (
    Application,
    Extrapolation,
    Scenario,
    check_memory,
    check_routes,
    with_derived_speeds,
)
from simulator.scenario_file.segs.application import seg_application


def resolve(
    form: ScenarioForm, document: Document, named: NamedFiles, *, measured: Measured, oversized: bool = False
) -> Scenario:
    """The scenario that a file means.

    Parameters
    ----------
    measured
        Levels that speeds were measured on, where the command line sets others.
    oversized
        Take configurations that memory and swap do not hold.

    Raises
    ------
    ScenarioError
        With file, line, column and field.
    """
    made, application, told_of_it = _parts(form, document, named, replace(measured, application=form.application))
    platform = made.platform
    if application.prepared is not None:
        with document.at("application"):
            platform = with_derived_speeds(platform, application.kernel, application.prepared)
    _check_kernel(platform, application.kernel, document)
    places = {pe.name: index for index, pe in enumerate(platform.pes)}
    notes, faults = tuple(dict.fromkeys((*form.notes, *made.notes, *told_of_it))), Faults(document)
    if form.truths is not None and form.truths > form.replications:
        with faults.at("truths"):
            raise ScenarioError(f"{form.replications} replications cannot share out {form.truths} truths; write fewer")
    scenario = Scenario(platform, application, (), form.replications, form.seed, notes=notes, truths=form.truths)
    configurations, placed = [], 0
    for name, entry in form.configurations.items():  # partition and parameters are checked now, not in the middle
        with faults.at("configurations", name, once=True):
            _check_name(name)
            placement = _placement(entry, document, places, name=name)
            placed += len(placement)
            if placed > MOST_PLACED:
                raise ScenarioError(
                    f"{placed} processes of all configurations up to here found, at most {MOST_PLACED} allowed"
                )
            partition = _partition(entry, application, document, len(placement), name=name)
            configuration = Configuration(name, partition, placement, _grid(entry))
            _check(replace(scenario, configurations=(configuration,)), configuration, platform, oversized=oversized)
            configurations.append(configuration)
    faults.tell()
    scenario = replace(scenario, configurations=tuple(configurations))
    if not made.extrapolations:
        return scenario
    found = tuple(replace(one, needed_elements=_needed(scenario, one)) for one in made.extrapolations)
    notes = (*notes, *dict.fromkeys(line for one in found for line in told(one)))
    return replace(scenario, notes=notes, extrapolations=found)


def _parts(
    form: ScenarioForm, document: Document, named: NamedFiles, measured: Measured
) -> tuple[MadePlatform, Application, tuple[str, ...]]:
    """Platform, application and what is to be known of it; faults of both, where the application needs no platform."""
    faults = Faults(document)
    with faults.at("platform"):
        made = make_platform(form.platform, document, named, measured=measured)
    if faults.lines and not isinstance(form.application, SegApplicationForm):
        with faults.at("application"):
            _application(form.application, document, named, platform=None)
    faults.tell()
    return made, *_application(form.application, document, named, platform=made.platform)


def _needed(scenario: Scenario, found: Extrapolation) -> float:
    """The largest problem size of the computations on PEs whose speeds are taken to other levels."""
    here = {number for number, pe in enumerate(scenario.platform.pes) if pe.speeds.get(found.kernel) is found.band}
    largest = 0.0
    for configuration in scenario.configurations:
        compute = scenario.application.work.compute(sum(units > 0 for units in configuration.partition))
        for pe, units in zip(configuration.placement, configuration.partition, strict=True):
            if pe in here and units:
                largest = max(largest, float(np.max(compute(units).size)))
    return largest


def _check_kernel(platform: Platform, kernel: str, document: Document) -> None:
    """Refuse a kernel that no PE has."""
    known = sorted({name for pe in platform.pes for name in pe.speeds})
    if kernel not in known:
        there = f"name one that they have ({some_names(known)})" if known else "they have no speeds; add some"
        with document.at("application", "kernel"):
            raise ScenarioError(f"no PE has a speed of kernel {kernel!r}; {there}{meant(kernel, known)}")


def _check_name(name: str) -> None:
    """Refuse `as now`, `as_now` and the like, which nobody would count gains from."""
    if name != AS_NOW and re.sub(r"[\W_]", "", name.lower()) == AS_NOW.replace("-", ""):
        raise ScenarioError(f"the configuration that gains are counted from is called {AS_NOW}; write {AS_NOW} here")


def _check(scenario: Scenario, configuration: Configuration, platform: Platform, *, oversized: bool) -> None:
    program = scenario.program(configuration)
    if lacking := platform.without_speed(scenario.application.kernel, scenario.placed(configuration).tolist()):
        raise ScenarioError(f"platform: {lacking}; add one to its speeds, or run no process there")
    if not oversized:
        check_memory(platform, configuration, np.array(program.footprints_bytes, dtype=np.int64))
    check_routes(platform, configuration, program)


def _placement(form: ConfigurationForm, document: Document, places: Mapping[str, int], *, name: str) -> tuple[int, ...]:
    """Index of the PE of each process."""
    here = ("configurations", name)
    if form.allocation is not None:
        found, number = [], 0
        for pattern, processes in form.allocation.items():
            with document.at(*here, "allocation", pattern):
                number += how_many(pattern) * max(1, processes)
                _check_processes(number)
                for pe in expanded(pattern):
                    check_known(pe, places, what="PE")
                    found += [places[pe]] * processes
        return tuple(found)
    if form.pes is None and isinstance(form.partition, str):
        return tuple(range(len(places)))
    if form.pes is None:
        with document.at(*here, "partition"):
            if len(form.partition) > len(places):
                there = f"{_parts_of(form.partition)}, for one process on each of {len(places)} PEs"
                raise ScenarioError(f"{there}; say with pes or allocation where more processes run")
        return tuple(range(len(form.partition)))
    with document.at(*here, "pes"):
        names = all_names(form.pes)
        for pe in names:
            check_known(pe, places, what="PE")
        return tuple(places[pe] for pe in names)


def _parts_of(partition: Sequence[object]) -> str:
    return f"it has {len(partition)} part{'' if len(partition) == 1 else 's'}"


def _check_processes(number: int) -> None:
    if number > MOST_PROCESSES:
        raise ScenarioError(f"{number} processes up to here found, at most {MOST_PROCESSES} allowed")


def _partition(
    form: ConfigurationForm, application: Application, document: Document, processes: int, *, name: str
) -> tuple[int, ...]:
    """Units per process: as listed, or the application's in equal parts, the first ones one larger."""
    if not isinstance(form.partition, str):
        with document.at("configurations", name, "partition"):
            if len(form.partition) != processes:
                where = "allocation" if form.allocation is not None else "pes"
                placed = f"{where} places {processes}; write a part for each process"
                raise ScenarioError(f"{_parts_of(form.partition)}, and {placed}")
        return tuple(form.partition)
    with document.at("configurations", name):
        if not processes:
            raise ScenarioError("allocation: no process found, at least one allowed")
    share, rest = divmod(application.work.units, processes)
    even = tuple(share + (process < rest) for process in range(processes))
    grid = _grid(form)
    if grid is None or grid not in application.work.grids(processes):
        return even  # the grid's fault is told with the program's
    return application.work.fitting(even, grid)


def _grid(form: ConfigurationForm) -> Shape | None:
    return None if form.grid is None else (form.grid[0], form.grid[1])


def _application(
    form: ApplicationForm, document: Document, named: NamedFiles, *, platform: Platform | None
) -> tuple[Application, tuple[str, ...]]:
    """What runs, and what is to be known of it."""
    if isinstance(form, SegApplicationForm) and platform is not None:
        return seg_application(form, document, named, platform=platform), ()
    with document.at("application", "parameters", "hpl_dat"):
        parameters, notes = with_hpl_dat(form.parameters, named) if form.name == "hpl" else (form.parameters, ())
    model = None
    if form.model is not None:
        with document.at("application", "model"):
            model = named.runtime_model(form.model)
    with document.at("application"):
        make_work(form.name, parameters, model)  # its faults are told here
    nodes = () if platform is None else platform.nodes
    matters = form.memory is not None or any(node.levels or node.memory_bytes is not None for node in nodes)
    memory = use_of(form) if matters else None
    return Application(form.name, form.kernel, parameters, model, memory=memory), notes

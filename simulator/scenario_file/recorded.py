"""A recorded MPI program in a scenario file: the recording, and speeds of the PE that it was made on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.models.predicted_speed import KERNEL_USES
from simulator.models.speed import SpeedBand
from simulator.platform.named_files import NamedFiles, Site
from simulator.platform.nodes import Platform
from simulator.programs.applications.recorded import APPLICATION, NAME, Mix, RecordedWork, fitted_weight
from simulator.programs.recorded.expansion import CHOICES
from simulator.programs.recorded.recording import ACTIONS, DESCRIPTION, Recording
from simulator.scenario_file.forms import RecordedApplicationForm
from simulator.scenario_file.nodes import speed_data
from simulator.scenario_file.scenario import Application, lacking_kernel

MOST_NAMES = 6
"""Calls that are not understood, named in a fault."""


def recorded_application(
    form: RecordedApplicationForm, site: Site, platform: Platform, before: Platform
) -> Application:
    """The application that a form means."""
    with site.at("application"):
        given = APPLICATION.values(form.parameters)
    with site.at("application", "recording"):
        recording = _read(site.named, form.recording)
    kernels = tuple(filter(None, (form.kernel, given["second"])))
    for place, kernel in zip((("kernel",), ("parameters", "second")), kernels, strict=False):
        with site.at("application", *place):
            if lacking := lacking_kernel(sorted({name for pe in platform.pes for name in pe.speeds}), kernel):
                raise ScenarioError(lacking)
            if kernel == NAME:
                raise ScenarioError(f"{NAME!r} is the name of the speeds that follow; name another kernel")
    with site.at("application", "speeds" if form.speeds else "parameters"):
        reference = _reference(form, site.named, kernels, given["recorded_on"], before)
    mix = Mix(kernels, reference, given["weight"] if len(kernels) > 1 else 1.0, given["recorded_on"])
    if form.second_recording is not None:
        with site.at("application", "second_recording"):
            other = _read(site.named, form.second_recording)
            there = _speeds_on(before, given["second_recorded_on"], kernels, "second_recorded_on")
            if len(mix.kernels) < 2:
                raise ScenarioError("it says how two kernels are mixed, and there is one; give second in parameters")
            mix = replace(mix, weight=fitted_weight((recording, other), mix.reference, there))
    elif len(kernels) > 1 and "weight" not in form.parameters:
        with site.at("application", "parameters"):
            raise ScenarioError("weight is missing and there are two kernels; give it, or a second_recording")
    algorithms, polls = {name: given[name] for name in CHOICES}, given["waiting"] == "polling"
    path = str((site.named.folder / form.recording).absolute())
    work = RecordedWork(recording, mix, algorithms, polls, path)
    use = work.memory_use(KERNEL_USES) if form.memory is None else form.memory.use()
    kept = {name: value for name, value in form.parameters.items() if name != "second_recorded_on"}
    kept |= {"weight": mix.weight} if len(mix.kernels) > 1 else {}
    return Application(NAME, NAME, kept, memory=use, recorded=work)


def _read(named: NamedFiles, folder: str) -> Recording:
    """A recording that can be simulated."""
    found = named.folder_of("recording", folder, (DESCRIPTION, ACTIONS), Recording.read)
    if unknown := found.described.unknown:
        calls = [f"{name} ({count})" for name, count in sorted(unknown.items(), key=lambda one: -one[1])]
        more = f" and {len(calls) - MOST_NAMES} more" if len(calls) > MOST_NAMES else ""
        raise ScenarioError(
            f"calls that are not understood: {', '.join(calls[:MOST_NAMES])}{more}; the program cannot be simulated"
        )
    return found


def _reference(
    form: RecordedApplicationForm, named: NamedFiles, kernels: tuple[str, ...], pe: str, before: Platform
) -> tuple[SpeedBand, ...]:
    """Speeds of the kernels on the PE of the recording."""
    if not form.speeds:
        return _speeds_on(before, pe, kernels, "recorded_on")
    found = {}
    for kernel in kernels:
        if kernel not in form.speeds:
            raise ScenarioError(f"speeds: {kernel} is missing; add how quick it was where the program was recorded")
        said: Any = form.speeds[kernel]
        band = SpeedBand.constant(said) if isinstance(said, float) else getattr(said, "speed", lambda _: None)(named)
        if not isinstance(band, SpeedBand):
            raise ScenarioError(f"speeds: {kernel}: give one speed, a function, a band, or the file of a model")
        found[kernel] = band
    return tuple(found.values())


def _speeds_on(platform: Platform, name: str, kernels: tuple[str, ...], field: str) -> tuple[SpeedBand, ...]:
    """Speeds of the kernels on a PE of the platform."""
    pes = {pe.name: pe for pe in platform.pes}
    if not name:
        raise ScenarioError(f"{field} is missing; name the PE that it was recorded on, such as {platform.pes[0].name}")
    if name not in pes:
        known = f"give its speeds, or take {some_names(list(pes))}{meant(name, pes)}"
        raise ScenarioError(f"{field}: there is no PE {name!r}; {known}")
    if lacking := [kernel for kernel in kernels if kernel not in pes[name].speeds]:
        raise ScenarioError(f"{field}: PE {name} has no speed of {lacking[0]}; add it, or give speeds")
    return tuple(pes[name].speeds[kernel] for kernel in kernels)


def recorded_data(application: Application) -> Data:
    """What a scenario says of a recording, with the speeds of then."""
    work = application.recorded
    if work is None:
        return {}
    if not work.path:
        raise ScenarioError("application: recording: it is in no folder; save it and read it from there")
    speeds = {kernel: speed_data(band) for kernel, band in zip(work.mix.kernels, work.mix.reference, strict=True)}
    return {"recording": str(Path(work.path)), "speeds": speeds}

"""What an advice doubts most, measured again on this machine: new models next to the old ones, and what uses them."""

import json
import math
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from advisor.advise.explanation.next_measurement import (
    MEASURABLE,
    WORTH,
    Candidate,
    NextMeasurement,
    next_measurement,
    next_name,
)
from advisor.advise.recommendation import Recommendation
from advisor.results import Described
from simulator import (
    Scenario,
    ScenarioError,
    SpeedBand,
    documents,
    files,
    read_template,
    require_linux,
    shipped,
    this_machine,
    units,
)

LEAST_S = 4.0
"""What a measurement takes at the least."""
TIME_CAP_S, CAP_SHARE = 10.0, 0.1
"""Longest single run that a calibration foresees, and at most this share of its budget."""
IDENTITY = ("host", "cpu_model")
"""What is the same of one machine."""
GONE = MEASURABLE["drift"]
"""Share of drift's variance that runs right after a measurement are without."""


NOTHING = "no model of this scenario states a doubt; leave the option out"
FEW = "one truth tells nothing of doubt; ask for more replications"


@dataclass(frozen=True)
class Remeasured:
    """A source that was measured again."""

    source: str
    """As the scenario named its file."""
    model: str
    """The new file."""
    seconds: float
    """Of real runs."""
    changes: tuple[str, ...]
    """`PATH=VALUE` that make the scenario use it."""
    named: str = field(default="", metadata=documents.NOT_WRITTEN)
    """As the scenario names it now."""


@dataclass(frozen=True)
class Standing:
    """What was advised and how sure that was: before a measurement, or after it."""

    recommended: str
    partition: tuple[int, ...]
    placement: tuple[int, ...]
    predicted: Described = field(metadata=documents.named("predicted_makespan_s"))
    expected_loss: float | None


@dataclass(frozen=True)
class MeasuredAgain:
    """What was measured again, and the advice before and after."""

    measured: tuple[Remeasured, ...]
    before: Standing
    after: Standing


def measure_again(
    path: str | Path,
    found: NextMeasurement,
    *,
    budget_s: float,
    folder: Path | None = None,
    command: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Remeasured, ...]:
    """Measure the sources whose measuring saves most for its time, within a budget, as they were measured before.

    The same kernel or command on the same processor up to the same size by the same campaign; what was measured before
    stays as it is. Where no measurement is expected to save anything, the source that explains most is measured.

    Raises ScenarioError if nothing is doubted, the budget is too small, or no source was measured on this machine, with
    the command that measures the first of them; CalibrationError if a run fails.

    `path`: the scenario's file, or the name of a shipped one.
    `folder`: where new models go; None: to the folder of the old ones.
    `command`: the command line that the user agrees to run: a model that names another one is not measured again.
    `tell`: called with what is about to be measured, or is not without consent, a line each.
    """
    if not found.ranked:
        raise ScenarioError(f"--measure-next: {FEW if found.doubted else NOTHING}")
    check_budget(budget_s)
    require_linux()
    data, home = _read(path)
    plans = [(one, _plan(one, data, home)) for one in found.ranked]
    here = [(one, plan) for one, plan in plans if not isinstance(plan, str)]
    if not here:
        first, fault = plans[0]
        raise ScenarioError(f"--measure-next: {fault}; measure it there: {first.command}")
    agreed = {one.source: plan for one, plan in here if plan.command in (None, command)}
    unagreed = [_unagreed(one.source, plan.command) for one, plan in here if plan.command not in (None, command)]
    if command is not None and command not in [plan.command for _, plan in here]:
        raise ScenarioError(unagreed or "--command has no effect: no model to be measured again names a command")
    if not agreed:
        raise ScenarioError(unagreed)
    for line in unagreed:
        tell(line)
    chosen = _within([one for one, _ in here if one.source in agreed], budget_s)
    whole_s = sum(one.seconds for one in chosen)
    done = []
    for one in chosen:
        share_s = budget_s * one.seconds / whole_s
        tell(f"measuring {one.source} again for {units.show_duration(share_s)}")
        done.append(_measured(one, agreed[one.source], budget_s=share_s, home=home, folder=folder))
    return tuple(done)


def check_budget(budget_s: float) -> None:
    """Refuse a time in which nothing can be measured.

    Raises ScenarioError if it is that.
    """
    if budget_s < LEAST_S:
        short = f"{units.show_duration(budget_s)} is too little to measure anything"
        raise ScenarioError(f"--measure-next: {short}; give at least {units.show_duration(LEAST_S)}")


def _unagreed(source: str, command: str | None) -> str:
    says = f"{source} says to run {command}, and a model may come from anybody"
    return f"--measure-next: {says}; if you agree, add --command {shlex.quote(command or '')}"


@dataclass(frozen=True)
class _Plan:
    """How a model was measured, and where the scenario names it."""

    model: Path
    document: Mapping[str, Any]
    command: str | None
    """The command line that it was measured with, as it runs again; None: a kernel of ours."""
    places: tuple[str, ...]


def _read(path: str | Path) -> tuple[Any, Path]:
    """What a scenario's file says, and the folder that the names in it start from."""
    template = read_template(shipped.locate(path))
    return template.document.data, template.site.named.folder


def _plan(one: Candidate, data: Any, home: Path) -> "_Plan | str":
    """How to measure a source again; or why that cannot be done here, as the beginning of a sentence."""
    if one.what != "speed":
        return f"{one.source}: only speeds are measured again by this option"
    places = tuple(_named(data, one.source))
    if not places:
        return f"the {one.source} was written by hand"
    model = home / one.source
    document = files.read_json(model)
    subject = document.get("subject")
    words = subject.get("command") if isinstance(subject, dict) else None
    texts = ["kernel"] if words is None else ["size", "volume"]
    if not (
        isinstance(subject, dict)
        and all(isinstance(subject.get(name), str) for name in texts)
        and (words is None or (isinstance(words, list) and words and all(isinstance(word, str) for word in words)))
    ):
        return f"{one.source} does not say what was run to measure it"
    machine, this = (document.get("provenance") or {}).get("machine") or {}, this_machine().to_dict()
    if any(machine.get(name) != this[name] for name in IDENTITY):
        return f"{one.source} was measured on another machine ({machine.get('host') or 'not named'})"
    if subject.get("cpu") not in [core["cpu"] for core in this["cores"]]:
        return f"{one.source} was measured on processor {subject.get('cpu')}, which this process may not use"
    return _Plan(model, document, None if words is None else shlex.join(words), places)


def _named(data: Any, model: str, path: str = "") -> Iterator[str]:
    """Paths of the fields that name a model as a speed."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key == "model" and value == model and ".speeds." in path:
                yield f"{path}.model"
            else:
                yield from _named(value, model, f"{path}.{key}" if path else str(key))
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for place, value in enumerate(data):
            yield from _named(value, model, f"{path}.{place}")


def _within(ranked: Sequence[Candidate], budget_s: float) -> list[Candidate]:
    """The first, and those after it that are worth it and for which time is left."""
    chosen, left_s = [ranked[0]], budget_s - max(LEAST_S, ranked[0].seconds)
    for one in ranked[1:]:
        if one.reduction >= WORTH and (needed_s := max(LEAST_S, one.seconds)) <= left_s:
            chosen.append(one)
            left_s -= needed_s
    return chosen


def _measured(one: Candidate, plan: _Plan, *, budget_s: float, home: Path, folder: Path | None) -> Remeasured:
    from simulator.calibration import drift_of, fit_speed, keep_speeds, kept, save_speed_model
    from simulator.calibration.bands import METHODS

    model = _free(plan.model if folder is None else folder / plan.model.name)
    store = model.with_name(f"{model.name}.partial")
    method = plan.document.get("method")
    with kept(store):
        source = _source(plan, store, budget_s)
        drift, method = drift_of(source).sd, method if method in METHODS else "adaptive"
        built = fit_speed(source, method=method, budget_s=budget_s, drift=drift)
    keep_speeds(built)
    save_speed_model(built, model)
    files.remove(store)
    name = os.path.relpath(model, home)
    changes = tuple(f"{place}={json.dumps(name)}" for place in plan.places)
    return Remeasured(one.source, str(model), built.experimental_s + built.ends_s, changes, name)


def _source(plan: _Plan, store: Path, budget_s: float) -> Any:
    """The same runs as before, up to the same size."""
    from simulator.calibration import RealSource

    subject = plan.document["subject"]
    measured = [float(point["size_elements"]) for point in plan.document.get("points", ())]
    if plan.command is not None:
        make = partial(RealSource.of_command, plan.command, size=subject["size"], volume=subject["volume"])
    else:
        together, columns = bool(subject.get("beside")), subject.get("columns")
        make = partial(RealSource.of_kernel, subject["kernel"], columns=columns, together=together)
    cap_s = min(TIME_CAP_S, CAP_SHARE * budget_s)
    return make(cpu=subject["cpu"], time_cap_s=cap_s, max_size=max(measured, default=None), store=store)


def _free(path: Path) -> Path:
    """The first of `fast-2.json`, `fast-3.json` ... that is not there."""
    number = 2
    while (found := path.with_name(next_name(path.name, number))).exists():
        number += 1
    return found


def standing(made: Recommendation, found: NextMeasurement) -> Standing:
    """What is advised and how sure that is."""
    chosen = made.configuration
    return Standing(chosen.name, chosen.partition, chosen.placement, made.predicted, found.expected_loss)


def measured_first(
    path: str | Path,
    load: Callable[[Sequence[str]], Scenario],
    ask: Callable[[Scenario], Recommendation],
    *,
    budget_s: float,
    folder: Path | None = None,
    command: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Scenario, MeasuredAgain]:
    """Advise on a scenario as it is, measure what is doubted most again, and give the scenario with what was measured.

    `load`: the scenario with some changes (`PATH=VALUE`), none at first.
    `ask`: `recommend` with what it is asked.

    Returns
    -------
    scenario, measured
        To be asked now: see `just_measured`; and what was measured, where nothing was advised afterwards yet.
    """
    check_budget(budget_s)
    scenario = load(())
    if not scenario.doubtful:
        raise ScenarioError(f"--measure-next: {NOTHING}")
    made = ask(scenario)
    _, found = next_measurement(scenario, made)
    measured = measure_again(path, found, budget_s=budget_s, folder=folder, command=command, tell=tell)
    before = standing(made, found)
    changed = load([change for one in measured for change in one.changes])
    return just_measured(changed, [one.named for one in measured]), MeasuredAgain(measured, before, before)


def just_measured(scenario: Scenario, models: Sequence[str]) -> Scenario:
    """The scenario for runs that follow at once: of what a machine drifts by until a model is used, a part is gone.

    The files keep their doubt, which holds for later; notes of the scenario say what was left out.

    `models`: names of the models' files, as the scenario has them.
    """
    pes = []
    for pe in scenario.platform.pes:
        fresh = {kernel: _fresh(band) for kernel, band in pe.speeds.items() if band.source in models}
        pes.append(replace(pe, speeds={**pe.speeds, **fresh}) if fresh else pe)
    notes = [f"{name} was measured just now: its drift counts for {1 - GONE:.0%} of its variance" for name in models]
    platform = replace(scenario.platform, pes=tuple(pes))
    return replace(scenario, platform=platform, notes=(*scenario.notes, *notes))


def _fresh(band: SpeedBand) -> SpeedBand:
    if band.doubt is None or "drift" not in band.doubt.sources:
        return band
    shares = band.doubt.sources
    kept = {cause: share * (1 - GONE if cause == "drift" else 1) for cause, share in shares.items()}
    left = sum(kept.values()) / sum(shares.values())
    sources = {cause: share / sum(kept.values()) for cause, share in kept.items()}
    return replace(band, doubt=replace(band.doubt.widened(math.sqrt(left)), sources=sources))

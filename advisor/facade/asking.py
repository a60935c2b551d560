"""What programs of users call: a path, a shipped name or a scenario goes in, a result that shows itself comes out."""

import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from advisor.advise.advice import advice_of
from advisor.advise.export import export_files
from advisor.advise.objectives import Objective
from advisor.advise.recommendation import Recommendation, recommend
from advisor.advise.strategies import vary_of
from advisor.cluster import PROGRAMS, ClusterWish, measure_here
from advisor.facade.kept import kept_in
from advisor.report import simulation
from advisor.report.advice import page_of_advice, save_advice
from advisor.report.html import render_page
from advisor.report.verification import verification_page
from advisor.report.whatif import whatif_page
from advisor.verification.asking import plan_verification
from advisor.verification.check import Verified
from advisor.verification.check import verify as run_plan
from advisor.whatif.asking import WhatIf, varied
from advisor.whatif.asking import what_if as vary_scenario
from simulator import (
    RunSet,
    Scenario,
    ScenarioError,
    documents,
    files,
    given,
    intervals,
    load_scenario,
    reaching,
    run,
    save_scenario,
    shipped,
    units,
)

Asked = Scenario | str | Path
"""A scenario, its file, or the name of one that ships with apportion."""
ENGINES = ("auto", "process", "compiled")
LEAST_BUDGET_S = 20.0
"""Of measuring."""


def load(what: Asked, *, changes: str | Sequence[str] | Mapping[str, object] = ()) -> Scenario:
    """The scenario of a file, of a results folder, or of a shipped name such as `two-cores`.

    >>> load("two-cores")
    Scenario(matmul on 2 PEs, 2 configurations, 200 replications, seed 7)
    >>> load("two-cores", changes={"replications": 50}).replications
    50

    Raises ScenarioError with a line per fault: where, what, and what to do.

    `changes`: fields to set in place of what the file says: `{"replications": 50}`, or `["replications=50"]`.
    """
    if isinstance(what, Scenario):
        if changes:
            raise ScenarioError("load: changes are made to files; of a scenario use what_if, or dataclasses.replace")
        return what
    path = _file_of(what)
    if isinstance(changes, Mapping):
        changes = [f"{field}={json.dumps(given.plain(value))}" for field, value in changes.items()]
    return load_scenario(path, changes=(changes,) if isinstance(changes, str) else tuple(changes))


def save(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario as a file that `load` and every command read, and a run-time model as `model.json` beside it.

    Raises ScenarioError if it holds what no file can: a program written by hand, or costs of your own.
    """
    given.check_is(scenario, Scenario, where="save: scenario", give="a Scenario")
    save_scenario(scenario, Path(path))


def simulate(
    what: Asked,
    *,
    replications: int | None = None,
    seed: int | None = None,
    engine: str = "auto",
    timelines: int = 0,
    folder: str | Path | None = None,
) -> RunSet:
    """Simulate every configuration of a scenario on the same draws.

    >>> print(simulate("two-cores"))
    two-to-one: 459 ms (447 to 474)
    equal: 688 ms (659 to 715)
    90 % intervals of the true mean: noise and what is not known of the models included; 20 truths x 10 replications

    Raises ScenarioError if the scenario cannot be used.

    `replications`, `seed`: in place of the scenario's own.
    `engine`: `auto`, `process` or `compiled`; results are the same.
    `timelines`: how many replications keep their operations, for `runs.timeline(...)`.
    `folder`: where tables, pictures and a report go, which `apportion rerun` makes again.
    """
    given.check_choice(engine, ENGINES, where="simulate: engine")
    scenario = load(what)
    if not scenario.configurations:
        example = "Scenario(platform, application, {'as-now': 'one-per-core'})"
        raise ScenarioError(
            f"simulate: the scenario has no configurations; give some, such as {example}, or ask advise"
        )
    count, seed = _count(replications, "simulate: replications", least=1), _count(seed, "simulate: seed")
    with kept_in(folder, "simulate", _whole(what), replications=count, seed=seed) as (place, _):
        logged = max(timelines, int(place is not None))
        made = run(scenario, replications=count, seed=seed, engine=engine, log_replications=logged)  # type: ignore[arg-type] # checked above
        runs = reaching(scenario, made)
        if place is not None:
            found = simulation.simulation_of(scenario, runs, level=intervals.LEVEL)
            page = simulation.page_of_runs(scenario, runs, found, (), drawn=True)
            simulation.save_simulation(scenario, runs, place, found, page, "csv")
    return runs


def advise(  # noqa: PLR0913 - all by name
    what: Asked,
    *,
    objective: Objective = "mean",
    vary: Sequence[str] | str | None = None,
    strategies: Sequence[Callable[[Scenario], Sequence[int]]] = (),
    budget: str | float | None = None,
    replications: int | None = None,
    seed: int | None = None,
    level: float = intervals.LEVEL,
    folder: str | Path | None = None,
) -> Recommendation:
    """Find who should get how much: PEs, processes on each and units of each.

    >>> print(advise("two-cores"))
    Give 1783 rows to core0 and 721 to core1: 1.60 (1.55 to 1.66) times faster than the equal split, a tie with ...
    Predicted makespan: mean 429 ms (421 to 437), stepped; equal: 688 ms (659 to 715).

    Raises ScenarioError if the scenario cannot be used.

    `objective`: what is to be least: `mean`, `p95`, `worst`, `cost` or `energy`.
    `vary`: of `partition`, `allocation` and `scheduling`; by default the first two, if the application allows it, and
    so with `scheduling` alone.
    `strategies`: partitioners of your own, functions of a scenario that return units for each PE or each core: compared
    with all others, each by the name of its function.
    `budget`: what the search may take, `"20s"` or a number of seconds; without one it ends by itself.
    `replications`, `seed`: in place of the scenario's own.
    `level`: how often stated intervals hold.
    `folder`: where host files, the advice and a report go, which `apportion rerun` makes again.
    """
    given.check_choice(objective, get_args(Objective), where="advise: objective")
    words = vary.split(",") if isinstance(vary, str) else list(vary or ())
    scenario = load(what)
    varied = vary_of(words, scenario, where="advise: vary")
    drawn = partial(
        recommend,
        replications=_count(replications, "advise: replications", least=1),
        seed=_count(seed, "advise: seed"),
        level=_level(level, "advise: level"),
    )
    budget_s = None if budget is None else _budget(budget, "advise: budget")
    stated = {"objective": objective, "vary": ",".join(words) or None, "budget": budget_s and f"{budget_s:g}s"}
    whole = _whole(what)
    if strategies:
        whole = scenario = _with_strategies(scenario, strategies)
    with kept_in(folder, "advise", whole, **drawn.keywords, **stated) as (place, _):
        found = drawn(scenario, objective=objective, vary=varied, budget_s=budget_s)
        if place is not None:
            exports = tuple(export_files(scenario, found.configuration))
            advice = advice_of(scenario, found, exports=exports)
            page = page_of_advice(advice, scenario, found, (), drawn=True)
            save_advice(place, None, advice, page, scenario, found)
    return found


def what_if(  # noqa: PLR0913 - all by name
    what: Asked,
    vary: Mapping[str, str | Iterable[object]] | None = None,
    *,
    buy: Mapping[str, float] | str | None = None,
    advise: bool | None = None,
    zipped: bool = False,
    budget: str | float | None = None,
    replications: int | None = None,
    seed: int | None = None,
    level: float = intervals.LEVEL,
    folder: str | Path | None = None,
    workers: int = 0,
) -> WhatIf:
    """Change fields of a scenario, simulate every point on the same draws, and say which change pays most.

    >>> what_if("three-pes", {"platform.link.bandwidth": ["x1", "x4"]}, replications=20).findings["pays_most"]
    2

    Raises ScenarioError if the scenario cannot be used, or a path leads nowhere.

    `vary`: path of a field of the scenario's file -> its values; all combinations, or side by side (`zipped`).
    `buy`: in its place purchases with their prices, `{"new: 1": 8000, "25GbE": 3000}`: which pays most per price.
    `advise`: whether the work is divided again at each point, or as the scenario's configurations say; None: again
    where the platform changes by more than its loads.
    `budget`: what all points may take together, `"60s"` or a number of seconds: equal runs for each.
    `folder`: where every point is kept as it is found, with their table and a report; `apportion rerun` makes it again.
    `workers`: processes that answer; 0 for this one.
    """
    example = "paths with their values, such as {'platform.link.bandwidth': ['x1', 'x2']}"
    if isinstance(buy, Mapping):
        buy = ", ".join(f"{name} at {price}" for name, price in buy.items())
    if buy is not None and vary is not None:
        raise ScenarioError("what_if: buy looks at each purchase alone; leave vary out")
    vary = {} if vary is None and buy is not None else vary
    given.check_is(vary, Mapping, where="what_if: vary", give=example)
    for path, values in (vary or {}).items():
        where = f"what_if: vary: {path}"
        given.check_is(values, Iterable, where=where, give="a list of values, such as ['x1', 'x2']")
    asked = partial(
        vary_scenario,
        buy=buy,
        advise=advise,
        zipped=zipped,
        replications=_count(replications, "what_if: replications", least=1),
        seed=_count(seed, "what_if: seed"),
        level=_level(level, "what_if: level"),
    )
    given.whole(workers, where="what_if: workers", least=0)
    texts = [f"{one.path}={','.join(one.values)}" for one in varied(vary)] if buy is None and vary is not None else None
    budget_s = None if budget is None else _budget(budget, "what_if: budget")
    with kept_in(folder, "whatif", _whole(what), vary=texts, budget=budget_s, **asked.keywords) as (place, whole):
        found = asked(whole, vary or {}, folder=place, workers=workers, budget_s=budget_s)
        if place is not None:
            files.write_text(place / "report.html", render_page(whatif_page(found.found, ())))
    return found


def verify(
    what: Asked,
    advice: Recommendation | None = None,
    *,
    command: Sequence[str] | None = None,
    budget: str | float = "60s",
    dynamic: bool = False,
    seed: int | None = None,
    level: float = intervals.LEVEL,
    folder: str | Path | None = None,
) -> Verified:
    """Really run the recommended configuration and the others on this machine, and compare with the prediction.

    Raises ScenarioError if it cannot be run here, or the budget is too small; CalibrationError if a run fails.

    `advice`: of that scenario; looked for if there is none.
    `command`: words of what each process runs in the place of our own program: `["./mine", "{units}", "{rank}"]`.
    `budget`: about how long it may take: `"60s"`, or a number of seconds.
    `dynamic`: also let units move while it runs.
    `seed`, `level`: in place of the scenario's own; how often stated intervals hold.
    `folder`: where the result and a report go, which `apportion rerun` makes again.
    """
    if advice is not None:
        give = "what advise(...) found, or leave it out"
        given.check_is(advice, Recommendation, where="verify: advice", give=give)
    budget_s = _budget(budget, "verify: budget")
    seed, level = _count(seed, "verify: seed"), _level(level, "verify: level")
    asked = partial(plan_verification, seed=seed, level=level, dynamic=dynamic)
    whole = what if isinstance(what, Scenario) else _path_of(what)
    words = None if command is None else shlex.join(command)
    with kept_in(folder, "verify", whole, **asked.keywords, command=words, budget=f"{budget_s:g}s") as (place, _):
        plan = asked(whole, advice, command=command, budget_s=budget_s)
        found = run_plan(plan, kept=None, on_progress=lambda _found, _share: None)
        if place is not None:
            files.write_json(place / "verification.json", documents.to_dict(found))
            files.write_text(place / "report.html", render_page(verification_page(found)))
    return found


def measure(
    kernel: str = "dgemm",
    *,
    parameters: Mapping[str, int] | None = None,
    command: Sequence[str] | None = None,
    budget: str | float = "60s",
    folder: str | Path | None = None,
    seed: int = 0,
) -> Scenario:
    """Measure this machine: speeds of its PEs, messages, what PEs lose to each other; a scenario ready for `advise`.

    Raises ScenarioError if there is no such kernel, or the budget is too small; CalibrationError if a run fails.

    `kernel`: `dgemm` or `matmul` (a matrix product), or `stencil`.
    `parameters`: of the application, such as `{"n": 4000}`; with a command `{"units": N}`, all that there is to do.
    `command`: words of your own program in the place of the kernel, with `{units}` in one of them.
    `budget`: what measuring may take: `"60s"`, or a number of seconds.
    `folder`: keeps every measured point; the same call on it goes on where it was broken off.
    `seed`: of the order of measurements and of all draws.
    """
    words, budget_s = tuple(command or ()), _budget(budget, "measure: budget")
    asked = {name: given.plain(value) for name, value in (parameters or {}).items()}
    if not words:
        given.check_choice(kernel, PROGRAMS, where="measure: kernel")
    elif "units" not in asked:
        raise ScenarioError("measure: parameters: a command needs all that there is to do; give {'units': 100000}")
    if budget_s < LEAST_BUDGET_S:
        found = f"{given.shown(budget)} is too short to measure speeds and messages"
        raise ScenarioError(f"measure: budget: {found}; give {LEAST_BUDGET_S:g}s or more")
    wish = ClusterWish(kernel, words, asked, budget_s, given.whole(seed, where="measure: seed", least=0))
    return measure_here(wish, None if folder is None else Path(folder))


def _whole(what: Asked) -> Scenario | Path:
    """A scenario as it is, or its file."""
    return what if isinstance(what, Scenario) else _file_of(what)


def _with_strategies(scenario: Scenario, strategies: object) -> Scenario:
    """The scenario with what partitioners of the user's own make of it, as configurations."""
    give = "functions of a scenario that return units, such as [by_peak]"
    found = dict[str, object]()
    for own in given.several(strategies, where="advise: strategies", give=give):
        name = getattr(own, "__name__", "<")
        if not callable(own) or name.startswith("<"):
            raise ScenarioError(f"advise: strategies: one is {given.shown(own)} without a name; give {give}")
        given.check_once(name, found, where="advise: strategies")
        found[name] = own(scenario)
    made = replace(scenario, configurations=found)  # type: ignore[arg-type] # units by name are made configurations
    for one in made.configurations:
        scenario.program(one)  # refuses units that are not all that there is to do
    return scenario.with_configurations((*scenario.configurations, *made.configurations))


def _path_of(what: object) -> Path:
    """A path; anything else is no scenario."""
    if not isinstance(what, str | os.PathLike):
        made = "a file, a shipped name such as 'two-cores', or a Scenario(platform, application)"
        raise ScenarioError(f"a scenario is asked for, and this is {given.shown(what)}; give {made}")
    return Path(what)


def _file_of(what: object) -> Path:
    """A scenario's file, also that of a results folder."""
    path = _path_of(what)
    path = path / "scenario.yaml" if path.is_dir() else path
    if not shipped.locate(path).exists():
        raise ScenarioError(f"{path}: no such file; give a scenario's file, or the name of one that ships: two-cores")
    return path


def _budget(value: object, where: str) -> float:
    return given.quantity(value, units.DURATION, where=where, example="'30s' or a number of seconds")


def _count(value: object, where: str, *, least: int = 0) -> int | None:
    return None if value is None else given.whole(value, where=where, least=least)


def _level(value: Any, where: str) -> float:
    number = given.quantity(value, units.SHARE, where=where, example="0.9 or '90%'")
    if number >= 1:
        raise ScenarioError(f"{where}: it is {given.shown(value)}; give a share below 1, such as 0.9 or '90%'")
    return number

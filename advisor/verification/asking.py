"""What to run for real, so that an advice is put to the test: the recommended configuration and the others."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from advisor.advise.advice import read_advice
from advisor.advise.recommendation import Recommendation, recommend
from advisor.advise.scheduling import FARM
from advisor.advise.spending import Tell
from advisor.advise.strategies import strategies, usual_vary
from advisor.verification.check import VerifyPlan, lacks_here
from simulator import Scenario, ScenarioError, files, intervals, load_scenario, require_linux

ADVICE = "advice.json"
WANTED = "name a scenario, or a folder that `apportion advise -o FOLDER` wrote"


def plan_verification(
    what: Scenario | str | Path,
    recommendation: Recommendation | None = None,
    *,
    command: Sequence[str] | None = None,
    budget_s: float = 60.0,
    seed: int | None = None,
    level: float = intervals.LEVEL,
    dynamic: bool = False,
    tell: Tell | None = None,
) -> VerifyPlan:
    """What to run, each configuration once, checked before anything is started.

    `budget_s`: of the real runs; a search before them takes at most as long.
    `tell`: a callback for how far that search is.
    """
    require_linux()
    words = None if command is None else tuple(command)
    search = partial(recommend, seed=seed, budget_s=budget_s, tell=tell)
    if dynamic:
        scenario, recommended, also = _with_dynamic(what, search, words)
    else:
        scenario, recommended, also = _asked(what, recommendation, search, words)
    asked = scenario.with_draws(None, seed)
    plan = VerifyPlan(asked, recommended, words, budget_s, also, level)
    plan.check()
    return plan


def _with_dynamic(
    what: Scenario | str | Path, search: Callable[..., Recommendation], command: Sequence[str] | None
) -> tuple[Scenario, str, dict[str, str]]:
    """Equal parts, the best static partition and the best one whose units move; see `_asked`."""
    if command is not None:
        raise ScenarioError("--dynamic: units of a command do not move while it runs; leave --command out")
    if not isinstance(what, Scenario):
        check_document(Path(what))
        what = load_scenario(Path(what) / "scenario.yaml" if Path(what).is_dir() else what)
    if what.application.name == FARM:
        said = "processes of a farm pull their units, which is no configuration; leave --dynamic out"
        raise ScenarioError(f"--dynamic: {said}")
    if faults := lacks_here(what):
        raise ScenarioError(faults)
    made = search(what, vary=(*usual_vary(what), "scheduling"))
    if made.scheduling is None:
        raise TypeError("it was asked for")
    names = ("equal", made.scheduling.static, made.scheduling.dynamic, made.configuration.name)
    kept = tuple(one for one in made.candidates if one.name in names)
    also = {name: same for name, same in made.strategies.also.items() if same in names}
    return what.with_configurations(kept), made.configuration.name, also


def check_document(path: Path) -> None:
    """Refuse folders and JSON documents that are neither an advice nor a scenario, in one sentence.

    Raises ScenarioError with what it is.
    """
    advised = path / ADVICE if path.is_dir() else None
    if advised is not None and not advised.exists():
        scenario = f"; {path / 'scenario.yaml'} there can be" if (path / "scenario.yaml").exists() else ""
        raise ScenarioError(f"{path}: no advice is in this folder, so it cannot be verified; {WANTED}{scenario}")
    if advised is None and not (path.suffix.lower() == ".json" and path.is_file()):
        return
    place = advised or path
    document = files.read_json(place)
    if not isinstance(document, dict):
        kind = "list" if isinstance(document, list) else "value"
        raise ScenarioError(f"{place}: this is a JSON {kind}, no advice and no scenario; {WANTED}")
    made = document.get("command") or document.get("kind")
    if advised is None and made is None and "platform" in document:
        return  # a scenario, whose reader says what is wrong with it
    if made != "advise":
        said = f"a result of {made!r}" if isinstance(made, str) else "no advice"
        raise ScenarioError(f"{place}: this is {said}, which cannot be verified; {WANTED}")
    if advised is None:
        raise ScenarioError(f"{place}: this is an advice without its scenario; {WANTED}")
    read_advice(document, place)


def _asked(
    what: Scenario | str | Path,
    made: Recommendation | None,
    search: Callable[..., Recommendation],
    command: Sequence[str] | None,
) -> tuple[Scenario, str, dict[str, str]]:
    """The scenario with the configurations to run, each once, the name of the recommended one, and further names."""
    if not isinstance(what, Scenario):
        check_document(Path(what))
    if not isinstance(what, Scenario) and Path(what).is_dir():
        advice = read_advice(files.read_json(Path(what) / ADVICE), Path(what) / ADVICE)
        recommended = advice.compared.recommended
        also = {one.name: one.same_as for one in advice.compared.baselines if one.same_as}
        scenario = load_scenario(Path(what) / "scenario.yaml")
    else:
        scenario = what if isinstance(what, Scenario) else load_scenario(what)
        if faults := lacks_here(scenario, command):
            raise ScenarioError(faults)  # now, not after the search
        made = made or search(scenario)
        scenario = scenario.with_configurations(made.candidates)
        recommended, also = made.configuration.name, dict(made.strategies.also)
    best = [configuration for configuration in scenario.configurations if configuration.name == recommended]
    if not best:
        where = "the recommendation" if isinstance(what, Scenario) else Path(what) / ADVICE
        raise ScenarioError(f"{where} recommends {recommended!r}, which is no configuration of its scenario")
    different = strategies(scenario, (*best, *scenario.configurations))  # each once, the best one under its name
    in_order = tuple(one for one in scenario.configurations if one in different.candidates)
    return scenario.with_configurations(in_order), best[0].name, {**also, **different.also}

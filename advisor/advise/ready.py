"""What a scenario lacks for an advice though its own configurations can be simulated; one sentence each."""

from collections.abc import Callable, Sequence
from functools import partial

from advisor.advise.export.layout import check_hosts_of
from simulator import AS_NOW, Configuration, Scenario, ScenarioError, partitions

CANDIDATES = 4
"""Configurations that are compared at the least, for what memory of this machine that takes."""


def check_ready(scenario: Scenario) -> None:
    """Refuse, before anything is searched, a scenario that no advice can be found for.

    Raises ScenarioError with one line per fault.
    """
    if faults := lacks(scenario):
        raise ScenarioError(faults)


def lacks(scenario: Scenario) -> list[str]:
    """What an advice needs and a scenario does not have; one sentence each.

    That memory holds something needs no question here: where it holds a configuration of the scenario, that is one of
    the candidates.
    """
    if lacking := scenario.platform.without_speed(scenario.application.kernel):
        return [f"platform: {lacking}; an advice compares all PEs, so each needs one"]
    checks = (_check_as_now, _check_one_on_each, partial(Scenario.check_memory_needed, candidates=CANDIDATES))
    return [line for check in checks for line in _lines(check, scenario)]


def lacks_for_launchers(scenario: Scenario) -> list[str]:
    """What host files need for an advice that is written, and a scenario does not have."""
    return list(_lines(check_hosts_of, scenario))


def _lines(check: Callable[[Scenario], None], scenario: Scenario) -> Sequence[str]:
    try:
        check(scenario)
    except ScenarioError as error:
        return error.lines
    return ()


def _check_as_now(scenario: Scenario) -> None:
    """What runs today has to fit: gains are counted from it."""
    for one in scenario.configurations:
        if one.name == AS_NOW:
            scenario.check_memory(one)


def _check_one_on_each(scenario: Scenario) -> None:
    """One process on each PE has to run, and to reach the others: it is the first thing that is compared."""
    work, pes = scenario.application.work, len(scenario.platform.at_once)
    if work.by_rank:
        at_once = scenario.platform.at_once
        placed = tuple(at_once[rank % pes] for rank in range(work.units))
        scenario.check_routes(Configuration("advice", (1,) * work.units, placed))
        return
    begins = f"an advice begins with one process on each of the {pes} PEs"
    try:
        scenario.check_routes(partitions.on_each("advice", "equal", scenario))
    except ScenarioError as error:
        said = [line.removeprefix("configuration advice: partition: ") for line in error.lines]
        raise ScenarioError([f"{begins}: {line}" for line in said]) from None

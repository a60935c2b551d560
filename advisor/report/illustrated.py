"""What a page shows beyond what `--json` prints: timelines, who gets how much, the scenario's text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.advise.export import commands, layout_of
from advisor.report.timelines import BAD, Timeline, TooLong, replication_near, timelines
from simulator import (
    RunSet,
    Scenario,
    Share,
    dump_scenario,
    shares_of,
)

MOST_TIMELINES = 4
MOST_SCENARIO = 60_000
"""Characters of the scenario that are shown."""
_LONG_LIST = re.compile(r"\[([^\[\]{}]{400,})\]")
"""Of plain values, traces for instance."""


@dataclass(frozen=True)
class Illustration:
    """What a page shows of a scenario that was simulated."""

    timelines: tuple[Timeline | TooLong, ...] = ()
    scenario_text: str = ""
    shares: tuple[Share, ...] = ()
    """What each PE gets, and what it can do."""
    launches: str = ""
    """How the exports of an advice are used: `commands.txt`."""
    bad: Timeline | TooLong | None = None
    """A slow run of the first configuration."""


NOTHING = Illustration()
"""Of a document alone."""


def illustration(
    scenario: Scenario,
    runs: RunSet,
    names: Sequence[str],
    *,
    before: str = "",
    launched: bool = False,
    drawn: bool = True,
) -> Illustration:
    """Timelines and text of a scenario.

    `scenario`: with the configurations.
    `runs`: of it.
    `names`: configurations whose timelines are shown, the one to show first in front; `MOST_TIMELINES` at most. The
    replication is the one nearest the median of the first.
    `before`: what the first one is compared with: what runs now.
    `launched`: whether host files and the like were written for the first one.
    `drawn`: whether all of it is shown, or only what each PE gets is told.
    """
    named, shown = {one.name: one for one in scenario.configurations}, list(dict.fromkeys(names))[:MOST_TIMELINES]
    if not drawn:
        return Illustration(shares=shares_of(scenario, None, named[shown[0]]))
    replication, slow = (replication_near(runs, shown[0], share) for share in (0.5, BAD))
    model = None if scenario.application.model is None else "model.json"
    text = _LONG_LIST.sub(_shortened, dump_scenario(scenario, model=model))
    return Illustration(
        timelines(scenario, runs, shown, replication=replication),
        text if len(text) <= MOST_SCENARIO else "",
        shares_of(scenario, named.get(before), named[shown[0]]),
        commands(layout_of(scenario, named[shown[0]])) if launched else "",
        None if slow == replication else timelines(scenario, runs, shown[:1], replication=slow)[0],
    )


def _shortened(found: re.Match[str]) -> str:
    """A long list by its ends."""
    values = [value.strip() for value in found[1].split(",")]
    return f"[{', '.join(values[:4])}, ... {len(values) - 5} more ..., {values[-1]}]"

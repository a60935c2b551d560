"""What-ifs in one call: `what_if` plans the points, has them answered, and finds what pays."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor import wording
from advisor.whatif.advised import asking
from advisor.whatif.budget import Allowed, allowed, begun_in
from advisor.whatif.findings import Findings
from advisor.whatif.judging import findings_of
from advisor.whatif.purchases import read_purchases
from simulator import (
    Scenario,
    ScenarioError,
    documents,
    given,
    in_time,
    intervals,
    may_compile,
    notebook,
    plots,
    read_template,
    shipped,
    template_of,
    whatif,
)
from simulator.experiments.sweep import Plan, Swept, Where, local, make_plan, sweep

if TYPE_CHECKING:
    import pandas as pd

Values = str | Iterable[object]
"""Values of a field: a list of them, or a text as `--vary` takes it, such as `x1,x2` or `0..8`."""
_LOADS = re.compile(r"\.(load|loads)(\.|$)")


@dataclass(frozen=True)
class WhatIf:
    """What `what_if` found: every point, and the findings."""

    swept: Swept
    found: Findings

    @cached_property
    def findings(self) -> dict[str, Any]:
        """What `apportion whatif --json` prints: `sentence`, `points`, `pays_most` and more; plain data."""
        return dict(documents.to_dict(self.found))

    @property
    def sentence(self) -> str:
        """The answer."""
        return self.found.sentence

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per point and configuration, with every parameter and the seed, as in `points.csv`."""
        import pandas as pd

        return pd.DataFrame(list(self.swept.rows))

    def __repr__(self) -> str:
        return f"WhatIf({len(self.swept.plan.points)} points, {len(self.swept.failed)} failed: {self.sentence})"

    def __str__(self) -> str:
        """The answer in a sentence, and what its intervals are."""
        return "\n".join(line for line in (self.sentence, wording.interval_line(self.found.drawn)) if line)

    def _repr_html_(self) -> str:
        found, rows = self.found, []
        for point in found.points[: notebook.MOST_ROWS]:
            best, named = point.own, ", ".join(point.set) or "as it is"
            rows.append(
                {
                    "point": named,
                    "best": point.best,
                    "makespan": None if best is None else wording.with_interval(best.makespan_s),
                    "times as fast": None if point.gain is None else wording.with_interval(point.gain, ""),
                    "failed": point.error,
                }
            )
        table, chart = notebook.table(rows, count=len(found.points)), gains_of(found).svg()
        lines = [line] if (line := wording.interval_line(found.drawn)) else []
        return notebook.page(self.sentence, table, chart, warnings=[*lines, *found.warnings])


def gains_of(found: Findings) -> plots.Drawing:
    """How many times as fast each point is."""
    rows = [plots.Apart.of(", ".join(one.set), one.gain, one.together) for one in found.points if one.set]
    return plots.gains(rows, level=found.drawn.level)


def what_if(  # noqa: PLR0913 - one per option of the command line
    scenario: Scenario | str | Path,
    vary: Mapping[str, Values],
    *,
    buy: str | None = None,
    zipped: bool = False,
    advise: bool | None = None,
    replications: int | None = None,
    budget_s: float | None = None,
    seed: int | None = None,
    level: float = intervals.LEVEL,
    workers: int = 0,
    where: Where | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> WhatIf:
    """Change fields of a scenario, simulate every point on the same draws, and say which change pays most.

    >>> what_if("three-pes", {"platform.link.bandwidth": ["x1", "x4"]}, replications=20).findings["pays_most"]
    2

    Arguments are those of `apportion.what_if`; `buy` is a text as `--buy` takes it, `budget_s` a number of seconds.

    `where`: workers of Dask in the place of processes: `partial(simulator.experiments.sweep.existing, "tcp://host:8786")`.
    `folder`, `resume`: where results are kept as they are found, and whether to go on with those there.
    `progress`: called with how many points are done, of how many.

    Raises ScenarioError if the scenario is wrong, a path leads nowhere, or the folder holds other results; a value that
    breaks a point is that point's affair: `findings` names it.
    """
    changes = varied(vary) if buy is None else ()
    asked = partial(plan_whatif, scenario, changes, buy=buy, zipped=zipped, advise=advise, seed=seed, level=level)

    def planned(of: Allowed | None) -> Plan:
        return asked(replications=replications) if of is None else asked(replications=of.replications, runs=of.runs)

    plan = planned(None)
    with in_time(budget_s):
        workers = min(workers, len(plan.points)) if may_compile() else 0
        if where is None and workers > 0:
            where = partial(local, workers)
        if budget_s is not None:
            of = begun_in(Path(folder)) if resume and folder else None
            plan = planned(of or allowed(planned, budget_s, where=where, workers=workers))
        swept = sweep(plan, where, folder=None if folder is None else Path(folder), resume=resume, progress=progress)
    return WhatIf(swept, findings_of(swept, buy))


def varied(vary: Mapping[str, Values]) -> tuple[whatif.Varied, ...]:
    """Paths and values as points are made of them; see `what_if`.

    Raises ScenarioError if there is none, or a text of values cannot be read.
    """
    if not vary:
        raise ScenarioError("vary: nothing is to vary; name at least one path with its values")
    found = []
    for path, values in vary.items():
        if isinstance(values, str):
            found.append(whatif.read_varied(f"{path}={values}"))
            continue
        texts = tuple(value if isinstance(value, str) else json.dumps(given.plain(value)) for value in values)
        if not texts:
            raise ScenarioError(f"vary: {path} has no value; give at least one")
        whatif.read_varied(f"{path}=0")  # refuses paths that may not vary
        found.append(whatif.Varied(path, texts))
    return tuple(found)


def plan_whatif(  # noqa: PLR0913 - all by name
    scenario: Scenario | str | Path,
    varied: Sequence[whatif.Varied],
    *,
    buy: str | None = None,
    zipped: bool = False,
    advise: bool | None = None,
    replications: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
    level: float = intervals.LEVEL,
    here: bool = True,
) -> Plan:
    """The points of a what-if; see `what_if`."""
    template = template_of(scenario) if isinstance(scenario, Scenario) else read_template(shipped.locate(scenario))
    path = template.document.path
    if buy is None:
        points = whatif.points(varied, zipped=zipped)
    else:
        points = tuple((one.change,) for one in read_purchases(buy, template.document.data))
    if advise is None:
        advise = any(_other_platform(change.partition("=")[0]) for point in points for change in point)
    if advise:
        template = template.as_now()
    try:
        whatif.check_paths(template, points, oversized=advise)
        return make_plan(
            path,
            points,
            ask=asking(runs, advise=advise),
            replications=replications,
            seed=seed,
            level=level,
            oversized=advise,
            template=template,
            here=here,
        )
    except ScenarioError as error:
        if buy is None:
            raise
        raise ScenarioError([line.replace("--vary ", "--buy ", 1) for line in error.lines]) from None


def _other_platform(path: str) -> bool:
    """Whether a change is one of the machines, for which nobody keeps a partition made for others."""
    return path.startswith("platform.") and _LOADS.search(path) is None

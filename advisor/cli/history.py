"""`apportion lab history`: how well predictions held on this machine, and runs over a grid that are kept."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from advisor.cli.declared import only_with, only_without, option
from advisor.cli.models import lines
from advisor.cli.options import LEVEL, VERSION, Level
from advisor.cli.outputs import show
from simulator import ScenarioError, calibration, documents

if TYPE_CHECKING:
    from simulator.calibration import RunRecord

HISTORY = Path("apportion-history.sqlite")
RECORDED = only_with("grid")


@dataclass(frozen=True)
class Recorded:
    """What is run here over a grid, and kept."""

    grid: list[str] | None = option(
        "Run every combination here, and keep the times. Repeatable.", metavar="NAME=V:V,..."
    )
    command: str | None = option("A command line with {NAME} where a parameter goes; run without a shell.", RECORDED)
    name: str | None = option("Application that the runs are kept as; the program's name by default.", RECORDED)
    budget: str = option("Time after which no run goes on, for example 60s or 5min.", RECORDED, default="60s")
    repetitions: int = option("Runs of each combination.", RECORDED, default=3)
    version: Annotated[str, VERSION, RECORDED] = ""
    kept: Path = option("The run history (SQLite).", RECORDED, default=HISTORY, names=("--history",))


def history(recorded: Recorded, level: Annotated[Level, only_without("grid")] = LEVEL) -> None:
    """How often stated intervals held on this machine, by kind of prediction and model, and what is learnt of it.

    Each `verify` is kept, and each `fit --run` with a model. Where intervals held too seldom, a factor widens those
    of models made later; residuals of one sign are named with the cause that they suggest, and widen nothing.

    With --grid a command is run here over a grid of parameters, and each run's time is kept. A program may print
    a JSON object as its last line; each NAME_s in it is the time of a part, and total_s that of the run. Examples:

    apportion lab history --level 0.9

    apportion lab history --command './stencil {N} {P}' --grid N=1000:2000,P=1:2 --budget 2min
    """
    if recorded.grid is None:
        _coverage(level)
        return
    if recorded.command is None:
        raise ScenarioError("--grid needs --command: give the command line to run")
    points, kept = calibration.parse_grid(",".join(recorded.grid)), recorded.kept
    about: Any = {name: getattr(recorded, name) for name in ("budget", "name", "repetitions")}
    plan = calibration.make_plan(recorded.command, points, **about)
    done = []

    def keep(run: "RunRecord") -> None:
        done.append(run)
        where = " ".join(f"{name}={value:g}" for name, value in run.parameters.items())
        print(f"{plan.application} {where}: {run.times_s['total']:.4g} s", file=sys.stderr)
        calibration.add_runs(kept, [run])

    left_out = calibration.record_runs(plan, keep, version=recorded.version)
    document = {"history": str(kept), "added": len(done), "left_out": left_out}
    show(document, [lines(*left_out, f"{len(done)} runs added to {kept}")])


def _coverage(level: float) -> None:
    from advisor import wording

    found, place = calibration.coverage(calibration.kept_comparisons(), level=level), calibration.state_file()
    said = [f"{found.comparisons} comparisons of this machine are kept in {place}"]
    note = wording.HELD_NOTE if found.comparisons else None
    if not found.comparisons:
        said = ["no prediction was compared with real runs on this machine yet; `apportion verify SCENARIO` does it"]
    shown = [
        lines(*(line for group in found.groups for line in _group(group, found.level)), *_kinds(found), note, *said)
    ]
    show(documents.to_dict(found) | {"kept_in": None if place is None else str(place)}, shown)


def _group(group: Any, level: float) -> list[str]:
    """How often intervals of one subject held, and what is learnt of that."""
    from advisor import wording

    model, version = group.model or "written in the scenario", group.version.partition(":")[2][:8]
    sittings = wording.counted(group.seen.sittings, "sitting")
    found = [f"{group.kind} {group.subject}, model {model} ({version}): {group.seen.cases} cases in {sittings}"]
    found += [f"  {line}" for line in wording.held_lines(group.seen, level) or ["no interval was stated"]]
    if group.seen.busy:
        found.append(
            f"  {group.seen.busy} of them while other programs ran there: counted, but nothing is learnt of these"
        )
    if group.seen.held:
        learnt = f"; {group.learnt:.2f} is in it" if group.learnt > 1 else ""
        found.append(f"  factor to widen by: {group.factor:.2f}{learnt}")
    return [*found, *([f"  bias: {group.bias.text}"] if group.bias else [])]


def _kinds(found: "calibration.History") -> list[str]:
    from advisor import wording

    held = ((kind.kind, wording.held_lines(kind.seen, found.level)) for kind in found.kinds)
    return [f"all {kind} predictions: {line}" for kind, own in held for line in own]

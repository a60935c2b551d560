"""Figures for papers: those of the page of a result, of a model or of a load trace, and the file of one."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simulator
from advisor.advise.recommendation import Recommendation, makespans_of
from advisor.report.jobs import RanJobs
from advisor.report.pages import READ, page_of, read_answer
from advisor.report.simulation import Simulation
from advisor.report.text import on_page
from advisor.results import ANSWER_FILES
from advisor.verification.check import Verified, measured_of
from advisor.whatif.asking import WhatIf, gains_of
from simulator import (
    ScenarioError,
    blocks,
    calibration,
    files,
    intervals,
    load_traces,
    plots,
    some_names,
    units,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Kinds = Mapping[str, plots.Drawing]
"""Kind of figure -> the figure, of one panel; the first one is drawn by default."""
Document = Mapping[str, Any]

DOCUMENTS = tuple(dict.fromkeys(ANSWER_FILES.values()))
"""Where a folder of results says what it holds: the first of these that is there."""
WRITERS = "simulate, advise, whatif, verify, jobs, quickstart, cluster, fit or calibrate"
FIRST = {"advise": "strategies", "quickstart": "verification"}
"""By the command: what is drawn by default, where that is not the first figure of its page."""
LEAST_IN, MOST_IN = 1.0, 40.0
MOST_BYTES = 2**30
MOST_POINTS = 24
"""Points of a what-if in a figure of rows."""


@dataclass(frozen=True)
class Drawable:
    """What a figure can show of a result."""

    what: str
    """Which result it is: a command, or a kind of model."""
    kinds: Kinds

    def drawing(self, kind: str | None = None) -> plots.Drawing:
        """The figure of one kind."""
        if kind is not None and kind not in self.kinds:
            hint = f"a result of {self.what} is drawn as {', '.join(self.kinds)}"
            raise ScenarioError(f"--kind is {kind!r}; {hint}")
        return self.kinds[next(iter(self.kinds)) if kind is None else kind]


def plot(thing: object, *, over: str | None = None, level: float = intervals.LEVEL, ax: "Axes | None" = None) -> "Axes":
    """Draw a recommendation, a what-if, a verification, or whatever `simulator.plots.plot` draws; see there."""
    match thing:
        case Recommendation():
            return makespans_of(thing).axes(ax)
        case Verified():
            return measured_of(thing).axes(ax)
        case WhatIf():
            return gains_of(thing.found).axes(ax)
    return plots.plot(thing, over=over, level=level, ax=ax)


def draw(result: Path, output: Path, *, kind: str | None, width_in: float, height_in: float | None) -> Drawable:
    """Write a figure of a result; what could be drawn."""
    plots.figure_kind(output)
    found = drawable(result)
    with files.understood(result, f"apportion {found.what}"):
        found.drawing(kind).save(output, width_in=width_in, height_in=height_in)
    return found


def read_length(text: str, option: str) -> float:
    """A length with a unit, in inches."""
    inches = units.parse(text, units.LENGTH, field=option) / 0.0254
    if not LEAST_IN <= inches <= MOST_IN:
        raise ScenarioError(f"{option}: {text!r} is {inches:.3g} in; give {LEAST_IN:g}in to {MOST_IN:g}in")
    return inches


def drawable(path: Path) -> Drawable:
    """What can be drawn of a folder of results, its document, a model or a load trace."""
    if path.is_dir():
        return _of_folder(path)
    if path.suffix.lower() not in {".json", ""}:
        return _of_table(path)
    document = files.read_json(path, limit_bytes=MOST_BYTES)
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: this is no result of {WRITERS}; name a folder or a file that one of them wrote")
    if path.name == "manifest.json":
        return _of_folder(path.parent)
    return _of_document(document, path, folder=path.parent)


def _of_folder(folder: Path) -> Drawable:
    for name in DOCUMENTS:
        if (folder / name).is_file():
            document = files.read_json(folder / name, limit_bytes=MOST_BYTES)
            if isinstance(document, dict):
                return _of_document(document, folder / name, folder=folder)
    raise ScenarioError(f"{folder}: there is no {', '.join(DOCUMENTS[:-1])} or {DOCUMENTS[-1]}; name a results folder")


def _of_table(path: Path) -> Drawable:
    rule = "given" if load_traces.trace_column(path) == "available" else "fair"
    return Drawable("trace", _panels([plots.load(simulator.read_trace(path), rule=rule)]))


def _of_document(document: dict[str, Any], path: Path, *, folder: Path) -> Drawable:
    kind, command = str(document.get("kind")), str(document.get("command"))
    if (kind in MODELS and "model" in document) or kind in {"runtime", "neighbours", "process_count"}:
        what, drawings_of = MODELS[kind]
        return Drawable(what, _panels(drawings_of(path)))
    if kind != "sweep" and (command not in READ or "best" in document):  # numbers of processes are a table alone
        raise ScenarioError(f"{path}: this is no result of {WRITERS}; name a folder or a file that one of them wrote")
    what = "whatif" if kind == "sweep" else command
    answer = read_answer(document, path) if kind != "sweep" else document
    with files.understood(path, f"apportion {what}"):
        kinds = _panels((_sweep if kind == "sweep" else COMMANDS.get(command, _of_page))(answer, folder))
    if not kinds:
        raise ScenarioError(
            f"{path}: nothing in this result of {what} can be drawn with an interval; take more replications"
        )
    first = FIRST.get(what, "")
    return Drawable(what, {first: kinds[first], **kinds} if first in kinds else kinds)


def _panels(drawings: Iterable[plots.Drawing]) -> Kinds:
    """Each panel of each figure by itself; of several of a kind the first."""
    found = dict[str, plots.Drawing]()
    for one in drawings:
        for name, panel in one.panels.items():
            kind = one.kind if len(one.panels) == 1 else f"{one.kind}:{name}"
            found.setdefault(kind, replace(one, panels={name: panel}))
    return found


def _of_page(answer: Any, _folder: Path) -> Iterator[plots.Drawing]:
    """The figures of the page of an answer, in its order."""
    for block in on_page(page_of(answer)):
        if isinstance(block, blocks.Figure) and isinstance(block.drawing, plots.Drawing):
            yield block.drawing


# Models


def _speed(path: Path) -> list[plots.Drawing]:
    found = calibration.load_speed_model(path)
    return [plots.speed(found.model, () if hasattr(found.model, "bands") else found.points)]


def _runtime(path: Path) -> list[plots.Drawing]:
    model = calibration.load_runtime_model(path)
    return [plots.runtime(model, over=name) for name in model.names]


MODELS: Mapping[str, tuple[str, Callable[[Path], list[plots.Drawing]]]] = {
    "speed": ("speed model", _speed),
    "memory": ("memory model", lambda path: [plots.memory(calibration.load_memory_model(path).model)]),
    "network": ("network model", lambda path: [plots.network(calibration.load_network_model(path))]),
    "neighbours": ("model of neighbours", lambda path: [plots.neighbours(calibration.read_neighbours(path))]),
    "runtime": ("run-time model", _runtime),
    "process_count": (
        "model of process counts",
        lambda path: [plots.process_counts(calibration.load_allocation_fit(path))],
    ),
}
"""Kind of a model's file -> what it is called, and its figures."""


# Results of commands whose page has other figures, or that have none


def _level(document: Document) -> float:
    level = document.get("level")
    return float(level) if isinstance(level, int | float) else intervals.LEVEL


def _simulated(found: Simulation, _folder: Path) -> Iterator[plots.Drawing]:
    rows = [plots.Makespan.of(one.name, one.makespan_s) for one in found.configurations]
    yield plots.makespans(rows, level=found.drawn.level)


def _sweep(document: Document, folder: Path) -> Iterator[plots.Drawing]:
    frame = simulator.load_results(folder).to_dataframe()
    frame = frame[frame["mean_s"].notna()]
    names = list(document["parameters"])
    changed = [str(name).removeprefix("platform.").removeprefix("application.parameters.") for name in names]
    yield plots.makespans(_best_rows(frame, names, changed), level=_level(document))


def _row(row: Any, name: str) -> plots.Makespan:
    """A row of the table of points; what is not known has no number there."""
    mean, *ends = (float(row[f"{part}_s"]) for part in ("mean", "low", "high", "run_low", "run_high"))
    low, high, run_low, run_high = (None if math.isnan(end) else end for end in ends)
    return plots.Makespan(name, mean, (low, high), (run_low, run_high))


def _best_rows(frame: "pd.DataFrame", names: list[str], changed: list[str]) -> list[plots.Makespan]:
    """The best configuration of each point."""
    best = [own.sort_values("mean_s").iloc[0] for _, own in frame.groupby("point", sort=True)]
    return [_row(row, _named(row, names, changed)) for row in best[:MOST_POINTS]]


def _named(row: Any, names: list[str], changed: list[str]) -> str:
    if row["point"] == 0:
        return "as it is"
    return ", ".join(f"{short.rpartition('.')[2]} {row[name]}" for name, short in zip(names, changed, strict=True))


def _ran_jobs(ran: RanJobs, folder: Path) -> Iterator[plots.Drawing]:
    import pandas as pd

    table = folder / "jobs.csv"
    files.check_regular(table)
    yield plots.waits({ran.policy.name: pd.read_csv(table)["wait_s"].to_numpy(dtype=float)})


COMMANDS: Mapping[str, Callable[[Any, Path], Iterator[plots.Drawing]]] = {
    "jobs run": _ran_jobs,
    "simulate": _simulated,
}
"""By the `command` of a document."""


def told(found: Drawable, kind: str | None, output: Path) -> str:
    """The line that says what was drawn, and what else could be."""
    drawn = next(iter(found.kinds)) if kind is None else kind
    others = [name for name in found.kinds if name != drawn]
    more = f"; also --kind {some_names(others)}" if others else ""
    return f"{drawn} of {found.what} drawn in {output}{more}"

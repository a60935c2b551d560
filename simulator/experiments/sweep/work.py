"""What a worker does: it keeps the scenario that it was handed as JSON text, and answers points of it one by one."""

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ApportionError, ScenarioError, SweepError
from simulator.engines.compiled.place import kernels_kept
from simulator.engines.run import made_ready, may_compile, run
from simulator.engines.run_set import RunSet
from simulator.experiments.sweep.plan import LIMIT_BYTES, Ask, Document, Plan, version_of
from simulator.platform.nodes import Platform
from simulator.results.files import sealed
from simulator.results.seldom_met import reaching
from simulator.scenario_file.load import Template
from simulator.scenario_file.scenario import Scenario

SEARCH = 200
"""Runs that a search takes at the least."""
_handed: dict[str, tuple[str, str, int]] = {}
"""What this process was handed, by the name of the plan: its payload, where files may lie, threads to use."""
_ready: dict[str, "Ready"] = {}
"""The plan that this process answered last, by its name."""
_one_at_a_time = threading.Lock()
"""A worker of Dask's may have several threads; a point uses all of them."""


@dataclass(frozen=True)
class Answer:
    """What came of a point."""

    place: int
    """Which of the plan's points it is."""
    spent_s: float
    text: str = ""
    """Of its file; empty where there are errors."""
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ready:
    """A plan as a worker holds it: read once, for all points."""

    template: Template
    points: tuple[tuple[str, tuple[str, ...]], ...]
    replications: int
    truths: int | None
    strata: int | None
    seed: int
    oversized: bool
    paired: bool

    @classmethod
    def of_payload(cls, payload: str, folder: Path, ask: Ask) -> "Ready":
        """What `Plan.payload` says; the files in it are put into a folder of the worker's own."""
        load_engine()
        handed = json.loads(payload)
        if handed["version"] != version_of(ask):
            raise SweepError("worker: its apportion or one of its libraries has another version; install the same one")
        path, paths = _files_here(handed, folder)
        points = tuple((name, tuple(changes)) for name, changes in handed["points"])
        template = Template.of_data(handed["scenario"], path, paths)
        counts = (handed[name] for name in ("replications", "truths", "strata", "seed", "oversized", "paired"))
        return cls(template, points, *counts)

    @classmethod
    def of_plan(cls, plan: Plan) -> "Ready":
        """The same in the process that planned it."""
        load_engine()
        points = tuple((point.hash, point.changes) for point in plan.points)
        template = Template.of_data(plan.data, plan.path, plan.paths)
        return cls(
            template, points, plan.replications, plan.truths, plan.strata, plan.seed, plan.oversized, plan.paired
        )

    def scenario(self, place: int) -> Scenario:
        """That of a point, on the draws that all points share, if they do."""
        scenario = self.template.scenario(self.points[place][1], oversized=self.oversized)
        if not self.paired:
            return scenario
        truths = scenario.truths if self.truths is None else self.truths
        return replace(scenario, replications=self.replications, truths=truths, seed=self.seed, strata=self.strata)

    def answer(self, place: int, ask: Ask, *, threads: int) -> str:
        """The answer of a point as JSON text, the same bits wherever it is found."""
        name, changes = self.points[place]
        scenario = self.scenario(place)
        document = {
            "format": 1,
            "kind": "point",
            "hash": name,
            "changes": {change.path: change.after for change in scenario.changes},
            "set": list(changes),
            "replications": scenario.replications,
            "seed": scenario.seed,
            **_rates(scenario.platform),
            **ask(scenario, threads),
        }
        return sealed(document)


def _rates(platform: Platform) -> dict[str, dict[str, float]]:
    """What a second of all PEs costs, and what they draw, where each of them says so."""
    said = {
        "cost_per_s": [pe.cost_per_s for pe in platform.pes],
        "power_w": [pe.power_w for pe in platform.pes],
    }
    rates = {name: sum(value or 0.0 for value in values) for name, values in said.items() if None not in values}
    return {"rates": rates} if rates else {}


def _files_here(handed: Document, folder: Path) -> tuple[Path, dict[str, Path]]:
    """The scenario's path and where the files lie that it names: where they always did, or copies in a folder."""
    for path in (Path(handed["path"]), Path(handed["absolute"])):
        paths = {name: path.parent / name for name in handed["inputs"]}
        if all(_is(paths[name], wanted) for name, wanted in handed["inputs"].items()):
            return path, paths
    names = [name for name in handed["files"] if not Path(name).is_absolute()]
    base = folder.joinpath(*["up"] * max((Path(name).parts.count("..") for name in names), default=0))
    paths = {}
    for number, (name, data) in enumerate(handed["files"].items()):
        paths[name] = Path(os.path.normpath(base / name)) if name in names else folder / str(number)
        files.write_bytes(paths[name], base64.b64decode(data), synced=False)
    return base / Path(handed["path"]).name, paths


def _is(path: Path, wanted: str) -> bool:
    """Whether a file is there and holds what it should."""
    try:
        return files.digest(files.read_bytes(path, limit_bytes=LIMIT_BYTES)) == wanted
    except ScenarioError:
        return False


def load_engine() -> None:
    """Load the compiled engine where its kernels are kept: most plans are worth it."""
    if kernels_kept():
        import simulator.engines.compiled.run  # noqa: F401


def compile_first(plan: Plan, points: int) -> None:
    """Compile kernels in this process, where so many points are worth it, before each worker does."""
    if may_compile() and not kernels_kept():
        base = Ready.of_plan(plan).scenario(0)
        runs = base.replications * len(base.configurations) if plan.ask is simulated else SEARCH
        made_ready(base, points * runs)


def simulated(scenario: Scenario, threads: int) -> Document:
    """All configurations of a point, simulated."""
    runs = reaching(scenario, run(scenario, threads=threads))
    return {**times_of(runs, {name: name for name in runs.configurations}), "warnings": list(scenario.warnings)}


def times_of(runs: RunSet, named: Mapping[str, str]) -> Document:
    """What the file of a point says of some configurations, by the names that they have there."""
    entries = []
    for name, of in named.items():
        row = runs.configurations.index(of)
        reach = {} if runs.reach_s is None else {"reach_s": float(runs.reach_s[row])}
        entries.append(
            {"name": name, "tick_s": runs.tick_s, "makespan_ticks": runs.makespan_ticks[row].tolist(), **reach}
        )
    return {"configurations": entries, "deterministic": runs.deterministic, "truths": runs.truth_count}


def hand(name: str, payload: str, folder: str, threads: int) -> None:
    """Give this process a plan to answer points of."""
    _handed[name] = payload, folder, threads
    _ready.pop(name, None)


def answer_batch(name: str, places: list[int], ask: Ask) -> str:
    """Answers of some points as JSON text: of each its place, its document or its errors, and the seconds it took."""
    payload, folder, threads = _handed[name]
    with _one_at_a_time:
        if name not in _ready:
            ready = Ready.of_payload(payload, Path(folder), ask)
            _ready.clear()
            _ready[name] = ready
        return json.dumps([asdict(_answered(_ready[name], place, ask, threads)) for place in places])


def answer_here(plan: Plan, places: Sequence[int], tell: Callable[[Answer], None], threads: int) -> None:
    """Answer some points in this process, one by one."""
    ready = Ready.of_plan(plan)
    for place in places:
        tell(_answered(ready, place, plan.ask, threads))


def _answered(ready: Ready, place: int, ask: Ask, threads: int) -> Answer:
    begun, text, errors = time.perf_counter(), "", tuple[str, ...]()
    try:
        text = ready.answer(place, ask, threads=threads)
    except ApportionError as error:
        errors = tuple(error.lines)
    return Answer(place, time.perf_counter() - begun, text, errors)

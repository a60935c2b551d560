"""The results folder of a sweep: one file per finished point, the table of all, the resolved scenario, the manifest."""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.errors import ApportionError, ScenarioError, SweepError
from simulator.base.provenance import provenance
from simulator.engines.run import run as simulate
from simulator.engines.run_set import RunSet, describe_all
from simulator.experiments.sweep.plan import Document, Plan
from simulator.results.files import (
    FORMAT,
    makespans_s,
    point_runs,
    reaches_s,
    read_manifest,
    read_point,
    sealed,
    unsealed,
)
from simulator.results.tables import (
    FORMS,
    Form,
    check_form,
    framed,
    kind_of,
    kinds_of,
    plain,
    run_frames,
    write_table,
)
from simulator.scenario_file.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

_current: ContextVar["KeptRuns | None"] = ContextVar("kept runs", default=None)
LOGGED = ("logs", "programs")
"""What runs have that are logged; others are kept."""
AT_ONCE = 256
"""Points whose makespans are in memory at once."""
_OF_TIMES = ("mean", "low", "high", "median", "run_low", "run_high")
_OF_DIFFERENCES = ("mean", "low", "high")
Times = NDArray[np.float64]
_Way = tuple[bool, int | None]
"""Whether nothing is drawn, and how many truths the replications share; None where nothing is doubted."""
MANIFEST, SCENARIO, POINTS = "manifest.json", "scenario.yaml", "points"
_WAYS = {
    "question": "rule by which work is divided (--advise, --as-is)",
    "scenario": "scenario",
    "inputs": "set of files",
    "replications": "replications",
    "seed": "seed",
    "runs": "number of runs that a search may take",
    "version": "version of apportion or its libraries",
}
"""What two sweeps of a folder have in common -> how a reader calls it."""
_TORN = ("points/.*", f".{MANIFEST}.*", f".{SCENARIO}.*", ".points.*", ".runs.*")
"""What a process leaves that is killed while it writes."""


class KeptRuns:
    """The answers of a search so far.

    `path`: the file that keeps them; made with the first answer.
    `search`: the hash of all that decides the search; answers of another one are not found.
    """

    def __init__(self, path: Path, search: str) -> None:
        self.path = path
        self.kept = 0
        self._search = search
        self._calls = 0
        self._known: dict[str, Document] = {}
        self._stream: IO[str] | None = None
        self._open = ExitStack()
        if path.exists():
            self._read()

    def run(self, scenario: Scenario, **how: Any) -> RunSet:
        """As `simulator.run`, or what it answered before."""
        name = self._name(scenario, how)
        self._calls += 1
        if name in self._known:
            return RunSet(**_value(self._known.pop(name)["runs"]), logs={})
        runs = simulate(scenario, **how)
        said = {part.name: getattr(runs, part.name) for part in fields(runs) if part.name not in LOGGED}
        self._keep(sealed({"hash": name, "runs": _plain(said)}), runs.makespan_ticks.size)
        return runs

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def _read(self) -> None:
        with files.open_lines(self.path) as lines:
            for line in lines:
                found = unsealed(line.decode(errors="replace"))
                if found is not None and found["hash"] not in self._known:
                    self._known[found["hash"]] = found
                    self.kept += int(np.prod(found["runs"]["makespan_ticks"]["shape"]))

    def _keep(self, text: str, runs: int) -> None:
        if self._stream is None:
            files.make_folder(self.path.parent)
            if self.path.exists():
                files.end_with_line(self.path)
            self._stream = self._open.enter_context(files.open_append(self.path))
        self._stream.write(text)
        self.kept += runs

    def _name(self, scenario: Scenario, how: Mapping[str, Any]) -> str:
        asked = hashlib.sha256(f"{self._search} {self._calls} {sorted(how.items())} {scenario.seed} ".encode())
        asked.update(
            f"{scenario.replications} {scenario.truths} {scenario.strata} {scenario.application.parameters}".encode()
        )
        for one in scenario.configurations:
            asked.update(f" {one.name!r} ".encode())
            asked.update(np.array([one.partition, one.placement]).tobytes())
            if one.grid is not None:
                asked.update(f" grid {one.grid}".encode())
        return asked.hexdigest()


@contextmanager
def keeping(path: Path, search: str) -> Iterator[KeptRuns]:
    """Keep what `run_or_recall` is asked meanwhile."""
    kept = KeptRuns(path, search)
    token = _current.set(kept)
    try:
        yield kept
    finally:
        _current.reset(token)
        kept.close()


def run_or_recall(scenario: Scenario, **how: Any) -> RunSet:
    """`simulator.run`, its answers kept where a search asks for it; those with a log are not."""
    kept = _current.get()
    if kept is None or how.get("log_replications"):
        return simulate(scenario, **how)
    return kept.run(scenario, **how)


def _plain(value: Any) -> Any:
    """A value for JSON, arrays packed."""
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 1)).decode()
        return {"packed": packed, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _value(found: Any) -> Any:
    """What `_plain` was given; lists are tuples."""
    if isinstance(found, dict) and isinstance(found.get("packed"), str):
        flat = np.frombuffer(zlib.decompress(base64.b64decode(found["packed"])), found["dtype"])
        return flat.reshape(found["shape"]).copy()
    if isinstance(found, dict):
        return {name: _value(one) for name, one in found.items()}
    return tuple(map(_value, found)) if isinstance(found, list) else found


# The table of a sweep: one row per point and configuration, with every parameter, the seed and paired differences.


def table(plan: Plan, found: Mapping[str, Document], failed: Mapping[str, str]) -> "pd.DataFrame":
    """One row per point and configuration, in the plan's order; of a point that failed one row without a configuration.

    Differences are to the same configuration of the base, replication by replication; missing where it has none. So are
    intervals of a single replication, unless nothing is drawn; all intervals hold with the plan's level.
    """
    nothing: Times = np.full(plan.replications, np.nan)
    base, base_way = _times(plan, found, 0), _way(plan, found, 0)
    none = nothing, np.nan
    numbers, names, blocks = list[int](), list[str](), list[Times]()
    for first in range(0, len(plan.points), AT_ONCE):
        here = [
            (number, name, times)
            for number in range(first, min(first + AT_ONCE, len(plan.points)))
            for name, times in (_times(plan, found, number) or {"": none}).items()
        ]
        numbers += [number for number, _, _ in here]
        names += [name for _, name, _ in here]
        times_s = np.stack([times for _, _, (times, _) in here])
        reach_s = np.array([reach for _, _, (_, reach) in here])
        base_s = np.stack([base.get(name, none)[0] for _, name, _ in here])
        base_reach_s = np.array([base.get(name, none)[1] for _, name, _ in here])
        apart_s = reached(times_s, reach_s, base_reach_s) - reached(base_s, base_reach_s, reach_s)
        ways = [_way(plan, found, number) for number, _, _ in here]
        both = [(sure and base_way[0], more_truths(truths, base_way[1])) for sure, truths in ways]
        described = (
            _described(times_s, reach_s, _OF_TIMES, ways, level=plan.level),
            _described(times_s - base_s, apart_s, _OF_DIFFERENCES, both, level=plan.level),
        )
        blocks.append(np.concatenate(described, axis=1))
    points = [plan.points[number] for number in numbers]
    columns: dict[str, Sequence[object]] = {"point": numbers, "hash": [point.hash for point in points]}
    columns |= {path: [plain(point.at(path, was)) for point in points] for path, was in plan.before.items()}
    columns |= {"replications": [plan.replications] * len(points), "seed": [plan.seed] * len(points)}
    columns |= {"configuration": [name or None for name in names]}
    kinds = {name: kind_of(values) for name, values in columns.items()}
    measured = [f"{key}_s" for key in _OF_TIMES] + [f"difference_{key}_s" for key in _OF_DIFFERENCES]
    columns |= dict(zip(measured, np.concatenate(blocks).T, strict=True))
    columns |= {"error": [failed.get(point.hash) for point in points]}
    return framed(columns, kinds | dict.fromkeys(measured, "float64") | {"error": "str", "configuration": "str"})


def answers(plan: Plan, found: Mapping[str, Document], failed: Mapping[str, str]) -> "pd.DataFrame":
    """One row per point: numbers and texts of its answer, those of mappings as `name.name`, or why it has none."""
    rows = [dict(_leaves(found[point.hash].get("answer"))) if point.hash in found else {} for point in plan.points]
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, list[Any]] = {"point": list(range(len(rows))), "hash": [point.hash for point in plan.points]}
    columns |= {name: [row.get(name) for row in rows] for name in names if name not in columns}
    kinds = {name: kind_of(values) for name, values in columns.items()} | {"error": "str"}
    return framed(columns | {"error": [failed.get(point.hash) for point in plan.points]}, kinds)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, f"{name}.{key}" if name else key)
    elif not isinstance(value, list):
        yield name or "answer", value


def _times(plan: Plan, found: Mapping[str, Document], number: int) -> dict[str, tuple[Times, float]]:
    """Makespans of each configuration, and what the interval of their mean reaches to."""
    if plan.points[number].hash not in found:
        return {}
    document = found[plan.points[number].hash]
    reach = reaches_s(document)
    return {name: (times, reach[name]) for name, times in makespans_s(document).items()}


def reached(times_s: Times, own_s: Times, other_s: Times) -> Times:
    """Means as intervals of what compares them reach to: NaN where they do so on neither side; (row,)."""
    found = np.where(np.isnan(own_s), times_s.mean(axis=-1), own_s)
    return np.where(np.isnan(own_s) & np.isnan(other_s), np.nan, found)


def _way(plan: Plan, found: Mapping[str, Document], number: int) -> _Way:
    """What a point says of its draws."""
    document = found.get(plan.points[number].hash, {})
    return document.get("deterministic") is True, document.get("truths")


def more_truths(one: int | None, other: int | None) -> int | None:
    """Truths of runs that are compared: those of the one that has more, so that what differs is never averaged."""
    return max((count for count in (one, other) if count is not None), default=None)


def _described(samples_s: Times, reach_s: Times, keys: tuple[str, ...], ways: Sequence[_Way], *, level: float) -> Times:
    """What `describe_all` says of each row, NaN where it says nothing; (row, key)."""
    made = np.full((len(ways), len(keys)), np.nan)
    for way in dict.fromkeys(ways):
        rows = [place for place, own in enumerate(ways) if own == way]
        sure, count = way
        truths = None if count is None else np.arange(samples_s.shape[1]) % count
        entries = describe_all(samples_s[rows], truths, reach_s[rows], level=level, deterministic=sure)
        made[rows] = np.array([[entry[key] for key in keys] for entry in entries], dtype=np.float64)
    return made


class Shelf(Mapping[str, Document]):
    """The documents of finished points, in the order of the plan; each is read when it is asked for.

    `names`: the hashes of all points.
    `folder`: where each point is a file; None keeps their packed texts in memory.
    """

    def __init__(self, names: Sequence[str], folder: Path | None) -> None:
        self._names = names
        self._folder = folder
        self._texts: dict[str, bytes] = {}
        """Of each finished point; empty where that is a file."""
        self._last: tuple[str, Document] = ("", {})

    def put(self, name: str, text: str) -> None:
        """Keep a finished point: the file is whole or absent."""
        if self._folder is None:
            self._texts[name] = zlib.compress(text.encode(), 1)
            return
        if not self._folder.is_dir():
            raise SweepError(f"{self._folder}: no folder found, where finished points were kept")
        try:
            files.write_bytes(self._file(name), text.encode(), synced=False)
        except ApportionError as error:
            raise SweepError(error.lines) from None
        self._texts[name] = b""

    def find(self) -> None:
        """Take what lies in the folder from before; what is damaged is not finished."""
        for name in self._names:
            try:
                read_point(self._file(name), name)
            except ScenarioError:
                continue
            self._texts[name] = b""

    def __getitem__(self, name: str) -> Document:
        packed = self._texts[name]
        if self._last[0] != name:
            kept = unsealed(zlib.decompress(packed).decode(), name) if packed else read_point(self._file(name), name)
            self._last = name, kept or {}
        return self._last[1]

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def _file(self, name: str) -> Path:
        return (self._folder or Path()) / f"{name}.json"


class Keep:
    """Finished points: in a folder, or, without one, only for as long as they are asked for.

    `form`: of the table; Parquet is two tables, that of points and that of every run.
    """

    def __init__(self, plan: Plan, folder: Path | None, form: Form = "csv") -> None:
        check_form(form)
        self.plan = plan
        self.folder = folder
        self.form = form
        names = [point.hash for point in plan.points]
        self.documents = Shelf(names, None if folder is None else folder / POINTS)

    @contextmanager
    def begun(self, *, resume: bool) -> Iterator[None]:
        """Make the folder, or go on with what is in it; meanwhile no other process does."""
        if self.folder is None:
            yield
            return
        files.make_folder(self.folder)
        with files.alone(self.folder):
            self._open(self.folder, resume=resume)
            yield

    def _open(self, folder: Path, *, resume: bool) -> None:
        manifest = folder / MANIFEST
        if manifest.exists():
            if not resume:
                raise ScenarioError(f"{folder} holds results; name another folder, or go on with --resume")
            self._check(read_manifest(folder))
            for pattern in _TORN:
                for path in folder.glob(pattern):
                    files.remove(path)
            self.documents.find()
        files.make_folder(folder / POINTS)
        files.write_text(folder / SCENARIO, self.plan.resolved)
        self._write_manifest(folder, {}, tables=(), columns={})

    def _check(self, manifest: Mapping[str, Any]) -> None:
        """Whether the results there are of this sweep, or of one that this one goes beyond."""
        if manifest["kind"] != "sweep":
            raise ScenarioError(f"{self.folder} holds results that are not a sweep's; name a folder of this sweep")
        mine = self._common()
        for name, said in _WAYS.items():
            if manifest["sweep"].get(name) != mine[name]:
                what = said if self.plan.paired or name != "question" else "function"
                raise ScenarioError(f"{self.folder} holds a sweep of another {what}; name a folder of this one")
        others = set(manifest["points"]) - {point.hash for point in self.plan.points}
        if others:
            found = f"a sweep with {len(others)} points that this one lacks"
            raise ScenarioError(f"{self.folder} holds {found}; name a folder of this one")

    def close(self, failed: Mapping[str, str], spent: Mapping[str, Any]) -> "pd.DataFrame":
        """Write the table and what came of it all; the table."""
        try:
            frame = (table if self.plan.paired else answers)(self.plan, self.documents, failed)
            if self.folder is None:
                return frame
            columns = kinds_of(frame)
            names = [f"points.{self.form}"]
            write_table(self.folder / names[0], [frame])
            if self.form == "parquet":
                names.append("runs.parquet")
                write_table(self.folder / names[1], run_frames(self._runs(), columns))
            self._write_manifest(self.folder, failed, tables=names, columns=columns, **spent)
            for form in FORMS:
                for name in {f"points.{form}", f"runs.{form}"} - set(names):
                    files.remove(self.folder / name)  # of an earlier end of this sweep
        except ApportionError as error:
            raise SweepError(error.lines) from None
        return frame

    def _runs(self) -> Iterator[Any]:
        for number, point in enumerate(self.plan.points):
            if point.hash in self.documents:
                yield from point_runs(number, self.documents[point.hash], self.plan.before, seed=self.plan.seed)

    def _common(self) -> dict[str, object]:
        common = dict(self.plan.common)
        return common | {"scenario": files.digest(json.dumps(common["scenario"], sort_keys=True).encode())}

    def _write_manifest(
        self, folder: Path, failed: Mapping[str, str], *, tables: tuple[str, ...] | list[str], **more: Any
    ) -> None:
        plan = self.plan
        document = {
            "format": FORMAT,
            "kind": "sweep",
            "files": list(tables),
            "source": plan.path.name,
            "sweep": self._common(),
            "parameters": dict(plan.before),
            "level": plan.level,
            "points": {point.hash: list(point.changes) for point in plan.points},
            "finished": len(self.documents),
            "failed": dict(failed),
            **more,
            "provenance": provenance(seed=plan.seed, inputs=plan.inputs),
        }
        files.write_json(folder / MANIFEST, document)

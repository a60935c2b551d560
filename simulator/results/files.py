"""Results on disk: a folder with one row per run, a manifest, and what reads them again."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from simulator.base import files, notebook
from simulator.base.arrays import Floats, Ints
from simulator.base.documents import Array, in_file, read, read_format
from simulator.base.errors import ScenarioError
from simulator.engines.run_set import RunSet
from simulator.results.tables import (
    FORMS,
    LIMIT_BYTES,
    Form,
    check_form,
    framed,
    kind_of,
    kinds_of,
    plain,
    read_table,
    run_frames,
    write_table,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "load_results", "save_runs"]

FORMAT = 1
KINDS = ("runs", "sweep")
_SEAL = ',"seal":"'


@dataclass(frozen=True)
class _Times:
    """The runs of a configuration."""

    name: str
    tick_s: float
    makespan_ticks: Annotated[Ints, Array("int64", 1)]
    reach_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Point:
    """What the file of a point says."""

    format: Literal[1]
    kind: Literal["point"]
    hash: str
    changes: Mapping[str, object]
    set: tuple[str, ...]
    replications: int
    seed: int
    rates: Mapping[str, float] = field(default_factory=dict)
    configurations: tuple[_Times, ...]
    deterministic: bool
    truths: int | None
    advice: Mapping[str, object] = field(default_factory=dict)
    answer: object = None
    warnings: tuple[str, ...]
    seal: str


def save_runs(
    runs: RunSet,
    folder: Path,
    *,
    manifest: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    form: Form = "csv",
) -> tuple[Path, ...]:
    """Write `runs.csv` (configuration, replication, seed, makespan_s) and `manifest.json`, and name them.

    Raises ScenarioError if pyarrow is asked for and not installed.

    `folder`: made if it is missing; what is in it stays, but for files of these names.
    `manifest`: what a reader needs to know of the runs: scenario, engine, provenance.
    `parameters`: what was changed in the scenario, by its path: columns before the others, the same in every row.
    `form`: `parquet` for `runs.parquet` in place of `runs.csv`.
    """
    check_form(form)
    files.make_folder(folder)
    table, described = folder / f"runs.{form}", folder / "manifest.json"
    frame = runs.to_dataframe()
    for place, (path, value) in enumerate((parameters or {}).items()):
        cell = plain(value)
        frame.insert(place, path, framed({path: [cell] * len(frame)}, {path: kind_of([cell])})[path])
    write_table(table, [frame])
    head = {"format": FORMAT, "kind": "runs", "files": [table.name], "columns": kinds_of(frame)}
    files.write_json(described, {**head, **manifest})
    for other in FORMS:
        if other != form:
            files.remove(folder / f"runs.{other}")  # of an earlier run
    return table, described


def sealed(document: Mapping[str, Any]) -> str:
    """A point as the text of its file, which ends in a hash of what stands before; see `read_point`."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).removesuffix("}")
    return f'{text}{_SEAL}{files.digest(text.encode())}"}}\n'


def unsealed(text: str, name: str | None = None) -> dict[str, Any] | None:
    """The point of that hash, if one is named, in such a text; None if it holds not all as it was written."""
    head, _, seal = text.rpartition(_SEAL)
    if seal != f'{files.digest(head.encode())}"}}\n':
        return None
    try:
        document: dict[str, Any] = json.loads(text)
    except RecursionError:
        return None
    return document if name in (None, document.get("hash")) else None


def read_point(path: Path, name: str) -> dict[str, Any]:
    """Read the file of the point of that hash.

    Raises ScenarioError if it is not there, or holds anything but what was written there, or says what no point does.
    """
    document = unsealed(files.read_text(path, limit_bytes=LIMIT_BYTES), name)
    if document is None:
        raise ScenarioError(f"{path}: the point is damaged; --resume runs it again")
    with in_file(path):
        read(_Point, document)
    return document


def makespans_s(document: Mapping[str, Any]) -> dict[str, Floats]:
    """Makespans in seconds of each configuration of a point; (replication,) each."""
    return {
        entry["name"]: np.asarray(np.array(entry["makespan_ticks"], dtype=np.int64) * entry["tick_s"])
        for entry in document["configurations"]
    }


def reaches_s(document: Mapping[str, Any]) -> dict[str, float]:
    """What the interval of each configuration's mean reaches to; NaN where that is not said, see `RunSet.reach_s`."""
    return {entry["name"]: entry.get("reach_s", np.nan) for entry in document["configurations"]}


@dataclass(frozen=True)
class Results:
    """A results folder: of `apportion simulate -o` (kind `runs`) or of `apportion whatif -o` (kind `sweep`)."""

    folder: Path
    manifest: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, kind {self.kind})"

    @property
    def kind(self) -> str:
        """`runs` or `sweep`."""
        return str(self.manifest["kind"])

    def to_dataframe(self, *, replications: bool = False) -> "pd.DataFrame":
        """The table: one row per run, or, of a sweep, per point and configuration.

        Raises ScenarioError if files are missing or damaged, or pyarrow is not installed for those that are Parquet.

        `replications`: of a sweep, one row per run too.
        """
        import pandas as pd

        kinds = self.manifest["columns"]
        if self.kind == "runs" or not replications:
            return read_table(self.folder / self.manifest["files"][0], kinds)
        whole = self.folder / "runs.parquet"
        if whole.name in self.manifest["files"]:
            return read_table(whole, {})
        return pd.concat(list(run_frames(self._runs(), kinds)), ignore_index=True)

    def _runs(self) -> Iterator[tuple[dict[str, Any], Floats]]:
        """Of each point and configuration what its runs share, and their makespans."""
        parameters, seed = self.manifest["parameters"], self.manifest["sweep"]["seed"]
        for number, name in enumerate(self.manifest["points"]):
            if name in self.manifest["failed"]:
                continue
            point = read_point(self.folder / "points" / f"{name}.json", name)
            yield from point_runs(number, point, parameters, seed=seed)

    def _repr_html_(self) -> str:
        frame = self.to_dataframe()
        rows = [{str(name): value for name, value in row.items()} for row in frame.head(20).to_dict(orient="records")]
        return notebook.page(self.headline(len(frame)), notebook.table(rows, count=len(frame)))

    def headline(self, rows: int) -> str:
        """What the folder holds, in a line."""
        if self.kind == "runs":
            return f"{self.folder}: {rows} runs"
        manifest = self.manifest
        return (
            f"{self.folder}: {manifest['source']}, {len(manifest['points'])} points, {len(manifest['failed'])} failed"
        )


def point_runs(
    number: int, point: Mapping[str, Any], parameters: Mapping[str, Any], *, seed: int
) -> Iterator[tuple[dict[str, Any], Floats]]:
    """Of each configuration of a point what its runs share, for `run_frames`, and their makespans; (replication,)."""
    values = {path: plain(point["changes"].get(path, before)) for path, before in parameters.items()}
    for name, times_s in makespans_s(point).items():
        yield {"point": number, "hash": point["hash"], **values, "configuration": name, "seed": seed}, times_s


def load_results(folder: str | Path) -> Results:
    """Open a results folder.

    Raises ScenarioError if it holds no results, or those of a sweep that has not ended.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if not manifest["files"]:
        done = sum(1 for _ in (folder / "points").glob("[!.]*.json"))
        found = f"the sweep has finished {done} of {len(manifest['points'])} points"
        raise ScenarioError(f"{folder}: {found}; its command with --resume goes on")
    return Results(folder, manifest)


@dataclass(frozen=True, kw_only=True)
class _Table:
    """What any manifest says of its tables."""

    files: tuple[str, ...]
    columns: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class _Swept(_Table):
    """The manifest of a sweep."""

    source: str
    sweep: dict[str, Any]
    parameters: dict[str, Any]
    level: float
    points: dict[str, tuple[str, ...]]
    finished: int
    failed: dict[str, str]
    spent: dict[str, Any] | None = None
    provenance: dict[str, Any]
    rerun: dict[str, Any] | None = None
    written: tuple[str, ...] = ()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; see `documents.read` for what is refused."""
    path = folder / "manifest.json"
    document = files.read_json(path, limit_bytes=LIMIT_BYTES)
    if not isinstance(document, dict) or document.get("kind") not in KINDS:
        raise ScenarioError(f"{folder} holds no results; name a folder of simulate -o or whatif -o")
    form: type[_Table] = _Swept if document["kind"] == "sweep" else _Table
    own = {"format", *(field.name for field in fields(_Table))}  # of runs, the rest is what `simulate` says
    said = document if form is _Swept else {key: value for key, value in document.items() if key in own}
    read_format(form, said, path, newest=FORMAT, writer="simulate -o` or `whatif -o")
    return document

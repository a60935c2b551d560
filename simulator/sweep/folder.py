"""The results folder of a sweep: one file per finished point, the table of all, the resolved scenario, the manifest."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import files
from simulator.errors import ScenarioError
from simulator.provenance import provenance
from simulator.results import describe_all
from simulator.sweep.plan import Plan
from simulator.sweep.work import configurations_of

FORMAT = 1
MANIFEST, SCENARIO, TABLE, POINTS = "manifest.json", "scenario.yaml", "points.csv", "points"
_WAYS = {"scenario": "scenario", "inputs": "set of files", "replications": "replications", "seed": "seed"}
_WAYS |= {"question": "question (--advise)", "version": "version of apportion or its libraries"}


class Keep:
    """Finished points: in a folder, or, without one, in memory only."""

    def __init__(self, plan: Plan, folder: Path | None) -> None:
        self.plan = plan
        self.folder = folder
        self._found: dict[str, dict[str, Any]] = {}

    def begin(self, *, resume: bool) -> None:
        """Make the folder, or go on with what is in it.

        Raises
        ------
        ScenarioError
            If results are there and are not to be gone on with, or are of another sweep.
        """
        if self.folder is None:
            return
        manifest = self.folder / MANIFEST
        if manifest.exists():
            if not resume:
                raise ScenarioError(f"{self.folder}: results found, another folder, or --resume to go on, allowed")
            self._check(files.read_json(manifest))
            self._collect(self.folder)
        else:
            files.make_folder(self.folder / POINTS)
            files.write_text(self.folder / SCENARIO, self.plan.resolved)
        self._write_manifest(self.folder, {}, finished=False)

    def _check(self, manifest: Any) -> None:
        """Whether the results there are of this sweep, or of one that this one goes beyond."""
        if not isinstance(manifest, dict) or manifest.get("kind") != "sweep":
            raise ScenarioError(f"{self.folder}: results that are no sweep's found, those of this sweep allowed")
        mine = self._common()
        for name, said in _WAYS.items():
            if manifest.get("sweep", {}).get(name) != mine[name]:
                raise ScenarioError(f"{self.folder}: a sweep of another {said} found, results of this one allowed")
        others = set(manifest.get("points", ())) - {point.hash for point in self.plan.points}
        if others:
            found = f"a sweep with {len(others)} points that this one lacks found"
            raise ScenarioError(f"{self.folder}: {found}, results of this one allowed")

    def _collect(self, folder: Path) -> None:
        """Take what is finished; a file that a crash of the machine tore is no result."""
        for point in self.plan.points:
            path = _file(folder, point.hash)
            if not path.exists():
                continue
            try:
                document = files.read_json(path)
            except ScenarioError:
                continue
            if isinstance(document, dict) and document.get("hash") == point.hash:
                self._found[point.hash] = document

    def has(self, name: str) -> bool:
        """Whether a point is finished."""
        return name in self._found

    def put(self, name: str, text: str) -> None:
        """Keep a finished point: the file is whole or absent."""
        if self.folder is not None:
            files.write_bytes(_file(self.folder, name), text.encode(), synced=False)
        self._found[name] = json.loads(text)

    def close(self, failed: Mapping[str, str], spent: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Write the table and what came of it all; the rows."""
        rows = table(self.plan, self._found, failed)
        if self.folder is not None:
            save_table(self.folder, rows)
            self._write_manifest(self.folder, failed, finished=True, **spent)
        return rows

    @property
    def documents(self) -> dict[str, dict[str, Any]]:
        """What is finished, by hash."""
        return self._found

    def _common(self) -> dict[str, Any]:
        common = dict(self.plan.common)
        return common | {"scenario": files.digest(json.dumps(common["scenario"], sort_keys=True).encode())}

    def _write_manifest(self, folder: Path, failed: Mapping[str, str], *, finished: bool, **spent: Any) -> None:
        plan = self.plan
        document = {
            "format": FORMAT,
            "kind": "sweep",
            "files": [TABLE] if finished else [],
            "source": plan.path.name,
            "sweep": self._common(),
            "parameters": dict(plan.before),
            "points": {point.hash: list(point.changes) for point in plan.points},
            "finished": sum(point.hash in self._found for point in plan.points),
            "failed": dict(failed),
            **spent,
            "provenance": provenance(seed=plan.seed, inputs=plan.inputs),
        }
        files.write_json(folder / MANIFEST, document)


def table(plan: Plan, found: Mapping[str, dict[str, Any]], failed: Mapping[str, str]) -> list[dict[str, Any]]:
    """One row per point and configuration, in the plan's order, each with every parameter and the seed.

    Differences are to the same configuration of the base, replication by replication; NaN where it has none.
    """
    times = [configurations_of(found[point.hash]) if point.hash in found else {} for point in plan.points]
    base = times[0]
    keys = [(number, name) for number, here in enumerate(times) for name in here]
    described = dict(zip(keys, _described([times[number][name] for number, name in keys]), strict=True))
    paired = [(number, name) for number, name in keys if name in base]
    against = dict(zip(paired, _described([times[number][name] - base[name] for number, name in paired]), strict=True))
    rows = []
    for number, point in enumerate(plan.points):
        head = {"point": number, "hash": point.hash}
        head |= {path: plain(point.values.get(path, before)) for path, before in plan.before.items()}
        head |= {"replications": plan.replications, "seed": plan.seed}
        for name in times[number] or {"": None}:
            here, difference = described.get((number, name), _NOTHING), against.get((number, name), _NOTHING)
            rows.append(
                {
                    **head,
                    "configuration": name,
                    **{f"{key}_s": here[key] for key in _NOTHING},
                    **{f"difference_{key}_s": difference[key] for key in ("mean", "low", "high")},
                    "error": failed.get(point.hash, ""),
                }
            )
    return rows


_NOTHING = dict.fromkeys(("mean", "low", "high", "median", "p05", "p95"), float("nan"))


def _described(samples: list[NDArray[np.float64]]) -> list[dict[str, float]]:
    return describe_all(np.stack(samples)) if samples else []


def plain(value: Any) -> Any:
    """A value for a cell of a table."""
    return value if isinstance(value, str | int | float) or value is None else json.dumps(value)


def save_table(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows as CSV, and as Parquet too where pyarrow is installed."""
    from importlib.util import find_spec

    import pandas as pd

    frame = pd.DataFrame(list(rows))
    files.write_text(folder / TABLE, frame.to_csv(index=False))
    if find_spec("pyarrow") is not None:
        import io

        stream = io.BytesIO()
        mixed = [name for name in frame.columns if frame[name].dtype == object]
        frame.astype(dict.fromkeys(mixed, "string")).to_parquet(stream, index=False)
        files.write_bytes((folder / TABLE).with_suffix(".parquet"), stream.getvalue())


def _file(folder: Path, name: str) -> Path:
    return folder / POINTS / f"{name}.json"

"""The results folder of a sweep: one file per finished point, the table of all, the resolved scenario, the manifest."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.base import files
from simulator.base.errors import ApportionError, ScenarioError, SweepError
from simulator.base.provenance import provenance
from simulator.experiments.sweep.plan import Plan
from simulator.experiments.sweep.shelf import Shelf
from simulator.experiments.sweep.table import table
from simulator.results.files import FORMAT, is_manifest, point_runs
from simulator.results.tables import FORMS, LIMIT_BYTES, Form, check_form, kinds_of, run_frames, write_table

if TYPE_CHECKING:
    import pandas as pd

MANIFEST, SCENARIO, POINTS = "manifest.json", "scenario.yaml", "points"
_WAYS = {"scenario": "scenario", "inputs": "set of files", "replications": "replications", "seed": "seed"}
_WAYS |= {"question": "question (--advise)", "version": "version of apportion or its libraries"}
_TORN = ("points/.*", f".{MANIFEST}.*", f".{SCENARIO}.*", ".points.*", ".runs.*")
"""What a process leaves that is killed while it writes."""


class Keep:
    """Finished points: in a folder, or, without one, only for as long as they are asked for.

    Parameters
    ----------
    form
        Of the table; Parquet is two tables, that of points and that of every run.
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
        """Make the folder, or go on with what is in it; meanwhile no other process does.

        Raises
        ------
        ScenarioError
            If results are there and are not to be gone on with, or are of another sweep, or somebody is at them.
        """
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
                raise ScenarioError(f"{folder}: results found, another folder, or --resume to go on, allowed")
            self._check(files.read_json(manifest, limit_bytes=LIMIT_BYTES))
            for pattern in _TORN:
                for path in folder.glob(pattern):
                    files.remove(path)
            self.documents.find()
        files.make_folder(folder / POINTS)
        files.write_text(folder / SCENARIO, self.plan.resolved)
        self._write_manifest(folder, {}, tables=(), columns={})

    def _check(self, manifest: Any) -> None:
        """Whether the results there are of this sweep, or of one that this one goes beyond."""
        if not is_manifest(manifest) or manifest["kind"] != "sweep":
            raise ScenarioError(f"{self.folder}: results that are no sweep's found, those of this sweep allowed")
        mine = self._common()
        for name, said in _WAYS.items():
            if manifest["sweep"].get(name) != mine[name]:
                raise ScenarioError(f"{self.folder}: a sweep of another {said} found, results of this one allowed")
        others = set(manifest["points"]) - {point.hash for point in self.plan.points}
        if others:
            found = f"a sweep with {len(others)} points that this one lacks found"
            raise ScenarioError(f"{self.folder}: {found}, results of this one allowed")

    def close(self, failed: Mapping[str, str], spent: Mapping[str, Any]) -> "pd.DataFrame":
        """Write the table and what came of it all; the table.

        Raises
        ------
        SweepError
            If they cannot be written, or a point that was kept is gone.
        """
        try:
            frame = table(self.plan, self.documents, failed)
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

    def _common(self) -> dict[str, Any]:
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
            "points": {point.hash: list(point.changes) for point in plan.points},
            "finished": len(self.documents),
            "failed": dict(failed),
            **more,
            "provenance": provenance(seed=plan.seed, inputs=plan.inputs),
        }
        files.write_json(folder / MANIFEST, document)

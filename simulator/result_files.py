"""Results on disk: a folder with one row per run, a manifest, and what reads them again."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator import files, notebook
from simulator.errors import ScenarioError
from simulator.results import RunSet
from simulator.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "load_results", "save_runs"]

FORMAT = 1
KINDS = ("runs", "sweep")
LIMIT_BYTES = 2**30
MOST_ROWS = 2_000_000
"""Of `processes.csv`; what has more is left to the manifest's means."""
PROCESS_COLUMNS = (
    *("configuration", "replication", "seed", "process", "pe", "node", "units"),
    *("busy_s", "waiting_s", "idle_s", "finish_s"),
)


def save_runs(
    runs: RunSet, folder: Path, *, manifest: Mapping[str, Any], scenario: Scenario | None = None
) -> tuple[Path, ...]:
    """Write `runs.csv`, `processes.csv` and `manifest.json`, and name them.

    `runs.csv` has configuration, replication, seed, makespan_s; `processes.csv` where the time of each process went in
    each replication, if that is at most `MOST_ROWS` rows.

    Parameters
    ----------
    scenario
        What was simulated; without it there is no `processes.csv`.
    folder
        Made if it is missing; what is in it stays, but for files of these names.
    manifest
        What a reader needs to know of the runs: scenario, engine, provenance.
    """
    files.make_folder(folder)
    table, described = folder / "runs.csv", folder / "manifest.json"
    files.write_text(table, runs.to_dataframe().to_csv(index=False))
    written = [table]
    rows = sum(busy.size for busy in runs.busy_ticks)
    if scenario is not None and rows <= MOST_ROWS:
        written.append(folder / "processes.csv")
        files.write_pieces(written[-1], _process_rows(runs, scenario))
    files.write_json(described, {"format": FORMAT, "kind": "runs", "files": [one.name for one in written], **manifest})
    return *written, described


def _process_rows(runs: RunSet, scenario: Scenario) -> Iterator[str]:
    """Busy, waiting and idle seconds of each process, which add up to the makespan; a piece of CSV per replication."""
    piece = io.StringIO()
    rows = csv.writer(piece, lineterminator="\n")
    rows.writerow(PROCESS_COLUMNS)
    for k, configuration in enumerate(scenario.configurations):
        pes = [scenario.platform.pes[place] for place in configuration.placement]
        who = [(pe.name, pe.node, units) for pe, units in zip(pes, configuration.partition, strict=True)]
        for replication, makespan in enumerate(runs.makespan_ticks[k].tolist()):
            busy, finish = (ticks[k][replication].tolist() for ticks in (runs.busy_ticks, runs.finish_ticks))
            for process, (spent, end) in enumerate(zip(busy, finish, strict=True)):
                seconds = [ticks * runs.tick_s for ticks in (spent, end - spent, makespan - end, end)]
                rows.writerow((configuration.name, replication, runs.seed, process, *who[process], *seconds))
            yield piece.getvalue()
            piece.seek(0)
            piece.truncate()


@dataclass(frozen=True)
class Results:
    """A results folder: of `apportion simulate -o` (kind `runs`) or of `apportion whatif -o` (kind `sweep`)."""

    folder: Path
    manifest: Mapping[str, Any]
    """What its `manifest.json` says."""

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, kind {self.kind})"

    @property
    def kind(self) -> str:
        """`runs` or `sweep`."""
        return str(self.manifest["kind"])

    def to_dataframe(self, *, replications: bool = False) -> "pd.DataFrame":
        """The table: one row per run, or, of a sweep, per point and configuration.

        Parameters
        ----------
        replications
            Of a sweep, one row per run too.
        """
        import pandas as pd

        if replications and self.kind == "sweep":
            return pd.DataFrame(list(self._runs()))
        text = files.read_text(self.folder / self.manifest["files"][0], limit_bytes=LIMIT_BYTES)
        return pd.read_csv(io.StringIO(text), dtype={"hash": "str"})

    def _runs(self) -> Iterator[dict[str, Any]]:
        for number, name in enumerate(self.manifest["points"]):
            path = self.folder / "points" / f"{name}.json"
            if not path.exists():
                continue  # it failed
            point = files.read_json(path)
            head = {"point": number, "hash": name, **self.manifest["parameters"], **point["changes"]}
            for entry in point["configurations"]:
                for replication, ticks in enumerate(entry["makespan_ticks"]):
                    yield {
                        **head,
                        "configuration": entry["name"],
                        "replication": replication,
                        "seed": point["seed"],
                        "makespan_s": ticks * entry["tick_s"],
                    }

    def _repr_html_(self) -> str:
        frame = self.to_dataframe()
        rows = [{str(name): value for name, value in row.items()} for row in frame.head(20).to_dict(orient="records")]
        return notebook.page(f"Results in {self.folder}", notebook.table(rows, count=len(frame)))


def load_results(folder: str | Path) -> Results:
    """Open a results folder.

    Raises
    ------
    ScenarioError
        If it holds no results, or those of a sweep that has not ended.
    """
    folder = Path(folder)
    manifest = files.read_json(folder / "manifest.json")
    if not isinstance(manifest, dict) or manifest.get("kind") not in KINDS or manifest.get("format") != FORMAT:
        raise ScenarioError(f"{folder}: no results found, a folder of simulate -o or whatif -o allowed")
    if not manifest["files"]:
        done = sum(1 for _ in (folder / "points").glob("[!.]*.json"))
        found = f"a sweep with {done} of {len(manifest['points'])} points finished found"
        raise ScenarioError(f"{folder}: {found}, a whole one allowed: its command with --resume goes on")
    return Results(folder, manifest)

"""Results on disk: a folder with one row per run, a manifest, and timelines for people and for trace viewers."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator import files, notebook
from simulator.errors import ScenarioError
from simulator.results import RunSet

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "chrome_trace", "load_results", "save_runs"]

FORMAT = 1
KINDS = ("runs", "sweep")
LIMIT_BYTES = 2**30


def save_runs(runs: RunSet, folder: Path, *, manifest: Mapping[str, Any]) -> tuple[Path, ...]:
    """Write `runs.csv` (configuration, replication, seed, makespan_s) and `manifest.json`, and name them.

    Parameters
    ----------
    folder
        Made if it is missing; what is in it stays, but for files of these names.
    manifest
        What a reader needs to know of the runs: scenario, engine, provenance.
    """
    files.make_folder(folder)
    table, described = folder / "runs.csv", folder / "manifest.json"
    files.write_text(table, runs.to_dataframe().to_csv(index=False))
    files.write_json(described, {"format": FORMAT, "kind": "runs", "files": [table.name], **manifest})
    return table, described


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


def chrome_trace(timelines: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Timelines in the Trace Event Format, which Perfetto and Chrome show.

    Parameters
    ----------
    timelines
        Per configuration what `RunSet.timeline` gives; each becomes a process of the viewer, ours become its threads.
    """
    events: list[dict[str, Any]] = []
    for number, (name, timeline) in enumerate(timelines.items()):
        events.append({"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}})
        named = {entry["process"]: f"process {entry['process']} on {entry['pe']}" for entry in timeline}
        events += [
            {"ph": "M", "name": "thread_name", "pid": number, "tid": process, "args": {"name": text}}
            for process, text in sorted(named.items())
        ]
        events += [
            {
                "ph": "X",
                "name": entry["operation"],
                "cat": entry["operation"],
                "pid": number,
                "tid": entry["process"],
                "ts": entry["start_s"] * 1e6,
                "dur": (entry["end_s"] - entry["start_s"]) * 1e6,
            }
            for entry in timeline
        ]
    return {"displayTimeUnit": "ms", "traceEvents": events}

"""Results on disk: a folder with one row per run, a manifest, and timelines for people and for trace viewers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator import files
from simulator.results import RunSet

__all__ = ["chrome_trace", "save_runs"]

FORMAT = 1


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

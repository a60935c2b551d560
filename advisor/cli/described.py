"""What load traces and streams of jobs hold, in numbers, for the commands that show, make and convert them."""

from pathlib import Path
from typing import Any

import simulator
from advisor.cli.models import lines, warned
from simulator import blocks

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the jobs, for the quantiles that are printed."""


def trace_summary(path: Path, trace: "simulator.LoadTrace", column: str) -> dict[str, Any]:
    """How long a load trace is, and between what its values lie."""
    return {
        "trace": str(path),
        "column": column,
        "rows": int(trace.values.size),
        "duration_s": trace.end_s,
        "mean": trace.mean(),
        "least": float(trace.values.min()),
        "greatest": float(trace.values.max()),
    }


def stream_document(stream: "simulator.Stream") -> dict[str, Any]:
    """What a stream of jobs holds, in numbers."""
    import numpy as np

    processors = stream.machine_processors or 1
    offered = stream.offered_load(processors)
    known = {
        "processors": stream.processors,
        "run_s": stream.run_s,
        "gap_s": np.diff(stream.submit_s),
        "limit_s": stream.limit_s[~np.isnan(stream.limit_s)],
    }
    overloaded = offered >= 1
    return {
        "format": 1,
        "jobs": len(stream),
        "processors": processors,
        "users": int(np.unique(stream.user).size),
        "offered_load": offered if np.isfinite(offered) else None,
        "lasts_s": float(stream.submit_s[-1] - stream.submit_s[0]),
        "shares": list(SHARES),
        "quantiles": {name: np.quantile(some, SHARES).tolist() if some.size else None for name, some in known.items()},
        "limits": int(np.unique(known["limit_s"]).size),
        "notes": list(stream.notes),
        "warnings": [_OVERLOADED.format(offered)] if overloaded else [],
    }


_OVERLOADED = "the offered load is {:.3g}: a queue grows to the end, and averages hang on the length of the stream"


def stream_blocks(document: dict[str, Any]) -> list[blocks.Block]:
    """The same for people."""
    days, load = document["lasts_s"] / 86400, document["offered_load"]
    names = {"processors": "processors", "run_s": "run time in s", "gap_s": "gap in s", "limit_s": "limit in s"}
    quantiles = document["quantiles"]
    rows = [[text, *(f"{value:.6g}" for value in quantiles[name])] for name, text in names.items() if quantiles[name]]
    return [
        lines(
            f"{document['jobs']} jobs for {document['processors']} processors over {days:.4g} days",
            f"offered load {'-' if load is None else format(load, '.6g')}, {document['users']} users",
        ),
        blocks.table("", ("", *(f"{share:.0%} below" for share in document["shares"])), rows),
        lines(*document["notes"], *warned(document["warnings"])),
    ]

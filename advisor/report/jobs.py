"""What runs, comparisons and advice on job streams leave: the document of a run, and folders with tables and a page."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator import JobRuns, files, job_metrics, job_table_lines, plots, provenance, stream_lines, write_job_timeline

if TYPE_CHECKING:
    from advisor.jobs.advise import JobAdvice
    from advisor.jobs.compare import Compared

ROW_BYTES, PAGE_BYTES = 100, 2**21
"""About what a row of the table takes, and everything else."""


def needed_bytes(jobs: int, pes: int, *, named: bool) -> int:
    """About what `-o` writes, at most."""
    return PAGE_BYTES + jobs * (ROW_BYTES + (4 * min(pes, 16) if named else 0))


def variant(runs: JobRuns) -> str:
    """The policy with all of its settings, as results name it."""
    policy, passes = runs.policy, {"instant": "one pass per instant", "event": "one pass per event"}
    candidates = {"order": "in order", "shortest": "shortest first"}[policy.candidates]
    if policy.own is not None:
        return ", ".join([f"PEs {policy.processors}", passes[policy.same_second], f"estimates {runs.estimates.name}"])
    words = [f"order {policy.order}", f"backfill {policy.backfill}"]
    words += [f"candidates {candidates}"] if policy.backfill == "easy" else []
    words += [f"PEs {policy.processors}"]
    words += [f"placement {policy.placement}"] if policy.processors == "named" else []
    words += [f"sizes {policy.sizes}"] if policy.sizes != "fixed" else []
    return ", ".join([*words, passes[policy.same_second], f"estimates {runs.estimates.name}"])


def jobs_document(
    runs: JobRuns,
    *,
    log: Path,
    warm_up: float,
    delayed: job_metrics.Delayed | None = None,
    seed: int | None = None,
    ran_on: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What `jobs run --json` prints.

    Parameters
    ----------
    log
        The file that the stream was read from.
    warm_up
        Share of the jobs that averages leave out.
    delayed
        Of the sample of `--fairness`.
    seed
        Of that sample.
    ran_on
        Options that say what the jobs ran on: `platform`, `times`, `draw`, `sizes`, and files: `model`, `policy`.

    Raises
    ------
    ScenarioError
        For a run without jobs.
    """
    stream, overloaded = runs.stream, job_metrics.overload(runs)
    load, setting = job_metrics.offered_load(runs), dict(ran_on or {})
    files_read = [log, *(setting[name] for name in ("platform", "model") if setting.get(name) is not None)]
    files_read += [Path(str(setting["policy"]).partition(":")[0])] if setting.get("policy") else []
    return {
        "format": 1,
        "command": "jobs run",
        "stream": {"name": stream.name, "jobs": len(stream), "log": str(log), "notes": list(stream.notes)},
        "policy": {"name": runs.policy.name, "variant": variant(runs), **runs.policy.to_dict()},
        "estimates": runs.estimates.to_dict(),
        "setting": {
            name: value if value is None or isinstance(value, int) else str(value) for name, value in setting.items()
        },
        "pes": runs.pes,
        "engine": runs.engine,
        "tick_s": runs.tick_s,
        "seed": seed,
        "averages": job_metrics.averages(runs, warm_up=warm_up).to_dict(),
        "offered_load": load if load < float("inf") else None,
        "overloaded": overloaded,
        "delayed": None if delayed is None else delayed.to_dict(),
        "classes": {
            kind: [one.to_dict() for one in job_metrics.by_class(runs, kind, warm_up=warm_up)]
            for kind in job_metrics.CLASSES
        },
        "warnings": [] if overloaded is None else [f"overloaded: {overloaded}"],
        "provenance": provenance.provenance(
            seed=seed, inputs={str(path): files.digest_of(path) for path in files_read}
        ),
    }


def save_jobs(
    runs: JobRuns, document: Mapping[str, Any], *, folder: Path | None, jobs: Path | None, timeline: Path | None
) -> None:
    """What `-o` (jobs.csv, report.html, manifest.json), `--jobs` and `--timeline` name, where they are given."""
    if folder is not None:
        from advisor.report.html import render_html

        files.write_pieces(folder / "jobs.csv", job_table_lines(runs))
        files.write_text(folder / "report.html", render_html({**document, "figures": figures(runs, document)}))
        files.write_json(folder / "manifest.json", document)
    if jobs is not None:
        files.write_pieces(jobs, stream_lines(runs, jobs.suffix))
    if timeline is not None:
        told = ("command", "stream", "policy", "estimates", "averages", "warnings", "provenance")
        write_job_timeline(timeline, runs, about={key: document[key] for key in told})


def figures(runs: JobRuns, document: Mapping[str, Any]) -> dict[str, str]:
    """The drawings of the page by name, empty where there is nothing to draw."""
    warm_up = document["averages"]["warm_up"]
    found = {
        "busy": plots.busy_svg(runs),
        "pes": plots.pes_svg(runs),
        "waits": plots.waits_svg(runs, job_metrics.measured(runs, warm_up)),
    }
    for kind, what in job_metrics.CLASSES.items():
        classes = job_metrics.by_class(runs, kind, warm_up=warm_up)
        found[f"classes-{kind}"] = plots.class_slowdown_svg(classes, what=what, name=f"classes-{kind}")
    return found


def save_comparison(found: "Compared", document: Mapping[str, Any], folder: Path) -> None:
    """What `jobs compare -o` names: comparison.json, draws.csv, report.html and manifest.json."""
    _save_draws(found, document, folder, name="comparison.json", about=document)


def save_advice(found: "JobAdvice", document: Mapping[str, Any], folder: Path) -> None:
    """What `jobs advise -o` names: advice.json, draws.csv, report.html and manifest.json."""
    _save_draws(found.compared, document, folder, name="advice.json", about=document["compared"])


def _save_draws(
    found: "Compared", document: Mapping[str, Any], folder: Path, *, name: str, about: Mapping[str, Any]
) -> None:
    """The document under a name, what each draw gave, the page, and which of them is which."""
    from advisor.report.html import render_html

    page = render_html(document)
    files.write_text(folder / "draws.csv", files.csv_lines(_draw_rows(found)))
    files.write_json(folder / name, document)
    files.write_text(folder / "report.html", page)
    told = {key: document[key] for key in ("format", "command", "sentence", "provenance") if key in document}
    told |= {key: about[key] for key in ("stream", "draws", "replications")}
    files.write_json(folder / "manifest.json", told | {"files": [name, "draws.csv", "report.html"]})


def _draw_rows(found: "Compared") -> list[tuple[object, ...]]:
    """A row for each draw, alternative and metric, under a header."""
    return [
        ("draw", "alternative", "metric", "value"),
        *(
            (draw, one.name, metric.name, repr(float(found.values[draw, place, number])))
            for draw in range(found.values.shape[0])
            for place, one in enumerate(found.alternatives)
            for number, metric in enumerate(found.metrics)
        ),
    ]

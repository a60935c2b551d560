"""What a fitted model, a prediction and a partition by speeds answer, as pages."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor import wording
from simulator import blocks, units

if TYPE_CHECKING:
    from advisor.advise.partition.result import Partition
    from advisor.advise.partition.speeds_file import Speeds
    from simulator.models import Diagnosis

Entry = Mapping[str, Any]
"""One prediction, as a document has it."""


def fit_page(found: Mapping[str, "Diagnosis"], formulas: Mapping[str, str], warnings: Sequence[str]) -> blocks.Page:
    """How well the formula of each part of a run describes the runs, what it may lack, and which runs stand out.

    `found`: diagnostics of each column of measured seconds.
    `formulas`: of each, as it was given.
    """
    answers = [_fitted(response, formulas[response], part) for response, part in found.items()]
    return blocks.Page(
        title=f"Run times by {', '.join(formulas.values())}",
        answer=" ".join(answers),
        sections=tuple(blocks.Section(response, response, _diagnosed(part)) for response, part in found.items()),
        command="fit",
        facts=blocks.pairs({"Rests on": "measured run times"}),
        warnings=tuple(warnings),
    )


def _fitted(response: str, formula: str, found: "Diagnosis") -> str:
    parts = [f"{found.runs} runs at {found.points} points"]
    parts += [] if found.r2 is None else [f"R^2 {found.r2:.4g}"]
    if found.forward_error is not None:
        parts.append(f"{wording.percent(found.forward_error, 1)} error on larger runs that it was not fitted to")
    return f"{response} = {formula}: {', '.join(parts)}."


def _diagnosed(found: "Diagnosis") -> tuple[blocks.Block, ...]:
    structures = [(one.structure, f"{one.weight:.2f}") for one in found.structures[:3]]
    outliers = [(str(one.run), wording.duration(one.time_s), f"{one.factor:.2f}") for one in found.outliers]
    return (
        blocks.table("Structures", ("structure", "weight"), structures),
        blocks.table("Outliers", ("run", "time", "times the expected"), outliers),
    )


# Predictions


def prediction_page(model: Path, kind: str, document: Mapping[str, Any]) -> blocks.Page:
    """What a model of a kind says of each target, in the order of the targets."""
    head, row = _ROWS[kind]
    rows = [row(entry) for entry in document["predictions"]]
    notes = [line for entry in document["predictions"] for line in _time_notes(entry)] if kind == "runtime" else []
    more = f" (the first of {len(rows)})" if len(rows) > 1 else ""
    level = f", intervals hold with {wording.level_text(document['level'])}" if document.get("level") else ""
    shown, outside = blocks.table("", head, rows), [row[-1] for row in rows if row[-1]]
    beyond = (f"{len(outside)} of {len(rows)} outside {outside[0]}",) if outside else ()
    return blocks.Page(
        title=f"Predicted by {model}",
        answer=f"{rows[0][0]}: {rows[0][1]}, predicted{more}.",
        sections=(blocks.Section("predictions", "Predictions", (shown, blocks.Listing("\n".join(notes)))),),
        command="predict",
        facts=blocks.pairs({"Rests on": f"the model {model}{level}"}),
        rows=shown,
        warnings=(*beyond, *document.get("warnings", ())),
    )


def _speed_row(entry: Entry) -> list[str]:
    """A speed with where one run and the mean lie."""
    outside = "the band" if entry["outside_band"] else "the largest point" if entry["beyond_points"] else ""
    mean = f"{entry['truth_low']:.4g} to {entry['truth_high']:.4g}" if "truth_low" in entry else ""
    one_run = f"{entry['low']:.4g} to {entry['high']:.4g}"
    return [f"{entry['size_elements']:.6g} elements", f"{entry['mean']:.4g} per second", one_run, mean, outside]


def _memory_row(entry: Entry) -> list[str]:
    """The time of a word."""
    outside = "what was measured" if entry["outside_training_range"] else ""
    return [_at(entry["at"]), *_timed(entry), outside]


def _message_row(entry: Entry) -> list[str]:
    """The time of a message."""
    outside = "what was measured" if entry["extrapolation"] else ""
    return [f"{entry['at']['bytes']:g} B over {entry['at']['hops']:g} hops", *_timed(entry), outside]


def _neighbours_row(entry: Entry) -> list[str]:
    """How much longer a computation takes beside others."""
    outside = "the sizes measured" if entry["outside_sizes"] else ""
    name = f"{entry['subject']}:{entry['size_elements']:.6g}"
    return [name, f"{entry['ratio']:.4g}", " ".join(entry["beside"]) or "nobody", outside]


def _time_row(entry: Entry) -> list[str]:
    """A run time with the intervals of its mean and of one run."""
    outside = "the training range" if entry["outside_training_range"] else ""
    return [_at(entry["at"]), *_timed(entry), units.show_range(entry["run_low"], entry["run_high"]), outside]


_ROWS: Mapping[str, tuple[tuple[str, ...], Callable[[Entry], list[str]]]] = {
    "runtime": (("at", "mean", "interval of the mean", "one run", "outside"), _time_row),
    "speed": (("size", "speed", "one run", "in the mean", "outside"), _speed_row),
    "memory": (("at", "per word", "interval", "outside"), _memory_row),
    "network": (("message", "time", "interval", "outside"), _message_row),
    "neighbours": (("computation", "times as long as alone", "together with", "outside"), _neighbours_row),
}
"""Kind of model -> the head and the rows of its predictions."""


def _time_notes(entry: Entry) -> list[str]:
    """What was observed there, and warnings."""
    lines = []
    if seen := entry["observed"]:
        mean = units.show_interval(seen["mean"], seen["low"], seen["high"])
        lines.append(f"{_at(entry['at'])}: observed {mean} in {seen['runs']} runs")
    lines += [f"{_at(entry['at'])}: {line}" for line in entry["warnings"]]
    return lines


def _at(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items())


def _timed(entry: Entry) -> tuple[str, str]:
    return wording.duration(entry["mean"]), units.show_range(entry["low"], entry["high"])


# Partitions


def partition_page(found: "Partition", speeds: "Speeds") -> blocks.Page:
    """Units of each PE, and how good that is."""
    makespan, bound = (wording.duration(time_s) for time_s in (found.makespan_s, found.lower_bound_s))
    verdict = "no partition is better" if found.optimal else f"no partition is below {bound}"
    listed = zip(found.pes.pe_names(), found.units.tolist(), found.times_s.tolist(), strict=True)
    rows = [(name, f"{count}", wording.duration(time_s)) for name, count, time_s in listed]
    table = blocks.table("", ("PE", "units", "time, predicted"), rows)
    return blocks.Page(
        title=f"{found.units.sum()} units among {wording.counted(len(rows), 'PE')}",
        answer=f"By {found.method} all end within {makespan}, predicted: {verdict}.",
        sections=(blocks.Section("units", "Units", (table,)),),
        command="partition",
        facts=blocks.pairs({"Rests on": f"speeds of {', '.join(speeds.inputs)}"}),
        rows=table,
        warnings=found.warnings,
    )

"""What models, load traces and streams of jobs say at a terminal, as blocks: when one is made, and when it is shown."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import simulator
from simulator import blocks, calibration, models, units

SIZES_BYTES = (1, 2**10, 2**16, 2**20, 2**24)
"""Messages of a network model that are shown."""
ANSWERS = {None: "not known", True: "yes", False: "no"}
"""Whether an assumption holds."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the jobs of a stream, for the quantiles that are printed."""
Document = dict[str, Any]
"""A model's file."""
Shown = list[blocks.Block]


def lines(*texts: str | None) -> blocks.Listing:
    """Those of the lines that say something."""
    return blocks.Listing("\n".join(text for text in texts if text))


def warned(texts: Iterable[str]) -> list[str]:
    """What to know before the numbers above are trusted."""
    return [f"warning: {text}" for text in texts]


def share(value: float | None) -> str:
    """As a percentage, or a dash."""
    return "-" if value is None else f"{100 * value:.1f} %"


def speed_blocks(document: Document, band: "simulator.SpeedBand", *more: str) -> Shown:
    """Points, what was assumed, and whether the band is usable: by its doubt, which one of a stated width has not."""
    from advisor import wording

    points = sorted(document.get("points", ()), key=lambda point: float(point["size_elements"]))
    rows = [
        (f"{point['size_elements']:.6g}", *(f"{point['speed'][end]:.4g}" for end in ("low", "mid", "high")))
        for point in points
    ]
    spent = units.show_duration(float(document.get("experimental_s", 0)))
    error = None if band.doubt is None else float((band.doubt.at(band.sizes) ** 2).mean() ** 0.5)
    low, high = (float(points[end]["size_elements"]) if points else float(band.sizes[end]) for end in (0, -1))
    reach = wording.reach_text(low, high, "elements", None if band.doubt is None else float(band.doubt.at(2 * high)))
    incomplete, violated, lacking = document.get("incomplete", ()), document.get("assumptions_violated", ()), ""
    known = wording.SPEEDS
    if points and any(line.startswith("budget:") for line in incomplete):
        lacking = f"the budget ended it at {points[-1]['size_elements']:.3g} elements"
    elif incomplete:
        lacking, known = (
            "it is incomplete, see above",
            replace(known, remedy="more sizes would tell, or another --method"),
        )
    elif violated:
        lacking = f"{len(violated)} of its assumptions do not hold, see the warnings"
    return [
        blocks.Text(f"{document.get('method', '?')}: {len(points)} points in {spent} of runs"),
        blocks.table("", ("elements", "low", "mean", "high, volume per second"), rows, text_columns=0),
        lines(
            document.get("largest_reason"),
            models.noise_and_doubt(band.doubt, band.noise, sizes=band.sizes),
            *more,
            *(f"incomplete: {line}" for line in incomplete),
            *(f"assumed: {line}" for line in document.get("assumptions", ())),
            *(f"{one['assumption']}: {ANSWERS[one['holds']]}" for one in document.get("shape", ())),
            *warned(line for line in document.get("warnings", ()) if line not in incomplete),
            wording.verdict(known, error, by="doubt", lacking=lacking, reach=reach),
        ),
    ]


def _forms(models: Iterable[Any], held_out: Iterable[float | None]) -> blocks.Table:
    """Forms that were fitted, with their errors where they were fitted and on what was held out."""
    rows = []
    for one, own in zip(models, held_out, strict=True):
        physical = "yes" if one.physical else f"no: {'; '.join(one.faults)}"
        rows.append([one.name, *map(share, (one.mean_relative_error, own)), physical])
    return blocks.table("", ("model", "mean error", "held out", "physical"), rows)


def network_blocks(found: "calibration.NetworkFile", *more: str) -> Shown:
    """The form chosen and all forms with their errors, and times at a few sizes."""
    from advisor import wording

    model, doubt = found.model, found.model.form.doubt
    chosen = next((one for one in found.models if one.name == found.chosen), None)
    times_s = zip(SIZES_BYTES, model.predict(SIZES_BYTES, 1.0).mean_s.tolist(), strict=True)
    rows = [(units.show_size(size), units.show_duration(time_s)) for size, time_s in times_s]
    held_out = [one.held_out.mean_relative_error for one in found.models]
    low, high = model.spread.size_range.tolist()
    reach = wording.reach_text(low, high, "bytes", None if doubt is None else float(doubt.at(2 * high)))
    return [
        blocks.Text(model.name if chosen is None else f"chosen: {found.chosen} ({found.criterion})"),
        *([_forms(found.models, held_out)] if found.models else []),
        blocks.table("", ("message", "takes"), rows),
        lines(
            *(() if chosen is None else (*map(_parameter, chosen.parameters), *chosen.notes)),
            None if doubt is None else models.noise_and_doubt(doubt, sizes=SIZES_BYTES),
            *more,
            *warned(found.warnings),
            wording.verdict(
                wording.MESSAGES,
                None if chosen is None else chosen.held_out.mean_relative_error,
                by="in the mean, on points that it was not fitted to",
                reach=reach,
            ),
        ),
    ]


def links_blocks(found: "Mapping[str, calibration.NetworkFile]", written: Mapping[str, Path]) -> Shown:
    """Several links, a row each."""
    rows = []
    for name, one in found.items():
        chosen = next((form for form in one.models if form.name == one.chosen), None)
        form, error = one.model.form, "" if chosen is None else f"{chosen.held_out.mean_relative_error:.1%}"
        ends = units.show_duration(form.latency_s), units.show_rate(form.bandwidth_bytes_per_s, "B/s")
        rows.append((name, one.chosen, *ends, error, str(written.get(name, ""))))
    head = ("link", "form", "latency", "bandwidth", "error held out", "model" if written else "")
    return [blocks.table("", head, rows, text_columns=2)]


def _parameter(one: Any) -> str:
    value = "not known" if one.value is None else f"{one.value:.4g} +- {one.standard_error:.2g}"
    return f"{one.name}: {value} {one.unit}{' (' + one.note + ')' if one.note else ''}"


def memory_blocks(found: "calibration.MemoryFile", *more: str) -> Shown:
    """All forms with their errors, the levels of the one chosen, and what the system says of them."""
    from advisor import wording

    chosen = next(one for one in found.models if one.name == found.chosen)
    rows = [(str(number), *_level(level)) for number, level in enumerate(chosen.parameters, start=1)]
    ranges = zip(("M_words", "alpha", "L"), found.model.trained, strict=True)
    alone = " and one ".join(name for name, (least, most) in ranges if least == most)
    lacking = f"with only one {alone} measured, others are guesses" if alone else ""
    by = "in the mean, on cells that it was not fitted to"
    reach = wording.reach_text(*found.model.trained[0], "words", None)
    return [
        blocks.Text(f"chosen: {found.chosen}"),
        _forms(found.models, [one.held_out_mean for one in found.models]),
        blocks.table("", ("level", "capacity", "latency", "gap"), rows),
        lines(
            *more,
            *map(_reported, found.comparison),
            *warned(found.warnings),
            wording.verdict(wording.WORDS, chosen.held_out_mean, by=by, lacking=lacking, reach=reach),
        ),
    ]


def _level(level: Any) -> list[str]:
    """What it holds, the rest beyond the last capacity, and what a word takes in it."""
    capacity = level.capacity_bytes
    times = [f"{1e9 * time_s:.3g} ns" for time_s in (level.latency_s, level.gap_s)]
    return ["the rest" if capacity is None else units.show_size(round(capacity)), *times]


def _reported(one: Any) -> str:
    near = one.nearest_fitted_bytes
    says = "no fitted capacity" if near is None else f"nearest fitted {units.show_size(round(near))}"
    reported = units.show_size(round(one.reported_bytes))
    return f"{one.name}: the system reports {reported}, {says}{', within a factor of 2' if one.agrees else ''}"


def neighbours_blocks(document: Document) -> Shown:
    """Domains, what each computation keeps next to others, and how far off the model is."""
    from advisor import wording

    held = document["held_out"] or {}
    pairs = [
        (f"{one['subject']}:{one['size_elements']:.4g}", " ".join(one["beside"]), f"{one['ratio']:.3f}")
        for one in document["pairs"]
    ]
    none = "no domain: nothing on this machine was seen to slow anything else beyond what is said below"
    better = f"no interaction would be {share(held.get('no_interaction_mean'))} off" if held else None
    by = "in the mean, on pairs left out of the fit"
    return [
        blocks.Text(f"what computations on {document['pe_count']} PEs lose to each other"),
        lines(*(map(_domain, document["domains"]) if document["domains"] else [none])),
        blocks.table("", ("computation", "together with", "time over alone"), pairs, text_columns=2),
        lines(
            better,
            *warned(document["warnings"]),
            wording.verdict(wording.TOGETHER, held.get("model_mean"), by=by),
        ),
    ]


def _domain(domain: Document) -> str:
    more = ", ".join(f"{name} {value}" for name, value in domain.items() if name not in {"kind", "name"})
    return f"{domain.get('name', domain.get('level', domain['kind']))} ({domain['kind']}): {more}"


def allocation_blocks(fitted: "calibration.AllocationFit", runs: object) -> Shown:
    """What was measured of processes on kinds of PEs, and how well it fits."""
    measured = fitted.measured
    sizes = ", ".join(f"{size:g}" for size in measured.sizes)
    most = [f"{kind} up to {pes}x{each}" for kind, (pes, each) in zip(measured.kinds, measured.most, strict=True)]
    rows = [
        (name, str(one.runs), share(one.mean_error), share(one.largest_error), f"{100 * one.inside:.0f} %")
        for name, one in fitted.quality.items()
    ]
    return [
        lines(
            f"{runs}: {measured.runs} runs of {len(measured.allocations)} configurations at sizes {sizes}",
            f"kinds (PEs x processes on each): {', '.join(most)}; at most {measured.most_processes} processes in all",
        ),
        blocks.table("", ("", "runs", "mean error", "largest", "within 90 % interval"), rows),
        lines(*warned(fitted.warnings)),
    ]


def plan_blocks(made: "calibration.ConstructionPlan") -> Shown:
    """Kinds of PEs, the runs to make and what they take."""
    inside = [run for run in made.runs if not run.reserve]
    reserve = sum(run.repetitions for run in made.runs if run.reserve)
    rows = [(made.label(*run.key), f"{run.repetitions}", f"{run.expected_s:.3g}", run.why) for run in inside]
    sizes, share_of_all = ", ".join(f"{size:g}" for size in made.at), made.expected_s / made.full_s
    runs = f"{sum(run.repetitions for run in inside)} runs, about {made.expected_s:.3g} s"
    return [
        lines(*map(_kind, made.kinds)),
        blocks.table("", ("run", "times", "seconds", "why"), rows),
        lines(
            f"{runs} of the budget of {made.budget_s:.3g} s; every configuration at N {sizes} would take about "
            f"{made.full_s:.3g} s ({share_of_all:.1%})",
            f"{reserve} more runs are listed in case these cost less than guessed" if reserve else None,
            *warned(made.notes),
        ),
    ]


def _kind(kind: Any) -> str:
    speed = "speed not known" if kind.speed is None else units.show_rate(kind.speed, "units/s")
    load = f", {kind.competitors:g} competitors" if kind.competitors else ""
    return f"kind {kind.name}: {len(kind.pes)} PEs, up to {kind.most} processes on each, {speed}{load}"


def trace_facts(path: Path, trace: "simulator.LoadTrace", column: str) -> Document:
    """How long a load trace is, and between what its values lie."""
    values = trace.values
    about: Document = {"trace": str(path), "column": column, "rows": int(values.size), "duration_s": trace.end_s}
    return {**about, "mean": trace.mean(), "least": float(values.min()), "greatest": float(values.max())}


def stream_facts(stream: "simulator.Stream") -> Document:
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
        "warnings": [_OVERLOADED.format(offered)] if offered >= 1 else [],
    }


_OVERLOADED = "the offered load is {:.3g}: a queue grows to the end, and averages hang on the length of the stream"


def stream_blocks(found: Document) -> Shown:
    """The same for people."""
    days, load = found["lasts_s"] / 86400, found["offered_load"]
    names = {"processors": "processors", "run_s": "run time in s", "gap_s": "gap in s", "limit_s": "limit in s"}
    rows = [[text, *(f"{value:.6g}" for value in found["quantiles"][name] or ())] for name, text in names.items()]
    return [
        lines(
            f"{found['jobs']} jobs for {found['processors']} processors over {days:.4g} days",
            f"offered load {'-' if load is None else format(load, '.6g')}, {found['users']} users",
        ),
        blocks.table("", ("", *(f"{share:.0%} below" for share in found["shares"])), [row for row in rows if row[1:]]),
        lines(*found["notes"], *warned(found["warnings"])),
    ]

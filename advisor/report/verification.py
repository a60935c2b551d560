"""Predicted against measured: real runs of what is recommended and the others, on a page and on a terminal."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from advisor import wording
from advisor.report.origin import head, machine_section, provenance_section
from advisor.report.picture import CALLED, columns, commands, input_of, measured_figure, who_figure
from advisor.report.scorecard import scorecard
from advisor.report.verdict import verdict
from advisor.verification.check import Verified, VerifiedConfiguration
from simulator import Share, blocks, documents, plots, units
from simulator.calibration import Coverage

NOW = ("as-now", "equal", "one-per-core")
"""What people run now, by name."""


def page_with_scorecard(verified: Verified) -> blocks.Page:
    """The page of what was verified on this machine just now, with all that was verified here before."""
    return verification_page(verified, scorecard(level=verified.held))


def verification_page(verified: Verified, scorecard: blocks.Section | None = None) -> blocks.Page:
    """Predicted, really run, judged.

    Parameters
    ----------
    scorecard
        Of all that was verified on this machine; see `advisor.report.scorecard`.
    """
    machine, repetitions = verified.provenance.machine, verified.repetitions
    asked = verified.application
    return blocks.Page(
        title=f"{wording.asked(asked)}, really run" if asked is not None else "Advice really run",
        answer=_answer(verified),
        sections=(
            verification_section(
                verified.configurations, verified.recommended, level=verified.held, coverage=verified.intervals
            ),
            *([] if scorecard is None else [scorecard]),
            machine_section(machine, {}),
            provenance_section(verified.provenance, None),
        ),
        host=machine.host if machine is not None else "",
        settings="" if repetitions is None else f"{wording.counted(repetitions, 'repetition')} each",
        key_figures=_key_figures(verified),
        picture=_picture(verified),
        run=_run(verified),
        verdict=verdict(verified.warnings, off=errors_of(verified.configurations)),
        **head(verified.command, verified.warnings, verified.provenance),
    )


def _answer(verified: Verified) -> str:
    recommended, best = verified.recommended, verified.best_measured
    if verified.regret is None:
        return "Nothing was run."
    if recommended == best:
        return f"The advice held: {recommended} was the fastest of all that were really run."
    near = "The advice nearly held" if verified.within_2_percent else "The advice did not hold"
    longer = wording.percent(verified.regret, 1)
    return f"{near}: {recommended} took {longer} longer than {best}, the fastest one measured."


def errors_of(entries: Sequence[VerifiedConfiguration]) -> float | None:
    """The largest error of a prediction, as a share; None where nothing was really run."""
    return max((abs(one.error_percent) / 100 for one in entries if one.error_percent is not None), default=None)


def _picture(verified: Verified) -> tuple[tuple[blocks.Figure, ...], ...]:
    """Who got how much, where equal parts ran too, and what was predicted of that."""
    entries = {name: one for one in verified.configurations for name in (one.name, *one.also)}
    best, before = entries.get(verified.recommended), next((entries[name] for name in NOW if name in entries), None)
    measured = measured_figure(verified.configurations, verified.recommended)
    if best is None:
        return columns(None, None, measured)
    had = None if before in {None, best} else before
    asked, names = verified.application, ("" if had is None else CALLED.get(had.name, had.name), "advised")
    who = who_figure(_shares(verified.pes, had, best), wording.unit_of(asked), names)
    return columns(who, None, measured)


def _shares(pes: Sequence[str], before: VerifiedConfiguration | None, best: VerifiedConfiguration) -> tuple[Share, ...]:
    gets, had = _units(best), Counter[int]() if before is None else _units(before)
    names = dict(enumerate(pes))
    return tuple(
        Share(names.get(pe, f"PE {pe}"), "", None if before is None else had[pe], gets[pe])
        for pe in sorted({*names, *gets, *had})
    )


def _units(one: VerifiedConfiguration) -> Counter[int]:
    """Units of each PE."""
    found = Counter[int]()
    for pe, units_ in zip(one.placement, one.partition, strict=False):
        found[pe] += units_
    return found


def _run(verified: Verified) -> tuple[blocks.Command, ...]:
    name = input_of(verified.provenance.inputs, ".yaml", ".yml", ".toml", ".json")
    line = f"apportion verify {shlex.quote(name)} --budget 60s" if name else ""
    return commands(("really run again, in the scenario's folder", line))


def _key_figures(verified: Verified) -> blocks.Pairs:
    of_intervals = f"of {wording.level_text(verified.held)} intervals hold the measured median"
    values = {
        "longer than the best one measured": wording.percent(verified.regret, 1),
        "mean error of a prediction": wording.digits(verified.mean_absolute_error_percent, 2) + " %",
        of_intervals: wording.percent(verified.share_of_intervals_that_hold),
        "of pairs in the predicted order": wording.percent(verified.pairs_in_order),
    }
    return blocks.pairs({name: text for name, text in values.items() if not text.startswith(wording.NOTHING)})


def verification_section(
    entries: Sequence[VerifiedConfiguration],
    recommended: str,
    *,
    level: float,
    coverage: Coverage | None = None,
) -> blocks.Section:
    """Every real run and what was predicted, as a figure and a table."""
    heading = "Predicted against measured"
    drawn = plots.verification(documents.to_dict(entries))
    if not drawn:
        return blocks.Section("verification", heading, (blocks.Text("No real run has checked the prediction."),))
    caption = "Real runs on this machine with the load on, every repetition shown, and what was predicted before them."
    held = [] if coverage is None else wording.held_lines(coverage, level)
    said = (blocks.Text(f"{'. '.join(held)}. {wording.HELD_NOTE}"),) if held else ()
    shown = blocks.SideBySide(blocks.Figure(drawn, caption), (_table(entries, recommended, level), *said))
    return blocks.Section("verification", heading, (shown,))


def _table(entries: Sequence[VerifiedConfiguration], recommended: str, level: float) -> blocks.Table:
    """Columns that no entry has a value for are left out."""
    parted = any(one.residual is not None for one in entries)
    counted = any(one.processes for one in entries)
    judged = any(one.interval_holds is not None for one in entries)
    columns = {
        "strategy": [", ".join((one.name, *one.also)) for one in entries],
        "processes": [wording.processes(one.processes) for one in entries] if counted else [],
        **_times(entries, interval=f"{wording.level_text(level)} interval"),
        "error": [wording.signed_percent(one.error_percent) for one in entries],
    }
    for name, part in (("of it computing", "compute"), ("load", "load"), ("rest", "rest")) if parted else ():
        known = (None if one.residual is None else getattr(one.residual, f"{part}_percent") for one in entries)
        columns[name] = [wording.signed_percent(value) for value in known]
    if judged:
        columns["held"] = [_holds(one) for one in entries]
    shown = {name: cells for name, cells in columns.items() if cells}
    return blocks.table(
        "Median makespan in seconds",
        list(shown),
        list(zip(*shown.values(), strict=True)),
        best=recommended,
        note="Error: predicted over measured median, minus 1."
        + (" Its parts: seconds computed, the share that the load leaves, messages and waiting." if parted else "")
        + (" Processes: on each PE." if counted else "")
        + (" Held: the interval of the mean, widened by the error of the median, holds it." if judged else ""),
    )


def _times(entries: Sequence[VerifiedConfiguration], *, interval: str = "") -> dict[str, list[str]]:
    """Predicted and measured seconds with as many decimals as tell single runs apart."""
    ends = [(min(one.measured_s), max(one.measured_s)) if one.measured_s else None for one in entries]
    places = [
        wording.decimals_of(one.measured_median_s, *(found if found and interval else ()))
        for one, found in zip(entries, ends, strict=True)
    ]
    between = [
        wording.NOTHING if (span := one.predicted_interval_s) is None else units.show_range(*span) for one in entries
    ]
    spreads = [
        wording.spread(found, one.measured_median_s, own=bool(interval))
        for one, found in zip(entries, ends, strict=True)
    ]
    return {
        "predicted": [
            wording.seconds(one.predicted_s, decimals) for one, decimals in zip(entries, places, strict=True)
        ],
        interval: between if interval and set(between) != {wording.NOTHING} else [],
        "measured": [
            wording.seconds(one.measured_median_s, decimals) for one, decimals in zip(entries, places, strict=True)
        ],
        "all runs": spreads,
        "runs": [str(len(one.measured_s)) for one in entries],
    }


def _holds(one: VerifiedConfiguration) -> str:
    return {None: wording.NOTHING, True: "yes", False: "no"}[one.interval_holds]


def verification_summary(entries: Sequence[VerifiedConfiguration]) -> blocks.Table:
    """Predicted and measured medians of a quickstart, for a terminal."""
    errors = [wording.NOTHING if one.error_percent is None else f"{one.error_percent:+.1f} %" for one in entries]
    columns = {"strategy": [one.name for one in entries], **_times(entries), "error": errors}
    shown = {name: cells for name, cells in columns.items() if name and cells}
    rows = list(zip(*shown.values(), strict=True))
    return blocks.table("Predicted and measured median makespan in s", list(shown), rows)


def verification_text(verified: Verified) -> Iterator[blocks.Block]:
    """What was predicted and measured, how often intervals held, and whether the order did, for a terminal."""
    widest = max(len(one.name) for one in verified.configurations) + 4
    rows = [
        [
            one.name + (" *" if one.name == verified.recommended else ""),
            wording.processes(one.processes),
            f"{one.predicted_s or 0.0:.4g}",
            "-" if (span := one.predicted_interval_s) is None else f"{span[0]:.4g} to {span[1]:.4g}",
            f"{one.measured_median_s or 0.0:.4g}",
            f"{one.error_percent or 0.0:+.1f}%",
            f"  {_holds(one)}",
        ]
        for one in verified.configurations
    ]
    title = ["configuration", "processes", "predicted", "interval", "measured", "error", "  held"]
    held, best = verified.pairs_in_order, f"the best one measured ({verified.best_measured})"
    order = "too close to tell" if held is None else f"{held:.0%} of the pairs that differ by more than 2 %"
    lines = [
        *wording.held_lines(verified.intervals, verified.held),
        f"* recommended: {verified.regret:.1%} slower than {best}; medians in s; processes by PE",
        *(f"{one.name} is also {', '.join(one.also)}" for one in verified.configurations if one.also),
        f"predicted order held: {order}; {verified.repetitions} repetitions each",
        *(f"warning: {line}" for line in verified.warnings),
    ]
    yield blocks.table("", title, rows, widths=(-widest, 10, 11, 20, 10, 9, -8), note="\n".join(lines))

"""Predicted against measured: real runs of what is recommended and the others, on a page and on a terminal."""

from collections.abc import Sequence

from advisor import wording
from advisor.report.origin import head, provenance_section
from advisor.report.picture import called, columns, measured_figure, plain_shares, who_figure
from advisor.report.verdict import verdict
from advisor.verification.check import Verified, VerifiedConfiguration
from simulator import blocks, units
from simulator.calibration import Coverage

NOW = ("as-now", "equal", "one-per-core")
"""What people run now, by name."""


def verification_page(verified: Verified, run: tuple[blocks.Command, ...] = ()) -> blocks.Page:
    """Predicted, really run, judged."""
    machine = verified.provenance.machine
    return blocks.Page(
        title=f"{wording.asked(verified.application)}, really run",
        answer=_answer(verified),
        sections=(
            verification_section(
                verified.configurations, verified.recommended, level=verified.level, coverage=verified.intervals
            ),
            provenance_section(verified.provenance, None, more={"Machine": wording.machine_line(machine)}),
        ),
        host=machine.host if machine is not None else "",
        settings=f"{wording.counted(verified.repetitions, 'repetition')} each",
        picture=_picture(verified),
        run=run,
        facts=blocks.pairs(_facts(verified)),
        rows=first_measured(verified.configurations, verified.recommended),
        verdict=verdict(verified.warnings, off=errors_of(verified.configurations)),
        **head(verified.command, verified.warnings, verified.provenance),
    )


def _answer(verified: Verified) -> str:
    recommended, best = verified.recommended, verified.best_measured
    if recommended == best:
        return f"The advice held: {recommended} was the fastest of all that were really run."
    near = "The advice nearly held" if verified.within_2_percent else "The advice did not hold"
    longer = wording.percent(verified.regret, 1)
    return f"{near}: {recommended} took {longer} longer than {best}, the fastest one measured."


def errors_of(entries: Sequence[VerifiedConfiguration]) -> float | None:
    """The largest error of a prediction, as a share; None where nothing was really run."""
    return max((abs(one.error_percent) / 100 for one in entries), default=None)


def _picture(verified: Verified) -> tuple[tuple[blocks.Figure, ...], ...]:
    """Who got how much, where equal parts ran too, and what was predicted of that."""
    entries = {name: one for one in verified.configurations for name in (one.name, *one.also)}
    best, before = entries.get(verified.recommended), next((entries[name] for name in NOW if name in entries), None)
    measured = measured_figure(verified.configurations, verified.recommended)
    if best is None:
        return columns(None, None, measured)
    had = None if before in {None, best} else before
    names = "" if had is None else called(had.name), "advised"
    who = who_figure(plain_shares(verified.pes, had, best), wording.unit_of(verified.application), names)
    return columns(who, None, measured)


def _facts(verified: Verified) -> dict[str, str]:
    """What was really run, and how often intervals held."""
    held, order = wording.held_lines(verified.intervals, verified.level), verified.pairs_in_order
    off = [f"predictions {wording.digits(verified.mean_absolute_error_percent, 2)} % off in the mean"]
    off += [] if order is None else [f"{wording.percent(order)} of pairs in the predicted order"]
    repetitions = f"{wording.counted(verified.repetitions, 'real run')} of each"
    return {"Rests on": repetitions, "Errors": ", ".join(off), "Intervals": held[0] if held else ""}


def measured_text(one: VerifiedConfiguration) -> str:
    """The median of real runs, with the least and the most of them: a few runs do not tell its third digit."""
    if not one.measured_s:
        return wording.NOTHING
    said = units.show_interval(one.measured_median_s, min(one.measured_s), max(one.measured_s))
    return said.replace("(", "(runs ")


def first_measured(entries: Sequence[VerifiedConfiguration], recommended: str) -> blocks.Table | None:
    """Predicted and measured medians, the recommended configuration and what runs now in front."""
    ran = sorted(entries, key=lambda one: (one.name != recommended, one.name not in NOW, one.measured_median_s or 0.0))
    rows = [
        (
            f"advised: {one.name}" if one.name == recommended else one.name,
            measured_text(one),
            wording.duration(one.predicted_s),
            wording.signed_percent(one.error_percent),
        )
        for one in ran
        if one.measured_s
    ]
    return blocks.table("", ("strategy", "measured", "predicted", "error"), rows) if rows else None


def verification_section(
    entries: Sequence[VerifiedConfiguration],
    recommended: str,
    *,
    level: float,
    coverage: Coverage | None = None,
) -> blocks.Section:
    """Real runs and what was predicted of them, as a table."""
    heading = "Predicted against measured"
    if not entries:
        return blocks.Section("verification", heading, ())
    held = [] if coverage is None else wording.held_lines(coverage, level)
    said = (blocks.Text(f"{'. '.join(held)}. {wording.HELD_NOTE}"),) if held else ()
    return blocks.Section("verification", heading, (_table(entries, recommended, level), *said))


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
        "Median makespan",
        list(shown),
        list(zip(*shown.values(), strict=True)),
        best=recommended,
        note="Error: predicted over measured median, minus 1."
        + (" Its parts: seconds computed, the share that the load leaves, messages and waiting." if parted else "")
        + (" Processes: on each PE." if counted else "")
        + (" Held: the interval of the mean, widened by the error of the median, holds it." if judged else ""),
    )


def _times(entries: Sequence[VerifiedConfiguration], interval: str) -> dict[str, list[str]]:
    """Predicted and measured times, and the least and the most of all runs."""
    between = [units.show_range(*(one.predicted_interval_s or (None, None))) for one in entries]
    ends = [(min(one.measured_s), max(one.measured_s)) if one.measured_s else (None, None) for one in entries]
    return {
        "predicted": [wording.duration(one.predicted_s) for one in entries],
        interval: between if set(between) != {wording.NOTHING} else [],
        "measured": [wording.duration(one.measured_median_s) for one in entries],
        "all runs": [units.show_range(*span) for span in ends],
        "runs": [str(len(one.measured_s)) for one in entries],
    }


def _holds(one: VerifiedConfiguration) -> str:
    return {None: wording.NOTHING, True: "yes", False: "no"}[one.interval_holds]

"""The scorecard of this machine: all that was predicted here and really run, and which intervals held."""

from collections.abc import Sequence

from advisor import wording
from simulator import blocks, intervals
from simulator.calibration import Comparison, coverage, kept_comparisons

SUBJECTS = {
    "kernel": "runs of our kernels",
    "command": "runs of a command",
    "allocation": "allocations",
    "regression": "run-time models",
}


def scorecard(*, level: float = intervals.LEVEL) -> blocks.Section | None:
    """What the run history of this machine says of all predictions; None while nothing has been verified here."""
    return scorecard_section(kept_comparisons(), level=level)


def scorecard_section(found: Sequence[Comparison], *, level: float = intervals.LEVEL) -> blocks.Section | None:
    """How often intervals held, in all and by kind; None of nothing."""
    if not found:
        return None
    shown = (
        blocks.Text(summary_text(found, level=level)),
        _kinds(found, level),
        _note(found, level),
    )
    return blocks.Section("scorecard", "Scorecard of this machine", shown)


def summary_text(found: Sequence[Comparison], *, level: float) -> str:
    """All predictions in one sentence."""
    sittings = len({one.sitting for one in found})
    said = f"{wording.counted(len(found), 'prediction')} in {wording.counted(sittings, 'sitting')} really run here"
    stated = [one for one in found if one.stated]
    held = sum(bool(one.holds(level)) for one in stated)
    if not stated:
        return f"{said}; none of them stated an interval."
    return f"{said}: {wording.level_text(level)} intervals held {held} of {len(stated)}."


def _kinds(found: Sequence[Comparison], level: float) -> blocks.Table:
    """How often intervals held, by kind of prediction."""
    rows = [
        [
            SUBJECTS.get(one.kind, one.kind),
            str(one.seen.cases),
            wording.NOTHING if one.seen.held is None else wording.held_text(one.seen.held),
            *(
                wording.NOTHING if value is None else f"{value:.1f} %"
                for value in (one.seen.median_half_width_percent, one.seen.median_error_percent)
            ),
        ]
        for one in coverage(found, level=level).kinds
    ]
    head = ["predicted", "cases", "held", "half-width", "error"]
    return blocks.table(f"{wording.level_text(level)} intervals of the mean, medians", head, rows)


def _note(found: Sequence[Comparison], level: float) -> blocks.Text:
    """What to know before the shares are read, and lasting errors."""
    biases = [group.bias.text for group in coverage(found, level=level).groups if group.bias]
    said = "".join(f" A bias was seen: {text}." for text in dict.fromkeys(biases))
    return blocks.Text(wording.HELD_NOTE + said, quiet=True)

"""Whether a result can be used, in one line, from what is known of its doubt; else how many warnings of what kind."""

from collections import Counter
from collections.abc import Sequence

from advisor import wording

USABLE, WITH_CARE = 0.02, 0.1
"""Expected losses up to which an answer is usable, and usable with care."""
NOISY = ("noisy point", "noisy points")
LEFT_OUT = ("host or configuration left out", "hosts or configurations left out")
OUTSIDE = ("model used outside what was measured", "models used outside what was measured")
ASSUMED = ("default assumed", "defaults assumed")
CLOSE, FAR = 0.1, 0.25
"""The same of the distance between real runs and what was predicted of them."""
KINDS = {
    "overloaded": ("overloaded stream", "overloaded streams"),
    "bias": ("bias", "biases"),
    "median is known": NOISY,
    "not stable": NOISY,
    "left out": LEFT_OUT,
    "extrapolat": OUTSIDE,
    "outside": OUTSIDE,
    "default": ASSUMED,
    "assumed": ASSUMED,
    "memory": ("memory limit", "memory limits"),
    "disturbed": ("disturbed run", "disturbed runs"),
    "budget": ("search ended by its budget", "searches ended by their budgets"),
    "interval": ("missing interval", "missing intervals"),
    "repetition": ("want of repetitions", "wants of repetitions"),
}
"""A part of a warning -> what it is of: one, and several."""


def verdict(
    warnings: Sequence[str],
    *,
    known: float | None = None,
    loss: float | None = None,
    off: float | None = None,
    noisy: int = 0,
) -> str:
    """One line; empty where there is neither a number nor a warning.

    Parameters
    ----------
    known
        How well speeds are known, as a share of them; 0 where they are taken as exact.
    loss
        What the answer is expected to take longer than the truly best one, as a share.
    off
        How far real runs were from what was predicted of them, at most, as a share.
    noisy
        Measured points that are not known as well as was asked for.
    """
    kinds = kinds_text([line for line in warnings if not noisy or _kind(line) != NOISY])
    parts = [speeds_text(known)] if known is not None else []
    parts += [wording.counted(noisy, "noisy point")] if noisy else []
    if loss is None and off is None:
        said = "; ".join(filter(None, (", ".join(parts), kinds)))
        return said[:1].upper() + said[1:]
    seen = "" if off is None else f"real runs at most {wording.percent(off, 1)} off what was predicted"
    costs = "" if loss is None else f"what is not known costs {wording.loss_text(loss)} of the answer"
    said = f"{_usable(loss or 0.0, off or 0.0)}: {'; '.join(filter(None, (', '.join(parts), seen, costs)))}"
    return f"{said} ({kinds})" if kinds else said


def _usable(loss: float, off: float) -> str:
    if loss <= USABLE and off <= CLOSE:
        return "Usable"
    return "Usable with care" if loss <= WITH_CARE and off <= FAR else "Not usable yet"


def speeds_text(known: float) -> str:
    """How well speeds are known."""
    return f"speeds known to {100 * known:.2g} %" if known >= 0.0005 else "speeds taken as exact"


def kinds_text(warnings: Sequence[str]) -> str:
    """How many warnings, and of what, the most frequent first."""
    if not warnings:
        return ""
    found = Counter(_kind(line) for line in warnings)
    others = found.pop(None, 0)
    kinds = [f"{count} {kind[count > 1]}" for kind, count in found.most_common() if kind is not None]
    if not kinds:
        return wording.counted(len(warnings), "warning")
    rest = [wording.counted(others, "other")] if others else []
    return f"{wording.counted(len(warnings), 'warning')}: {', '.join([*kinds, *rest])}"


def _kind(line: str) -> tuple[str, str] | None:
    return next((kind for part, kind in KINDS.items() if part in line.lower()), None)

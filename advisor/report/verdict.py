"""Whether a result can be used, in one line, from what is known of its doubt; else the warning that matters most."""

import math
import textwrap
from collections import defaultdict
from collections.abc import Sequence

from advisor import wording
from simulator import Share

USABLE, WITH_CARE = 0.02, 0.1
"""Expected losses up to which an answer is usable, and usable with care."""
SHORT = 60
"""Characters of a warning in that line."""
CLOSE, FAR = 0.1, 0.25
"""The same of the distance between real runs and what was predicted of them."""
WORST = ("disagree", "overloaded", "left out", "bias", "outside", "extrapolat", "memory")
"""Parts of the warnings that matter most, the worst first."""


def worst_first(warnings: Sequence[str]) -> list[str]:
    """The warnings, those that may make an answer wrong in front."""
    return sorted(warnings, key=lambda line: next((at for at, part in enumerate(WORST) if part in line), len(WORST)))


OFF, EXACT = 0.1, 0.0005
"""Error of a stated speed whose cost is said; and up to which a speed is taken as exact: nobody measured it."""


def stated_cost(shares: Sequence[Share]) -> float | None:
    """What it costs about if the stated speed of one kind of PE is off; None where every speed was measured.

    By what PEs do in a second alone: where the kind that does the share f of the work is slower than stated, all wait
    for it, 1 / 0.9 as long; divided again, only a tenth of f would be lost. Of one kind alone, one PE is off.
    """
    busy = [one for one in shares if one.after and one.speed]
    if not any(one.known is not None and one.known < EXACT for one in busy):
        return None
    kinds = defaultdict[float, float](float)
    for one in busy:
        kinds[round(math.log((one.speed or 1.0) / one.pes), 2)] += one.after
    parts = list(kinds.values()) if len(kinds) > 1 else [one.after for one in busy]
    return (1 - OFF * min(parts) / sum(parts)) / (1 - OFF) - 1


def speeds_line(shares: Sequence[Share], *, divided: bool = True) -> str:
    """Whether speeds were measured, stated or guessed; nothing where no speed is known.

    `divided`: whether units were divided by them, so that it is said what it costs if they are off.
    """
    known = [one.known for one in shares if one.known is not None and one.after]
    cost = stated_cost(shares)
    if cost is not None:
        return "stated speeds" + (
            f" ({wording.percent(OFF)} off costs about {wording.percent(cost)})" if divided else ""
        )
    if not known:
        return ""
    how = "measured speeds" if max(known) <= wording.SPEEDS.bad else "guessed speeds"
    return f"{how}, known to {wording.percent(max(known), int(max(known) < OFF))}"


def verdict_of(warnings: Sequence[str], shares: Sequence[Share], loss: float | None = None) -> str:
    """The verdict by what is known of the speeds of PEs that have units, and what the answer may lose."""
    known = [one.known for one in shares if one.known is not None and one.after]
    return verdict(warnings, stated=stated_cost(shares), known=max(known, default=None), loss=loss)


def verdict(
    warnings: Sequence[str],
    *,
    stated: float | None = None,
    known: float | None = None,
    loss: float | None = None,
    off: float | None = None,
    noisy: int = 0,
) -> str:
    """One line; empty where there is neither a number nor a warning.

    `stated`: what stated speeds may cost, of `stated_cost`; None where speeds were measured.
    `known`: how well speeds are known, as a share of them; 0 where they are taken as exact.
    `loss`: what the answer is expected to take longer than the truly best one, as a share.
    `off`: how far real runs were from what was predicted of them, at most, as a share.
    `noisy`: measured points that are not known as well as was asked for.
    """
    count = f" ({wording.counted(len(warnings), 'warning')})" if warnings else ""
    if stated is not None:
        said = f"Stated, not measured: a speed that is {wording.percent(OFF)} off costs about {wording.percent(stated)}"
        return f"{said}{count}"
    parts = []
    if known is not None:
        parts = [f"speeds known to {100 * known:.2g} %" if known >= EXACT else "speeds taken as exact"]
    parts += [wording.counted(noisy, "noisy point")] if noisy else []
    if loss is None and off is None:
        said = "; ".join(filter(None, (", ".join(parts), _worst_of(warnings))))
        return said[:1].upper() + said[1:]
    seen = "" if off is None else f"real runs at most {wording.percent(off, 1)} off what was predicted"
    costs = "" if loss is None else f"what is not known costs {wording.loss_text(loss)} of the answer"
    said = f"{_usable(loss or 0.0, off or 0.0)}: {'; '.join(filter(None, (', '.join(parts), seen, costs)))}"
    return f"{said}{count}"


def _usable(loss: float, off: float) -> str:
    if loss <= USABLE and off <= CLOSE:
        return "Usable"
    return "Usable with care" if loss <= WITH_CARE and off <= FAR else "Not usable yet"


def _worst_of(warnings: Sequence[str]) -> str:
    """The warning that matters most, and how many there are."""
    said = wording.counted(len(warnings), "warning")
    return f"{said}: {textwrap.shorten(worst_first(warnings)[0], SHORT, placeholder=' ...')}" if warnings else ""

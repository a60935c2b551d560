"""What to know before an advice is trusted."""

import numpy as np

from advisor.advise.problem import Allocations, Floats, processes_of
from advisor.advise.process_counts.regret import chance_faster, regrets
from advisor.advise.process_counts.space import Space
from advisor.advise.process_counts.wording import configuration_text
from simulator.calibration import AllocationFit

SURE = 0.9
"""From this chance on, one configuration counts as faster than another."""
NOTHING = 1e-6
"""Regret that is none: configurations that come to the same."""
BEYOND = 2.0
"""Sizes up to so many times the largest measured are taken without a warning."""


def warnings_of(
    fitted: AllocationFit, space: Space, size: float, ranking: Allocations, members_s: Floats
) -> tuple[str, ...]:
    """Of the model, of the advised configuration (the first of the ranking), and of its distance to the others.

    Parameters
    ----------
    members_s
        Of the first of the ranking, paired; (member, n).
    """
    advised = space.wide(ranking[:1])
    own = space.model.estimate(size, advised).warnings[0]
    far = _outside(fitted, space, size, ranking[0])
    if any(line.startswith("N = ") for line in own):  # the model says itself how far the size is
        far = [line for line in far if not line.startswith("size ")]
    lines = [*fitted.warnings, *own, *far]
    lines += _near(space, ranking, members_s)
    return tuple(dict.fromkeys(lines))


def _near(space: Space, ranking: Allocations, members_s: Floats) -> list[str]:
    """Whether the runs can tell the first from what else may be best."""
    if members_s.shape[1] < 2:
        return []
    names = [kind.name for kind in space.kinds]
    chances = [chance_faster(members_s, 0, place) for place in range(1, members_s.shape[1])]
    near = [place for place, chance in enumerate(chances, 1) if chance < SURE]
    if not near:
        return []
    expected, risk, _ = (part[0] for part in regrets(members_s))
    if risk < NOTHING:
        return []
    rival = near[0]
    first, second = (configuration_text(ranking[place], names) for place in (0, rival))
    more = f" and {len(near) - 1} others" if len(near) > 2 else " and another" if len(near) == 2 else ""
    chance = f"a chance of {100 * chances[rival - 1]:.0f} % that the first is faster"
    stake = f"at stake are {100 * expected:.1f} % on average, {100 * risk:.1f} % in one case of 20"
    return [f"the runs cannot tell {first} from {second}{more}: {chance}; {stake}"]


def _outside(fitted: AllocationFit, space: Space, size: float, advised: Allocations) -> list[str]:
    """Where the advice extrapolates."""
    measured, lines = fitted.measured, []
    largest, smallest = float(measured.sizes[-1]), float(measured.sizes[0])
    if size > BEYOND * largest:
        lines.append(f"size {size:g} is {size / largest:.3g} times the largest measured, {largest:g}")
    if size < smallest:
        lines.append(f"size {size:g} is below the smallest measured, {smallest:g}")
    for kind, place, (_, each) in zip(space.kinds, space.places, advised.tolist(), strict=True):
        most = int(measured.most[place, 1])
        if each > most:
            lines.append(f"{kind.name}: {each} processes on a PE advised, at most {most} measured")
    total = int(processes_of(advised[np.newaxis])[0])
    if total > measured.most_processes:
        lines.append(f"{total} processes in all advised, at most {measured.most_processes} measured")
    return lines

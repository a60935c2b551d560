"""Whether a sum can be made of one number from each of many sets, by bits of long integers, and how."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from advisor.advise.partition.speed_kinds import Ints


@dataclass(frozen=True)
class Choices:
    """Numbers that each of some identical members may choose; 0 is one of them."""

    numbers: Ints
    """Ascending, from 0."""
    members: int


def ways_to(total: int, choices: Sequence[Choices]) -> list[list[int]] | None:
    """What members may choose so that all choices add up to a total; None if nothing does.

    Returns
    -------
    Per entry of `choices`, the numbers other than 0 that its first members choose.
    """
    mask = (1 << (total + 1)) - 1
    reached, goal = 1, 1 << total
    steps: list[tuple[int, int]] = []  # whose turn, and what was reached before
    for index, choice in enumerate(choices):
        if reached & goal:
            break
        runs = list(_runs(choice.numbers[choice.numbers <= total]))
        for _ in range(choice.members):
            further = _added(reached, runs) & mask
            if further == reached:  # more of the same adds nothing
                break
            steps.append((index, reached))
            reached = further
            if reached & goal:
                break
    return _traced(total, choices, steps) if reached & goal else None


def _traced(total: int, choices: Sequence[Choices], steps: list[tuple[int, int]]) -> list[list[int]]:
    chosen: list[list[int]] = [[] for _ in choices]
    for index, before in reversed(steps):
        number = next(n for n in choices[index].numbers.tolist() if n <= total and before >> (total - n) & 1)
        if number:
            chosen[index].append(number)
        total -= number
    return chosen


def _runs(numbers: Ints) -> Iterator[tuple[int, int]]:
    """Begin and length of each run of numbers that follow each other."""
    breaks = np.flatnonzero(np.diff(numbers) > 1)
    begins = np.concatenate(([0], breaks + 1))
    ends = np.concatenate((breaks, [numbers.size - 1]))
    return zip(numbers[begins].tolist(), (ends - begins + 1).tolist(), strict=True)


def _added(reached: int, runs: list[tuple[int, int]]) -> int:
    """Every sum reached so far plus every number of the runs: shifts, doubled along each run."""
    found = 0
    for begin, length in runs:
        spread, width = reached, 1
        while 2 * width <= length:
            spread |= spread << width
            width *= 2
        if width < length:
            spread |= spread << (length - width)
        found |= spread << begin
    return found

"""Grids of processes: all that the application can use, for the best configurations."""

from collections.abc import Iterator
from dataclasses import replace

from advisor.advise.judge import Judge
from advisor.advise.space import Space
from simulator import Configuration, Scenario

WIDE = 3
"""Configurations of different placements whose grids are tried."""
NEAR = 1.5
"""A configuration this many times as bad as the best is not worth it."""


def propose(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The best configurations on each grid that their processes can form, row by row and column by column."""
    work = space.scenario.application.work
    for base in judge.best_placed(WIDE, near=NEAR):
        if len(work.grids(len(base.partition))) < 2:
            continue
        yield from grids_of(space.scenario, replace(base, grid=None))
        for one in grids_of(space.scenario, replace(base, grid=None)):
            rows, columns = one.grid or (1, 1)
            if min(rows, columns) > 1:
                ranks = [row * columns + column for column in range(columns) for row in range(rows)]
                inverse = sorted(range(len(ranks)), key=ranks.__getitem__)
                yield replace(one, placement=tuple(base.placement[place] for place in inverse))


def grids_of(scenario: Scenario, configuration: Configuration) -> tuple[Configuration, ...]:
    """The configuration on each grid that its number of processes can form, the units divided as each grid needs.

    Processes stay where they are; the names say the grid. None where the application knows no grids.
    """
    if scenario.application.prepared is not None or scenario.application.written is not None:
        return ()
    work = scenario.application.work
    return tuple(
        replace(
            configuration,
            name=f"{configuration.name}, {shape[0]} x {shape[1]}",
            partition=work.fitting(configuration.partition, shape),
            grid=shape,
        )
        for shape in work.grids(len(configuration.partition))
    )

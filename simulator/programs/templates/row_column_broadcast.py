"""Row-column broadcast: processes in a grid; each iteration one of every row and column broadcasts (matrix product).

The grid has R = `grid_rows` rows and takes the processes row by row, those without units too, which take no part. In
each row the processes with units take turns to broadcast along it, iteration by iteration, in each column likewise,
then all compute. With one row there are no broadcasts along columns.
"""

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.programs.program import Broadcast, Loop, Operation, Row
from simulator.programs.templates.template import Ints, Stage, Template


def rows(stage: Stage) -> tuple[Row, ...]:
    """`iterations` times both broadcasts, of `row` and `column` bytes, and `step`."""
    units, down = stage.team.units, stage.grid_rows
    if units.size % down:
        found = f"{units.size} processes found, a multiple of grid_rows = {down} allowed"
        raise ScenarioError(f"partition: {found}")
    grid, turns = np.arange(units.size).reshape(down, -1), np.arange(stage.iterations)
    compute = stage.compute("step")
    sizes_bytes = {
        name: np.broadcast_to(stage.size_bytes(name), (stage.iterations, units.size))
        for name in ("row", "column")
        if stage.sends(name)
    }

    def broadcast(name: str, line: Ints) -> list[Operation]:
        members = line[units[line] > 0]
        if members.size < 2 or name not in sizes_bytes:
            return []
        root = members[turns % members.size]
        return [Broadcast(root, sizes_bytes[name][turns, root], group=tuple(members.tolist()))]

    def row_of(process: int) -> Row:
        i, j = divmod(process, grid.shape[1])
        body = (*broadcast("row", grid[i]), *broadcast("column", grid[:, j]), *compute)
        return (Loop(stage.iterations, body),)

    return tuple(row_of(process) if count else () for process, count in enumerate(units.tolist()))


ROW_COLUMN_BROADCAST = Template(
    "row_column_broadcast",
    ("step",),
    {"row": ("units", "iteration"), "column": ("units", "iteration")},
    rows,
    computes=lambda _: {"step": 1},
    handles=lambda _: {"row": 1, "column": 1},
)

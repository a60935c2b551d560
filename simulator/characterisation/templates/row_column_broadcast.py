"""Row-column broadcast: processes in a grid; each iteration one of every row and column broadcasts (matrix product).

In iteration i the process in column `i mod Q` of the grid broadcasts along its row, the one in row `i mod R` along its
column, then all compute. The grid has R = `grid_rows` rows and takes the processes row by row; with one row there are
no broadcasts along columns.
"""

import numpy as np

from simulator.characterisation.templates.template import Stage, Template
from simulator.errors import ScenarioError
from simulator.program import Broadcast, Loop, Operation, Row


def rows(stage: Stage) -> tuple[Row, ...]:
    """`iterations` times both broadcasts, of `row` and `column` bytes, and `step`."""
    team, down = stage.team, stage.grid_rows
    if team.size % down:
        found = f"{team.size} processes with units found, a multiple of grid_rows = {down} allowed"
        raise ScenarioError(f"partition: {found}")
    grid = team.members.reshape(down, -1)
    across, turns = grid.shape[1], np.arange(stage.iterations)
    compute = stage.compute("step")
    row_bytes, column_bytes = (
        np.broadcast_to(stage.size_bytes(name), (stage.iterations, team.units.size)) for name in ("row", "column")
    )

    def row_of(process: int) -> Row:
        i, j = np.argwhere(grid == process)[0].tolist()
        body: list[Operation] = []
        if across > 1 and stage.sends("row"):
            root = grid[i, turns % across]
            body.append(Broadcast(root, row_bytes[turns, root], group=tuple(grid[i].tolist())))
        if down > 1 and stage.sends("column"):
            root = grid[turns % down, j]
            body.append(Broadcast(root, column_bytes[turns, root], group=tuple(grid[:, j].tolist())))
        return (Loop(stage.iterations, (*body, *compute)),)

    return tuple(row_of(process) if units else () for process, units in enumerate(team.units.tolist()))


ROW_COLUMN_BROADCAST = Template(
    "row_column_broadcast",
    ("step",),
    {"row": ("units", "iteration"), "column": ("units", "iteration")},
    rows,
    computes=lambda _: {"step": 1},
    handles=lambda _: {"row": 1, "column": 1},
)

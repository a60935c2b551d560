"""Master and workers: process 0 sends each other one its input, all compute, it collects what they send back.

How much each one does is the partition's matter. Units that whoever is free pulls are the application `farm`.
"""

import numpy as np

from simulator.programs.program import Loop, Operation, Recv, Row, Send
from simulator.programs.templates.template import Stage, Template

INPUT, RESULT = 0, 1
"""Tags of the two kinds of messages."""


def rows(stage: Stage) -> tuple[Row, ...]:
    """`prepare` at the master, `input` bytes to each worker, `work`, `result` bytes back, `finish` at the master.

    The master's own steps are evaluated for all units, `work` for a process's own; it takes part without units too.
    """
    units, total = stage.team.units, int(stage.team.units.sum())
    workers = np.flatnonzero(units[1:]) + 1
    work = stage.compute("work")
    to_all: list[Operation] = []
    from_all: list[Operation] = []
    receives: list[Operation] = []
    answers: list[Operation] = []
    if stage.sends("input"):
        sizes = stage.size_bytes("input")[..., workers, np.newaxis]
        to_all = [Loop(workers.size, (Send(workers[:, np.newaxis], sizes, INPUT),))]
        receives = [Recv(0, INPUT)]
    if stage.sends("result"):
        from_all = [Loop(workers.size, (Recv(workers[:, np.newaxis], RESULT),))]
        answers = [Send(0, stage.size_bytes("result"), RESULT)]
    before, after = (stage.compute(step, units=np.full(units.size, total)) for step in ("prepare", "finish"))
    own = work if units[0] else ()
    master: Row = (Loop(stage.iterations, (*before, *to_all, *own, *from_all, *after)),)
    worker: Row = (Loop(stage.iterations, (*receives, *work, *answers)),)
    return (master, *(worker if count else () for count in units[1:].tolist()))


MASTER_WORKER = Template(
    "master_worker",
    ("work", "prepare", "finish"),
    {"input": ("units", "iteration"), "result": ("units", "iteration")},
    rows,
    computes=lambda _: {"work": 1},
    handles=lambda _: {"input": 1, "result": 1},
    has_master=True,
)

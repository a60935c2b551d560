"""Multiphase: in each phase every process computes its part, then all combine their results (numerical integration)."""

from collections.abc import Mapping

from simulator.programs.program import AllReduce, Loop, Operation, Row
from simulator.programs.templates.template import Stage, Template


def rows(stage: Stage) -> tuple[Row, ...]:
    """`iterations` phases of one computation and an all-reduce of `combine` bytes."""
    body: list[Operation] = [*stage.compute("phase")]
    if stage.sends("combine") and stage.team.size > 1:
        sizes = stage.size_bytes("combine")
        body.append(AllReduce(sizes[..., 0], group=stage.team.group))
    row: Row = (Loop(stage.iterations, tuple(body)),)
    return tuple(row if units else () for units in stage.team.units.tolist())


def _messages(processes: int) -> Mapping[str, float]:
    return {"combine": (processes - 1).bit_length()}


MULTIPHASE = Template(
    "multiphase",
    ("phase",),
    {"combine": ("iteration",)},
    rows,
    computes=lambda _: {"phase": 1},
    handles=_messages,
)

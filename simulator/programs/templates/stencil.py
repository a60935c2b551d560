"""Stencil: processes in a chain exchange halos with both neighbours, then compute, in every iteration."""

from simulator.programs.program import Exchange, Loop, Operation, Row
from simulator.programs.templates.template import Stage, Template


def rows(stage: Stage) -> tuple[Row, ...]:
    """`iterations` times `halo` bytes down and up the chain, and `step`; at its ends only what exists."""
    team = stage.team
    above, under = team.process(team.place - 1), team.process(team.place + 1)
    body: list[Operation] = []
    if stage.sends("halo"):
        halo = stage.size_bytes("halo")
        body += [Exchange(under, above, halo), Exchange(above, under, halo)]
    row: Row = (Loop(stage.iterations, (*body, *stage.compute("step"))),)
    return tuple(row if units else () for units in team.units.tolist())


STENCIL = Template(
    "stencil",
    ("step",),
    {"halo": ("units", "iteration")},
    rows,
    computes=lambda _: {"step": 1},
    handles=lambda _: {"halo": 2},
)

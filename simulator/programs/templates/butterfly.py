"""Butterfly: each process computes its part, then in round k exchanges with the one 2**k away and merges (merge sort).

With G processes and m the largest power of two up to G, the processes from place m on first send what they have to the
one m places before them, which merges it, and get as much back in the end; the others go through log2 m rounds.
Everyone keeps as much as it has: a merge takes both halves in and leaves each partner its own amount.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from simulator.programs.program import NOBODY, Compute, Exchange, Loop, Operation, Recv, Row, Send
from simulator.programs.templates.template import Ints, Stage, Template


def rows(stage: Stage) -> tuple[Row, ...]:
    """`local`, then the rounds of an exchange of `exchange` bytes and `merge`."""
    team, units = stage.team, stage.team.units
    place, most = team.place, 2 ** ((team.size).bit_length() - 1)
    body: list[Operation] = [*stage.compute("local", units=units, partner=units, round=0)]
    held = units
    beyond, before = place >= most, (place >= 0) & (place < team.size - most)
    fold_to, fold_from = (
        np.where(which, team.process(place + step), NOBODY) for which, step in ((beyond, -most), (before, most))
    )
    sent = _sent(stage, units, 0)
    if team.size > most:
        theirs = np.where(before, units[fold_from], 0)
        if stage.sends("exchange"):
            body += [Send(fold_to, sent), Recv(fold_from)]
        body += _only(stage.compute("merge", units=held, partner=np.maximum(theirs, 1), round=0), before)
        held = held + theirs
    for number in range(most.bit_length() - 1):
        inside = (place >= 0) & (place < most)
        partner = np.where(inside, team.process(place ^ 2**number), NOBODY)
        if stage.sends("exchange"):
            body.append(Exchange(partner, partner, _sent(stage, held, number)))
        theirs = np.maximum(held[partner], 1)
        body += _only(stage.compute("merge", units=held, partner=theirs, round=number), inside)
    if team.size > most and stage.sends("exchange"):
        back = np.where(before, sent[fold_from], 0)
        body += [Send(fold_from, back, 1), Recv(fold_to, 1)]
    row: Row = (Loop(stage.iterations, tuple(body)),)
    return tuple(row if count else () for count in units.tolist())


def _sent(stage: Stage, held: Ints, number: int) -> Ints:
    return stage.size_bytes("exchange", units=held, round=number)


def _only(computes: tuple[Compute, ...], which: NDArray[np.bool_]) -> list[Operation]:
    """A computation of some processes only."""
    return [Compute(np.where(which, one.volume, 0.0), one.size) for one in computes]


def _computes(processes: int) -> Mapping[str, float]:
    return {"local": 1, "merge": (processes - 1).bit_length()}


BUTTERFLY = Template(
    "butterfly",
    ("merge", "local"),
    {"exchange": ("units", "round")},
    rows,
    computes=_computes,
    handles=lambda processes: {"exchange": (processes - 1).bit_length()},
    step_names=("units", "partner", "round"),
)

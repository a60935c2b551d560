"""The five-point stencil on real ranks: strips of rows, halo rows exchanged with both neighbours in each iteration."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import stencil
from simulator.calibration.kernels.plain import CLOSE
from simulator.calibration.pingpong.channels import StreamChannel
from simulator.calibration.ranks.programs.part import Part, Room, Seat, Stopwatch, Told

Row = stencil.Row


class Strip:
    """One rank's rows."""

    def __init__(self, seat: Seat, room: Room) -> None:
        self._seat, self._room = seat, room
        self._n, self._steps = int(seat.program.parameters["n"]), int(seat.program.parameters["iterations"])
        self._sweep = stencil.sweeper()
        last = len(seat.program.units) - 1
        self._above = seat.channels[seat.rank - 1] if seat.rank else None
        self._under = seat.channels[seat.rank + 1] if seat.rank < last else None

    def ready(self) -> None:
        """The points as they begin; beside the strip the border, which a neighbour's row takes the place of."""
        self._old, self._new = (self._room.rows(name, self._seat.units, self._n) for name in ("old", "new"))
        self._beside = self._room.rows("beside", 2, self._n)
        self._beside.fill(stencil.BORDER)
        self._old[:] = stencil.start(self._n, self._seat.units, first=self._seat.first)

    def run(self) -> Usage:
        """In each iteration both exchanges, then all points."""
        watch, (over, below) = Stopwatch(), self._beside
        for _ in range(self._steps):
            _exchange(self._under, self._old[-1], self._above, over)
            _exchange(self._above, self._old[0], self._under, below)
            watch.timed(lambda: self._sweep(over, self._old, below, self._new))
            self._old, self._new = self._new, self._old
        return watch.total

    def check(self) -> Told:
        """Compare the first, a middle and the last row of the strip with the closed form."""
        for row in (0, self._seat.units // 2, self._seat.units - 1):
            expected = stencil.start(self._n, 1, first=self._seat.first + row, steps=self._steps)[0]
            if not np.allclose(self._old[row], expected, rtol=CLOSE):
                raise ValueError(f"row {self._seat.first + row} of the stencil is wrong after {self._steps} iterations")
        return {}


def _exchange(to: StreamChannel | None, sent: Row, source: StreamChannel | None, received: Row) -> None:
    """Send to one rank and receive from another at once; at the ends of the chain only what exists."""
    there, back = sent.data.cast("B"), received.data.cast("B")
    if to is not None and source is not None:
        StreamChannel(to.ends[0], source.ends[1]).exchange(there, back, 1)
    elif to is not None:
        to.send(there)
    elif source is not None:
        source.receive(back)


def part(seat: Seat, room: Room) -> Part:
    """One rank of the stencil."""
    return Strip(seat, room)


def fault(kernel_name: str, parameters: Mapping[str, Any]) -> str | None:  # noqa: ARG001 - as the other programs ask
    """Why it cannot really run; None if it can."""
    if kernel_name == stencil.KERNEL.name:
        return None
    return f"stencil really runs with the kernel 'stencil', not with {kernel_name!r}"

"""Times of copies between the memory of this machine and a GPU, each way, from pinned and from pageable memory."""

from pathlib import Path
from typing import Any

import numpy as np

from simulator.base.errors import CalibrationError
from simulator.base.machine import require_linux, this_machine
from simulator.calibration.bench.campaign import Progress, no_progress
from simulator.calibration.bench.group import EndedError, Group
from simulator.calibration.bench.worker import Jobs
from simulator.calibration.kernels.device import cupy_on, done, there
from simulator.calibration.pingpong.campaign import Plan, measure_cells, message_sizes, open_store
from simulator.calibration.pingpong.ends import SAMPLE_LIMIT_S, Sampled, batch_s

LINKS = tuple((direction, pinned) for direction in ("h2d", "d2h") for pinned in (0, 1))
"""To the GPU and back, from pageable and from pinned memory of the host."""


class Copier:
    """Copies, in a process of its own: buffers of the last size stay, so that their pages are there."""

    def __init__(self, device: str) -> None:
        self._cupy = cupy_on(device)
        self._buffers: dict[tuple[int, int], tuple[Any, Any]] = {}

    def sample(self, direction: str, pinned: int, size_bytes: int, rounds: int, batches: int) -> Sampled:
        """So many batches of so many copies, each over before the next begins."""
        cupy = self._cupy
        host, there = self._pair(size_bytes, pinned)

        def copies(times: int = rounds) -> None:
            for _ in range(times):
                there.set(host) if direction == "h2d" else there.get(out=host)
                done(cupy, there)

        copies(1)
        return Sampled(batch_s(copies, batches))

    def _pair(self, size_bytes: int, pinned: int) -> tuple[Any, Any]:
        """Memory of the host and of the GPU."""
        key = size_bytes, pinned
        if key not in self._buffers:
            self._buffers = {kept: pair for kept, pair in self._buffers.items() if kept[0] == size_bytes}
            memory = self._cupy.cuda.alloc_pinned_memory(size_bytes) if pinned else bytearray(size_bytes)
            host = np.frombuffer(memory, np.uint8, size_bytes)
            host[:] = 1
            self._buffers[key] = host, self._cupy.asarray(host)
        return self._buffers[key]


def jobs(device: str) -> Jobs:
    """Of a process that copies to and from one GPU."""
    return {"sample": Copier(device).sample}


def measure_copies(
    device: str,
    *,
    max_bytes: int,
    budget_s: float,
    store: Path | None,
    seed: int = 0,
    on_progress: Progress = no_progress,
) -> str:
    """Measure copies as far as the budget allows: a table `direction,pinned,bytes,time_s`, a row a sample.

    It goes on from what the store holds. Raises ScenarioError if there is no such GPU or no CuPy, or the budget or the
    largest size cannot be used; CalibrationError if the GPU cannot be used, or its memory is short.
    """
    require_linux()
    there(device)
    machine = this_machine()
    sizes = message_sizes(max_bytes)
    plan = Plan(sizes * len(LINKS), budget_s, seed)
    kept = open_store(store, plan, subject={"what": "copies", "device": device}, machine=machine)
    group = Group("copies", [(machine.pe_cpus[-1], device)])

    def sample(cell: int, *, rounds: int, batches: int) -> float:
        direction, pinned = LINKS[cell // len(sizes)]
        command = {"do": "sample", "direction": direction, "pinned": pinned, "size_bytes": plan.sizes[cell]}
        command |= {"rounds": rounds, "batches": batches}
        return group.ask({0: command}, Sampled, limit_s=SAMPLE_LIMIT_S)[0].wall_s / rounds

    try:
        found = measure_cells(plan, sample, kept, on_progress=on_progress)
    except CalibrationError as error:
        said = error.reason if isinstance(error, EndedError) else str(error)
        raise CalibrationError(f"copies to and from {device}: {said}") from error
    finally:
        group.end()
    rows = [
        f"{direction},{pinned},{size},{time_s!r}\n"
        for number, (direction, pinned) in enumerate(LINKS)
        for size, samples_s in zip(sizes, found[number * len(sizes) :], strict=False)
        for time_s in samples_s
    ]
    return "".join(["direction,pinned,bytes,time_s\n", *rows])

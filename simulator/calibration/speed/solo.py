"""The jobs of a process that runs kernels on one PE, one at a time; several may be prepared."""

import time
from collections.abc import Generator
from dataclasses import dataclass

from simulator.calibration.bench.pin import allocate, limit_memory
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.bench.worker import Jobs, command_waits
from simulator.calibration.kernels.device import on_device
from simulator.calibration.kernels.sized import Prepared, SizedKernel
from simulator.calibration.kernels.table import named_kernel


@dataclass(frozen=True)
class Runs:
    """How many runs there were."""

    runs: int


class Solo:
    """Keeps operands, by the numbers that the driver gives them."""

    def __init__(self, kernel: str, device: str) -> None:
        self._kernel, self._device = kernel, device
        self._prepared: dict[int, Prepared] = {}
        self._used = Usage()
        self._runs = 0

    def limit(self, count_bytes: int) -> dict[str, bool]:
        """Limit our memory once the kernel's libraries are loaded and its loops are compiled.

        With a GPU it is not, whose driver asks for more than it takes.
        """
        kernel = self._named(self._kernel)
        kernel.prepare(kernel.n_of(64)).run()
        return {} if self._device else limit_memory(count_bytes)

    def prepare(self, n: int, *, kernel: str = "", key: int = 0, warm: bool = False) -> Done:
        """Make operands in the place of those of before, and run once if asked to."""
        self._prepared.pop(key, None)  # before the new ones need its memory
        self._prepared[key] = self._named(kernel or self._kernel).prepare(n)
        if warm:
            self._prepared[key].run()
        return Done()

    def sample(self, inner: int, *, key: int = 0) -> Usage:
        """What so many runs in a row cost."""
        return sample(self._prepared[key], inner)

    def begin(self, key: int) -> Generator[Done]:
        """Run over and over until the next command, so that we are there from begin to end of what is measured."""
        yield Done()
        prepared, before, self._runs = self._prepared[key], Usage.now(), 0
        while not command_waits():
            if prepared.reset is not None:
                prepared.reset()
            prepared.run()
            self._runs += 1
        self._used = Usage.now() - before

    def stop(self) -> Usage:
        """What the runs cost since `begin`."""
        return self._used

    def runs(self) -> Runs:
        """How many runs there were from `begin` to `stop`."""
        return Runs(self._runs)

    def _named(self, kernel: str) -> SizedKernel:
        found = named_kernel(kernel)
        return on_device(found, self._device) if self._device else found


def sample(prepared: Prepared, inner: int) -> Usage:
    """What `inner` runs in a row cost; making their operands again does not count."""
    if prepared.reset is None:
        before = Usage.now()
        for _ in range(inner):
            prepared.run()
        return Usage.now() - before
    cpu_s = wall_s = 0.0
    begin = Usage.now()
    for _ in range(inner):
        prepared.reset()
        cpu, wall = time.process_time(), time.perf_counter()
        prepared.run()
        wall_s += time.perf_counter() - wall
        cpu_s += time.process_time() - cpu
    used = Usage.now() - begin
    return Usage(cpu_s, wall_s, used.voluntary_switches, used.involuntary_switches)


def jobs(kernel: str = "", device: str = "") -> Jobs:
    """The jobs of one kernel, or of any that commands name; on a GPU if one is named."""
    solo = Solo(kernel, device)
    return {
        "limit": solo.limit,
        "allocate": allocate,
        "prepare": solo.prepare,
        "sample": solo.sample,
        "begin": solo.begin,
        "stop": solo.stop,
        "runs": solo.runs,
    }

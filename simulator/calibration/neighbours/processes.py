"""Real processes on PEs that run computations alone, and others on other PEs from their begin to their end."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Self

from simulator.base.errors import CalibrationError
from simulator.calibration.bench.group import Group
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.neighbours.plan import Item
from simulator.calibration.speed.solo import Runs
from simulator.calibration.speed.subjects import CommandRunner, CommandSubject

_SETTLE_S = 0.03
"""What neighbours are given to fill caches and queues before anything is measured."""
_LIMIT_S = 300.0


class Processes:
    """One process of ours per PE, and a launcher for each command on it; a context manager that ends them all.

    Each may take `memory_bytes`.
    """

    def __init__(
        self, cpus: Sequence[int], items: Sequence[Item], commands: Sequence[CommandSubject], *, memory_bytes: int
    ) -> None:
        self._cpus, self._items, self._commands, self._memory = tuple(cpus), list(items), commands, memory_bytes
        self._ready: set[tuple[int, int]] = set()
        self._runners: dict[tuple[int, int], CommandRunner] = {}
        self._group = Group("kernel", [(cpu,) for cpu in self._cpus])
        self.run_s: dict[int, float] = {}
        """CPU seconds of a run of each kernel that was running last, by PE."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        self._group.end()
        for runner in self._runners.values():
            runner.close()

    def prepare(self, number: int, *pes: int) -> None:
        """Make an item ready on PEs, at once where it is a kernel, and once on each."""
        item, new = self._items[number], [pe for pe in pes if (number, pe) not in self._ready]
        if not new:
            return
        if item.command is None:
            ask = {"do": "prepare", "key": number, "kernel": item.kernel, "n": item.n, "warm": True}
            self._group.ask(dict.fromkeys(new, ask), Done, limit_s=_LIMIT_S)
        else:
            subject = self._commands[item.command]
            for pe in new:
                if (item.command, pe) not in self._runners:
                    runner = CommandRunner(subject, cpu=self._cpus[pe], memory_bytes=self._memory, limit_s=_LIMIT_S)
                    self._runners[item.command, pe] = runner
        self._ready.update((number, pe) for pe in new)

    def sample(self, number: int, pe: int, inner: int) -> Usage:
        """What so many runs in a row cost in all."""
        self.prepare(number, pe)
        item = self._items[number]
        if item.command is not None:
            runner = self._runners[item.command, pe]
            runner.prepare(item.n)
            return runner.sample(inner)
        ask = {"do": "sample", "key": number, "inner": inner}
        return self._group.ask({pe: ask}, Usage, limit_s=_LIMIT_S)[pe]

    @contextmanager
    def running(self, placed: Sequence[tuple[int, int]]) -> Iterator[list[Usage]]:
        """Have items run on their PEs, over and over, while the block runs; afterwards what each kernel's runs cost."""
        used: list[Usage] = []
        kernels = [(number, pe) for number, pe in placed if self._items[number].command is None]
        for number, pe in placed:
            self.prepare(number, pe)
        with ExitStack() as stack:
            for number, pe in placed:
                if self._items[number].command is not None:
                    stack.enter_context(self._repeated(number, pe))
            if kernels:
                self._group.ask({pe: {"do": "begin", "key": number} for number, pe in kernels}, Done)
            time.sleep(_SETTLE_S)
            yield used
            if kernels:
                found = self._group.ask({pe: {"do": "stop"} for _, pe in kernels}, Usage, limit_s=_LIMIT_S)
                counts = self._group.ask({pe: {"do": "runs"} for _, pe in kernels}, Runs)
                self.run_s = {pe: found[pe].cpu_s / max(1, counts[pe].runs) for _, pe in kernels}
                used += found.values()

    @contextmanager
    def _repeated(self, number: int, pe: int) -> Iterator[None]:
        """Have a command run over and over by a thread; the last run ends before this does."""
        ended, faults = threading.Event(), list[CalibrationError]()

        def repeat() -> None:
            try:
                while not ended.is_set():
                    self.sample(number, pe, 1)
            except CalibrationError as error:
                faults.append(error)

        thread = threading.Thread(target=repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        if faults:
            raise faults[0]

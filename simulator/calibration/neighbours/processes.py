"""Real processes on PEs that run computations alone, and others that run beside them from their begin to their end."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

from simulator.base.errors import CalibrationError
from simulator.calibration.bench.children import Children
from simulator.calibration.bench.usage import Usage
from simulator.calibration.neighbours.plan import Item
from simulator.calibration.speed.runners import CommandRunner
from simulator.calibration.speed.subjects import CommandSubject

_WORKER = "simulator.calibration.neighbours.worker"
_SETTLE_S = 0.03
"""What neighbours are given to fill caches and queues before anything is measured beside them."""
_LIMIT_S = 300.0


class Processes:
    """One process of ours per PE, and a launcher for each command on it; a context manager that ends them all.

    Parameters
    ----------
    cpus
        Logical processors, one per PE.
    memory_bytes
        What each may take.
    """

    def __init__(
        self, cpus: Sequence[int], items: Sequence[Item], commands: Sequence[CommandSubject], *, memory_bytes: int
    ) -> None:
        self._cpus, self._items, self._commands, self._memory = tuple(cpus), list(items), commands, memory_bytes
        self._ready: set[tuple[int, int]] = set()
        self._runners: dict[tuple[int, int], CommandRunner] = {}
        self._children = Children(_WORKER, [(str(cpu),) for cpu in self._cpus])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        self._children.end()
        for runner in self._runners.values():
            runner.close()

    def prepare(self, number: int, pe: int) -> None:
        """Make an item ready on a PE, once."""
        item = self._items[number]
        if (number, pe) in self._ready:
            return
        if item.command is None:
            self._ask(pe, {"do": "prepare", "key": number, "kernel": item.kernel, "n": item.n})
        elif (item.command, pe) not in self._runners:
            subject = self._commands[item.command]
            runner = CommandRunner(subject, cpu=self._cpus[pe], memory_bytes=self._memory, limit_s=_LIMIT_S)
            self._runners[item.command, pe] = runner
        self._ready.add((number, pe))

    def prepare_on(self, number: int, pes: Sequence[int]) -> None:
        """Make an item ready on several PEs at once."""
        item = self._items[number]
        if item.command is None:
            ask = {"do": "prepare", "key": number, "kernel": item.kernel, "n": item.n}
            self._children.ask({pe: ask for pe in pes if (number, pe) not in self._ready}, limit_s=_LIMIT_S)
            self._ready.update((number, pe) for pe in pes)
        for pe in pes:
            self.prepare(number, pe)

    def sample(self, number: int, pe: int, inner: int) -> Usage:
        """What so many runs in a row cost in all."""
        self.prepare(number, pe)
        item = self._items[number]
        if item.command is not None:
            runner = self._runners[item.command, pe]
            runner.prepare(item.n)
            return runner.sample(inner)
        answer = self._ask(pe, {"do": "sample", "key": number, "inner": inner})
        return Usage(**answer)

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
                self._children.ask({pe: {"do": "begin", "key": number} for number, pe in kernels})
            time.sleep(_SETTLE_S)
            yield used
            if kernels:
                answers = self._children.ask({pe: {"do": "stop"} for _, pe in kernels}, limit_s=_LIMIT_S)
                used += [Usage(**{k: v for k, v in answer.items() if k != "runs"}) for answer in answers.values()]

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

    def _ask(self, pe: int, command: dict[str, Any]) -> dict[str, Any]:
        return self._children.ask({pe: command}, limit_s=_LIMIT_S)[pe]

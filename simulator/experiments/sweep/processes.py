"""Processes of this machine that answer batches of a sweep."""

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from simulator.base import files
from simulator.base.errors import SweepError, reason, shortage
from simulator.experiments.sweep.plan import Ask, Plan
from simulator.experiments.sweep.work import answer_batch, hand, load_engine

_OURS = {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}
"""Signals that a terminal sends to all processes: they are for the main one, which ends the others."""
_ALLOWED = "see whether this shell allows enough memory, processes and files (ulimit -a)"


class Workers(Protocol):
    """What answers batches of one plan."""

    killed: type[Exception]
    """What a batch comes back with whose process was killed."""

    def count(self) -> int:
        """How many there are now.

        Raises SweepError if none can come any more.
        """

    def submit(self, places: list[int]) -> "Future[str]":
        """Hand a batch to the next one that is free; see `answer_batch`."""


@dataclass
class Processes:
    """A pool of processes; one that broke is started again."""

    workers: int
    threads: int
    name: str
    payload: str
    folder: str
    ask: Ask
    killed: type[Exception] = BrokenExecutor

    def __post_init__(self) -> None:
        self._pool = self._started()

    def count(self) -> int:
        """As many as were asked for."""
        return self.workers

    def submit(self, places: list[int]) -> "Future[str]":
        """Hand a batch to the next one that is free."""
        with _blocked():  # a submission may start a process
            try:
                return self._pool.submit(answer_batch, self.name, places, self.ask)
            except BrokenExecutor:
                self._pool = self._started()
                return self._pool.submit(answer_batch, self.name, places, self.ask)

    def _started(self) -> ProcessPoolExecutor:
        """All processes of a new pool.

        Raises SweepError if they do not start.
        """
        handed = (self.name, self.payload, self.folder, self.threads)
        try:
            with _blocked():
                pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"), _begin, handed)
                begun = [pool.submit(os.getpid) for _ in range(self.workers)]
            for one in begun:
                one.result()
        except BrokenExecutor:
            raise SweepError(f"workers: they did not start: {_ALLOWED}") from None
        except (OSError, RuntimeError, MemoryError) as error:
            said = shortage(error) or (str(error).splitlines() or ["no reason given"])[0]
            raise SweepError(f"workers: they did not start: {said}: {_ALLOWED}") from None
        return pool

    def end(self) -> None:
        """Wait for nothing that is still being computed."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _begin(name: str, payload: str, folder: str, threads: int) -> None:
    """What a process of a pool does first: it knows the plan, and ends with the process that started it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    hand(name, payload, folder, threads)
    load_engine()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _blocked() -> Iterator[None]:
    """Meanwhile this thread hears none of the terminal's signals, and what it starts never does."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def cores_here() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local(workers: int, plan: Plan) -> Iterator[Processes]:
    """Processes of this machine for a plan."""
    _need_semaphores()
    others = set(multiprocessing.active_children())
    threads = max(1, cores_here() // workers)
    with files.hushed(), tempfile.TemporaryDirectory(prefix="apportion-") as folder:
        try:
            pool = Processes(workers, threads, plan.name, plan.payload(), folder, plan.ask)
            try:
                yield pool
            finally:
                pool.end()
        finally:
            for process in set(multiprocessing.active_children()) - others:
                process.kill()


def _need_semaphores() -> None:
    """See whether processes can share them; queues between ours and the workers do."""
    try:
        multiprocessing.get_context("spawn").Lock()
    except OSError as error:
        said = "shared memory that can be written is needed in /dev/shm (of a container: --shm-size)"
        raise SweepError(f"workers: {reason(error)}: {said}") from None

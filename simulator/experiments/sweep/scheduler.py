"""Workers of a Dask scheduler that is there already, for batches of a sweep."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from distributed import Client, KilledWorker, Worker, WorkerPlugin

from simulator.base.errors import ScenarioError, SweepError
from simulator.experiments.sweep.plan import Plan
from simulator.experiments.sweep.work import answer_batch, hand

CONNECT_S = 10.0
CLOSE_S = 2.0
_LOGGERS = ("distributed", "distributed.client", "distributed.nanny", "tornado", "asyncio")
"""Each has a level of its own."""


class Stock(WorkerPlugin):
    """Hands a plan to each worker, also to those that come later."""

    def __init__(self, name: str, payload: str) -> None:
        self.name = name
        self.payload = payload

    def setup(self, worker: Worker) -> None:
        """Files may be put into the worker's own folder."""
        hand(self.name, self.payload, str(Path(worker.local_directory) / self.name), worker.state.nthreads)


class Remote:
    """The workers of a scheduler, which Dask hands batches to."""

    killed: type[Exception] = KilledWorker

    def __init__(self, client: Client, plan: Plan) -> None:
        self._client = client
        self._plan = plan

    def count(self) -> int:
        """How many there are now.

        Raises SweepError if the scheduler is gone.
        """
        try:
            if self._client.status != "running":
                raise SweepError("the scheduler is gone")
            return len(self._client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, TimeoutError) as error:
            raise SweepError(f"the scheduler is gone: {error}") from None

    def submit(self, places: list[int]) -> Any:
        """Hand a batch to the next worker that is free."""
        return self._client.submit(answer_batch, self._plan.name, places, self._plan.ask, pure=False)


@contextmanager
def existing(address: str, plan: Plan) -> Iterator[Remote]:
    """The workers of a scheduler that somebody started."""
    for name in _LOGGERS:  # what fails there is ours to tell
        logging.getLogger(name).setLevel(logging.CRITICAL + 10)
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = (str(error).splitlines() or ["no answer"])[0]
        raise ScenarioError(f"--dask is {address!r}; give the address of a Dask scheduler: {said}") from None
    try:
        client.register_plugin(Stock(plan.name, plan.payload()), name=plan.name)
        yield Remote(client, plan)
    finally:
        with suppress(OSError, TimeoutError, ValueError, RuntimeError):
            client.unregister_worker_plugin(plan.name)
        with suppress(OSError, TimeoutError, RuntimeError):
            client.close(timeout=CLOSE_S)

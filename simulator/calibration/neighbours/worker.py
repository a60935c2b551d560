"""Kernels on one PE, some prepared at once: `python -m simulator.calibration.neighbours.worker PARENT CPU`.

It reads one JSON command per line on standard input and answers each with one JSON line on standard output. What is
begun runs over and over until the next line comes, so that it is there from begin to end of what is measured beside it.
"""

import json
import os
import select
import sys
from typing import Any

from simulator.calibration.bench import lifeline, memory
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels.sized import Prepared
from simulator.calibration.kernels.table import sized_kernel
from simulator.calibration.speed.solo import sample


class Worker:
    """Keeps what was prepared, by the number that the driver gave it."""

    def __init__(self) -> None:
        self._prepared: dict[int, Prepared] = {}

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command of the driver."""
        match command["do"]:
            case "limit":
                memory.limit(command["bytes"])
                return {}
            case "prepare":
                kernel = sized_kernel(command["kernel"])
                self._prepared[command["key"]] = kernel.prepare(command["n"])
                self._prepared[command["key"]].run()
                return {}
            case "sample":
                return sample(self._prepared[command["key"]], command["inner"]).to_dict()
        raise ValueError(command["do"])

    def keep_running(self, key: int) -> dict[str, Any]:
        """Run until a line is there to be read; what that cost."""
        prepared, before, runs = self._prepared[key], Usage.now(), 0
        while not select.select([sys.stdin], [], [], 0)[0]:
            if prepared.reset is not None:
                prepared.reset()
            prepared.run()
            runs += 1
        return (Usage.now() - before).to_dict() | {"runs": runs}


def main() -> None:
    """Serve the driver until it closes standard input."""
    parent, cpu = int(sys.argv[1]), int(sys.argv[2])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    from threadpoolctl import threadpool_limits

    worker, used = Worker(), dict[str, Any]()
    with threadpool_limits(limits=1):
        for line in sys.stdin:
            command = json.loads(line)
            answer = {} if command["do"] == "begin" else used if command["do"] == "stop" else worker.obey(command)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
            if command["do"] == "begin":
                used = worker.keep_running(command["key"])


if __name__ == "__main__":
    main()

"""One kernel on one PE, a real process pinned to it: `python -m simulator.calibration.speed.solo PARENT CPU KERNEL`.

It reads one JSON command per line on standard input and answers each with one JSON line on standard output.
"""

import json
import os
import sys
import time
from typing import Any

from simulator.calibration.bench import lifeline, memory
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels.sized import Prepared, SizedKernel
from simulator.calibration.kernels.table import named_kernel


class Solo:
    """Keeps the operands of the size that is being measured."""

    def __init__(self, kernel: SizedKernel) -> None:
        self._kernel = kernel
        self._prepared: Prepared | None = None

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command of the driver."""
        match command["do"]:
            case "limit":
                self._kernel.prepare(self._kernel.n_of(64)).run()  # libraries load and loops are compiled before it
                memory.limit(command["bytes"])
                return {}
            case "allocate":
                return {"granted": memory.can_allocate(command["bytes"])}
            case "prepare":
                self._prepared = None
                self._prepared = self._kernel.prepare(command["n"])
                return {}
            case "sample" if self._prepared is not None:
                return sample(self._prepared, command["inner"]).to_dict()
            case "release":
                self._prepared = None
                return {}
        raise ValueError(command["do"])


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


def main() -> None:
    """Serve the driver until it closes standard input."""
    parent, cpu, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    from threadpoolctl import threadpool_limits

    solo = Solo(named_kernel(name))
    with threadpool_limits(limits=1):
        for line in sys.stdin:
            sys.stdout.write(json.dumps(solo.obey(json.loads(line))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""One real process of a parallel kernel, pinned: `python -m simulator.characterisation.parallel.rank`.

It obeys JSON commands on standard input, one a line, and answers in JSON lines; messages to the other process go over
a socket pair.
"""

import json
import os
import sys
import time
from typing import Any

from simulator.calibration.bench import lifeline
from simulator.calibration.pingpong.channels import StreamChannel
from simulator.characterisation.parallel.bodies import BODIES, Body


def main() -> None:
    """Serve the driver until it closes standard input."""
    parent, cpu, place, number = (int(word) for word in sys.argv[1:5])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    other = StreamChannel(number, number)
    bodies: dict[tuple[str, int, int], Body] = {}
    for line in sys.stdin:
        command = json.loads(line)
        key = command["kernel"], command["n"], command["processes"]
        together = other if key[2] > 1 else None
        if key not in bodies:
            bodies[key] = BODIES[key[0]](key[1], place, together)
        sys.stdout.write(json.dumps(_run(bodies[key], together)) + "\n")
        sys.stdout.flush()


def _run(body: Body, other: StreamChannel | None) -> dict[str, Any]:
    """One run: both begin when both are ready; one clock serves all processes of a machine."""
    body.reset()
    if other is not None:
        other.exchange(memoryview(b"x"), memoryview(bytearray(1)), 1)
    start = time.perf_counter()
    body.run()
    end = time.perf_counter()
    return {"start": start, "end": end, "right": body.right()}


if __name__ == "__main__":
    main()

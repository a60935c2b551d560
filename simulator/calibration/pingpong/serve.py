"""The far end of a ping-pong between hosts, pinned to a PE: `python -m simulator.calibration.pingpong.serve`.

Arguments: the parent's number, the processor, and the descriptor of a connection whose other side has proved that it
knows the token. It does what that side says, samples within fixed bounds and nothing else, until the connection ends.
"""

import json
import os
import sys

from simulator.calibration.parallel import lifeline
from simulator.calibration.pingpong import wire
from simulator.calibration.pingpong.channels import (
    MAX_BATCHES,
    MAX_BYTES,
    MAX_ROUNDS,
    Buffers,
    StreamChannel,
    run_sample,
)


def serve(number: int) -> int:
    """Obey one connection to its end, and say how many samples that were."""
    channel, buffers, count = StreamChannel(number, number), Buffers(), 0
    while (message := wire.receive_line(number)) is not None:
        size = wire.told(message, "size_bytes", most=MAX_BYTES)
        command = {
            "size_bytes": size,
            "rounds": wire.told(message, "rounds", most=MAX_ROUNDS),
            "batches": wire.told(message, "batches", most=MAX_BATCHES),
            "both": message.get("both") is True,
            "first": False,
        }
        buffers.views(size)
        wire.send_line(number, {"ready": True})
        run_sample(channel, command, buffers)
        count += 1
    return count


def main() -> None:
    """Serve one connection."""
    parent, cpu, number = (int(text) for text in sys.argv[1:4])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    sys.stdout.write(json.dumps({"samples": serve(number)}) + "\n")


if __name__ == "__main__":
    main()

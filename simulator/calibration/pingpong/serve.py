"""The far end of a ping-pong between hosts, pinned to a PE: `python -m simulator.calibration.pingpong.serve`.

Arguments: the parent's number, the processor, and the descriptor of a connection whose other side has proved that it
knows the token. It does what that side says, samples within fixed bounds and nothing else, until the connection ends.
"""

import json
import math
import os
import signal
import sys
import time

from simulator.base.errors import ApportionError
from simulator.calibration.bench import lifeline
from simulator.calibration.pingpong import wire
from simulator.calibration.pingpong.channels import (
    MAX_BATCHES,
    MAX_BYTES,
    MAX_ROUNDS,
    SILENCE_S,
    Buffers,
    StreamChannel,
    run_sample,
)
from simulator.calibration.pingpong.pairs import SAMPLE_LIMIT_S

COMMAND_S = math.ceil(SAMPLE_LIMIT_S + SILENCE_S)
"""How long one sample may take, waiting for the next command included."""


def serve(number: int, *, limit_s: int = 0) -> int:
    """Obey one connection to its end, and say how many samples that were.

    Parameters
    ----------
    number
        Descriptor of the connection.
    limit_s
        The system ends this process where a sample takes longer, however slowly bytes come; 0 for no limit.
    """
    channel, buffers, count = StreamChannel(number, number), Buffers(), 0
    while True:
        signal.alarm(limit_s)
        message = wire.receive_line(number, deadline=time.monotonic() + SILENCE_S)
        if message is None:
            return count
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


def main() -> int:
    """Serve one connection; what the other side did wrong is said in a line."""
    parent, cpu, number = (int(text) for text in sys.argv[1:4])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    try:
        sys.stdout.write(json.dumps({"samples": serve(number, limit_s=COMMAND_S)}) + "\n")
    except ApportionError as error:
        said = error.lines[0]
    except MemoryError:
        said = "the other host: no memory for messages as large as it asks for"
    except OSError:
        said = f"the other host: silent for {SILENCE_S:g} s, or gone"
    else:
        return 0
    sys.stderr.write(f"--listen: {said}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())

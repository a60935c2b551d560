"""One end of ping-pongs, a real process pinned to a PE: `python -m simulator.calibration.pingpong.endpoint`.

Arguments: the parent's number, the processor, and a JSON object of channels, `{"PEER": [OUT, IN]}`, file descriptors.
It reads one JSON command per line on standard input and answers each with one JSON line on standard output.
"""

import json
import os
import sys
from typing import Any

from simulator.base.errors import ApportionError
from simulator.calibration.bench import lifeline
from simulator.calibration.pingpong import wire
from simulator.calibration.pingpong.channels import Buffers, ChannelEndedError, StreamChannel, relay, run_sample


class Endpoint:
    """Keeps channels and buffers between commands."""

    def __init__(self, channels: dict[int, StreamChannel]) -> None:
        self._channels = channels
        self._buffers = Buffers()

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command of the driver."""
        match command["do"]:
            case "sample":
                if command.get("steer"):  # nobody else tells the peer what comes
                    self._tell(command["peer"], command)
                return run_sample(self._channels[command["peer"]], command, self._buffers)
            case "relay":
                back, forth = (self._channels[peer] for peer in command["peers"])
                relay(back, forth, self._buffers, packet_bytes=command["packet_bytes"], command=command)
                return {}
        raise ValueError(command["do"])

    def _tell(self, peer: int, command: dict[str, Any]) -> None:
        """Tell a peer on another host what comes, and wait until it is ready."""
        out, into = self._channels[peer].ends
        self._buffers.views(command["size_bytes"])  # pages are there before the other waits for us
        wire.send_line(out, {name: command[name] for name in ("size_bytes", "rounds", "batches", "both")})
        answer = wire.receive_line(into)
        if answer is None or answer.get("ready") is not True:
            raise ChannelEndedError("the other host: it ended the session")


def main() -> int:
    """Serve the driver until it closes standard input, or the other end fails, which is said in a line."""
    parent, cpu, channels = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    endpoint = Endpoint({int(peer): StreamChannel(*ends) for peer, ends in channels.items()})
    try:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(endpoint.obey(json.loads(line))) + "\n")
            sys.stdout.flush()
    except ApportionError as error:
        sys.stderr.write(f"{error.lines[0]}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A command as a person sees it: run for real, on a terminal or into a pipe, and when a sign of it came."""

import itertools
import os
import pty
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from advisor.cli import signs
from tests.support.command_line import APPORTION, ROOT


@dataclass(frozen=True)
class Watched:
    """What was seen of a command."""

    code: int
    seen: tuple[tuple[float, str], ...]
    """Seconds after the start, and what came on standard error."""
    wall_s: float

    @property
    def text(self):
        return "".join(text for _, text in self.seen)

    @property
    def first_s(self):
        """Seconds until the first sign, or until the end."""
        return self.seen[0][0] if self.seen else self.wall_s

    @property
    def silences(self):
        """(begin, length) of each stretch without a sign, in seconds; the first one begins at the start."""
        times = [0.0, *(when for when, _ in self.seen), self.wall_s]
        return [(begin, end - begin) for begin, end in itertools.pairwise(times)]

    def too_silent(self, *, terminal, slack_s):
        """Silences that are longer than allowed: a second on a terminal, as long as all before in a pipe."""
        return [
            (round(begin, 2), round(length, 2))
            for begin, length in self.silences
            if length > slack_s + (signs.EVERY_S if terminal else max(signs.EVERY_S, begin))
        ]


def watch(*arguments, terminal, cwd=ROOT, enough_s=600, limit_s=600, **environment):
    """Run a command and note when anything comes on standard error; after enough seconds it is interrupted."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    known = {name: value for name, value in os.environ.items() if name != signs.SWITCH}
    begun = time.monotonic()
    process = subprocess.Popen(
        [*APPORTION, *map(str, arguments)],
        cwd=cwd,
        env=known | {"PYTHONPATH": str(ROOT)} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    enough = threading.Timer(enough_s, process.send_signal, [signal.SIGINT])
    enough.start()
    seen = []
    try:
        while time.monotonic() - begun < limit_s:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # of a terminal that nobody writes to any more
                break
            if not piece:
                break
            seen.append((time.monotonic() - begun, piece.decode(errors="replace")))
    finally:
        enough.cancel()
        os.close(ours)
    return Watched(process.wait(limit_s), tuple(seen), time.monotonic() - begun)


def start_s():
    """Seconds that a command takes here and now that does nothing: what no sign can be earlier than."""
    return watch("--version", terminal=False).wall_s

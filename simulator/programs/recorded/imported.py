"""Recordings of other programs, by what their files say."""

from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.programs.recorded.goal import read_goal
from simulator.programs.recorded.recording import Recording
from simulator.programs.recorded.ti import SPEED, read_ti

LIMIT_BYTES = 4 << 30


def import_recording(path: str | Path, *, speed: float | None = None) -> Recording:
    """The recording that a time-independent trace of SimGrid, a list of such, or a graph in GOAL tells.

    Raises ScenarioError with file and line of what cannot be read.

    `speed`: flop/s by which computing of a time-independent trace is seconds; 1e9 by default.
    """
    begin = files.read_bytes(Path(path), limit_bytes=LIMIT_BYTES)[:4096]
    lines = [line for line in begin.splitlines() if line.strip() and not line.lstrip().startswith((b"#", b"//", b"/*"))]
    if lines and lines[0].split()[0] in (b"num_ranks", b"rank"):
        if speed is not None:
            raise ScenarioError(f"--speed: {path} is in GOAL, which says times; leave it out")
        return read_goal(path)
    return read_ti(path, speed=SPEED if speed is None else speed)

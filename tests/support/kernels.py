"""Compiles the simulator's kernels, for `make test`: while types are checked, and once for all processes of pytest."""

import sys
import tempfile

from tests.support.command_line import ROOT, apportion_here

COMMANDS = (
    ("simulate", ROOT / "scenarios/tutorial/networks.yaml", "--engine", "compiled"),
    ("simulate", ROOT / "scenarios/tutorial/loads.yaml", "--engine", "compiled", "--replications", "20"),
    ("jobs", "generate", "--kind", "combined", "--jobs", "100", "--estimates", "tsafrir", "-o", "stream.swf"),
    ("jobs", "run", "stream.swf", "--order", "fcfs", "--backfill", "easy"),
)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for words in COMMANDS:
            done = apportion_here(*words, cwd=folder)
            if done.returncode:
                print(done.stderr, end="", file=sys.stderr)
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())

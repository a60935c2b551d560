"""Compiles the simulator's kernels: for `make test` while types are checked, and a part in each process of pytest.

Two processes that came upon a kernel at the same time would both compile it, which takes a minute for all of them.
"""

import sys
import tempfile

from tests.support.command_line import ROOT, apportion_here

PARTS = (
    (
        ("simulate", ROOT / "scenarios/tutorial/networks.yaml", "--engine", "compiled"),
        ("simulate", ROOT / "scenarios/tutorial/loads.yaml", "--engine", "compiled", "--replications", "20"),
    ),
    (
        (
            "lab",
            "generate",
            "lublin",
            "--class",
            "combined",
            "--jobs",
            "400",
            "--estimates",
            "tsafrir",
            "-o",
            "stream.swf",
        ),
        ("jobs", "run", "stream.swf", "--engine", "compiled"),
    ),
)
"""Commands that need all kernels."""


def compiled(part: int) -> int:
    """Compile what a part needs, unless it is compiled; the exit code of a command that fails."""
    with tempfile.TemporaryDirectory() as folder:
        for words in PARTS[part]:
            done = apportion_here(*words, cwd=folder)
            if done.returncode:
                print(done.stderr, end="", file=sys.stderr)
                return done.returncode
    return 0


def main() -> int:
    return next(filter(None, map(compiled, range(len(PARTS)))), 0)


if __name__ == "__main__":
    sys.exit(main())

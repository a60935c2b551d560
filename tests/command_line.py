"""`apportion` in a process of its own, as users start it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
APPORTION = [sys.executable, "-m", "advisor.cli"]


def apportion(*arguments, cwd=ROOT, **options):
    """What it printed, and its exit code; the code is this checkout's, wherever it is started."""
    return subprocess.run(
        [*APPORTION, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )

"""Other processors, as far as this one can pretend to be them: OpenBLAS's kernels and NumPy's vector loops.

`python -m tests.core_types [PYTEST_ARGUMENTS]` runs tests under three of them, one after the other; by default those of
what chooses.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

import numpy as np

AVX512 = ("AVX512", "X86_V4")
WITHOUT: Mapping[str, tuple[str, ...] | None] = {
    "SkylakeX": (),
    "Haswell": AVX512,
    "Zen": AVX512,
    "Nehalem": None,
    "Prescott": None,
}
"""Core type of OpenBLAS -> how names of NumPy's vector loops begin that it lacks; None: all of them."""
THREADS = {"SkylakeX": 2, "Haswell": 1, "Zen": 2, "Nehalem": 1, "Prescott": 2}
"""One or two each, so that sums are split in both ways."""
THREE = ("Haswell", "SkylakeX", "Nehalem")
TESTS = (
    "tests/simulator/models",
    "tests/simulator/scenario_file/test_link_models.py",
    "tests/simulator/base/test_ties.py",
    "tests/advisor/advise/test_judge.py",
    "tests/advisor/advise/test_ranking.py",
)
PROBE = """
import json
import numpy as np
from threadpoolctl import threadpool_info
some = np.random.default_rng(1).random((60, 60))
bits = np.log(np.abs(np.linalg.lstsq(some @ some.T, some[0])[0]))
known = any(pool["internal_api"] == "openblas" for pool in threadpool_info())
print(json.dumps([known, bits.tobytes().hex()]))
"""


def environment(core: str, threads: int | None = None) -> dict[str, str]:
    """This process's environment, for a child that is to compute as that core type does."""
    lacks, found = WITHOUT[core], np.show_config("dicts")["SIMD Extensions"]["found"]
    without = [name for name in found if lacks is None or name.startswith(lacks)]
    return {
        **os.environ,
        "OPENBLAS_CORETYPE": core,
        "OPENBLAS_NUM_THREADS": str(threads or THREADS[core]),
        "NPY_DISABLE_CPU_FEATURES": " ".join(without),
    }


@cache
def _probe(core: str) -> tuple[int, str]:
    command = [sys.executable, "-c", PROBE]
    found = subprocess.run(command, check=False, env=environment(core), capture_output=True, text=True, timeout=60)
    if found.returncode not in {0, -signal.SIGILL}:
        found.check_returncode()
    return found.returncode, found.stdout


def why_not(core: str) -> str:
    """Why this processor cannot run that core type; empty if it can."""
    code, said = _probe(core)
    if code:
        return f"{core}: this processor lacks its instructions"
    return "" if json.loads(said)[0] else f"{core}: NumPy does not use OpenBLAS here"


def last_bits(core: str) -> str:
    """Logarithms of the solution of some linear equations, to the last bit."""
    return str(json.loads(_probe(core)[1])[1])


def main() -> int:
    """Run pytest under each of `THREE`; the first one that fails decides the exit code."""
    for core in THREE:
        if reason := why_not(core):
            print(f"left out: {reason}")
            continue
        print(f"Core type {core}:", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or TESTS)]
        if code := subprocess.run(command, check=False, env=environment(core)).returncode:
            return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

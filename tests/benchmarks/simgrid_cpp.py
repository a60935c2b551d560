"""SimGrid in C++: whether it is installed, our small programs for it compiled, and the benchmark's scenarios run.

Debian's package is `libsimgrid-dev` (with `g++`). Another installation is found through `PKG_CONFIG_PATH`.
"""

import functools
import hashlib
import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from tests.benchmarks import scenarios
from tests.benchmarks.scenarios import LINK_BANDWIDTH, LINK_LATENCY_S, Scenario

SOURCES = Path(__file__).with_name("simgrid")
BUILT = Path(__file__).parents[2] / "out" / "simgrid"
HINT = "apt install libsimgrid-dev g++"


def _flags() -> list[str]:
    """What the compiler needs for SimGrid, as pkg-config knows it, else its plain name."""
    if shutil.which("pkg-config"):
        command = ["pkg-config", "--cflags", "--libs", "--keep-system-libs", "simgrid"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            words = asked.stdout.split()
            return [*words, *(f"-Wl,-rpath,{word[2:]}" for word in words if word.startswith("-L"))]
    return ["-lsimgrid"]


@functools.cache
def version() -> str | None:
    """SimGrid's version, such as `3.32`, or None where it or the compiler is missing."""
    if not shutil.which("g++"):
        return None
    headers = "#include <simgrid/version.h>\n#include <simgrid/s4u/Engine.hpp>\n"
    ask = f"{headers}@ SIMGRID_VERSION_MAJOR.SIMGRID_VERSION_MINOR\n"
    command = ["g++", "-std=c++17", "-E", "-P", "-x", "c++", *_flags(), "-"]
    answer = subprocess.run(command, input=ask, capture_output=True, text=True, check=False)
    return answer.stdout.rpartition("@")[2].replace(" ", "").strip() if answer.returncode == 0 else None


def why_not() -> str | None:
    """Why SimGrid cannot be used here, with what helps; None if it can."""
    if not shutil.which("g++"):
        return f"SimGrid: no g++ here ({HINT})"
    return None if version() else f"SimGrid: not installed ({HINT})"


@functools.cache
def program(name: str) -> Path:
    """Our program `simgrid/NAME.cpp`, compiled unless it already is; what was made from other text is never used."""
    command = ["g++", "-std=c++17", "-O3", "-DNDEBUG", str(SOURCES / f"{name}.cpp"), "-o"]
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    text = "\0".join([*command, *_flags(), compiler, str(version())])
    text += "".join((SOURCES / part).read_text() for part in (f"{name}.cpp", "names.hpp"))
    path = BUILT / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if not path.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILT) as folder:
            made = Path(folder) / name
            compiled = subprocess.run([*command, str(made), *_flags()], capture_output=True, text=True, check=False)
            if compiled.returncode:
                raise RuntimeError(f"{name}.cpp does not compile with SimGrid {version()}:\n{compiled.stderr[-4000:]}")
            made.replace(path)
    return path


FULL = ("optim:Full", "maxmin-selective-update:no")
MODES: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "A": {"default": ("A", ()), "TI": ("A", ("cpu/optim:TI",))},
    "B": {"default": ("B", ())},
    "Bbar": {"default": ("Bbar", ())},
    "C": {"default": ("C", ())},
    "D": {"default": ("D", ()), "Full": ("D", tuple(f"network/{option}" for option in FULL))},
    "E": {"one engine": ("E", ()), "fork": ("Efork", ())},
    "F": {"default": ("F", ()), "Full": ("F", tuple(f"cpu/{option}" for option in FULL))},
    "G": {"default": ("G", ())},
}
"""Scenario -> mode -> the program's NAME and SimGrid's options."""


@dataclass(frozen=True)
class Sample:
    """One run: wall time and processor time of building and simulating, and the makespan."""

    seconds: float
    cpu_s: float
    makespan_s: float


def arrays(scenario: Scenario) -> list[ArrayLike]:
    """What `simgrid/scenarios.cpp` reads, in its order."""
    link = [LINK_LATENCY_S, LINK_BANDWIDTH]
    match scenario:
        case scenarios.FluctuatingHosts():
            return [scenario.peaks, scenario.holds_s, scenario.shares, scenario.flops]
        case scenarios.BulkSynchronous():
            return [scenario.peaks, scenario.flops, [scenario.message_bytes, *link]]
        case scenarios.PanelFactorization() | scenarios.AllocationSweep():
            costs = [scenario.panel_flops, scenario.panel_bytes, scenario.update_flops]
            return [scenario.peaks, *costs, [0.0, *link]]
        case scenarios.SharedBackbone():
            return [scenario.capacities, scenario.flow_bytes, [scenario.backbone, scenario.latency_s]]
        case scenarios.ProcessorSharing():
            return [scenario.arrivals_s, scenario.flops, [scenario.speed]]
        case scenarios.SelfScheduled():
            return [scenario.peaks, scenario.flops, [float(scenario.guided), scenario.pull_s]]


def write_arrays(path: Path, scenario: Scenario) -> None:
    flat = [np.ravel(np.asarray(part, dtype="<f8")) for part in arrays(scenario)]
    with path.open("wb") as file:
        file.write(b"ARRAYS01")
        file.write(np.array([len(flat), *map(len, flat)], dtype="<i8").tobytes())
        for part in flat:
            part.tofile(file)


def run_scenario(letter: str, mode: str, path: Path) -> Sample:
    """One run in a process of its own; what `write_arrays` wrote goes in."""
    name, options = MODES[letter][mode]
    command = [str(program("scenarios")), name, str(path), *(f"--cfg={option}" for option in options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"SimGrid, scenario {letter}, {mode}: status {done.returncode}: {done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    return Sample(answer["build_s"] + answer["run_s"], answer["cpu_s"], answer["makespan_s"])

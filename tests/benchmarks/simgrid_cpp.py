"""SimGrid in C++: whether it is installed, our small programs for it compiled, and run.

Debian's package is `libsimgrid-dev` (with `g++`). Another installation is found through `PKG_CONFIG_PATH`.
"""

import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

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

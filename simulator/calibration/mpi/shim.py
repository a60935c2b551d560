"""The recorder compiled for the MPI in use: which `mpicc`, and the library that it makes, kept in the user's cache."""

import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError, reason
from simulator.calibration.mpi.wrappers import source_for

OPTIONS = "-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-w", "-x", "c"
LIMIT_S = 120.0
"""Of compiling."""
_MOST_LINKS = 8
_PACKAGES = {"mpich": "libmpich-dev", "openmpi": "libopenmpi-dev"}


@dataclass(frozen=True)
class Shim:
    """A compiled recorder."""

    library: Path
    compiler: str


def compiler_for(launcher: str) -> str:
    """The `mpicc` that belongs to a launcher: of its folder and suffix, else the one on the path.

    `launcher`: first word of the command, such as `mpiexec.openmpi`.
    """
    place, suffixes, folders = shutil.which(launcher), list[str](), list[str]()
    for _ in range(_MOST_LINKS):
        if place is None:
            break
        suffixes.append(Path(place).name.partition(".")[2])
        folders.append(str(Path(place).parent))
        place = str(Path(place).parent / Path(place).readlink()) if Path(place).is_symlink() else None
    beside = [f"{folders[0]}/mpicc.{suffix}" for suffix in suffixes if suffix]
    beside += [f"{folder}/mpicc" for folder in folders]
    for one in (*beside, "mpicc"):
        if (found := shutil.which(one)) is not None:
            return found
    family = next((name for name in _PACKAGES if name in suffixes), "")
    package = _PACKAGES.get(family, "libmpich-dev or libopenmpi-dev, the one of the MPI in use")
    raise ScenarioError(f"no mpicc was found, which the recorder is compiled with: install {package}")


def compiled(compiler: str) -> Shim:
    """The recorder for the `mpi.h` of a compiler; compiled at its first use."""
    shown = _output(compiler, "-show").strip()
    source = source_for(_output(compiler, "-E", "-x", "c", "-", text="#include <mpi.h>\n"))
    made = files.digest(f"{source}\0{compiler}\0{shown}".encode()).partition(":")[2][:32]
    cache = files.user_cache()
    if cache is None or set(str(cache)) & set(" :"):
        raise ScenarioError(
            "the recorder needs a folder of your own, without blanks and colons; set XDG_CACHE_HOME to one"
        )
    library = cache / "mpi" / f"recorder-{made}.so"
    if not library.exists():
        paths = [f"-Wl,-rpath,{word[2:]}" for word in shlex.split(shown) if word.startswith("-L")]
        with tempfile.TemporaryDirectory() as folder:
            made_there = Path(folder) / library.name
            _output(compiler, *OPTIONS, "-", "-o", str(made_there), "-ldl", *paths, text=source)
            files.write_bytes(library, files.read_bytes(made_there))
    return Shim(library, compiler)


def _output(compiler: str, *words: str, text: str = "") -> str:
    """What the compiler says on standard output."""
    try:
        done = subprocess.run(
            [compiler, *words], input=text, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        said = reason(error) if isinstance(error, OSError) else f"no end after {LIMIT_S:g} s"
        raise ScenarioError(f"{compiler}: {said}; give an mpicc that works by --mpicc") from error
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise ScenarioError(f"{compiler} does not compile the recorder: {said}; give another one by --mpicc")
    return done.stdout

"""A program recorded several times: each run is kept until all are there, then they become one recording."""

import contextlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import CalibrationError, Interrupted, ScenarioError, reason
from simulator.base.machine import require_linux, this_machine
from simulator.base.provenance import provenance
from simulator.calibration.mpi.combined import Run, combined, read_run
from simulator.calibration.mpi.shim import Shim, compiled, compiler_for
from simulator.programs.recorded.recording import Described, Recording

KEPT = ".runs"
"""Folder, in that of the recording, of runs that are finished and not yet one recording."""
DONE = "done.json"
OF_OPEN_MPI = "OMPI_MCA_mca_base_env_list"
"""Environment variable that lists those that Open MPI hands to other hosts, not beside its -x; MPICH hands all."""
ENDING_S = 5.0
"""What a launcher has to end its ranks."""


@dataclass(frozen=True)
class MpiProgram:
    """A command that runs an MPI program, and what tells that it is the same one as before."""

    words: tuple[str, ...]
    shim: Shim

    @property
    def identity(self) -> dict[str, Any]:
        """Words, recorder, and hashes of the files that the words name."""
        named = {word: shutil.which(word) or word for word in self.words}
        own = {word: files.digest_of(Path(path)) for word, path in named.items() if Path(path).is_file()}
        return {"words": list(self.words), "recorder": self.shim.library.name, "files": own}


def mpi_program(words: Sequence[str], mpicc: str | None = None) -> MpiProgram:
    """Check a command, and compile the recorder for its MPI."""
    require_linux()
    if not words or shutil.which(words[0]) is None:
        said = f"{words[0]!r} is no program that can be run here" if words else "the command is missing"
        raise ScenarioError(f"{said}; write it behind --, such as -- mpiexec -n 4 ./program")
    return MpiProgram(tuple(words), compiled(shutil.which(mpicc) or mpicc if mpicc else compiler_for(words[0])))


def record_program(
    program: MpiProgram, folder: Path, *, times: int, on_progress: Callable[[int, int], None]
) -> Recording:
    """Run a program so many times and save what its ranks did in a folder; finished runs of before are not redone."""
    identity = program.identity
    described = Described(
        shlex.join(program.words),
        provenance={**provenance(inputs=identity["files"], machine=this_machine()), "mpicc": program.shim.compiler},
    )
    runs = list[Run]()
    for number in range(1, times + 1):
        own = folder / KEPT / str(number)
        on_progress(number - 1, times)
        if _is_kept(own, identity):
            runs.append(read_run(own, described))
            continue
        shutil.rmtree(own, ignore_errors=True)
        files.make_folder(own)
        try:
            runs.append(_read(own, described, _run(program, own)))
            files.write_json(own / DONE, identity)
        except BaseException as error:
            shutil.rmtree(own if runs else folder / KEPT, ignore_errors=True)
            if isinstance(error, KeyboardInterrupt) and runs:
                kept = f"{folder} keeps {len(runs)} of {times} runs, the same command goes on from there"
                raise Interrupted(f"interrupted; {kept}") from error
            raise
    try:
        recording = combined(runs)
        recording.save(folder)
    finally:  # runs that do not fit each other never will
        shutil.rmtree(folder / KEPT, ignore_errors=True)
    return recording


def _read(folder: Path, described: Described, status: int) -> Run:
    """What a run left; one that failed is refused whatever it left."""
    try:
        run = read_run(folder, described)
    except ScenarioError as error:
        ended = f" (the command ended with exit status {status})" if status else ""
        raise ScenarioError([f"{line}{ended}" for line in error.lines]) from error
    if status:
        raise CalibrationError(f"{described.program}: ended with exit status {status}; mend it, then record it again")
    return run


def _is_kept(folder: Path, identity: dict[str, Any]) -> bool:
    done = folder / DONE
    return done.is_file() and files.read_json(done) == identity


def _run(program: MpiProgram, folder: Path) -> int:
    """Run the command with the recorder preloaded; its exit status. What it prints goes to standard error."""
    preloaded = [str(program.shim.library), *os.environ.get("LD_PRELOAD", "").split()]
    own = {"APPORTION_MPI": str(folder.absolute()), "LD_PRELOAD": " ".join(preloaded)}
    if "-x" not in program.words:
        own[OF_OPEN_MPI] = ";".join(filter(None, [os.environ.get(OF_OPEN_MPI, ""), *own]))
    try:
        child = subprocess.Popen(
            program.words,
            stdin=_standard_input(),
            stdout=_standard_error(),
            env={**os.environ, **own},
            start_new_session=True,
        )
    except OSError as error:
        raise ScenarioError(f"{program.words[0]}: {reason(error)}; give a launcher that runs here") from error
    try:
        return child.wait()
    except BaseException:
        _end(child)
        raise


def _standard_input() -> int:
    """Ours from its beginning where it is a file, as in `... ./program < input`, and else nothing."""
    try:
        own = sys.stdin.fileno()
        if not stat.S_ISREG(os.fstat(own).st_mode):
            return subprocess.DEVNULL
        os.lseek(own, 0, os.SEEK_SET)
    except (AttributeError, OSError, ValueError):
        return subprocess.DEVNULL
    return own


def _standard_error() -> int:
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return subprocess.DEVNULL


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Have the launcher end its ranks, then make sure of it."""
    for number, limit_s in ((signal.SIGTERM, ENDING_S), (signal.SIGKILL, ENDING_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(limit_s)

"""Drives pairs of MPI ranks on this machine, started by mpiexec."""

import contextlib
import importlib.util
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulator.base.errors import CalibrationError, ScenarioError
from simulator.calibration.bench.children import NoAnswerError
from simulator.calibration.pingpong import wire
from simulator.calibration.pingpong.pairs import Pairs

RANK = "simulator.calibration.pingpong.mpi_rank"
START_S = 30.0
"""How long ranks may take to start."""
INSTALL = "the extra with MPI needed: pip install 'apportion[mpi]'"


class MpiRanks:
    """Ranks that obey JSON commands over sockets.

    Parameters
    ----------
    process
        The running mpiexec.
    controls
        A connected socket per rank.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", controls: Sequence[socket.socket]) -> None:
        self._process = process
        self._controls = controls

    def ask(self, commands: Mapping[int, Mapping[str, Any]], *, limit_s: float) -> dict[int, dict[str, Any]]:
        """Hand each rank its command at once and wait for all answers.

        Raises
        ------
        CalibrationError
            If a rank ends; `NoAnswerError` if one does not answer within `limit_s` seconds.
        """
        for rank, command in commands.items():
            try:
                wire.send_line(self._controls[rank].fileno(), dict(command))
            except ConnectionError as error:
                raise CalibrationError(f"MPI rank {rank}: ended early: {_last_words(self._process)}") from error
        answers, end = {}, time.monotonic() + limit_s
        for rank in commands:
            ready, _, _ = select.select([self._controls[rank]], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise NoAnswerError(f"MPI rank {rank}: no answer within {limit_s:.0f} s, a machine less busy needed")
            answer = wire.receive_line(self._controls[rank].fileno())
            if answer is None:
                raise CalibrationError(f"MPI rank {rank}: ended early: {_last_words(self._process)}")
            answers[rank] = answer
        return answers


def find_mpiexec() -> str:
    """The mpiexec of this Python's environment, or the one on the path.

    Raises
    ------
    ScenarioError
        If there is none, or no mpi4py.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise ScenarioError(f"--between mpi: mpi4py is not installed, {INSTALL}")
    own = Path(sys.executable).parent / "mpiexec"
    found = str(own) if own.exists() else shutil.which("mpiexec")
    if found is None:
        raise ScenarioError(f"--between mpi: mpiexec is not installed, {INSTALL}")
    return found


@contextmanager
def mpi_pairs(cpus: Sequence[tuple[int, int]]) -> Iterator[tuple[Pairs, str]]:
    """Pairs of ranks, each on two of the processors, and the name of the MPI library.

    Raises
    ------
    ScenarioError
        If MPI is not installed.
    CalibrationError
        If the ranks do not start as one program.
    """
    mpiexec = find_mpiexec()
    places = [cpu for pair in cpus for cpu in pair]
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        path = str(Path(folder) / "control")  # only we can enter the folder
        server.bind(path)
        server.listen(len(places))
        words = [
            mpiexec,
            "-n",
            str(len(places)),
            sys.executable,
            "-m",
            RANK,
            str(os.getpid()),
            path,
            json.dumps(places),
        ]
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        controls: dict[int, socket.socket] = {}
        try:
            library = _gather(server, process, controls, mpiexec=mpiexec, count=len(places))
            ranks = MpiRanks(process, [controls[rank] for rank in range(len(places))])
            twos = [(2 * pair, 2 * pair + 1) for pair in range(len(cpus))]
            yield Pairs(ranks, [[(one, other, True), (other, one, False)] for one, other in twos]), library
        finally:
            for control in controls.values():
                control.close()
            _end(process)


def _gather(
    server: socket.socket,
    process: "subprocess.Popen[bytes]",
    controls: dict[int, socket.socket],
    *,
    mpiexec: str,
    count: int,
) -> str:
    """Wait until every rank has come, and say which library they use."""
    server.settimeout(0.2)
    deadline = time.monotonic() + START_S
    library = ""
    while len(controls) < count:
        try:
            control, _ = server.accept()
        except TimeoutError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise CalibrationError(f"mpiexec: the ranks did not start: {_last_words(process)}") from None
            continue
        control.settimeout(None)
        about = wire.receive_line(control.fileno()) or {}
        controls[int(about.get("rank", -1))] = control
        library = str(about.get("library", ""))
        if about.get("world") != count:
            raise CalibrationError(
                f"{mpiexec}: {about.get('world')} rank in a world found, {count} needed: "
                f"mpi4py uses another MPI ({library}) than this mpiexec"
            )
    return library


def _end(process: "subprocess.Popen[bytes]") -> None:
    """The ranks end by themselves when their sockets close; what stays is killed with mpiexec."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(3.0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def _last_words(process: "subprocess.Popen[bytes]") -> str:
    """Last line that mpiexec or a rank said, once it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(3.0)
    except subprocess.TimeoutExpired:
        return f"nothing within {START_S:g} s"
    assert process.stderr is not None  # noqa: S101 - asked for
    os.set_blocking(process.stderr.fileno(), False)
    said = (process.stderr.read() or b"").decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {process.returncode}"

"""Child processes of a driver: started without a shell, asked in JSON lines, never left behind."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Self

from simulator.base.errors import CalibrationError

LIMIT_S = 300.0
"""How long a child may take to answer."""
GRACE_S = 1.0
"""How long a child may take to end by itself before it is killed."""


class NoAnswerError(CalibrationError):
    """A child did not answer in time; it may still be at work."""


class Children:
    """Processes that run one of our modules, each obeying JSON commands; a context manager that ends them.

    Parameters
    ----------
    module
        What each runs, `python -m module PARENT ARGUMENTS...`.
    arguments
        One row of arguments per child.
    inherited
        File descriptors that each child keeps.
    """

    def __init__(
        self, module: str, arguments: Sequence[Sequence[str]], *, inherited: Sequence[Sequence[int]] | None = None
    ) -> None:
        self._module = module
        self._children: list[subprocess.Popen[bytes]] = []
        single = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}
        try:
            for number, row in enumerate(arguments):
                child = subprocess.Popen(
                    [sys.executable, "-m", module, str(os.getpid()), *row],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=inherited[number] if inherited else (),
                    env=os.environ | single,
                )
                self._children.append(child)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def tell(self, number: int, command: Mapping[str, Any] | None) -> None:
        """Hand one command to a child."""
        stream = _piped(self._children[number].stdin)
        try:
            stream.write(json.dumps(command).encode() + b"\n")
            stream.flush()
        except BrokenPipeError:
            self._fail(number)

    def ask(self, commands: Mapping[int, Mapping[str, Any]], *, limit_s: float = LIMIT_S) -> dict[int, dict[str, Any]]:
        """Hand each child its command at once and wait for all answers.

        Raises
        ------
        CalibrationError
            If a child ends; `NoAnswerError` if one does not answer within `limit_s` seconds.
        """
        for number, command in commands.items():
            self.tell(number, command)
        answers: dict[int, dict[str, Any]] = {}
        end = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            for number in commands:
                stream = _piped(self._children[number].stdout)
                selector.register(stream, selectors.EVENT_READ, (number, stream))
            while len(answers) < len(commands):
                ready = selector.select(max(0.0, end - time.monotonic()))
                if not ready:
                    raise NoAnswerError(f"{self._module}: no answer within {limit_s:.0f} s, a machine less busy needed")
                for key, _ in ready:
                    number, stream = key.data
                    line = stream.readline()
                    if not line:
                        self._fail(number)
                    answers[number] = json.loads(line)
                    selector.unregister(stream)
        return {number: answers[number] for number in commands}

    def end(self) -> None:
        """End every child: its input closes; what does not go within a second is asked to, and at last killed.

        A launcher that is asked ends what it started, which outlives one that is killed.
        """
        for child in self._children:
            if child.stdin is not None:
                with contextlib.suppress(BrokenPipeError):  # it is gone already
                    child.stdin.close()
        deadline = time.monotonic() + GRACE_S
        for child in self._children:
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(GRACE_S)
                child.kill()
                child.wait()
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()

    def _fail(self, number: int) -> None:
        child = self._children[number]
        child.kill()
        said = child.stderr.read().decode(errors="replace").strip().splitlines() if child.stderr is not None else []
        reason = said[-1] if said else f"exit code {child.wait()}"
        raise CalibrationError(f"{self._module} {number}: ended early: {reason}")


def _piped(stream: IO[bytes] | None) -> IO[bytes]:
    """A pipe that a child was started with."""
    if stream is None:
        raise TypeError("a child without this pipe")
    return stream

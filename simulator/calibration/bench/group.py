"""Workers of one subject: started without a shell, asked in JSON lines, never left behind."""

import contextlib
import importlib.util
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import IO, NoReturn, Protocol, Self, TypeVar

from simulator.base.documents import read
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.calibration.bench import pin

WORKER = "simulator.calibration.bench.worker"
LIMIT_S = 300.0
"""How long a worker may take to answer."""
GRACE_S = 1.0
"""How long a worker may take to end by itself before it is asked to, and then until it is killed."""
MPI_START_S = 30.0
"""How long MPI ranks may take to start."""
MPI_EXTRA = "pip install 'apportion[mpi]'"
T = TypeVar("T")
Command = Mapping[str, object]
"""What a worker is to do, under `do`, and the fields of that job."""


class Worker(Protocol):
    """A process that obeys."""

    @property
    def pid(self) -> int:
        """Its number, and that of its session where it has one of its own."""

    @property
    def returncode(self) -> int | None:
        """How it ended; None as long as it has not."""

    def poll(self) -> int | None:
        """How it ended, if it has."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; `subprocess.TimeoutExpired` if it does not come in time."""

    def last_words(self) -> str:
        """The last line that it wrote as an error; empty if there is none."""

    def signal(self, number: signal.Signals, *, session: bool) -> None:
        """Send it, or its session, a signal; nothing if it is gone."""

    def forget(self) -> None:
        """Give back what was kept of it."""


class Place(Protocol):
    """A machine that workers run on."""

    def start(self, words: Sequence[str], inherited: Sequence[int], *, apart: bool) -> tuple[socket.socket, Worker]:
        """Start a worker there, which keeps these file descriptors of that machine."""

    def offset_s(self) -> float:
        """What its clock (`time.perf_counter`, `time.monotonic`) shows more than ours."""


class LocalWorker:
    """A child of this process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.poll, self.wait = process.poll, process.wait

    @property
    def pid(self) -> int:
        """See `Worker`."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """See `Worker`."""
        return self._process.returncode

    def last_words(self) -> str:
        """See `Worker`; what it left behind may keep its pipe open."""
        if self._process.stderr is None:
            raise TypeError("a worker without this pipe")
        os.set_blocking(self._process.stderr.fileno(), False)
        said = (self._process.stderr.read() or b"").decode(errors="replace").splitlines()
        words = [line.strip() for line in said if any(map(str.isalpha, line))]  # Open MPI frames what it says in dashes
        return words[-1] if words else ""

    def signal(self, number: signal.Signals, *, session: bool) -> None:
        """See `Worker`."""
        if not session:
            self._process.send_signal(number)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def forget(self) -> None:
        """See `Worker`."""
        if self._process.stderr is not None:
            self._process.stderr.close()


class Here:
    """The machine that this process runs on."""

    def start(self, words: Sequence[str], inherited: Sequence[int], *, apart: bool) -> tuple[socket.socket, Worker]:
        """See `Place`."""
        own, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", WORKER, str(os.getpid()), *words],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.PIPE,
                pass_fds=inherited,
                start_new_session=apart,
            )
        return own, LocalWorker(process)

    def offset_s(self) -> float:
        """See `Place`."""
        return 0.0


HERE = Here()
_PLACE: ContextVar[Place] = ContextVar("place", default=HERE)
"""Where this thread measures."""


@contextlib.contextmanager
def measuring_at(place: Place) -> Iterator[None]:
    """Have groups that this thread makes while the block runs start their workers elsewhere."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


class NoAnswerError(CalibrationError):
    """A worker did not answer in time; it may still be at work."""


class EndedError(CalibrationError):
    """A worker failed, or ended before it answered."""

    def __init__(self, who: str, reason: str) -> None:
        super().__init__(f"{who}: ended early: {reason}")
        self.reason = reason


class Group:
    """Processes that run the jobs of one subject; a context manager that ends them.

    `subject`: one of `worker.SUBJECTS`.
    `rows`: of each worker: the logical processors that it may use, with commas, and the arguments of the subject.
    `inherited`: file descriptors that each worker keeps.
    `apart`: give each worker a session of its own.
    `mpi`: start them as the ranks of one MPI program, in the order of the rows.
    `places`: the machine of each worker; by default the one where this thread measures (`measuring_at`), as a rule this
    one.

    `library`: the name of the MPI library.
    """

    def __init__(
        self,
        subject: str,
        rows: Sequence[Sequence[object]],
        *,
        inherited: Sequence[Sequence[int]] | None = None,
        apart: bool = False,
        mpi: bool = False,
        places: Sequence[Place] | None = None,
    ) -> None:
        self.library = ""
        self._who = "MPI rank {}" if mpi else f"{subject} {{}}"
        self._apart = apart or mpi
        self._processes: list[Worker] = []
        self._controls: list[socket.socket] = []
        self._places: list[Place] = []
        self._answers: list[IO[bytes]] = []
        self._subject = subject
        try:
            if mpi:
                self._start_ranks([self._words(row) for row in rows])
            else:
                for number, row in enumerate(rows):
                    self._start(row, inherited[number] if inherited else (), places[number] if places else _PLACE.get())
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def offset_s(self, number: int) -> float:
        """What the clock of a worker's machine shows more than ours."""
        return self._places[number].offset_s() if self._places else 0.0

    def tell(self, number: int, command: Command) -> None:
        """Hand one command to a worker."""
        try:
            self._controls[number].sendall(json.dumps(command).encode() + b"\n")
        except ConnectionError:
            self._fail(number)

    def tell_all(self, command: Command) -> None:
        """Hand one command to every worker."""
        for number in range(len(self._controls)):
            self.tell(number, command)

    def ask(self, commands: Mapping[int, Command], kind: type[T], *, limit_s: float = LIMIT_S) -> dict[int, T]:
        """Hand each worker its command at once and wait for all answers, which are of a kind."""
        for number, command in commands.items():
            self.tell(number, command)
        return self.answers(list(commands), kind, limit_s=limit_s)

    def ask_all(
        self, command: Command, kind: type[T], *, numbers: Sequence[int] | None = None, limit_s: float = LIMIT_S
    ) -> list[T]:
        """Hand every worker, or some, the same command at once; see `ask`."""
        asked = range(len(self._controls)) if numbers is None else numbers
        return list(self.ask(dict.fromkeys(asked, command), kind, limit_s=limit_s).values())

    def answers(self, numbers: Sequence[int], kind: type[T], *, limit_s: float) -> dict[int, T]:
        """Wait for an answer of each of these workers; see `ask`."""
        answers = dict[int, T]()
        end = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            for number in numbers:
                selector.register(self._answers[number], selectors.EVENT_READ, number)
            while len(answers) < len(numbers):
                ready = selector.select(max(0.0, end - time.monotonic()))
                if not ready:
                    waiting = self._who.format(next(number for number in numbers if number not in answers))
                    raise NoAnswerError(f"{waiting}: no answer within {limit_s:.0f} s; measure while the machine idles")
                for key, _ in ready:
                    answers[key.data] = self._heard(key.data, kind)
                    selector.unregister(key.fileobj)
        return {number: answers[number] for number in numbers}

    def end(self) -> None:
        """End every worker: its input closes; what does not go within a second is asked to, and at last killed.

        A worker that is asked ends what it started, which outlives one that is killed.
        """
        for answers, control in zip(self._answers, self._controls, strict=True):
            answers.close()
            control.close()
        deadline = time.monotonic() + GRACE_S
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._stop(process)
            if self._apart:
                process.signal(signal.SIGKILL, session=True)  # what is left of its session
            process.forget()

    def _start(self, row: Sequence[object], inherited: Sequence[int], place: Place) -> None:
        """Start one more worker."""
        control, worker = place.start(self._words(row), inherited, apart=self._apart)
        self._keep(control)
        self._processes.append(worker)
        self._places.append(place)

    def _words(self, row: Sequence[object]) -> list[str]:
        return [str(row[0]), self._subject, *map(str, row[1:])]

    def _keep(self, control: socket.socket) -> None:
        self._controls.append(control)
        self._answers.append(control.makefile("rb"))

    def _start_ranks(self, rows: Sequence[Sequence[str]]) -> None:
        """Start mpiexec, and wait until every rank has come to our socket."""
        found = mpiexec()
        if found is None:
            raise CalibrationError(f"mpiexec is not installed; {MPI_EXTRA}")
        # It ends when we do, and its ranks with it: one that waits for a message in vain would not by itself.
        words = [sys.executable, "-I", "-S", pin.__file__, f"{pin.DRIVER}{os.getpid()}", "--", found]
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            path = str(Path(folder) / "control")  # only we can enter the folder
            server.bind(path)
            server.listen(len(rows))
            for row in rows:
                words += [*([":"] if words[-1] != found else []), "-n", "1", sys.executable, "-m", WORKER, path, *row]
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._processes.append(LocalWorker(process))
            came: dict[int, socket.socket] = {}
            try:
                self._gather(server, came, len(rows))
            finally:
                for rank in sorted(came):
                    self._keep(came[rank])

    def _gather(self, server: socket.socket, came: dict[int, socket.socket], count: int) -> None:
        """Let every rank in, and see that they are one program."""
        server.settimeout(0.2)
        deadline = time.monotonic() + MPI_START_S
        while len(came) < count:
            try:
                control, _ = server.accept()
            except TimeoutError:
                if self._processes[0].poll() is not None or time.monotonic() > deadline:
                    said = self._last_words(0)
                    raise CalibrationError(f"mpiexec: the ranks did not start: {said}") from None
                continue
            control.settimeout(None)
            with control.makefile("rb", buffering=0) as stream:
                about = json.loads(stream.readline() or b"{}")
            came[int(about.get("rank", -1))] = control
            self.library = str(about.get("library", ""))
            if about.get("world") != count:
                raise CalibrationError(
                    f"mpiexec: {count} processes were started and a world holds {about.get('world')}: "
                    f"mpi4py uses another MPI ({self.library}) than {mpiexec()}; install both together, {MPI_EXTRA}"
                )

    def _heard(self, number: int, kind: type[T]) -> T:
        try:
            line = self._answers[number].readline()
        except ConnectionError:
            line = b""
        if not line:
            self._fail(number)
        answer = json.loads(line)
        if "fault" in answer:
            self._fail(number, answer["fault"])
        try:
            return read(kind, answer)
        except ScenarioError as error:
            said = f"its answer does not fit what it was asked: {error.lines[0]}"
            raise CalibrationError(f"{self._who.format(number)}: {said}") from error

    def _fail(self, number: int, fault: str = "") -> NoReturn:
        raise EndedError(self._who.format(number), fault or self._last_words(number))

    def _last_words(self, number: int) -> str:
        """The last line that a process wrote as an error, once it has ended."""
        process = self._processes[min(number, len(self._processes) - 1)]  # all MPI ranks have one, mpiexec
        self._stop(process)
        return process.last_words() or f"exit code {process.returncode}"

    def _stop(self, process: Worker) -> None:
        """Ask a process to end, and kill it if it does not."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            process.signal(number, session=self._apart)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
                return
        process.wait()


def mpiexec() -> str | None:
    """Where mpiexec is: the one next to the interpreter before any other."""
    near = Path(sys.executable).parent
    return shutil.which("mpiexec", path=f"{near}{os.pathsep}{os.environ.get('PATH', '')}")


def mpi_fault() -> str | None:
    """What MPI programs lack here and how to get it; None if they can run."""
    if importlib.util.find_spec("mpi4py") is None:
        return f"mpi4py is not installed; {MPI_EXTRA}"
    return f"mpiexec is not installed; {MPI_EXTRA}" if mpiexec() is None else None

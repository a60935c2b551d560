"""Options and fixtures that all tests share."""

import functools
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from advisor.cli import _run, signs
from simulator.calibration.bench import group
from tests.benchmarks import simgrid_cpp
from tests.support import kernels
from tests.support.corpus import Corpus, Ending

Command = Callable[..., tuple[int, str, str]]
EXTRAS = {
    "test_mpi*.py": ("mpi4py", "mpi4py", "mpi"),
    "test_parquet*.py": ("pyarrow", "pyarrow", "parquet"),
    "test_slurm*.py": ("dask_jobqueue", "dask-jobqueue", "cluster"),
}
"""Test files about extras: the package without which they are left out, its name for users, and the extra."""


OTHERS = r"(?!simulator\b|advisor\b|apportion\b|tests\b|conftest\b|__main__\b)"
"""Begins the name of any module but ours."""

LONG_LIMIT_S = 900
"""Longest that a test of these marks may take; the others have the limit in pyproject.toml."""
LONG = {"slow", "real", "benchmark"}
"""`slow`: takes long and gives the same everywhere, `make slow`. `real`: measures real time or needs real hosts, ranks
or Slurm, `make verify`. `benchmark`: compares speeds of the same run, `make bench`. A test has one of them at most."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--newest-versions", action="store_true", help="what other packages deprecate in each other is no failure"
    )
    parser.addoption("--installed", help="the apportion that test_wheel.py runs (default: a wheel that it builds)")
    parser.addoption(
        "--accept", action="store_true", help="write what is said or shown where cases expect something else"
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ[signs.SWITCH] = "never"  # a busy machine makes no command that a test starts say how far it is
    if config.getoption("newest_versions"):
        for kind in ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning"):
            config.addinivalue_line("filterwarnings", f"default::{kind}:{OTHERS}")


def pytest_sessionstart(session: pytest.Session) -> None:
    worker = getattr(session.config, "workerinput", {}).get("workerid", "")
    if worker in {f"gw{part}" for part in range(len(kernels.PARTS))}:
        kernels.compiled(int(worker.removeprefix("gw")))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if len(LONG & marks) > 1:
            both = " and ".join(sorted(LONG & marks))
            raise pytest.UsageError(f"{item.nodeid} is marked {both}: keep the one that says when it runs")
        if LONG & marks and "timeout" not in marks:
            item.add_marker(pytest.mark.timeout(LONG_LIMIT_S))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Files `test_simgrid*.py` need SimGrid: an oracle, no dependency; where it is missing they are left out.

    So are those of `EXTRAS` without the extra that they are about.
    """
    for pattern, (package, _, _) in EXTRAS.items():
        if collection_path.match(pattern) and (find_spec(package) is None or (package == "mpi4py" and why_no_ranks())):
            return True
    return True if collection_path.match("test_simgrid*.py") and simgrid_cpp.why_not() else None


@functools.cache
def why_no_ranks() -> str:
    """What mpiexec says where it cannot start a rank: Open MPI started by root, another MPI than mpi4py's."""
    launcher = group.mpiexec()
    if launcher is None:
        return "it is not installed"
    words = [launcher, "-n", "1", sys.executable, "-c", "import mpi4py.MPI"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:200] or f"exit code {done.returncode}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if why_not := simgrid_cpp.why_not():
        terminalreporter.write_line(f"test_simgrid*.py left out. {why_not}")
    for pattern, (package, name, extra) in EXTRAS.items():
        if find_spec(package) is None:
            terminalreporter.write_line(f"{pattern} left out: {name} is not installed (extra [{extra}])")
        elif package == "mpi4py" and why_no_ranks():
            terminalreporter.write_line(f"{pattern} left out: mpiexec starts no rank here: {why_no_ranks()}")


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test learns from what this machine measured before, or leaves anything behind."""
    monkeypatch.setenv("APPORTION_STATE", str(tmp_path_factory.getbasetemp() / f"state-{uuid.uuid4().hex}"))


@pytest.fixture
def apportion(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line within the test's own process: exit code, output, errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = _run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def quick_advice() -> Iterator[None]:
    """Advice for measured hosts from so few simulated runs that it takes a second in place of ten."""
    from advisor.advise.recommendation import recommend

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("advisor.cluster.recommend", functools.partial(recommend, runs=100))
        yield


@pytest.fixture
def accept(pytestconfig: pytest.Config) -> bool:
    """Whether what is said or shown now replaces what cases expect."""
    return bool(pytestconfig.getoption("accept"))


@pytest.fixture
def corpus(accept: bool) -> Corpus:
    return Corpus(accept=accept)


@pytest.fixture
def refused(corpus: Corpus, apportion: Command) -> Callable[..., None]:
    """`refused(path, arguments, NAME=value)`: the command line must answer what the case at that path expects."""

    def check(path: Path, arguments: Iterable[object], **names: object) -> None:
        def run() -> Ending:
            code, out, err = apportion(*arguments)
            return code, out, err.splitlines()

        corpus.refused(path, run, names)

    return check

"""Sweeps of real processes that tests start, and what is left of them."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil

from tests.support.command_line import APPORTION, ROOT

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
COUNT = 24
POINTS = ["--vary", f"application.parameters.n=1600..{1600 + COUNT - 2}", "--replications", "400"]
PATIENCE_S = 400


def start(*arguments, **options):
    return subprocess.Popen(
        [str(argument) for argument in arguments],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def whatif_command(path, folder, *more):
    return [*APPORTION, "whatif", path, *POINTS, "-o", folder, *more]


def run_to_end(*arguments):
    process = start(*arguments)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def until(found, what):
    end = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def finished(folder):
    return sorted((folder / "points").glob("[!.]*.json"))


def contents(folder):
    """Everything but the manifest, which holds times."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def workers_of(pid):
    """Processes that `multiprocessing` spawned, below one."""
    return [child for child in psutil.Process(pid).children(recursive=True) if _is_worker(child)]


def _is_worker(child):
    try:
        return "spawn_main" in " ".join(child.cmdline())
    except psutil.NoSuchProcess:  # it has ended since
        return False


@contextmanager
def dask(*arguments):
    process = start(sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:])
    try:
        yield process
    finally:
        for child in [*psutil.Process(process.pid).children(recursive=True), process]:
            child.kill()
        process.communicate()


def reasons(plan, found):
    return {plan.find(name).changes: reason for name, reason in found.failed.items()}

"""`apportion` in a process of its own, as users start it."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from advisor.cli import _run
from tests.support.processes import without_progress

ROOT = Path(__file__).parents[2]
APPORTION = [sys.executable, "-m", "advisor.cli"]


def _here_first():
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}


def apportion(*arguments, cwd=ROOT, **options):
    """What it printed, and its exit code; the code is this checkout's, wherever it is started."""
    return subprocess.run(
        [*APPORTION, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | _here_first(),
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def apportion_here(*arguments, cwd=ROOT):
    """The same within the test's own process, which saves the start: for what needs no process of its own."""
    out, err = io.StringIO(), io.StringIO()
    environment = mock.patch.dict(os.environ, _here_first())  # what it starts finds this checkout
    with environment, contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _run([str(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def started(*arguments, **options):
    """The same, still running; what it says is piped as text."""
    usual = {"cwd": ROOT, "env": os.environ | _here_first(), "text": True}
    usual |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*APPORTION, *map(str, arguments)], **(usual | options))


def check_refused(done, said, *, code=2):
    """Nothing was printed but one line that begins with `error:` and says so much; lines of progress do not count."""
    lines = without_progress(done.stderr)
    assert (done.returncode, done.stdout, len(lines)) == (code, "", 1), done.stderr
    assert lines[0].startswith("error: ")
    assert said in lines[0]

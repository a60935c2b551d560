"""The command line: one file per command, no logic; every error is one line, and heavy imports happen where used.

Nothing is imported here but what ends a command well, so that it is in force before everything else is.
"""

import errno
import os
import sys
import warnings
from typing import Any

from advisor.cli import ending, signs

_OF_PATHS = {errno.EACCES, errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EISDIR}
"""Errors of a path that was only asked about: the user's to mend."""
MOST_FAULTS = 100
"""Lines of faults that are shown."""


def main() -> None:
    """Run the command line and exit.

    0 done, 1 fell short, 2 bad input, 129 on SIGHUP, 130 on Ctrl-C, 143 on SIGTERM, 141 where the reader has left.
    """
    code = 0
    try:
        ending.begin()
        signs.begin()
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except SystemExit as error:  # of the streams
        code = int(error.code or 0)
    ending.finish(code)


def _run(arguments: list[str]) -> int:
    from simulator import ApportionError, shortage

    warnings.showwarning = _show_warning
    try:
        os.getcwd()  # noqa: PTH109 - asked for its error only
    except FileNotFoundError:
        ending.say("error: the current folder is no longer there: change to one that is, and start the command again")
        return 2
    try:
        from advisor.cli.commands import run

        return run(arguments)
    except ApportionError as error:
        shown = error.lines if len(error.lines) <= MOST_FAULTS + 1 else error.lines[:MOST_FAULTS]
        for line in shown:
            ending.say(f"error: {line}")
        if len(shown) < len(error.lines):
            ending.say(f"error: there are {len(error.lines) - len(shown)} more faults like these")
        return error.exit_code
    except ending.OutputError as error:
        ending.say(f"error: {error}")
        return 1
    except (MemoryError, OSError, ImportError, RuntimeError) as error:
        short = shortage(error)
        if short is None:
            raise
        for line in ApportionError(short).lines:
            ending.say(f"error: {line}")
        return 2 if getattr(error, "errno", None) in _OF_PATHS else 1


def _show_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    """One line per warning, without the place in our code."""
    print(f"warning: {message}", file=sys.stderr)

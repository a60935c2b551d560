"""The command line: one file per command, no logic; every error is one line, and heavy imports happen where used."""

import signal
import sys
import warnings
from types import FrameType
from typing import Annotated, Any

import typer

from advisor.cli import (
    advise,
    allocate,
    calibrate,
    characterise,
    check,
    export,
    fit,
    history,
    machine,
    partition,
    platform,
    predict,
    quickstart,
    record,
    reproduce,
    scenarios,
    show,
    simulate,
    trace,
    verify,
    whatif,
)
from simulator import ApportionError

app = typer.Typer(
    name="apportion",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for command in (
    quickstart,
    record,
    trace,
    calibrate,
    characterise,
    show,
    history,
    fit,
    predict,
    machine,
    platform,
    scenarios,
    check,
    export,
    simulate,
    advise,
    whatif,
    verify,
    partition,
    allocate,
    reproduce,
):
    command.register(app)


def _version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        from importlib import metadata

        try:
            print(f"apportion {metadata.version('apportion')}")
        except metadata.PackageNotFoundError:
            print("apportion, run from its source without being installed")
        raise typer.Exit


@app.callback()
def _whole(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Say who should get how much of the work on unequal machines, and how sure we are."""


def main() -> None:
    """Run the command line and exit: 0 done, 1 fell short, 2 bad input, 130 on Ctrl-C."""
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a script started us in the background
    warnings.showwarning = _show_warning
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    from typer.exceptions import TyperException

    try:
        return int(app(arguments, prog_name="apportion", standalone_mode=False) or 0)
    except TyperException as error:
        text = error.format_message()
        print(text if text.startswith("Usage:") else f"error: {text}", file=sys.stderr)
        return 2
    except ApportionError as error:
        for line in error.lines:
            print(f"error: {line}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; nothing more can be said to it
        return 1


def _show_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    """One line per warning, without the place in our code."""
    print(f"warning: {message}", file=sys.stderr)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    """Let SIGTERM unwind like Ctrl-C, so that children are stopped and measurements kept."""
    raise KeyboardInterrupt

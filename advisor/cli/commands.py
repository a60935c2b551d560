"""All commands as one application of typer."""

from typing import Annotated

import typer

from advisor.cli import (
    advise,
    allocate,
    calibrate,
    characterise,
    check,
    ending,
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


def run(arguments: list[str]) -> int:
    """Run one command; its exit code.

    Raises
    ------
    ApportionError
        What the user can mend.
    """
    from typer.exceptions import TyperException

    try:
        return int(app(arguments, prog_name="apportion", standalone_mode=False) or 0)
    except TyperException as error:
        text = error.format_message()
        ending.say(text if text.startswith("Usage:") else f"error: {text}")
        return 2
    except typer.Abort:
        return 130

"""`apportion allocate`: how many processes on which PEs, for programs that give every process the same work."""

import typer

from advisor.cli import allocate_plan, allocate_run


def register(app: typer.Typer) -> None:
    """Add the commands."""
    allocate = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for command in (allocate_plan, allocate_run):
        command.register(allocate)
    app.add_typer(allocate, name="allocate", help="Processes per PE for programs that give every process equal work.")

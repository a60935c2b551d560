"""What the command line asked for, and the line that asks the next question of the same things."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator import blocks

_context: ContextVar[Any] = ContextVar("context", default=None)
"""The command that runs, as click has it."""
_typed: dict[Path, Path] = {}
"""Where a shipped file is -> how it was named."""
ELSEWHERE = ("output", "as_json", "full", "table_form", "hostfile", "jobs", "timeline", "plot", "resume")
"""Options that say how one result is shown or kept."""


@contextmanager
def answering(context: Any) -> Iterator[None]:
    """Remember the command that runs."""
    token = _context.set(context)
    try:
        yield
    finally:
        _context.reset(token)


def remember(found: Path, typed: Path) -> None:
    """How a shipped file was named."""
    _typed[found] = typed


def full() -> bool:
    """Whether all of an answer is asked for."""
    return _context.get() is not None and bool(_context.get().params.get("full"))


def as_json() -> bool:
    """Whether one JSON document is asked for, and nothing else."""
    return _context.get() is not None and bool(_context.get().params.get("as_json"))


def document_of(result: Any) -> dict[str, Any]:
    """A result as `--json` prints it: with the command that runs, where it names none."""
    from simulator import documents

    found = result if isinstance(result, dict) else documents.to_dict(result)
    return {"format": 1, "command": _context.get().command.full_name} | found


def next_line(command: str, label: str, **changes: Any) -> "blocks.Command":
    """The line of a command with all that was given to the one that runs, as far as it has the same options.

    `label`: what it is for, in a few words.
    `changes`: what is given otherwise, by the names of parameters; None leaves an option out.
    """
    from advisor.rerun import said_as
    from simulator import blocks

    running = _context.get()
    target = running.find_root().command
    for word in command.split():
        target = target.commands[word]
    stated = {
        name: value
        for name, value in running.params.items()
        if name not in ELSEWHERE and running.get_parameter_source(name).name == "COMMANDLINE"
    }
    given, options, arguments = stated | changes, list[str](), list[str]()
    for one in target.params:
        value = given.get(str(one.name))
        said = arguments if one.param_type_name == "argument" else options
        said += said_as(one, value, _values(value))
    words = command.split()[: -1 if target.hidden else None]  # what is meant where nothing is named
    return blocks.Command(shlex.join(["apportion", *words, *arguments, *options]), label)


def _values(value: Any) -> list[str]:
    several = value if isinstance(value, list | tuple) else [value]
    return [str(_typed.get(one, one)) for one in several if one is not None and one is not False and one != ""]

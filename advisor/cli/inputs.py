"""How commands take an input: a file, or a shipped one by its name; and what the shell offers."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from advisor.cli import signs
from advisor.cli.asked import remember
from simulator import shipped

MOST_OFFERED = 200


def _found(ctx: typer.Context, path: Path | None) -> Path | None:
    """The path as it is, or that of the shipped file that it names; which one, on standard error."""
    return path if path is None or ctx.resilient_parsing else located(path)


def located(path: Path) -> Path:
    """The path as it is, or that of the shipped file that it names; which one is said, and that it is read."""
    found = shipped.locate(path)
    signs.say(f"reading {path}")
    if found != path:
        remember(found, path)
        print(f"{path} is the one that ships with apportion: {found}", file=sys.stderr)
    return found


def _scenario_names(incomplete: str) -> list[str]:
    """What a scenario argument may go on as: shipped scenarios by name."""
    return _offered(incomplete, [one.file if "/" in incomplete else one.name for one in shipped.scenarios()])


def _file_names(incomplete: str) -> list[str]:
    """The same for any input file; once there is a letter to go by, shipped files of other kinds too."""
    scenarios = {scenario.file for scenario in shipped.scenarios()}
    others = [name for name in shipped.names() if name not in scenarios] if incomplete else []
    named = [name if "/" in incomplete else name.rpartition("/")[2] for name in others]
    return [*_scenario_names(incomplete), *_offered(incomplete, named)]


def _offered(incomplete: str, names: list[str]) -> list[str]:
    """Names that begin so; none where a file here does: shells complete those themselves."""
    start = incomplete.rpartition("/")[2]
    with suppress(OSError):
        if any(path.name.startswith(start) for path in Path(incomplete.removesuffix(start) or ".").iterdir()):
            return []
    return [name for name in names if name.startswith(incomplete)][:MOST_OFFERED]


SCENARIO_HELP = "A scenario file (YAML, JSON or TOML), or the name of a shipped one."
SCENARIO: dict[str, Any] = {"callback": _found, "autocompletion": _scenario_names}
"""Of an argument or option that is a scenario: shipped ones by name, and what the shell offers."""
INPUT: dict[str, Any] = {"callback": _found, "autocompletion": _file_names}
"""Of one that is another input file, or either."""

"""How commands take an input: a file, or a shipped one by its name; and what the shell offers."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from advisor.cli import signs
from advisor.cli.asked import remember
from simulator import shipped

MOST_OFFERED = 200
_PLAIN = re.compile(r"[\w.,@%+=:-]+")
"""Names that a shell takes as they are; others are left to its own completion."""
_SCENARIO_SUFFIXES = (".yaml", ".yml", ".json", ".toml")


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
    """What a scenario argument may go on as: files and folders here, shipped scenarios by name."""
    return _offered(incomplete, _shipped_scenarios(incomplete), _SCENARIO_SUFFIXES)


def _file_names(incomplete: str) -> list[str]:
    """The same for any input file; shipped ones once there is a letter to go by."""
    return _offered(incomplete, _shipped_files(incomplete, shipped.names()), ())


def _subject_names(incomplete: str) -> list[str]:
    """The same for a scenario or any other file."""
    scenarios = {scenario.file for scenario in shipped.scenarios()}
    others = _shipped_files(incomplete, [name for name in shipped.names() if name not in scenarios])
    return _offered(incomplete, [*_shipped_scenarios(incomplete), *others], ())


def _shipped_scenarios(incomplete: str) -> list[str]:
    return [scenario.file if "/" in incomplete else scenario.name for scenario in shipped.scenarios()]


def _shipped_files(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name if "/" in incomplete else name.rpartition("/")[2] for name in names] if incomplete else []


def _offered(incomplete: str, names: list[str], suffixes: tuple[str, ...]) -> list[str]:
    """Nothing where the shell's own completion of files does better: it puts no space behind a folder."""
    folder, _, start = incomplete.rpartition("/")
    here = _entries(Path(folder or ("/" if incomplete.startswith("/") else ".")), start, suffixes)
    if folder and here:
        return []
    known = [name for name in names if name.startswith(incomplete)]
    if not known and all(path.is_dir() for path in here):
        return []
    return [*(f"{path.name}/" if path.is_dir() else path.name for path in here), *known][:MOST_OFFERED]


def _entries(folder: Path, start: str, suffixes: tuple[str, ...]) -> list[Path]:
    """Folders, and files with one of the suffixes (any, if there are none), whose names begin so."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        path
        for path in entries
        if path.name.startswith(start)
        and _PLAIN.fullmatch(path.name)
        and (start or not path.name.startswith("."))
        and (path.is_dir() or not suffixes or path.suffix in suffixes)
    ]


SCENARIO_HELP = "A scenario file (YAML, JSON or TOML), or the name of a shipped one."
SCENARIO: dict[str, Any] = {"callback": _found, "autocompletion": _scenario_names}
"""Of an argument or option that is a scenario: shipped ones by name, and what the shell offers."""
INPUT: dict[str, Any] = {"callback": _found, "autocompletion": _file_names}
"""Of one that is another input file."""
SUBJECT: dict[str, Any] = {"callback": _found, "autocompletion": _subject_names}
"""Of one that is a scenario or another input file."""

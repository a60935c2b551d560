"""`apportion scenarios`: what ships with the product; and how commands take a shipped file by its name."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from advisor.cli import signs
from advisor.cli.asked import remember
from advisor.cli.options import Json, folder, print_json
from simulator import shipped

MOST_OFFERED = 200
_PLAIN = re.compile(r"[\w.,@%+=:-]+")
"""Names that a shell takes as they are; others are left to its own completion."""
_SCENARIO_SUFFIXES = (".yaml", ".yml", ".json", ".toml")


def scenarios(
    output: Annotated[Path | None, folder("all shipped files, to edit them")] = None,
    as_json: Json = False,
) -> None:
    """List the scenarios that ship with apportion: every command takes them by name, from any folder.

    Example: apportion scenarios
    """
    listed = shipped.scenarios()
    copied = [] if output is None else shipped.copy_all(output)
    if as_json:
        entries = [{"name": s.name, "file": s.file, "path": str(s.path), "title": s.title} for s in listed]
        print_json({"format": 1, "command": "scenarios", "scenarios": entries, "files": list(shipped.names())})
        return
    wide = max(len(scenario.name) for scenario in listed) + 2
    for scenario in listed:
        print(f"{scenario.name:<{wide}}{scenario.title}")
    if output is not None:
        print(f"{len(copied)} files copied to {output}")


def _found(ctx: typer.Context, path: Path | None) -> Path | None:
    """The path as it is, or that of the shipped file that it names; which one, on standard error."""
    return path if path is None or ctx.resilient_parsing else located(path)


def _all_found(ctx: typer.Context, paths: list[Path] | None) -> list[Path] | None:
    """The same for several."""
    return paths if paths is None or ctx.resilient_parsing else [located(path) for path in paths]


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
    known = [scenario.file if "/" in incomplete else scenario.name for scenario in shipped.scenarios()]
    return _offered(incomplete, known, _SCENARIO_SUFFIXES)


def _file_names(incomplete: str) -> list[str]:
    """The same for any input file; shipped ones once there is a letter to go by."""
    known = [name if "/" in incomplete else name.rpartition("/")[2] for name in shipped.names()]
    return _offered(incomplete, known if incomplete else [], ())


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
ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help=SCENARIO_HELP, **SCENARIO)]
INPUT: dict[str, Any] = {"callback": _found, "autocompletion": _file_names}
"""Of one that is another input file."""
INPUTS: dict[str, Any] = {"callback": _all_found, "autocompletion": _file_names}
"""Of one that is several input files."""

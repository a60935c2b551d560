"""Options that commands share, and what turns their text into values."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

import simulator
from advisor.cli import signs
from advisor.cli.asked import as_json, document_of
from advisor.cli.declared import Given, Only, is_given, only_without, option
from simulator import ScenarioError, calibration, units

Value = TypeVar("Value")
MOST_WHOLE = 10**9


def offered(*words: str) -> Callable[[], list[str]]:
    """What the shell offers for an option that takes one of a few words."""
    return lambda: list(words)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set a field in place of the scenario's: platform.nodes.0.memory=8GiB, or x2, /2 of it. Repeatable.",
    ),
]
PRINTED = ("latex", "markdown")
"""Forms of tables that are printed."""


def _text_form(given: Given) -> str:
    if given["json"]:
        return "with --json"
    return f"with --format {given['format']}" if given.get("format") in PRINTED else "in a text answer"


def _table_form(given: Given) -> str | None:
    """Whether tables are written that `--format` is of; one that is of printed tables has effect anywhere."""
    if is_given(given["output"]):
        return "with --json" if given["json"] and given["format"] in PRINTED else "with --output"
    if given["format"] in PRINTED and not given.get("resume"):
        return "with --json" if given["json"] else None
    return "without --output"


Full = Annotated[
    bool,
    typer.Option("--full", help="Print all of the answer, in place of its first twelve lines."),
    Only(("in a text answer",), _text_form, advice=False),
]
TableForm = Annotated[
    Literal["csv", "parquet", "latex", "markdown"],
    typer.Option("--format", help="Of the tables in -o (parquet needs extra [parquet]), or of those that are printed."),
    Only(("with --output",), _table_form, why="where no table is written"),
]
PrintedForm = Annotated[
    Literal["text", "latex", "markdown"],
    typer.Option("--format", help="Of the tables that are printed: LaTeX with booktabs, or Markdown."),
    only_without("json"),
]
Engine = Annotated[
    Literal["auto", "process", "compiled"], typer.Option(help="process is SimPy, compiled is Numba: same results.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file if there is one.")]
PinnedTo = Annotated[int | None, typer.Option(min=0, help="Processor to pin to; by default the last core.")]
APP = typer.Option("--app", help="Application of the runs.")
VERSION = typer.Option(help="Version of the application.")
COLUMN = typer.Option(help="Column to read, where the file has several.")
REAL = only_without("replay", why="where nothing is measured")
LENGTH = typer.Option(help="Samples, or a duration such as 60s.")
LEVEL = 0.9
"""How often a stated interval holds, if nothing else is asked for; as `simulator.LEVEL`, which takes long to import."""
LEAST_LEVEL, MOST_LEVEL = 0.5, 0.999


def _level(value: float) -> float:
    if not LEAST_LEVEL <= value <= MOST_LEVEL:
        asked = f"give a share from {LEAST_LEVEL} to {MOST_LEVEL}, such as 0.9"
        raise typer.BadParameter(f"an interval cannot be stated to hold in {value:g} of the cases; {asked}")
    return value


Level = Annotated[
    float,
    typer.Option("--level", metavar="SHARE", callback=_level, help="How often each stated interval is to hold."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random draws: the same seed, the same bits.")]
ScenarioSeed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of all random draws, in place of the scenario's own.")
]
REPLICATIONS = typer.Option(
    "--replications",
    min=1,
    metavar="N",
    help="How often all that is compared is simulated, each time with new draws; else as often as the scenario says.",
)
Replications = Annotated[int | None, REPLICATIONS]
PLOT = typer.Option("--plot", metavar="PICTURE", help="Draw the result into this file: .png, .svg or .pdf.")
Plot = Annotated[Path | None, PLOT]


def folder(holds: str, *only: Only, default: Any = None) -> Any:
    """`-o` of a command that writes a folder."""
    return option(f"Write a folder: {holds}.", *only, default=default, names=("--output", "-o"), metavar="FOLDER")


def file(metavar: str, holds: str, *only: Only, default: Any = None) -> Any:
    """`-o` of a command that writes a file; the metavar says which kind."""
    return option(f"Write a file: {holds}.", *only, default=default, names=("--output", "-o"), metavar=metavar)


def gave_json(result: Any) -> bool:
    """Print a result on standard output if JSON is asked for; whether it is."""
    if as_json():
        json.dump(document_of(result), sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    return as_json()


HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
LEAST_LEFT_S = 1e-6


def read_budget(text: str, *, least_s: float = 0.0, most_s: float = DAY_S, ending_s: float = 0.0) -> float:
    """Seconds that a `--budget` leaves for work: it is what the whole command may take, its start and its end included.

    `least_s, most_s`: what a budget is refused below and above, at once.
    `ending_s`: what the command takes after its work, such as fits.
    """
    given_s = units.parse_duration(text, field="--budget")
    if not least_s <= given_s <= most_s:
        raise ScenarioError(f"--budget is {text!r}; give {_bound(least_s)} to {_bound(most_s)}")
    return max(LEAST_LEFT_S, given_s - signs.spent_s() - ending_s)


@contextmanager
def budget_left(text: str, *, ending_s: float) -> Iterator[float]:
    """Seconds left for what is measured here; what is said of too short a budget is said of the one that was stated."""
    left_s = read_budget(text, ending_s=ending_s)
    try:
        yield left_s
    except calibration.BudgetTooShortError as error:
        given_s = units.parse_duration(text, field="--budget")
        raise ScenarioError(error.said(units.show_duration(given_s), more_s=given_s - left_s)) from error


def partial_of(output: Path | None, what: str) -> Path:
    """Where what is measured is kept until the output is written: beside it, or in this folder."""
    return Path(f"{what}.partial") if output is None else output.with_name(f"{output.name}.partial")


def _bound(seconds: float) -> str:
    return f"{seconds / HOUR_S:g}h" if seconds >= HOUR_S else f"{seconds:g}s"


def read_share(text: str, field: str) -> float:
    """`5%` or `0.05` as 0.05; see `read_number` for errors."""
    number = read_number(text.removesuffix("%"), field)
    return number / 100 if text.endswith("%") else number


def read_number(text: str, field: str) -> float:
    """A number above 0."""
    value = units.to_number(text)
    if value is None or not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{field} is {text!r}; give a number above 0")
    return value


def above_0(text: str, most: int = MOST_WHOLE) -> int | None:
    """A whole number from 1 on; None if it is none."""
    number = units.to_whole(text.strip()) or 0
    return number if 1 <= number <= most else None


def whole_numbers(text: str, option: str) -> list[int]:
    """Whole numbers above 0 with commas between."""
    found = []
    for part in map(str.strip, text.split(",")):
        number = above_0(part)
        if number is None:
            raise ScenarioError(f"{option}: {part!r:.80} is no whole number from 1 to {MOST_WHOLE}; give such numbers")
        found.append(number)
    return found


def named_values(texts: Iterable[str], option: str, give: str, read: Callable[[str], Value | None]) -> dict[str, Value]:
    """What texts of NAME=VALUE say, each name once.

    `give`: what is to be given in the place of what cannot be read.
    `read`: a value; None where it is none.
    """
    found: dict[str, Value] = {}
    for text in texts:
        name, _, said = (part.strip() for part in text.partition("="))
        value = read(said) if name and said else None
        if value is None:
            raise ScenarioError(f"{option} is {text!r:.80}; give {give}")
        simulator.given.check_once(name, found, where=option)
        found[name] = value
    return found

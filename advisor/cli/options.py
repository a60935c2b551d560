"""Options that commands share, and what turns their text into values."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random draws: the same seed, the same bits.")]


def print_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    json.dump(document, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def print_warnings(lines: Sequence[str]) -> None:
    """Print what to know before the numbers above are trusted."""
    for line in lines:
        print(f"warning: {line}")

"""The one writer of what a scenario file says: plain data of its forms as YAML, with comments above fields."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.base import files
from simulator.base.documents import Data
from simulator.base.yaml_document import document_of, yaml_text
from simulator.models.file import write_model
from simulator.scenario_file.load import dump_scenario
from simulator.scenario_file.scenario import Scenario

Notes = Mapping[tuple[str | int, ...], str]
"""A comment for a field, by the keys and places down to it."""
MODEL_BESIDE = "model.json"
"""File of an application's run-time model, beside that of a scenario."""
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def written(document: Data | list[Data], *, head: Sequence[str] = (), notes: Notes | None = None) -> str:
    """Plain data as YAML, in the order given: lines of comment at the top, and each note above its field."""
    text = yaml_text(document)
    places, above = document_of(text, Path("written")), dict[int, list[str]]()
    for field, note in (notes or {}).items():
        above.setdefault(places.line(field), []).append(note)
    lines = [f"# {printable(line)}".rstrip() for line in head]
    for number, line in enumerate(text.splitlines()):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += [f"{indent}# {printable(note)}" for note in above.get(number, ())]
        lines.append(line)
    return "\n".join(lines) + "\n"


def save_scenario(scenario: Scenario, path: Path) -> None:
    """Write a scenario as a file, and the run-time model of its application, if it has one, beside it.

    Raises ScenarioError as `dump_scenario`.
    """
    model = scenario.application.model
    text = dump_scenario(scenario, model=None if model is None else MODEL_BESIDE)
    if model is not None:
        write_model(model, path.with_name(MODEL_BESIDE))
    files.write_text(path, text)


def safe_name(host: str | None) -> str:
    """A host's name as a node's: letters, digits, dots, dashes; `node` where no host is named."""
    return _PLAIN.sub("-", host or "").strip("-.") or "node"


def printable(text: str) -> str:
    """A text on one line, without characters that end a comment or cannot be shown; its indent stays."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    return indent + " ".join("".join(c if c.isprintable() else " " for c in text).split())

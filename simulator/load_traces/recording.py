"""The head of a recorded trace: when, where and how it was made, and what each column means."""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from simulator.base import files
from simulator.base.errors import MALFORMED, ScenarioError, TraceError

TITLE = "# Apportion load trace, recorded"
_HEAD_LINES = 1000
_IDENTITY = ("host", "system", "cpu_model", "cores", "memory_bytes")


@dataclass(frozen=True)
class RecordingHead:
    """What a recording says about itself in its comment lines."""

    start: str
    """Instant of `time_s` 0, ISO 8601 with the machine's zone (UTC in older files)."""
    interval_s: float
    """Time between two rows."""
    machine: Mapping[str, Any]
    """The recorded machine, as `Machine.to_dict` tells it."""
    meanings: Mapping[str, str]
    """Column name -> its meaning with unit."""

    @property
    def start_instant(self) -> datetime.datetime:
        """The start as a point in time."""
        return datetime.datetime.fromisoformat(self.start)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self) | {"format": 1}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """The head that `to_dict` wrote; raises KeyError, TypeError or ValueError if it is none."""
        if document["format"] != 1:
            raise ValueError(f"format {document['format']!r}")
        head = cls(**{field.name: document[field.name] for field in dataclasses.fields(cls)})
        if head.start_instant.tzinfo is None:  # one that is no date is refused here too
            raise ValueError("a start without a zone")
        return head

    def text(self) -> str:
        """The comment lines and the header line that open the file."""
        lines = [TITLE, f"# head: {json.dumps(self.to_dict() | {'meanings': None})}"]
        lines += [f"# {column}: {meaning}" for column, meaning in self.meanings.items()]
        return "\n".join([*lines, ",".join(self.meanings), ""])

    def same_machine(self, other: "RecordingHead") -> tuple[str, ...]:
        """What differs between the machines of two recordings; empty if they are the same."""
        mine, others = (json.loads(json.dumps(dict(head.machine))) for head in (self, other))
        return tuple(
            f"machine.{name}: {others.get(name)!r} found, {mine.get(name)!r} allowed"
            for name in _IDENTITY
            if mine.get(name) != others.get(name)
        )


def read_head(path: Path) -> RecordingHead:
    """Read the head of a recording.

    Raises
    ------
    TraceError
        If the file does not begin as a recording does.
    """
    document: dict[str, Any] = {}
    comments: dict[str, str] = {}
    columns: list[str] = []
    with files.open_lines(path) as lines:
        for _, raw in zip(range(_HEAD_LINES), iter(lambda: lines.readline(2**20), b""), strict=False):
            line = raw.decode("utf-8", errors="replace").strip()
            if not line.startswith("#"):
                columns = line.split(",")
                break
            name, _, text = line[1:].strip().partition(": ")
            comments[name] = text
    try:
        document = files.parse_json(comments["head"], f"{path}:1")
        return RecordingHead.from_dict(document | {"meanings": {column: comments[column] for column in columns}})
    except (ScenarioError, *MALFORMED) as error:
        raise TraceError(f"{path}:1: head: no recording found, a file that `apportion record` began allowed") from error

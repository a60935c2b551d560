"""What every page says of where a result comes from: command, date, warnings, machine, versions, hashes, time taken."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from advisor import wording
from advisor.results import Provenance
from simulator import blocks, units
from simulator.models.network import MessageModel

PROBES = 8.0, 2.0**20
"""Bytes of messages whose time is shown."""


class Head(TypedDict):
    """What every page says of its making."""

    command: str
    made: str
    warnings: tuple[str, ...]


def head(command: str, warnings: tuple[str, ...], origin: Provenance) -> Head:
    """Command, date and warnings, as a page wants them."""
    return Head(command=command or "run", made=wording.clean(origin.made), warnings=warnings)


def provenance_section(
    origin: Provenance, seed: int | None, *, more: Mapping[str, str] | None = None, scenario_text: str = ""
) -> blocks.Section:
    """Everything needed to do it again.

    `more`: what else there is to know, such as the time taken.
    """
    facts = [("Made", origin.made or wording.NOTHING), ("Seed", str(seed)), *_rested_on(origin)]
    facts += [(name, text) for name, text in (more or {}).items() if text]
    shown = [blocks.Folded("Versions, inputs, time taken, paths", (blocks.Pairs(tuple(facts)),))]
    if scenario_text:
        summary = "The scenario, every default written out, long lists shortened"
        shown.append(blocks.Folded(summary, (blocks.Listing(scenario_text),)))
    return blocks.Section("provenance", "Provenance", tuple(shown))


def timeless_section(origin: Provenance) -> blocks.Section:
    """The same without times and dates, so that a resumed run writes the same page."""
    said = (
        "When it was made, and how long it took, is in manifest.json next to this page: the page itself holds no time, "
        "so that a run that was interrupted and resumed writes it to the byte."
    )
    return blocks.Section(
        "provenance", "Provenance", (blocks.Text(said, quiet=True), blocks.Pairs(tuple(_rested_on(origin))))
    )


def _rested_on(origin: Provenance) -> list[tuple[str, str]]:
    versions = [(f"Version of {name}", value) for name, value in origin.versions.items()]
    return [*versions, *((f"Hash of {name}", value) for name, value in origin.inputs.items())]


@dataclass(frozen=True)
class MessageTimes:
    """What messages of some sizes take."""

    sizes_bytes: tuple[float, ...]
    times_s: tuple[float, ...]

    @classmethod
    def of(cls, model: MessageModel) -> "MessageTimes":
        """By a model."""
        return cls(PROBES, tuple(model.time_s(np.array(PROBES)).tolist()))

    @property
    def text(self) -> str:
        """What each takes."""
        known = zip(self.times_s, self.sizes_bytes, strict=True)
        return ", ".join(f"{wording.duration(time)} for {units.show_size(size)}" for time, size in known)

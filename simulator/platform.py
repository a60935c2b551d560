"""PEs, the nodes that hold them, and the links between them: who has which models."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.errors import ScenarioError
from simulator.models.load import AvailabilityRule, LoadTrace
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand


@dataclass(frozen=True)
class Load:
    """The background load of a PE: a trace, whose start each replication draws, and what it leaves to us."""

    trace: LoadTrace
    rule: AvailabilityRule


@dataclass(frozen=True)
class PE:
    """A schedulable processor."""

    name: str
    node: str
    speeds: Mapping[str, SpeedBand] = field(default_factory=dict)
    """Speed band per kernel."""
    load: Load | None = None
    cpu: int | None = None
    """The logical processor it stands for, where it was measured."""

    def speed_of(self, kernel: str) -> SpeedBand:
        """The speed band of a kernel.

        Raises
        ------
        ScenarioError
            If none was measured here, with those that were.
        """
        if kernel not in self.speeds:
            known = ", ".join(sorted(self.speeds)) or "none"
            raise ScenarioError(f"platform: PE {self.name}: speed: kernel {kernel!r} not found, measured here: {known}")
        return self.speeds[kernel]


@dataclass(frozen=True)
class Platform:
    """PEs in index order and the link that joins any two of them."""

    pes: tuple[PE, ...]
    link: LinkModel

    def __post_init__(self) -> None:
        names = [pe.name for pe in self.pes]
        if not names:
            raise ScenarioError("platform: PEs: none found, at least one allowed")
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ScenarioError(f"platform: PE {name}: named twice, each name once allowed")

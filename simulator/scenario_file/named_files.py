"""The files that a scenario file names: each read once, and remembered for provenance."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.base import files
from simulator.load_traces import read_trace
from simulator.models.load import AfterEnd, LoadTrace
from simulator.models.memory.levels import MemoryLevel
from simulator.models.resource import HardwareModel
from simulator.models.resource.file import load_resource_model
from simulator.models.speed import SpeedBand, SpeedSurface

if TYPE_CHECKING:
    from simulator.models.memory.model import MemoryModel
    from simulator.models.network import FittedForm
    from simulator.models.regression.runtime_model import RuntimeModel

LIMIT_BYTES = 2**30


@dataclass(frozen=True)
class NamedFiles:
    """Files by the names that the scenario file calls them by, relative to its folder."""

    folder: Path
    used: dict[str, Path] = field(default_factory=dict)
    _traces: dict[tuple[str, AfterEnd], LoadTrace] = field(default_factory=dict)
    _bands: dict[str, SpeedBand | SpeedSurface] = field(default_factory=dict)
    _messages: dict[str, "FittedForm"] = field(default_factory=dict)
    _resources: dict[str, HardwareModel] = field(default_factory=dict)
    _memory: dict[str, tuple["MemoryModel", tuple[MemoryLevel, ...]]] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """Where a file lies that is used."""
        return self.used.setdefault(name, self.folder / name)

    def trace(self, name: str, after_end: AfterEnd) -> LoadTrace:
        """A load trace; the same object for the same file and end."""
        if (name, after_end) not in self._traces:
            self._traces[name, after_end] = read_trace(self.path(name), after_end=after_end)
        return self._traces[name, after_end]

    def speed(self, name: str) -> SpeedBand | SpeedSurface:
        """The band or surface of a speed model."""
        from simulator.models.speed_file import load_speed  # only here: SciPy is slow to import

        if name not in self._bands:
            self._bands[name] = load_speed(self.path(name))[0]
        return self._bands[name]

    def memory_levels(self, name: str) -> tuple[MemoryLevel, ...]:
        """The levels of a memory model that `apportion calibrate memory` wrote; see `named_levels`."""
        return self._memory_of(name)[1]

    def memory_model(self, name: str) -> "MemoryModel":
        """A memory model with all that was measured; the same object for the same file."""
        return self._memory_of(name)[0]

    def _memory_of(self, name: str) -> tuple["MemoryModel", tuple[MemoryLevel, ...]]:
        from simulator.models.memory.file import load_memory_model, named_levels  # only here: SciPy is slow to import

        if name not in self._memory:
            model, document = load_memory_model(self.path(name))
            self._memory[name] = model, named_levels(model.levels, document)
        return self._memory[name]

    def message_model(self, name: str) -> "FittedForm":
        """Message times of a network model; the same object for the same file."""
        from simulator.models.network.file import load_network_model  # only here: it is seldom needed

        if name not in self._messages:
            self._messages[name] = load_network_model(self.path(name))[0].form
        return self._messages[name]

    def runtime_model(self, name: str) -> "RuntimeModel":
        """A run-time model that `apportion fit` wrote."""
        from simulator.models.regression.file import load_runtime_model  # only here: SciPy is slow to import

        return load_runtime_model(self.path(name))

    def resource_model(self, name: str) -> HardwareModel:
        """What operations cost on a PE; the same object for the same file."""
        if name not in self._resources:
            self._resources[name] = load_resource_model(self.path(name))
        return self._resources[name]

    def hashes(self) -> dict[str, str]:
        """Hash of each file used, by its name."""
        return {name: files.digest(files.read_bytes(path, limit_bytes=LIMIT_BYTES)) for name, path in self.used.items()}

"""The files that a scenario file names, each read once and remembered for provenance; and where it names them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from simulator.base import files
from simulator.base.faults import Faults
from simulator.base.yaml_document import Document
from simulator.load_traces import read_trace
from simulator.models.load import AfterEnd, LoadTrace
from simulator.models.memory.levels import MemoryLevel
from simulator.models.resource import HardwareModel, load_resource_model
from simulator.models.speed import TOGETHER, SpeedBand, SpeedSurface, load_speed_model

if TYPE_CHECKING:
    from simulator.models.memory.model import MemoryModel
    from simulator.models.neighbours_file import NeighboursModel
    from simulator.models.network import FittedForm
    from simulator.models.regression.runtime_model import RuntimeModel

LIMIT_BYTES = 2**30
T = TypeVar("T")


@dataclass(frozen=True)
class NamedFiles:
    """Files by the names that the scenario file calls them by, relative to its folder."""

    folder: Path
    used: dict[str, Path] = field(default_factory=dict)
    together: set[str] = field(default_factory=set)
    """Speed models that were measured with all cores at work."""
    _found: dict[tuple[str, str], Any] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """Where a file lies that is used."""
        return self.used.setdefault(name, self.folder / name)

    def _once(self, kind: str, name: str, read: Callable[[Path], T]) -> T:
        """What a file holds; the same object for the same file."""
        if (kind, name) not in self._found:
            self._found[kind, name] = read(self.path(name))
        found: T = self._found[kind, name]
        return found

    def folder_of(self, kind: str, name: str, inside: Sequence[str], read: Callable[..., T]) -> T:
        """What some files of a folder hold; the same object for the same folder."""
        if (kind, name) not in self._found:
            self._found[kind, name] = read(*(self.path(f"{name.rstrip('/')}/{file}") for file in inside))
        found: T = self._found[kind, name]
        return found

    def trace(self, name: str, after_end: AfterEnd) -> LoadTrace:
        """A load trace, which goes on so after its end."""
        return self._once(f"trace, then {after_end}", name, lambda path: read_trace(path, after_end=after_end))

    def speed(self, name: str) -> SpeedBand | SpeedSurface:
        """The band or surface of a speed model."""

        def read(path: Path) -> SpeedBand | SpeedSurface:
            found = load_speed_model(path)
            if found.measured == TOGETHER:
                self.together.add(name)
            return replace(found.model, source=name) if isinstance(found.model, SpeedBand) else found.model

        return self._once("speed", name, read)

    def memory(self, name: str) -> tuple["MemoryModel", tuple[MemoryLevel, ...]]:
        """A memory model that `apportion calibrate memory` wrote, and its levels; see `named_levels`."""
        from simulator.models.memory.file import load_memory_model, named_levels  # only here: SciPy is slow to import

        def read(path: Path) -> tuple["MemoryModel", tuple[MemoryLevel, ...]]:
            found = load_memory_model(path)
            return found.model, named_levels(found)

        return self._once("memory", name, read)

    def neighbours(self, name: str) -> "NeighboursModel":
        """A model that `apportion calibrate neighbours` wrote."""
        from simulator.models.neighbours_file import read_neighbours  # only here: SciPy is slow to import

        return self._once("neighbours", name, read_neighbours)

    def message_model(self, name: str) -> "FittedForm":
        """Message times of a network model."""
        from simulator.models.network.file import load_network_model  # only here: it is seldom needed

        def read(path: Path) -> "FittedForm":
            form = load_network_model(path).model.form
            return form if form.doubt is None else replace(form, source=name)

        return self._once("network", name, read)

    def runtime_model(self, name: str) -> "RuntimeModel":
        """A run-time model that `apportion fit` wrote."""
        from simulator.models.regression.file import load_runtime_model

        return self._once("runtime", name, load_runtime_model)

    def resource_model(self, name: str) -> HardwareModel:
        """What operations cost on a PE."""
        return self._once("resource", name, load_resource_model)

    def hashes(self) -> dict[str, str]:
        """Hash of each file used, by its name."""
        return {name: files.digest(files.read_bytes(path, limit_bytes=LIMIT_BYTES)) for name, path in self.used.items()}


@dataclass(frozen=True)
class Site:
    """Where a platform is described: the file with its places, the files that it names, and the nodes of a network."""

    document: Document
    named: NamedFiles
    latency_and_bandwidth: bool = False
    """Whether links keep no more of a fitted model: flows that share a link fairly need these two."""
    nodes: Sequence[str] = ()
    """Names of the nodes that a network joins, in order."""
    own_links: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    """What makes the links of nodes whose entries say one."""

    def at(self, *where: str | int) -> AbstractContextManager[None]:
        """What is raised inside is of this place."""
        return self.document.at(*where)

    def faults(self) -> Faults:
        """Where faults are gathered of which one does not follow from another."""
        return Faults(self.document)

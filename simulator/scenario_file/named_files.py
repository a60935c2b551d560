"""The files that a scenario file names: each read once, and remembered for provenance."""

from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.load_traces import read_trace
from simulator.models.load import AfterEnd, LoadTrace
from simulator.models.memory.levels import MemoryLevel
from simulator.models.resource import HardwareModel, load_resource_model
from simulator.models.speed import TOGETHER, SpeedBand, SpeedSurface
from simulator.scenario_file.domain_forms import NeighboursForm
from simulator.scenario_file.faults import validated
from simulator.scenario_file.yaml_text import Document

if TYPE_CHECKING:
    from simulator.models.memory.model import MemoryModel
    from simulator.models.network import FittedForm
    from simulator.models.regression.runtime_model import RuntimeModel

LIMIT_BYTES = 2**30


def neighbours_of(document: Any, path: Path | str) -> NeighboursForm:
    """The domains and uses of a model of neighbours, in the form in which a scenario file writes them.

    Raises
    ------
    ScenarioError
        If it is none, with each fault.
    """
    return validated(NeighboursForm, Document(Path(path), neighbours_data(document, path), None))


def neighbours_data(document: Any, path: Path | str) -> dict[str, Any]:
    """The same as a scenario file would write it: PEs by their places, and that kernels take nothing of a level, too.

    Raises
    ------
    ScenarioError
        If it is no such model.
    """
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind != "neighbours":
        found = "no kind" if kind is None else f"kind {str(kind)[:40]!r}"
        raise ScenarioError(f"{path}: {found} found, a model that `apportion calibrate neighbours` wrote allowed")
    told = deepcopy({name: document[name] for name in NeighboursForm.model_fields if name in document})
    domains, uses, places = told.get("domains"), told.setdefault("uses", {}), document.get("places")
    if not isinstance(domains, list) or not isinstance(uses, dict):
        return told
    if isinstance(places, list) and len(places) == len(domains):
        told["domains"] = [_at_places(one, where) for one, where in zip(domains, places, strict=True)]
    if "doubt" in document:
        told["domains"] = [
            {"doubt": document["doubt"]} | one if isinstance(one, dict) else one for one in told["domains"]
        ]
    levels = dict.fromkeys(str(one.get("level", one.get("kind"))) for one in domains if isinstance(one, dict))
    for kernel in document.get("kernels", uses):
        use = uses.setdefault(kernel, {})
        for level in levels:
            if isinstance(use, dict) and level not in ("core", "clock", *use):
                amount = "0B/s" if level == "memory" else "0B"
                many = len(use.get("sizes", ()))
                use[level] = {
                    "demand": [amount] * many if many else amount,
                    "sensitivity": [0.0] * many if many else 0.0,
                }
    return told


def _at_places(domain: Any, places: Any) -> Any:
    """A domain whose PEs have the names of the calibration, by their places on the node."""
    return domain | {"pes": places} if isinstance(domain, dict) and "pes" in domain else domain


@dataclass(frozen=True)
class NamedFiles:
    """Files by the names that the scenario file calls them by, relative to its folder."""

    folder: Path
    used: dict[str, Path] = field(default_factory=dict)
    together: set[str] = field(default_factory=set)
    """Speed models that were measured with all cores at work."""
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
        from simulator.models.speed import load_speed  # only here: SciPy is slow to import

        if name not in self._bands:
            speed, told = load_speed(self.path(name))
            self._bands[name] = replace(speed, source=name) if isinstance(speed, SpeedBand) else speed
            if told.get("measured") == TOGETHER:
                self.together.add(name)
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

    def neighbours(self, name: str) -> NeighboursForm:
        """The domains and uses that `apportion calibrate neighbours` wrote; see `neighbours_of`."""
        return neighbours_of(self._neighbours(name), self.path(name))

    def neighbours_data(self, name: str) -> dict[str, Any]:
        """The same as the node would write it out."""
        self.neighbours(name)
        data = neighbours_data(self._neighbours(name), self.path(name))
        return {key: data[key] for key in ("domains", "uses")}

    def _neighbours(self, name: str) -> Any:
        return files.read_json(self.path(name), limit_bytes=LIMIT_BYTES)

    def message_model(self, name: str) -> "FittedForm":
        """Message times of a network model; the same object for the same file."""
        from simulator.models.network.file import load_network_model  # only here: it is seldom needed

        if name not in self._messages:
            form = load_network_model(self.path(name))[0].form
            self._messages[name] = form if form.doubt is None else replace(form, source=name)
        return self._messages[name]

    def runtime_model(self, name: str) -> "RuntimeModel":
        """A run-time model that `apportion fit` wrote."""
        from simulator.models.regression.runtime_model import load_runtime_model  # only here: SciPy is slow to import

        return load_runtime_model(self.path(name))

    def resource_model(self, name: str) -> HardwareModel:
        """What operations cost on a PE; the same object for the same file."""
        if name not in self._resources:
            self._resources[name] = load_resource_model(self.path(name))
        return self._resources[name]

    def hashes(self) -> dict[str, str]:
        """Hash of each file used, by its name."""
        return {name: files.digest(files.read_bytes(path, limit_bytes=LIMIT_BYTES)) for name, path in self.used.items()}

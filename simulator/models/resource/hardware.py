"""The hardware layer's processor: cost vectors of one PE on one machine, by method."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.base.errors import ScenarioError
from simulator.models.resource.costs import CostVector
from simulator.models.resource.ruvs import METHODS, Method

FORMAT = 1
KIND = "resource"
_KEYS = ("format", "kind", "name", "methods", "provenance", "warnings")


@dataclass(frozen=True)
class HardwareModel:
    """What operations cost on one PE, by every method that it has costs for."""

    name: str
    vectors: Mapping[Method, CostVector]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What to know before its times are trusted."""

    @property
    def methods(self) -> tuple[Method, ...]:
        """Those that it has costs for."""
        return tuple(method for method in METHODS if method in self.vectors)

    def vector(self, method: Method) -> CostVector:
        """The costs by a method.

        Raises
        ------
        ScenarioError
            If there are none, with the methods that have some.
        """
        if method not in self.vectors:
            known = ", ".join(self.methods) or "none"
            raise ScenarioError(f"resource model {self.name}: method {method} not found, {known} allowed")
        return self.vectors[method]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": FORMAT,
            "kind": KIND,
            "name": self.name,
            "methods": {method: self.vectors[method].to_dict() for method in self.methods},
            "provenance": dict(self.provenance),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_dict(cls, data: Any) -> "HardwareModel":
        """The model that `to_dict` wrote, or that somebody wrote by hand: of each method one of several forms.

        Raises
        ------
        ScenarioError
            With one line per fault, each beginning with its field.
        """
        if not isinstance(data, Mapping) or data.get("kind") != KIND or data.get("format") != FORMAT:
            found = data.get("kind") if isinstance(data, Mapping) else type(data).__name__
            raise ScenarioError(f"kind: {found!r} found, format {FORMAT} of kind {KIND!r} allowed")
        faults = [f"{key}: unknown key found, {', '.join(_KEYS)} allowed" for key in data if key not in _KEYS]
        methods, name = data.get("methods"), data.get("name", "")
        if not isinstance(name, str):
            faults.append(f"name: {name!r} found, a text allowed")
        vectors: dict[Method, CostVector] = {}
        if not isinstance(methods, Mapping) or not methods:
            faults.append(f"methods: {methods!r} found, costs of some of {', '.join(METHODS)} allowed")
        else:
            for method, entry in methods.items():
                try:
                    vectors[method] = CostVector.from_dict(method, entry)
                except ScenarioError as error:
                    faults += [f"methods: {line}" for line in error.lines]
        warnings, provenance = data.get("warnings", []), data.get("provenance", {})
        if not isinstance(warnings, list) or not isinstance(provenance, Mapping):
            faults.append("warnings, provenance: others found, a list and fields with names allowed")
        if faults:
            raise ScenarioError(faults)
        return cls(name, vectors, dict(provenance), tuple(map(str, warnings)))

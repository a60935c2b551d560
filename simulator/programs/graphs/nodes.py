"""The nodes of a software execution graph.

After Papaefstathiou and others, "An Analysis of Processor Resource Models for Use in Performance Prediction",
CS-RR-279, University of Warwick, 1995.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from simulator.base.errors import ScenarioError
from simulator.base.formula import Formula
from simulator.models.resource import NO_RUVS, Ruvs


@dataclass(frozen=True)
class Processing:
    """A step without loops and branches."""

    name: str
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)
    """What one execution uses, by method."""


@dataclass(frozen=True)
class Loop:
    """A body that is done `count` times."""

    name: str
    count: Formula
    body: "Node"
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)
    """Of one iteration's own bookkeeping: counter, test, jump."""


@dataclass(frozen=True)
class Branch:
    """One of several arms, each with its probability."""

    name: str
    arms: tuple[tuple[Formula, "Node"], ...]
    """Probability (a formula of the parameters), and what is done; the probabilities add up to 1."""
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)
    """Of the test itself."""


@dataclass(frozen=True)
class Sequence:
    """Parts, one after the other."""

    name: str
    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Call:
    """Another graph, with arguments in place of its parameters."""

    name: str
    graph: str
    arguments: tuple[tuple[str, Formula], ...] = ()
    """Its parameter -> a formula of ours."""
    ruvs: Ruvs = field(default_factory=lambda: NO_RUVS)
    """Of the call itself."""


Node: TypeAlias = Processing | Loop | Branch | Sequence | Call


@dataclass(frozen=True)
class Graph:
    """A graph with the names that its formulas use."""

    name: str
    parameters: tuple[str, ...]
    body: Node
    working_set: Formula | None = None
    """Bytes that its steps go through, for resource models that ask what memory takes; None: that of its caller."""


@dataclass(frozen=True)
class Seg:
    """Graphs that may call each other; the first is where execution begins."""

    graphs: tuple[Graph, ...]

    def graph(self, name: str | None = None) -> Graph:
        """A graph by its name; the first one if none is named.

        Raises
        ------
        ScenarioError
            If there is none of that name.
        """
        if name is None and self.graphs:
            return self.graphs[0]
        found = [graph for graph in self.graphs if graph.name == name]
        if not found:
            known = ", ".join(graph.name for graph in self.graphs) or "none"
            raise ScenarioError(f"graph {name!r} found, one of {known} allowed")
        return found[0]

"""The nodes of a graph one by one, each with its place as a file writes it: `body`, 0, `do`, 2."""

from collections.abc import Iterator
from typing import TypeAlias

from simulator.programs.graphs.nodes import Branch, Loop, Node, Sequence

Place: TypeAlias = tuple[str | int, ...]


def parts_of(body: Node) -> tuple[Node, ...]:
    """A body as the list that a file writes: the parts of sequences without a name, or the one node."""
    if not isinstance(body, Sequence) or body.name:
        return (body,)
    return tuple(node for part in body.parts for node in parts_of(part))


def bodies(node: Node) -> Iterator[tuple[Place, Node]]:
    """What is done inside a node, each with its place below it."""
    if isinstance(node, Loop):
        yield ("do",), node.body
    elif isinstance(node, Branch):
        for number, (_, arm) in enumerate(node.arms):
            yield ("arms", number, "do"), arm
    elif isinstance(node, Sequence):
        yield ("do",), Sequence("", node.parts)


def walk(body: Node, place: Place = ("body",), depth: int = 0) -> Iterator[tuple[Place, Node, int]]:
    """Every node with its place and how many others hold it, those that hold before those held."""
    for number, node in enumerate(parts_of(body)):
        here = (*place, number)
        yield here, node, depth
        for below, inner in bodies(node):
            yield from walk(inner, (*here, *below), depth + 1)

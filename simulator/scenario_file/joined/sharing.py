"""What the PEs of a kind of nodes share: as it was measured on one of them, else caches as the system tells them."""

from collections.abc import Sequence
from typing import Any

from simulator.base.names import counted
from simulator.scenario_file.joined.inputs import CalibratedNode
from simulator.scenario_file.node_block import level_names
from simulator.scenario_file.proposed_domains import counted_groups

Data = dict[str, Any]


def shared_by(members: Sequence[CalibratedNode]) -> tuple[CalibratedNode | None, tuple[Data, ...], Data]:
    """The node whose domains and uses hold for nodes that are alike, and these; None where nothing is known."""
    of = next((node for node in members if node.neighbours is not None), None)
    if of is not None and of.neighbours is not None:
        return of, tuple(of.neighbours["domains"]), of.neighbours["uses"]
    of = next((node for node in members if node.groups or (node.levels and node.caches)), None)
    if of is None or (of.pe_count or 1) == 1:
        return None, (), {}
    labels = counted("{node}-core", of.pe_count)
    levels = next((node.levels for node in members if node.levels), ())
    called = level_names(of.caches, levels)
    found = of.groups or counted_groups(of.caches, len(labels))
    entries = [entry for one in found for entry in one.entries(labels, called.get((one.name, one.size_bytes)))]
    return (of, tuple(entries), {}) if entries else (None, (), {})

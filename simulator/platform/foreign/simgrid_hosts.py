"""Hosts of SimGrid's platform files as PEs: speeds, cores, speed profiles, disks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.base.units import to_whole
from simulator.load_traces import read_profile
from simulator.models.load import LoadTrace
from simulator.models.speed import SpeedBand
from simulator.platform.foreign.simgrid_zones import MOST_HOSTS, amount
from simulator.platform.foreign.xml_tree import Element
from simulator.platform.networks import Link
from simulator.platform.nodes import PE, Load, Node

NODE_PROPERTY = "apportion.node"
"""Property of a host that names the node whose PE it is."""
MAX_KNOTS = 20_000
"""Knots of a profile that is written out because its first period differs from the later ones."""


def properties(element: Element) -> Mapping[str, str]:
    """What the `prop` elements in one say."""
    return {child.text("id"): child.text("value") for child in element.all("prop")}


@dataclass
class Hosts:
    """The hosts that have been read so far."""

    kernel: str
    """What their speeds are called here."""
    nodes: dict[str, Node] = field(default_factory=dict)
    """Those with a disk."""
    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    profiles: dict[Path, LoadTrace] = field(default_factory=dict)

    def pe(self, name: str, element: Element, node: str) -> PE:
        """A host as a PE of a node.

        Raises
        ------
        ScenarioError, TraceError
            For what cannot be taken over, and if its profile cannot be read.
        """
        if element.attributes.get("state_file"):
            raise element.fault("state_file", "a profile is not read here; leave it out")
        for child in element.children:
            if child.tag not in ("prop", "disk"):
                raise child.fault(child.tag, "it stands in a host; write prop or disk")
        speeds = element.text("speed").split(",")
        state = element.text("pstate", "0")
        place, count = to_whole(state), to_whole(cores := element.text("core", "1"))
        if place is None or place >= len(speeds):
            raise element.fault("pstate", f"{state[:40]!r} is no state of it; give 0 to {len(speeds) - 1}")
        if count is None or not 1 <= count <= MOST_HOSTS:
            raise element.fault("core", f"{cores[:40]!r} is no number of cores; give 1 to {MOST_HOSTS}")
        speed = amount(element, speeds[place], "speed", field_name="speed")
        if speed <= 0:
            raise element.fault("speed", f"it is {speed:g}; give more than 0")
        profile = element.attributes.get("speed_file") or element.attributes.get("availability_file")
        load = None
        if profile:
            load = Load(self._profile(element.path.parent / profile), "given", drawn=False)
        for disk in element.all("disk"):
            self._disk(disk, node)
        return PE(name, node, {self.kernel: SpeedBand.constant(speed)}, load, cores=count)

    def _disk(self, element: Element, node: str) -> None:
        """A disk that reads as fast as it writes, one for each node."""
        speeds = [amount(element, element.text(name), "bandwidth", field_name=name) for name in ("read_bw", "write_bw")]
        if speeds[0] != speeds[1] or node in self.nodes:
            self.notes.append(f"{element.path}:{element.line}: disk {element.text('id')}: left out: {_DISKS}")
            return
        try:
            self.nodes[node] = Node(node, disk=Link("disk", 0.0, speeds[0], shared=True))
        except ScenarioError as error:
            raise element.fault("read_bw", error.lines[0].rpartition(": ")[2]) from None

    def _profile(self, path: Path) -> LoadTrace:
        """A speed profile: again from its start where it says so, else its last value for ever."""
        if path not in self.profiles:
            self.profiles[path] = self._read_profile(path)
            if 0.0 in self.profiles[path].values:
                self.notes.append(
                    f"{path}: the speed is 0 at times: nothing runs then; SimGrid goes on at the speed before"
                )
        self.files.append(path)
        return self.profiles[path]

    def _read_profile(self, path: Path) -> LoadTrace:
        profile = read_profile(path)
        times, values = np.array(profile.times_s), np.array(profile.values)
        first, last = float(times[0]), float(times[-1])
        if first > 0:
            times, values = np.append(0.0, times), np.append(1.0, values)
        if profile.pause_s is None:
            return LoadTrace(times, values, last + max(first, 1.0), "hold")
        period_s = last + profile.pause_s
        if first == 0 or values[-1] == 1:
            return LoadTrace(times, values, period_s, "cycle")
        turns = max(2, MAX_KNOTS // len(profile.times_s))
        more = np.arange(turns)[:, np.newaxis] * period_s + np.array(profile.times_s)
        end_s = turns * period_s + first
        said = f"written out up to {end_s:g} s; runs beyond that are refused"
        self.notes.append(f"{path}: the first period differs from the later ones: {said}")
        return LoadTrace(np.append(0.0, more), np.append(1.0, np.tile(profile.values, turns)), end_s, "error")


_DISKS = "only one disk of a node, which reads as fast as it writes, is read"

"""A joined cluster as the text of a scenario: kinds written once, what it rests on as comments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import units
from simulator.base.names import counted
from simulator.base.units import write_size
from simulator.base.yaml_document import yaml_text
from simulator.models.doubt import Noise
from simulator.models.memory import MemoryLevel
from simulator.models.speed import SpeedBand
from simulator.scenario_file.joined.inputs import CalibratedNode
from simulator.scenario_file.memory import level_data
from simulator.scenario_file.node_block import printable
from simulator.scenario_file.speeds import speed_data

# An application to begin with, for a kernel that was measured: sizes that were measured, and that fit the memory.


MOST_ROWS = 20_000
MEMORY_SHARE = 0.5
BLOCK = 64
ITERATIONS = 100


@dataclass(frozen=True)
class Room:
    """What an application may take."""

    processes: int
    on_first_node: int
    largest_elements: float
    """Largest problem size of a computation that was measured on all PEs."""
    memory_bytes: float
    """Of the node that has least; infinite where nothing is known."""


@dataclass(frozen=True)
class Example:
    """An application with its parameters."""

    name: str
    parameters: dict[str, int]
    stands_in: bool
    """Whether it only stands for the user's own: the kernel is that of no application."""


def example(kernel: str, room: Room) -> Example:
    """The application whose costs the kernel was measured for; matmul for kernels of none."""
    if kernel == "fft":
        return Example("fft", {"n": _fft_rows(room)}, stands_in=False)
    if kernel == "sort":
        return Example("sort", {"n": _sort_keys(room)}, stands_in=False)
    if kernel == "cholesky":
        return Example(
            "cholesky", {"n": max(_cholesky_columns(room), BLOCK * room.processes), "nb": BLOCK}, stands_in=False
        )
    if kernel == "stencil":
        return Example("stencil", {"n": _stencil_rows(room), "iterations": ITERATIONS}, stands_in=False)
    return Example("matmul", {"n": _matmul_rows(room)}, stands_in=kernel not in ("matmul", "dgemm"))


def _matmul_rows(room: Room) -> int:
    """N with `n**2 (1 + 2/P)` elements per process, and three matrices for the master beside its neighbours."""
    each = 1 + 2 / room.processes
    bytes_per_square = 24 + 8 * each * (room.on_first_node - 1)
    return _round(min(room.largest_elements / each, MEMORY_SHARE * room.memory_bytes / bytes_per_square) ** 0.5, room)


def _fft_rows(room: Room) -> int:
    """N with `4 n**2 / P` elements and `32 n**2 / P` bytes per process."""
    held = MEMORY_SHARE * room.memory_bytes * room.processes / (32 * room.on_first_node)
    return _round(min(room.largest_elements * room.processes / 4, held) ** 0.5, room)


def _stencil_rows(room: Room) -> int:
    """N with `n (2 n / P + 2)` elements per process, 8 bytes each."""
    held = MEMORY_SHARE * room.memory_bytes * room.processes / (16 * room.on_first_node)
    return _round(min(room.largest_elements * room.processes / 2, held) ** 0.5, room)


def _sort_keys(room: Room) -> int:
    """N keys, all of which the first process holds in the end, two elements and 16 bytes each."""
    most = min(room.largest_elements / 2, MEMORY_SHARE * room.memory_bytes / (16 * room.on_first_node))
    return _round(most, room, most=10**9)


def _cholesky_columns(room: Room) -> int:
    """N with `n**2 / P` elements per process."""
    held = MEMORY_SHARE * room.memory_bytes * room.processes / (8 * room.on_first_node)
    return _round(min(room.largest_elements * room.processes, held) ** 0.5, room)


def _round(value: float, room: Room, *, most: int = MOST_ROWS) -> int:
    """Down to two digits, at least one unit for each process."""
    whole = int(min(value, float(most)))
    scale = 10 ** max(0, len(str(whole)) - 2)
    return int(max(room.processes, whole // scale * scale, 1))


DIGITS = 9
"""Of speeds and sizes: bands are measured to three."""


@dataclass(frozen=True)
class Kind:
    """Nodes that are written as alike."""

    names: str
    """A pattern of their names."""
    count: int
    members: tuple[CalibratedNode, ...]
    """Those that were calibrated."""
    pe_count: int
    memory_bytes: int | None
    swap_bytes: int | None
    speeds: dict[str, SpeedBand]
    levels: tuple[MemoryLevel, ...]
    domains: tuple[dict[str, Any], ...] = ()
    """As a file writes them."""
    uses: dict[str, Any] = field(default_factory=dict)

    @property
    def pe_pattern(self) -> str:
        """Name of a node's PEs before they are counted."""
        return "{node}" if self.pe_count == 1 else "{node}-core"


@dataclass(frozen=True)
class Links:
    """Links of a scenario file between nodes and, if known, within one."""

    between: dict[str, Any]
    within: dict[str, Any] | None
    tree: dict[str, Any] | None = None
    """Link, uplink and switches of a network of two levels, where they are known."""


@dataclass(frozen=True)
class Written:
    """The text, and all warnings, which stand in it too."""

    text: str
    warnings: tuple[str, ...]


def scenario_text(
    kinds: Sequence[Kind], links: Links, *, kernel: str, made: dict[str, Any], warnings: Sequence[str]
) -> Written:
    """The scenario: every node of every kind, an application of the kernel's own with equal parts."""
    able = [kind for kind in kinds if kernel in kind.speeds]
    chosen = example(kernel, _room(able, kernel))
    said = [*warnings]
    if chosen.stands_in:
        said.append(
            f"kernel {kernel!r} is that of no application here: {chosen.name} stands in; put yours in its place"
        )
    if len(able) < len(kinds):
        without = ", ".join(kind.names for kind in kinds if kind not in able)
        said.append(f"{without}: no speed of kernel {kernel!r}, so the configuration leaves them out")
    document = {
        "format": 1,
        "platform": _platform(kinds, links),
        "application": {"name": chosen.name, "kernel": kernel, "parameters": dict(chosen.parameters)},
        "configurations": {"equal": _configuration(kinds, able)},
        "replications": 200,
        "seed": 0,
    }
    unique = tuple(dict.fromkeys(said))
    head = "\n".join(f"# {indent}{printable(line)}" for indent, line in _head(kinds, chosen, made, unique))
    return Written(f"{head}\n{yaml_text(document)}", unique)


def _head(
    kinds: Sequence[Kind], chosen: Example, made: dict[str, Any], warnings: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Lines of the comment, each with its indent."""
    yield "", f"Joined by `apportion platform`, apportion {made['versions']['apportion']}, on {made['made']}, from"
    for name, digest in made["inputs"].items():
        yield "  ", f"{name} {digest}"
    yield "", "Kinds of nodes:"
    for kind in kinds:
        like = ", ".join(node.source for node in kind.members[:8])
        more = f" and {len(kind.members) - 8} more" if len(kind.members) > 8 else ""
        memory = "memory not known" if kind.memory_bytes is None else units.show_size(kind.memory_bytes)
        pes = f"{kind.pe_count} PE{'s' if kind.pe_count > 1 else ''}"
        yield "  ", f"{kind.names}: {kind.count} with {pes}, {memory}, as measured: {like}{more}"
    for line in warnings:
        yield "", f"warning: {line}"
    yield "", f"The application ({chosen.name}) and the configurations are a beginning: edit them."


def _platform(kinds: Sequence[Kind], links: Links) -> dict[str, Any]:
    nodes = [_node(kind) for kind in kinds]
    if links.tree is not None:
        tree = {"topology": "tree", "contention": "fair", **links.tree, "loopback": links.within or links.between}
        return {"nodes": nodes, "network": tree}
    if links.within is None:
        return {"nodes": nodes, "link": links.between}
    network = {"topology": "mesh", "link": links.between, "loopback": links.within}  # no contention: as a uniform one
    return {"nodes": nodes, "network": network}


def _node(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": kind.names}
    if kind.memory_bytes is not None:
        entry["memory"] = write_size(kind.memory_bytes)
        if kind.swap_bytes is not None:
            entry["swap"] = write_size(kind.swap_bytes)
    if kind.levels:
        entry["levels"] = [level_data(level) for level in kind.levels]
    if kind.domains:
        entry["domains"] = list(kind.domains)
    if kind.uses:
        entry["uses"] = kind.uses
    counts = {} if kind.pe_count == 1 else {"count": kind.pe_count}
    # doubt of one model is doubt of all PEs of the kind
    speeds = {kernel: speed_data(replace(_rounded(band), source=kind.names)) for kernel, band in kind.speeds.items()}
    return entry | {"pes": [{"name": kind.pe_pattern, **counts, "speeds": speeds}]}


def _rounded(band: SpeedBand) -> SpeedBand:
    sizes, low, mid, high = (_digits(curve) for curve in (band.sizes, band.low, band.mid, band.high))
    doubt = None if band.doubt is None else replace(band.doubt, sd=_digits(band.doubt.sd))
    noise = None if band.noise is None else Noise(_digits(band.noise.factors))
    return replace(band, sizes=sizes, low=low, mid=mid, high=high, doubt=doubt, noise=noise)


def _digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([float(f"{value:.{DIGITS}g}") for value in values])


def _configuration(kinds: Sequence[Kind], able: Sequence[Kind]) -> dict[str, Any]:
    if len(able) == len(kinds):
        return {"partition": "equal"}
    pes = []
    for kind in able:
        labels = [kind.pe_pattern] if kind.pe_count == 1 else counted(kind.pe_pattern, kind.pe_count)
        pes += [label.replace("{node}", kind.names) for label in labels]
    return {"partition": "equal", "pes": pes}


def _room(able: Sequence[Kind], kernel: str) -> Room:
    bands = [kind.speeds[kernel] for kind in able]
    memories = [kind.memory_bytes / kind.pe_count for kind in able if kind.memory_bytes]
    most = max(kind.pe_count for kind in able)
    return Room(
        processes=sum(kind.count * kind.pe_count for kind in able),
        on_first_node=most,
        largest_elements=min((float(band.sizes[-1]) for band in bands if band.sizes.size > 1), default=1.2e7),
        memory_bytes=min(memories, default=float("inf")) * most,
    )

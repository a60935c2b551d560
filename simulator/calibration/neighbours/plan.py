"""What is measured with what: probes of each level, kernels and commands at sizes in caches and memory, and cells."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.base.documents import Record
from simulator.base.errors import ScenarioError
from simulator.base.machine import INSTRUCTION, Machine, Topology
from simulator.calibration.kernels.sized import WORD_BYTES
from simulator.calibration.kernels.table import sized_kernel
from simulator.calibration.speed.subjects import CommandSubject, KernelSubject, Subject
from simulator.models.neighbours_fit import COMPUTES, STREAMS, Computation, Proposed

KERNELS = ("dgemm", "matmul", "sort", "fft", "stencil", "cholesky")
"""Measured in addition to the probes by default."""
MEMORY_SHARE = 0.25
"""Share of the memory available now that all operands together may take."""
_L2_BYTES, _LAST_BYTES = 2**20, 32 * 2**20
"""Assumed caches where the system does not tell."""
_LEAST_MEMORY_BYTES = 64 * 2**20
_MOST_CACHED_BYTES = 32 * 2**20
_COMPUTE_POINTS = 2 * 10**5
_MOST_PAIRED_PES = 6
"""Of so many PEs every pair is looked at for siblings; of more, only each PE with the next."""


@dataclass(frozen=True)
class Item:
    """A computation that is run: a kernel of ours or a command."""

    kernel: str
    """Its name, of a command that which the model gives it."""
    n: int
    size: float
    bytes: int
    volume: float
    role: str
    """`computes`, `near`, `cached`, `memory` and `random` of probes; `kernel`."""
    command: int | None = None
    """Which of the commands; None for a kernel."""
    inner: int = 1
    once_s: float = 0.0
    sleeps: bool = False
    """Whether it waits for anything but its core, so that the wall clock counts; else CPU seconds do."""

    @property
    def computation(self) -> Computation:
        """As models know it."""
        return Computation(self.kernel, self.size)


@dataclass(frozen=True)
class CellPlan:
    """A computation and its neighbours, each on a PE: numbers of items, the subject first."""

    items: tuple[int, ...]
    pes: tuple[int, ...]
    rank: int
    """What is left out first where time is short: the highest."""


@dataclass(frozen=True)
class Plan(Record):
    """What a campaign measures."""

    items: tuple[Item, ...]
    cells: tuple[CellPlan, ...]
    notes: tuple[str, ...] = ()


def command_name(subject: CommandSubject) -> str:
    """What a model calls a command: its words, without the place of n, joined by `-`."""
    words = [word.replace("{n}", "").strip() for word in subject.words]
    name = "-".join(word for word in words if word)
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)


def check_cores(topology: Topology) -> None:
    """Refuse a machine on which nothing has a neighbour."""
    if topology.pe_count < 2:
        raise ScenarioError("neighbours: only one core may be used here, and two have to meet; allow another one")


def proposals(topology: Topology) -> tuple[Proposed, ...]:
    """What the PEs may share, as the system tells; places are those of the PEs, from 0."""
    place = {core.cpu: number for number, core in enumerate(topology.pes)}

    def places(cpus: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(place[cpu] for cpu in cpus if cpu in place))

    found = [
        Proposed("cache", f"L{unit.level}", own, float(unit.size_bytes))
        for unit in sorted(topology.caches, key=lambda unit: (unit.level, unit.cpus))
        if unit.kind != INSTRUCTION and len(own := places(unit.cpus)) > 1
    ]
    nodes = [places(unit.cpus) for unit in topology.numa if places(unit.cpus)] or [tuple(place.values())]
    found += [Proposed("memory", "memory", own) for own in nodes]
    packages = [places(cpus) for cpus in topology.packages if len(places(cpus)) > 1] or [tuple(place.values())]
    found += [Proposed("clock", "clock", own) for own in packages]
    return tuple(found)


def make_items(
    machine: Machine, *, pe_count: int, kernels: Sequence[str], commands: Sequence[CommandSubject], small: bool = False
) -> tuple[list[Item], list[str]]:
    """Probes, then kernels and commands, and what to know of their sizes.

    `small`: seconds must do, so one size of each kernel, and streams of 256 MiB at most.
    """
    last = machine.last_level_cache_bytes or _LAST_BYTES
    near = next((c.size_bytes for c in machine.caches if c.level == 2 and c.shared_by == 1), _L2_BYTES) // 2
    allowed = MEMORY_SHARE * machine.memory_available_bytes / (2 * pe_count)
    wanted = max(2 * last, _LEAST_MEMORY_BYTES)
    beyond = int(min(wanted, allowed, 2**28 if small else wanted))
    cached = int(min(0.6 * last, allowed / 2, 2**28, beyond / 4 if small else beyond / 2))
    notes = []
    if beyond < last:
        seen = f"{beyond / 2**20:.0f} MiB each, the last-level cache holds {last / 2**20:.0f} MiB"
        notes.append(f"memory: streams of {seen}: what memory beyond it does was not seen")
    probes = [(COMPUTES, 0, "computes"), (STREAMS, cached, "cached"), (STREAMS, beyond, "memory")]
    if not small:
        probes += [(STREAMS, near, "near"), ("apexmap", beyond, "random")]
    items = [_item(KernelSubject(sized_kernel(name)), name, size, role) for name, size, role in probes]
    middle = int(min(_MOST_CACHED_BYTES, last / 4, allowed / 16))
    sizes = [middle] if small else [near, middle]
    subjects: list[tuple[Subject, str, int | None]] = [
        (subject, command_name(subject), number) for number, subject in enumerate(commands)
    ]
    subjects += [(KernelSubject(sized_kernel(name)), name, None) for name in dict.fromkeys(kernels) if name != STREAMS]
    names = [name for _, name, _ in subjects]
    if len(set(names)) < len(names):
        raise ScenarioError(f"command: two are called {max(names, key=names.count)!r}; give one of them other words")
    items += [_item(subject, name, size, "kernel", number) for subject, name, number in subjects for size in sizes]
    return list({(item.kernel, item.n): item for item in items}.values()), notes


def _item(subject: Subject, name: str, size_bytes: int, role: str, command: int | None = None) -> Item:
    n = _COMPUTE_POINTS if role == "computes" else _n_within(subject, size_bytes)
    return Item(name, n, subject.size(n), subject.bytes_of(n), subject.volume(n), role, command)


def _n_within(subject: Subject, size_bytes: float) -> int:
    """The parameter whose operands take about so many bytes."""
    n = subject.n_of(size_bytes / WORD_BYTES)
    return subject.n_of(subject.size(n) * size_bytes / max(1, subject.bytes_of(n)))


def make_few_cells(items: Sequence[Item], pe_count: int) -> list[CellPlan]:
    """Where seconds must do: copies of the probes and of each kernel on all PEs, and kernels next to the stream."""
    probes = {item.role: number for number, item in enumerate(items) if item.role != "kernel"}
    stream, whole = probes["memory"], tuple(range(pe_count))
    kernels = [number for number, item in enumerate(items) if item.role == "kernel"]
    cells = [CellPlan((number,) * pe_count, whole, 0) for number in (stream, probes["computes"], *kernels)]
    for number in kernels:
        cells += [CellPlan((number, stream), (0, 1), 0), CellPlan((stream, number), (0, 1), 1)]
    if pe_count > 2:
        cells += [CellPlan((number, number), (0, 1), 1) for number in (stream, probes["computes"], *kernels)]
    return [*cells, CellPlan((probes["cached"],) * pe_count, whole, 2)]


def make_cells(items: Sequence[Item], pe_count: int) -> list[CellPlan]:
    """Each computation next to the probes, probes next to each, copies of one, and all PEs at once."""
    probes = {item.role: number for number, item in enumerate(items) if item.role != "kernel"}
    kernels = [number for number, item in enumerate(items) if item.role == "kernel"]
    stream, cached, computes = (probes[role] for role in ("memory", "cached", "computes"))
    others = [probes[role] for role in ("near", "random") if role in probes]
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], CellPlan] = {}

    def add(rank: int, *numbers: int, pes: tuple[int, ...] | None = None) -> None:
        places = pes or tuple(range(len(numbers)))
        found.setdefault((numbers, places), CellPlan(numbers, places, rank))

    for number in (computes, stream, cached):
        add(0, number, number)
    for one, other in ((cached, stream), (stream, cached), (computes, stream)):
        add(0, one, other)
    counts = sorted({*(2**k for k in range(1, pe_count.bit_length()) if 2**k <= pe_count), pe_count})
    for count in counts:
        for number in (computes, stream):
            add(0, *[number] * count)
        add(1, *[cached] * count)
    close = [(a, b) for a in range(pe_count) for b in range(a + 1, pe_count)]
    for pair in close if pe_count <= _MOST_PAIRED_PES else [(a, a + 1) for a in range(pe_count - 1)]:
        add(1, computes, computes, pes=pair)
    for number in (*kernels, *others):
        add(1, number, stream)
        add(1, stream, number)
        add(2, number, number)
        add(2, number, cached)
        add(2, cached, number)
        add(2, *[number] * pe_count) if items[number].role == "kernel" else None
    for place, number in enumerate(kernels):
        add(3, number, computes)
        add(3, number, kernels[(place + 1) % len(kernels)])
        add(3, number, kernels[(place + 3) % len(kernels)])
    return list(found.values())

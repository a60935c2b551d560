"""What this machine is: cores, caches, memory, affinity, quota, load now; the only reader of /proc and /sys."""

import contextlib
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from simulator.base import units
from simulator.base.documents import Record
from simulator.base.errors import CalibrationError, ScenarioError

_DEVICES = Path("/sys/devices")
SMALL_BYTES = 2**28
"""Work that needs no more memory than this is not looked at before it starts."""
_CPU = _DEVICES / "system/cpu"

INSTRUCTION, MEMORY_SIDE = "instruction", "memory-side"
T = TypeVar("T")


@dataclass(frozen=True)
class Core:
    """A physical core that this process may use."""

    cpu: int
    """Number of the logical processor that stands for it, as the system counts."""
    siblings: tuple[int, ...]
    """The other logical processors of the same core (SMT); they are no PEs of their own."""
    kind: str = ""
    """Which cores it is like, such as `P` or `E`; empty where all are alike."""


@dataclass(frozen=True)
class CacheUnit:
    """One cache and who shares it."""

    level: int
    kind: str
    """`data`, `instruction`, `unified`, or `memory-side`."""
    size_bytes: int
    cpus: tuple[int, ...]
    """The logical processors that share it, as the system counts."""


@dataclass(frozen=True)
class MemoryUnit:
    """A NUMA node."""

    number: int
    memory_bytes: int | None
    cpus: tuple[int, ...]
    """None of them: memory without processors of its own."""


@dataclass(frozen=True)
class GpuUnit:
    """A GPU that the driver lists."""

    number: int
    name: str
    memory_bytes: int
    free_bytes: int
    cpus: tuple[int, ...]
    """The logical processors next to it; none if the system does not say."""
    port: str
    """What its link begins at; GPUs with the same one share that link. Empty if the system does not say."""


@dataclass(frozen=True)
class SharedCache:
    """The caches of one level and size, counted over the PEs."""

    level: int
    kind: str
    size_bytes: int
    instances: int
    most_pes: int
    """PEs that share one, where most do."""

    @property
    def name(self) -> str:
        """`L1`, `L2` and so on."""
        return f"L{self.level}"


@dataclass(frozen=True)
class Topology(Record):
    """A machine's parts, as far as they are known."""

    SPARSE, DERIVED = False, ("pe_count", "shared_caches")
    source: str
    """Where they are from: `this machine`, or a file."""
    host: str | None
    cpu_model: str | None
    cores: tuple[Core, ...]
    """Distinct physical cores that may be used, in the order of the system or the file."""
    caches: tuple[CacheUnit, ...]
    packages: tuple[tuple[int, ...], ...]
    """The logical processors of each package."""
    numa: tuple[MemoryUnit, ...]
    memory_bytes: int | None
    """Main memory that processes may take, limits of control groups counted."""
    swap_bytes: int | None = None
    quota_cores: float | None = None
    """CPU seconds per second that a control group grants, None without a quota."""
    warnings: tuple[str, ...] = field(default=())
    """What to know before this is trusted."""

    @property
    def pes(self) -> tuple[Core, ...]:
        """The cores that can run at once: within affinity and quota, at least one."""
        granted = len(self.cores) if self.quota_cores is None else int(self.quota_cores)
        return self.cores[: max(1, granted)]

    @property
    def pe_count(self) -> int:
        """How many PEs there are."""
        return len(self.pes)

    @property
    def shared_caches(self) -> tuple[SharedCache, ...]:
        """Caches of the PEs, the nearest first, those of one level, kind and size counted together."""
        wanted = {core.cpu for core in self.pes}
        alike: dict[tuple[int, str, int], list[int]] = {}
        for cache in self.caches:
            users = len(wanted & set(cache.cpus))
            if users and cache.kind != MEMORY_SIDE:
                alike.setdefault((cache.level, cache.kind, cache.size_bytes), []).append(users)
        return tuple(
            SharedCache(*key, instances=len(users), most_pes=max(users)) for key, users in sorted(alike.items())
        )

    @property
    def data_caches(self) -> tuple[SharedCache, ...]:
        """Those of them that hold data."""
        return tuple(cache for cache in self.shared_caches if cache.kind != INSTRUCTION)


@dataclass(frozen=True)
class Cache:
    """One cache as the first core sees it."""

    level: int
    kind: str
    size_bytes: int
    shared_by: int
    """How many logical processors share it."""


@dataclass(frozen=True)
class Machine(Record):
    """A description of this machine, kept as provenance of everything measured on it."""

    SPARSE, DERIVED = False, ("pe_count",)
    host: str
    system: str
    cpu_model: str
    cores: tuple[Core, ...]
    """Distinct physical cores within the affinity mask."""
    quota_cores: float | None
    """CPU seconds per second that a cgroup grants, or None without a quota."""
    caches: tuple[Cache, ...]
    memory_bytes: int
    memory_available_bytes: int
    load_average: tuple[float, float, float]
    """Mean runnable processes over 1, 5 and 15 minutes."""
    governor: str | None
    swap_bytes: int = 0
    memory_limit_bytes: int | None = None
    """Memory that this process's control groups grant, None without a limit."""
    quota_period_s: float | None = None
    """How long that quota's period is."""

    @property
    def pe_count(self) -> int:
        """How many PEs of this machine can run at once: physical cores within affinity and quota."""
        within_quota = len(self.cores) if self.quota_cores is None else int(self.quota_cores)
        return max(1, min(len(self.cores), within_quota))

    @property
    def pe_cpus(self) -> list[int]:
        """The processors that serve as PEs."""
        return [core.cpu for core in self.cores[: self.pe_count]]

    @property
    def last_level_cache_bytes(self) -> int:
        """Capacity of the largest cache, 0 if the system does not tell."""
        return max((cache.size_bytes for cache in self.caches), default=0)

    def summary(self) -> str:
        """One line for people."""
        caches = ", ".join(
            f"L{c.level} {units.show_size(c.size_bytes)}" for c in self.caches if c.kind != "instruction"
        )
        return (
            f"{self.cpu_model}, {self.pe_count} PEs, {caches or 'caches not known'}, "
            f"{units.show_size(self.memory_bytes)} memory, load {self.load_average[0]:.2f}"
        )


_ELSEWHERE: ContextVar[tuple[Machine, Topology] | None] = ContextVar("elsewhere", default=None)
"""The machine that this thread measures, where that is another one than it runs on."""


@contextlib.contextmanager
def measuring_elsewhere(machine: Machine, topology: Topology) -> Iterator[None]:
    """Have this thread take another machine for `this_machine` while the block runs, since it measures that one."""
    token = _ELSEWHERE.set((machine, topology))
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


def this_machine() -> Machine:
    """Describe the machine this process runs on, or measures, as it is allowed to use it."""
    if elsewhere := _ELSEWHERE.get():
        return elsewhere[0]
    memory_bytes, available_bytes = _memory_bytes()
    quota_cores, quota_period_s = min(_in_groups("cpu", _quota_v2, _quota_v1), default=(None, None))  # the tightest
    cpus = sorted(_affinity())
    return Machine(
        host=platform.node(),
        system=f"{platform.system()} {platform.release()}",
        cpu_model=_cpu_model(),
        cores=_physical_cores(cpus),
        quota_cores=quota_cores,
        caches=tuple(Cache(one.level, one.kind, one.size_bytes, len(one.cpus)) for one in _cache_units(cpus[:1])),
        memory_bytes=memory_bytes,
        memory_available_bytes=available_bytes,
        load_average=load_average(),
        governor=_text(_CPU / f"cpu{cpus[0]}/cpufreq/scaling_governor"),
        swap_bytes=_swap_bytes(),
        memory_limit_bytes=min(_memory_limits(), default=None),
        quota_period_s=quota_period_s,
    )


def this_topology() -> Topology:
    """The parts of the machine this process runs on: every cache and NUMA node with the processors that share it."""
    if elsewhere := _ELSEWHERE.get():
        return elsewhere[1]
    machine, allowed = this_machine(), sorted(_affinity())
    kinds = _core_kinds(allowed)
    packages: dict[str, list[int]] = {}
    for cpu in allowed:
        packages.setdefault(_text(_CPU / f"cpu{cpu}/topology/physical_package_id") or "0", []).append(cpu)
    limits = [machine.memory_bytes, machine.memory_limit_bytes or machine.memory_bytes]
    return Topology(
        source="this machine",
        host=machine.host,
        cpu_model=machine.cpu_model,
        cores=tuple(Core(core.cpu, core.siblings, kinds.get(core.cpu, "")) for core in machine.cores),
        caches=_cache_units(allowed),
        packages=tuple(tuple(cpus) for cpus in packages.values()),
        numa=_numa_nodes(),
        memory_bytes=min(limits),
        swap_bytes=machine.swap_bytes,
        quota_cores=machine.quota_cores,
        warnings=() if machine.caches else ("caches: the system does not tell",),
    )


def affinity() -> tuple[int, ...]:
    """The logical processors that this process may use."""
    return tuple(sorted(_affinity()))


def require_linux() -> None:
    """Refuse to measure where pinning and exact CPU seconds are not to be had: on any system but Linux."""
    if _ELSEWHERE.get() is None and platform.system() != "Linux":
        raise CalibrationError(
            f"this machine runs {platform.system()} and measuring needs Linux; simulating works here"
        )


def busy_seconds() -> dict[int, float]:
    """Seconds since start-up that each logical processor spent on work, time stolen by the host included."""
    import psutil

    spent = {}
    for cpu, times in enumerate(psutil.cpu_times(percpu=True)):
        idle = times.idle + getattr(times, "iowait", 0.0)
        spent[cpu] = sum(times[:8]) - idle  # the last two, guest times, are within user and nice
    return spent


def runnable_now() -> int:
    """How many processes of this machine run or wait for a processor at this instant, the caller not counted."""
    runnable = (_text(Path("/proc/loadavg")) or "0 0 0 1/1 1").split()[3].partition("/")[0]
    return max(0, int(runnable) - 1)


def boot_number() -> str:
    """A number that the system drew when it started: two names with the same host name and number are one machine."""
    return _text(Path("/proc/sys/kernel/random/boot_id")) or ""


def data_bytes() -> int:
    """Memory of this process that `RLIMIT_DATA` counts."""
    words = (_text(Path("/proc/self/statm")) or "").split()
    return int(words[5]) * os.sysconf("SC_PAGESIZE") if len(words) > 5 else 0


def descendants() -> list[int]:
    """Numbers of all processes that this one started, and that those did, by the system's table."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if words := (_text(folder / "stat") or "").rpartition(")")[2].split():
            children.setdefault(int(words[1]), []).append(int(folder.name))
    found = [*children.get(os.getpid(), [])]
    for number in found:  # grows while it is walked
        found += children.get(number, [])
    return found


def process_state(number: int) -> tuple[str, float]:
    """The state of a process as the system writes it (`T`: stopped), and the CPU seconds that it has used."""
    words = (_text(Path(f"/proc/{number}/stat")) or "").rpartition(")")[2].split()
    return (words[0], (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")) if words else ("", 0.0)


def clock_hz() -> float | None:
    """The highest clock that the system tells of, in cycles per second; None if it tells none."""
    limit = _text(_CPU / "cpu0/cpufreq/cpuinfo_max_freq")
    if limit is not None and limit.isdigit():
        return 1e3 * int(limit)
    clocks = re.findall(r"^cpu MHz\s*:\s*([\d.]+)", _text(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    return max((1e6 * float(clock) for clock in clocks), default=None)


def check_room(what: str, needed_bytes: float, *, instead: str) -> None:
    """Refuse work that is about to start and would need more memory than there is."""
    if needed_bytes <= SMALL_BYTES:
        return
    available = memory_available_bytes()
    if needed_bytes > available:
        needs, free = units.show_size(needed_bytes), units.show_size(available)
        raise ScenarioError(f"{what} needs about {needs} of memory, {free} are free here: {instead}")


def memory_available_bytes() -> int:
    """Memory that this process can take now without swapping, within what its control groups still grant."""
    if elsewhere := _ELSEWHERE.get():
        return elsewhere[0].memory_available_bytes
    return max(0, min([_memory_bytes()[1], *_memory_left()]))


def _memory_left() -> list[int]:
    """What each memory limit of this process's control groups leaves; page cache counts as free."""
    return _in_groups(
        "memory",
        lambda folder: _left(folder, ("memory.max", "memory.current", "inactive_file")),
        lambda folder: _left(folder, ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")),
    )


def _swap_bytes() -> int:
    """Swap of the whole machine."""
    known = _meminfo_bytes("SwapTotal")
    if known is not None:
        return known
    import psutil

    return int(psutil.swap_memory().total)  # which warns where /proc is not whole


def _memory_bytes() -> tuple[int, int]:
    """Main memory, and what processes could take of it now."""
    total, available = _meminfo_bytes("MemTotal"), _meminfo_bytes("MemAvailable")
    if total is not None and available is not None:
        return total, available
    import psutil  # other systems; where we measure, nothing but NumPy may be installed

    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def _meminfo_bytes(name: str) -> int | None:
    """What Linux says of its memory; None elsewhere."""
    match = re.search(rf"^{name}:\s*(\d+) kB", _text(Path("/proc/meminfo")) or "", re.MULTILINE)
    return int(match[1]) * 2**10 if match else None


def load_average() -> tuple[float, float, float]:
    """Mean runnable processes over 1, 5 and 15 minutes; zeros where the system does not tell."""
    if elsewhere := _ELSEWHERE.get():
        return elsewhere[0].load_average
    return os.getloadavg() if hasattr(os, "getloadavg") else (0.0, 0.0, 0.0)


def _memory_limits() -> list[int]:
    """Each memory limit of this process's control groups that is below all memory there is."""
    texts = _in_groups(
        "memory",
        lambda folder: _text(folder / "memory.max"),
        lambda folder: _text(folder / "memory.limit_in_bytes"),
    )
    whole = _memory_bytes()[0]
    return [int(text) for text in texts if text.isdigit() and int(text) < whole]


def _left(folder: Path, names: tuple[str, str, str]) -> int | None:
    """Bytes that a control group's limit leaves; None without a limit."""
    limit, used = _text(folder / names[0]), _text(folder / names[1])
    if not limit or not used or not limit.isdigit():
        return None
    cached = re.search(rf"^{names[2]} (\d+)$", _text(folder / "memory.stat") or "", re.MULTILINE)
    return int(limit) - int(used) + (int(cached[1]) if cached else 0)


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _physical_cores(cpus: list[int]) -> tuple[Core, ...]:
    cores: list[Core] = []
    seen: set[int] = set()
    for cpu in cpus:
        if cpu in seen:
            continue
        siblings = _cpu_list(_text(_CPU / f"cpu{cpu}/topology/thread_siblings_list")) or [cpu]
        seen.update(siblings)
        cores.append(Core(cpu, tuple(s for s in siblings if s != cpu)))
    return tuple(cores)


def _cpu_list(text: str | None) -> list[int]:
    """Numbers in the system's notation `0-3,8`."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text or ""):
        found.extend(range(int(first), int(last or first) + 1))
    return found


def _cache_bytes(size: str) -> int:
    """`32K` as the system writes it, in bytes."""
    return int(size.rstrip("KMG")) * {"K": 2**10, "M": 2**20, "G": 2**30}.get(size[-1], 1)


def _cache_units(cpus: list[int]) -> tuple[CacheUnit, ...]:
    """Every cache of these processors once, the nearest first."""
    found: dict[tuple[int, str, tuple[int, ...]], CacheUnit] = {}
    for cpu in cpus:
        for index in sorted((_CPU / f"cpu{cpu}/cache").glob("index*")):
            level, kind, size = (_text(index / name) for name in ("level", "type", "size"))
            if level and kind and size:
                shared = tuple(_cpu_list(_text(index / "shared_cpu_list"))) or (cpu,)
                unit = CacheUnit(int(level), kind.lower(), _cache_bytes(size), shared)
                found.setdefault((unit.level, unit.kind, shared), unit)
    return tuple(sorted(found.values(), key=lambda unit: (unit.level, unit.kind, unit.cpus)))


def _numa_nodes() -> tuple[MemoryUnit, ...]:
    folders = {int(path.name[4:]): path for path in (_DEVICES / "system/node").glob("node[0-9]*")}
    units = []
    for number, folder in sorted(folders.items()):
        total = re.search(r"MemTotal:\s*(\d+) kB", _text(folder / "meminfo") or "")
        memory = int(total[1]) * 2**10 if total else None
        units.append(MemoryUnit(number, memory, tuple(_cpu_list(_text(folder / "cpulist")))))
    return tuple(units)


def _core_kinds(cpus: list[int]) -> dict[int, str]:
    """Kind of each processor where they are not all alike: Intel's P and E cores, Arm's by their stated capacity."""
    named = {"P": _DEVICES / "cpu_core/cpus", "E": _DEVICES / "cpu_atom/cpus"}
    found = {cpu: kind for kind, path in named.items() for cpu in _cpu_list(_text(path))}
    if not found:
        found = {cpu: f"capacity-{text}" for cpu in cpus if (text := _text(_CPU / f"cpu{cpu}/cpu_capacity"))}
    return found if len({found.get(cpu, "") for cpu in cpus}) > 1 else {}


def _in_groups(controller: str, v2: Callable[[Path], T | None], v1: Callable[[Path], T | None]) -> list[T]:
    """What is read in this process's control groups, of version 2 or 1, and in those above them."""
    found: list[T] = []
    for line in (_text(Path("/proc/self/cgroup")) or "").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup") / controllers
        folder = root / group.strip("/")
        folders = [folder, *folder.parents]
        inside = folders[: folders.index(root) + 1] if root in folders else []
        read = map(v1 if controllers else v2, inside)
        found += [value for value in read if value is not None]
    return found


def _quota_v2(folder: Path) -> tuple[float, float] | None:
    quota, _, period = (_text(folder / "cpu.max") or "max 1").partition(" ")
    return None if quota == "max" else (int(quota) / int(period), int(period) / 1e6)


def _quota_v1(folder: Path) -> tuple[float, float] | None:
    quota, period = (_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    return (int(quota) / int(period), int(period) / 1e6) if quota and period and int(quota) > 0 else None


def gpus() -> tuple[GpuUnit, ...]:
    """The GPUs that NVIDIA's driver lists; none without it."""
    if _ELSEWHERE.get():
        return ()
    asked = "index,name,memory.total,memory.free,pci.bus_id"
    words = ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    rows = [[cell.strip() for cell in line.split(",")] for line in said.splitlines()]
    return tuple(
        GpuUnit(int(row[0]), row[1], int(row[2]) * 2**20, int(row[3]) * 2**20, *_pci_place(row[4]))
        for row in rows
        if len(row) == 5 and all(row[k].isdigit() for k in (0, 2, 3))
    )


def _pci_place(bus: str) -> tuple[tuple[int, ...], str]:
    """The processors next to a device on the bus, such as `00000000:1B:00.0`, and the port above all its switches."""
    path = Path("/sys/bus/pci/devices") / bus.lower()[-12:]
    above = path.resolve().parts[:-1]
    ports = [part for part in above if re.fullmatch(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", part)]
    return tuple(_cpu_list(_text(path / "local_cpulist"))), ports[0] if ports else ""


def _cpu_model() -> str:
    for line in (_text(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _text(path: Path) -> str | None:
    """Content of a small file of the system, None if it is not there."""
    try:
        with path.open(encoding="ascii", errors="replace") as stream:
            return stream.read(2**16).strip()
    except OSError:
        return None

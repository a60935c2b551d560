"""Memory levels, swap and how kernels use them: what a file says, what is written, and speeds predicted from them."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from simulator.base import units
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.base.form import FileName, Form, Latency, Name, Payload, Size, Speed
from simulator.base.units import write_duration, write_size
from simulator.models.memory.levels import MemoryLevel, MemoryUse, SwapTimes, resident_levels
from simulator.models.predicted_speed import KERNEL_USES, predicted_band, rescaled
from simulator.models.speed import SpeedBand
from simulator.platform.named_files import NamedFiles

if TYPE_CHECKING:
    from simulator.models.memory.model import MemoryModel

Levels = tuple[MemoryLevel, ...]


class LevelForm(Form):
    """A memory level of a node's PEs."""

    name: Name
    """What the level is called, such as `L2`; a last level `swap` lies behind RAM."""
    capacity: Payload | None = None
    """Bytes, such as `32MiB`; none for the last level, and only for that."""
    latency: Latency
    """Time until the first word of a run is there."""
    gap: Latency
    """Time of each further word of a run."""
    shared: bool = False
    """Whether the PEs of a node share it."""

    def level(self) -> MemoryLevel:
        """The level that it says."""
        capacity = math.inf if self.capacity is None else self.capacity
        return MemoryLevel(self.name, capacity, self.latency, self.gap, self.shared)


class LevelsModelForm(Form):
    """Levels of a memory model."""

    model: FileName
    """The file, which `apportion calibrate memory` wrote."""
    shared: list[Name] = Field(default=[])
    """Levels that the node's PEs share, besides `RAM` and those that the system reported as shared."""

    def levels(self, named: NamedFiles) -> Levels:
        """The levels of the file."""
        levels = named.memory(self.model)[1]
        names = [level.name for level in levels]
        for name in self.shared:
            if name not in names:
                raise ScenarioError(f"shared: there is no level {name!r}; take {', '.join(names)}{meant(name, names)}")
        return tuple(replace(level, shared=level.shared or level.name in self.shared) for level in levels)


class SwapForm(Form):
    """Swap with its times."""

    size: Size | None = None
    """Bytes; without end if not said."""
    latency: Latency
    """Time until a page is there."""
    gap: Latency
    """Time of each further word."""

    def times(self) -> SwapTimes:
        """Its times."""
        return SwapTimes(self.latency, self.gap)


def level_data(level: MemoryLevel) -> Data:
    """A memory level as a file lists it."""
    capacity = {} if math.isinf(level.capacity_bytes) else {"capacity": write_size(level.capacity_bytes)}
    times = {"latency": write_duration(level.latency_s), "gap": write_duration(level.gap_s), "shared": level.shared}
    return {"name": level.name} | capacity | times


class MemoryUseForm(Form):
    """How a kernel uses memory (Apex-MAP)."""

    accesses_per_unit: Annotated[float, Field(ge=0)]
    """Words per unit of volume."""
    alpha: Annotated[float, Field(gt=0, le=1)]
    """1: every place as likely as any other; towards 0: the same places again."""
    run_words: Annotated[float, Field(ge=1)] = 1.0
    """L, consecutive words of one access."""
    footprint_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The part of what a process holds that these accesses go through."""
    written_per_unit: Annotated[float, Field(ge=0)] = 0.0
    """Words written without being read, each of which is two of the accesses: its line is fetched before and written
    back later. Looked at where a memory model says what swept words take."""

    def use(self) -> MemoryUse:
        """The use that it says."""
        return MemoryUse(**self.model_dump())


@dataclass(frozen=True)
class KnownMemory:
    """Levels of a node, and what a model says beyond them."""

    levels: Levels
    model: "MemoryModel | None" = None
    """The model that they are from, if they are from one."""
    now: Levels = ()
    """The levels there, which the command line may have set in place of these."""

    def beyond_levels(self, use: MemoryUse) -> str:
        """What of the model is used for these accesses in addition to its levels; empty for nothing."""
        if self.model is None or not self.model.knows_more(use):
            return ""
        return "sweeps as measured by vector loops" if self.model.knows_sweeps(use) else "with the model's correction"


def level_differences(before: Levels, after: Levels) -> list[str]:
    """What differs between two lists of levels and matters to a process alone."""
    if len(before) != len(after):
        return [f"{len(after)} levels in place of {len(before)}"]
    lines = []
    for old, new in zip(before, after, strict=True):
        if old.capacity_bytes != new.capacity_bytes:
            sizes = [units.show_size(level.capacity_bytes, 4) for level in (new, old)]
            lines.append(f"{new.name}: capacity {sizes[0]} in place of {sizes[1]}")
        for name, now, then in (("latency", new.latency_s, old.latency_s), ("gap", new.gap_s, old.gap_s)):
            if now != then:
                lines.append(f"{new.name}: {name} {units.show_duration(now)} in place of {units.show_duration(then)}")
    return lines


class PredictionForm(Form):
    """A speed that nobody measured: it follows from the node's memory levels."""

    flop_rate: Speed
    """The speed with all data in the nearest level, such as `4Gflop/s`."""
    memory: MemoryUseForm | None = None
    """How the kernel uses memory; known of `triad` and `matmul`."""
    half_width: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Half the width of the band, as a share of its middle."""

    def speed(self, known: KnownMemory, *, kernel: str, pes: str) -> tuple[SpeedBand, str]:
        """A band that nobody measured, and the line that says so."""
        use = KERNEL_USES.get(kernel) if self.memory is None else self.memory.use()
        if use is None:
            raise ScenarioError(f"predicted: memory is missing; add it (it is known of {', '.join(KERNEL_USES)})")
        beyond, model = known.beyond_levels(use), known.model if known.beyond_levels(use) else None
        here, there = (resident_levels(levels) for levels in (known.now, known.now if model is None else known.levels))
        band = predicted_band(there, use, flop_rate=self.flop_rate, half_width=self.half_width, model=model)
        if tuple(level_differences(there, here)):
            band = rescaled(band, use, measured=there, changed=here, model=model).band
        said = (
            f"speed of {kernel} on {pes}: predicted from memory levels and {units.show_rate(self.flop_rate, 'units/s')}"
        )
        said += f" ({beyond})" if beyond else ""
        return band, f"{said}, not measured: a band of +-{self.half_width:.0%}"


class PredictedForm(Form):
    """A predicted speed."""

    predicted: PredictionForm
    """What it is predicted from."""

"""Memory levels of a node, and the speeds that follow from them: predicted ones, and measured ones on other levels."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.base import units
from simulator.base.errors import ScenarioError, meant
from simulator.models.memory.levels import SWAP, WORD_BYTES, MemoryLevel, MemoryUse, SwapTimes, resident_levels
from simulator.models.neighbours import KernelUses
from simulator.models.predicted_speed import KERNEL_USES, cache_uses, predicted_band, rescaled
from simulator.models.speed import SpeedBand
from simulator.scenario_file.dump import Data, level_data
from simulator.scenario_file.forms import ApplicationForm, NodesForm, ScenarioForm
from simulator.scenario_file.named_files import NamedFiles
from simulator.scenario_file.node_forms import LevelsModelForm, NodeForm, PredictionForm, SwapForm
from simulator.scenario_file.scenario import Extrapolation
from simulator.scenario_file.yaml_text import Document

if TYPE_CHECKING:
    from simulator.models.memory.model import MemoryModel

Levels = tuple[MemoryLevel, ...]


def levels_of(form: NodeForm, document: Document, named: NamedFiles, *, here: tuple[str | int, ...]) -> Levels:
    """Memory levels, the nearest first; only the last one has no limit."""
    if isinstance(form.levels, LevelsModelForm):
        with document.at(*here, "levels"):
            return _levels_of_model(form.levels, named)
    last = len(form.levels) - 1
    for number, level in enumerate(form.levels):
        with document.at(*here, "levels", number):
            if (level.capacity is None) != (number == last):
                where = "the last level" if number == last else "a level before the last"
                allowed = "none" if number == last else "one"
                raise ScenarioError(f"capacity: {level.capacity or 'none'} found for {where}, {allowed} allowed")
    levels = tuple(
        MemoryLevel(
            level.name, math.inf if level.capacity is None else level.capacity, level.latency, level.gap, level.shared
        )
        for level in form.levels
    )
    if levels and levels[-1].name == SWAP:
        _check_swap_level(form, levels, document, here=here)
    return levels


def _check_swap_level(form: NodeForm, levels: Levels, document: Document, *, here: tuple[str | int, ...]) -> None:
    """A capacity of RAM, and times of swap, stand in one place."""
    with document.at(*here, "levels", len(levels) - 1):
        if len(levels) == 1:
            raise ScenarioError("swap alone found, the level of RAM before it allowed")
    with document.at(*here, "swap"):
        if isinstance(form.swap, SwapForm):
            raise ScenarioError("latency and gap beside a level swap found, one of both allowed")
    with document.at(*here, "memory"):
        ram = levels[-2]
        if form.memory is not None and form.memory != ram.capacity_bytes:
            found = f"{form.memory} bytes beside {ram.capacity_bytes:.0f} of level {ram.name} found"
            raise ScenarioError(f"{found}, the same or no memory allowed where there is a level swap")


def _levels_of_model(form: LevelsModelForm, named: NamedFiles) -> Levels:
    levels = named.memory_levels(form.model)
    unknown = [name for name in form.shared if name not in {level.name for level in levels}]
    if unknown:
        known = [level.name for level in levels]
        close = meant(unknown[0], known)
        raise ScenarioError(f"shared: {unknown[0]!r} found, one of {', '.join(known)} allowed{close}")
    return tuple(
        MemoryLevel(
            level.name, level.capacity_bytes, level.latency_s, level.gap_s, level.shared or level.name in form.shared
        )
        for level in levels
    )


def known_of(form: NodeForm, levels: Levels, named: NamedFiles) -> "KnownMemory":
    """What is known of a node's memory: levels, and the model that they are from if any."""
    model = named.memory_model(form.levels.model) if isinstance(form.levels, LevelsModelForm) else None
    return KnownMemory(levels, model)


def written_out(form: LevelsModelForm, named: NamedFiles) -> list[Data]:
    """The levels of a model as a file would list them."""
    return [level_data(level) for level in _levels_of_model(form, named)]


def swap_of(form: NodeForm, document: Document, *, here: tuple[str | int, ...]) -> tuple[int | None, SwapTimes | None]:
    """Bytes of swap and its times, as far as they are said."""
    with document.at(*here, "swap"):
        if form.memory is None and form.swap:
            raise ScenarioError("without memory found, memory and swap or neither allowed")
    if isinstance(form.swap, SwapForm):
        return form.swap.size, SwapTimes(form.swap.latency, form.swap.gap)
    return form.swap, None


def use_of(form: ApplicationForm) -> MemoryUse | None:
    """How the application's kernel uses memory: as the file says, or as is known of a kernel of ours."""
    if form.memory is not None:
        return MemoryUse(**form.memory.model_dump())
    return KERNEL_USES.get(form.kernel) if form.model is None else None


@dataclass(frozen=True)
class KnownMemory:
    """Levels of a node, and what a model says beyond them."""

    levels: Levels
    model: "MemoryModel | None" = None
    """The model that they are from, if they are from one."""
    now: Levels = ()
    """The levels there, which the command line may have set in place of these."""

    def beyond_levels(self, use: MemoryUse) -> str:
        """What of the model is used for these accesses beside its levels; empty for nothing."""
        if self.model is None or not self.model.knows_more(use):
            return ""
        return "sweeps as measured by vector loops" if self.model.knows_sweeps(use) else "with the model's correction"


@dataclass(frozen=True)
class Measured:
    """What speeds were measured on, where the command line sets other levels."""

    memory: Mapping[int, KnownMemory]
    """Levels in the file by the place of a node's entry; only entries whose levels are set."""
    application: ApplicationForm


def measured_on(form: ScenarioForm, document: Document, changed: Document, named: NamedFiles) -> Measured:
    """The levels that a file's speeds were measured on."""
    if not isinstance(form.platform, NodesForm):
        return Measured({}, form.application)
    places = [("platform", "nodes", place, "levels") for place in range(len(form.platform.nodes))]
    touched = [place for place, field in enumerate(places) if changed.settings_at(field)]
    found = {}
    for place in touched:
        node = form.platform.nodes[place]
        found[place] = known_of(node, levels_of(node, document, named, here=("platform", "nodes", place)), named)
    return Measured(found, form.application)


def predicted_speed(form: PredictionForm, known: KnownMemory, *, kernel: str, pes: str) -> tuple[SpeedBand, str]:
    """A band that nobody measured, and the line that says so.

    Parameters
    ----------
    known
        Where other levels are set than those of its model, the band goes from these to them.

    Raises
    ------
    ScenarioError
        If there are no levels, or nothing is known of the kernel's accesses.
    """
    use = KERNEL_USES.get(kernel) if form.memory is None else MemoryUse(**form.memory.model_dump())
    if use is None:
        raise ScenarioError(f"predicted: memory: missing, known without it for {', '.join(KERNEL_USES)}")
    beyond, model = known.beyond_levels(use), known.model if known.beyond_levels(use) else None
    here, there = (resident_levels(levels) for levels in (known.now, known.now if model is None else known.levels))
    band = predicted_band(there, use, flop_rate=form.flop_rate, half_width=form.half_width, model=model)
    if tuple(_differences(there, here)):
        band = rescaled(band, use, measured=there, changed=here, model=model).band
    said = f"speed of {kernel} on {pes}: predicted from memory levels and {units.show_rate(form.flop_rate, 'units/s')}"
    said += f" ({beyond})" if beyond else ""
    return band, f"{said}, not measured: a band of +-{form.half_width:.0%}"


def uses_of_model(known: KnownMemory, application: ApplicationForm, band: SpeedBand | None) -> dict[str, KernelUses]:
    """What the application's kernel takes of shared caches by all that a model says; none where levels say it all."""
    use = use_of(application)
    if use is None or band is None or known.model is None or not known.model.knows_more(use):
        return {}
    here, there = resident_levels(known.now), resident_levels(known.levels)
    found = cache_uses(band, use, measured=there, changed=here, model=known.model)
    return {application.kernel: found} if found.demands else {}


def on_other_levels(
    band: SpeedBand, measured: KnownMemory, changed: Levels, use: MemoryUse | None, *, node: str, pes: str, kernel: str
) -> Extrapolation | None:
    """A measured band, taken to other levels by the memory model; None where they are the same.

    Raises
    ------
    ScenarioError
        If levels or the kernel's accesses are not known.
    """
    before, after = resident_levels(measured.levels), resident_levels(changed)
    differences = tuple(_differences(before, after))
    if not differences:
        return None
    if not before or not after:
        where = "none in the file found, those that it was measured on" if not before else "none found, at least one"
        raise ScenarioError(f"levels: {where} allowed: the speed of {kernel} on {pes} is taken from them to those set")
    if use is None:
        known = ", ".join(KERNEL_USES)
        needed = f"application.memory: missing, needed to take the speed of {kernel} on {pes} to other levels"
        raise ScenarioError(f"{needed}: accesses_per_unit, alpha, run_words allowed; known only of {known}")
    result = rescaled(band, use, measured=before, changed=after, model=measured.model)
    return Extrapolation(
        node=node,
        pes=pes,
        kernel=kernel,
        levels=differences,
        beyond_levels=measured.beyond_levels(use),
        lowest_factor=float(result.factors.min()),
        highest_factor=float(result.factors.max()),
        compute_part_s=result.compute_part_s,
        compute_part_cut_off=result.cut_off,
        memory_share=float(result.memory_shares.max()),
        measured_elements=(float(band.sizes[0]), float(band.sizes[-1])) if band.sizes.size > 1 else None,
        needed_elements=0.0,
        band=result.band,
    )


def _differences(before: Levels, after: Levels) -> list[str]:
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


def told(found: Extrapolation) -> list[str]:
    """Lines that say how far a rescaled speed goes beyond what was measured."""
    factors = f"{found.lowest_factor:.3g} to {found.highest_factor:.3g}"
    head, share = f"speed of {found.kernel} on {found.pes}:", f"up to {found.memory_share:.0%} of the time in memory"
    changed = "; ".join(found.levels)
    model = "the memory model" + (f" ({found.beyond_levels})" if found.beyond_levels else "")
    lines = [f"{head} not measured with {changed}: the measured one times {factors} by {model}, {share}"]
    if found.compute_part_cut_off:
        lines.append(f"{head} by the memory model its accesses take longer than was measured in all: none is computing")
    if found.measured_elements is None:
        lines.append(f"{head} one speed for all sizes was given, not a measured band")
    elif found.needed_elements > found.measured_elements[1]:
        size = units.show_size(WORD_BYTES * found.needed_elements)
        beyond = found.needed_elements / found.measured_elements[1]
        lines.append(f"{head} {size} of data needed, {beyond:.3g} times the largest measured: constant beyond that")
    return lines

"""Measured speeds taken to memory levels that the command line sets, and how far that goes."""

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.base import units
from simulator.base.document import Document
from simulator.base.errors import ScenarioError
from simulator.models.memory.levels import WORD_BYTES, MemoryUse
from simulator.models.neighbours import KernelUses
from simulator.models.paging import resident_levels
from simulator.models.predicted_speed import KERNEL_USES, cache_uses, rescaled
from simulator.models.speed import SpeedBand
from simulator.platform.named_files import NamedFiles
from simulator.scenario_file.forms import ApplicationForm, NodesForm, ScenarioForm
from simulator.scenario_file.memory import KnownMemory, Levels, level_differences
from simulator.scenario_file.scenario import Extrapolation


def use_of(form: ApplicationForm) -> MemoryUse | None:
    """How the application's kernel uses memory: as the file says, or as is known of a kernel of ours."""
    if form.memory is not None:
        return form.memory.use()
    return KERNEL_USES.get(form.kernel) if form.model is None else None


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
        found[place] = node.known_memory(document, named, here=("platform", "nodes", place))
    return Measured(found, form.application)


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
    differences = tuple(level_differences(before, after))
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

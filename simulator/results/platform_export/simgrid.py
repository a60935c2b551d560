"""A scenario's platform as SimGrid's platform file (XML, version 4.1) and profiles, which `read_simgrid` reads back.

Speeds are those of the application's kernel, loads the share of a PE that is left to us. Numbers are written so that
reading them gives the same bits: B/s, s and flop/s with all their digits.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from xml.sax.saxutils import quoteattr

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.base.provenance import versions
from simulator.models.load import LoadTrace, availability
from simulator.platform.foreign.simgrid_routes import MAX_NODES
from simulator.platform.nodes import Load, Platform
from simulator.results.platform_export.losses import find_losses, flat
from simulator.results.platform_export.zones import Writing, fresh
from simulator.scenario_file.scenario import Draws, Scenario, draw

MAX_ELEMENTS = 900_000
"""Elements of a file, so that `read_simgrid` takes it."""
PLATFORM = "platform.xml"
HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
_SAME = (
    "network/model:CM02 network/TCP-gamma:0 network/latency-factor:1 network/bandwidth-factor:1 "
    "network/weight-S:0 network/crosstraffic:0"
)
"""SimGrid's options under which messages take latency plus bytes over bandwidth, as here."""


@dataclass(frozen=True)
class SimgridExport:
    """A platform as SimGrid's files."""

    files: Mapping[str, str]
    """Name -> text; the platform file is `platform.xml`."""
    notes: tuple[str, ...]
    """What the files do not say, or say under a condition."""
    read_back: str
    """The platform of a scenario file that reads them."""


def export_simgrid(
    scenario: Scenario, *, replication: int = 0, size: float | None = None, approximate: bool = False
) -> SimgridExport:
    """Write a scenario's platform in the form of SimGrid's files.

    Parameters
    ----------
    replication
        The one whose draws (where loads start, where in their bands speeds are) the files hold.
    size
        Problem size at which speeds are taken where they depend on it.
    approximate
        Leave out what SimGrid cannot express, and say so, in place of a refusal.

    Raises
    ------
    ScenarioError
        One line for each feature that SimGrid cannot express; or if there are too many routes, or a PE has no speed.
    """
    if size is not None and not 0 < size < np.inf:
        raise ScenarioError(f"size: {size:g} found, a finite number above 0 allowed")
    if replication < 0:
        raise ScenarioError(f"replication: {replication} found, at least 0 allowed")
    losses = find_losses(scenario, size=size)
    refused = [
        f"platform: {what}: not in SimGrid; {f'approximate: {instead}' if instead else 'size: one needed'}"
        for what, instead in losses.lost
        if not (approximate and instead)
    ]
    if refused:
        raise ScenarioError(refused)
    draws = draw(replace(scenario, replications=1), first=replication)
    platform, network = scenario.platform, scenario.platform.network
    contention = "none" if network.contention == "none" else "fair"
    notes = [*(f"{what}: approximated: {instead}" for what, instead in losses.lost), *losses.notes]
    unlike = _unlike_latencies(platform)
    if unlike and contention == "fair":
        notes.append("routes of unlike latency: SimGrid shares a link in inverse proportion to latency, not evenly")
    named = _profile_names(platform)
    profiles = {
        named[pe.name]: profile_text(_share(pe.load, float(draws.load_starts_s[0, index]), pe.cores))
        for index, pe in enumerate(platform.pes)
        if pe.load is not None
    }
    hosts = [_host(scenario, index, draws, named, size=size) for index in range(len(platform.pes))]
    body = Writing(platform, contention, hosts, unlike=unlike).text()
    eager = f", eager: {network.eager_bytes}B" if network.eager_bytes else ""
    read_back = f"platform: {{simgrid: {PLATFORM}, contention: {contention}{eager}}}"
    comment = _comment(scenario, replication, [*notes, f"Read back with {read_back}"])
    text = f'{HEAD}{comment}<platform version="4.1">\n{body}</platform>\n'
    if text.count("<") > MAX_ELEMENTS:
        raise ScenarioError(f"platform: network: {text.count('<')} elements needed, at most {MAX_ELEMENTS} allowed")
    return SimgridExport({PLATFORM: text, **profiles}, tuple(notes), read_back)


def _comment(scenario: Scenario, replication: int, lines: Iterable[str]) -> str:
    """Where the file comes from; two hyphens end a comment in XML and are written apart."""
    inputs = [f"  {name} {digest}" for name, digest in scenario.inputs.items()]
    said = [
        f"Written by Apportion {versions()['apportion']} from seed {scenario.seed}, replication {replication}.",
        *(["Inputs:", *inputs] if inputs else []),
        f"Speeds are those of the kernel {scenario.application.kernel}, in its units of volume per second.",
        f"SimGrid's options that give messages the same times: {_SAME}",
        *lines,
    ]
    safe = [re.sub(r"-(?=-|$)", "- ", line) for line in said]
    return "<!-- " + "\n     ".join(safe) + "\n-->\n"


def _unlike_latencies(platform: Platform) -> bool:
    """Whether routes between nodes differ in latency (of a large platform those from and to its first node)."""
    count = len(platform.node_names)
    if count < 2 or platform.network.topology is None:
        return False
    if count <= MAX_NODES:
        first, second = np.triu_indices(count, 1)
        first, second = np.append(first, second), np.append(second, first)
    else:
        second = np.arange(1, count)
        first = np.zeros_like(second)
    try:
        latencies = platform.network.routes(first, second).latencies_s
    except ScenarioError:  # not all pairs have a route
        return True
    return bool(np.ptp(latencies) > 1e-12 * np.max(latencies))


def _profile_names(platform: Platform) -> dict[str, str]:
    """A file for each PE with a load: SimGrid 3.32 refuses one that two hosts name."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for pe in platform.pes:
        if pe.load is not None:
            stem = re.sub(r"[^A-Za-z0-9._-]", "_", pe.name).lstrip(".")[:100] or "host"
            found = fresh(stem.lower(), taken, "-")
            taken.add(found)
            names[pe.name] = f"{stem}{found[len(stem) :]}.profile"
    return names


def _host(scenario: Scenario, index: int, draws: Draws, profiles: Mapping[str, str], *, size: float | None) -> str:
    """The attributes of a host."""
    pe, kernel = scenario.platform.pes[index], scenario.application.kernel
    at = size if size is not None and not flat(pe, kernel) else float(pe.speed_of(kernel).sizes[0])
    speed = float(pe.speed_of(kernel).speed(at, position=draws.band_positions[0, index]))
    if not speed > 0:
        raise ScenarioError(f"platform: PE {pe.name}: speed: 0 at a size of {at:g} found, above 0 allowed")
    attributes = f'id={quoteattr(pe.name)} speed="{speed!r}f" core="{pe.cores}"'
    if pe.load is not None:
        attributes += f" speed_file={quoteattr(profiles[pe.name])}"
    return attributes


def _share(load: Load, start_s: float, cores: int) -> LoadTrace:
    """What a load leaves of each core to one process of ours, from where it starts."""
    trace = load.trace.starting_at(start_s) if start_s else load.trace
    if load.rule == "given":
        return trace
    return replace(trace, values=availability(trace.values, load.rule, cores=cores))


def profile_text(trace: LoadTrace) -> str:
    """A trace as SimGrid's profile: a line for each value, and when it starts again."""
    times = trace.times_s.tolist()
    lines = [f"{time!r} {value!r}" for time, value in zip(times, trace.values.tolist(), strict=True)]
    if trace.after_end == "cycle":
        pause = trace.end_s - times[-1]
        for candidate in (pause, np.nextafter(pause, 0.0), np.nextafter(pause, np.inf)):
            if times[-1] + float(candidate) == trace.end_s:
                pause = float(candidate)
                break
        lines.append(f"LOOPAFTER {pause!r}")
    return "\n".join(lines) + "\n"

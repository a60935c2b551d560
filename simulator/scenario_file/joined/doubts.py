"""What makes a platform joined from many calibrations doubtful: age, versions, kernels, machines, load."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from simulator.scenario_file.joined.documents import MachineFacts, age_days
from simulator.scenario_file.joined.inputs import CalibratedNode, Calibration, LinkFile

LARGEST_LOAD = 0.5
"""Mean runnable processes of others over the minute before a calibration above which it is doubted."""
COMPARED_VERSIONS = ("apportion", "numpy", "blas", "scipy", "numba", "python")


def doubts(
    nodes: Sequence[CalibratedNode], links: Sequence[LinkFile], *, now: datetime, most_days: float
) -> tuple[str, ...]:
    """One line for each reason to doubt, those of the models themselves first.

    Parameters
    ----------
    now
        With its time zone.
    most_days
        Age from which a calibration is called old, and a difference of ages too.
    """
    calibrations = [entry for node in nodes for entry in node.calibrations] + [link.calibration for link in links]
    return (
        *(line for node in nodes for line in node.warnings),
        *(line for link in links for line in link.warnings),
        *_ages(calibrations, now, most_days),
        *_versions(calibrations),
        *_kernels(nodes),
        *_machines(nodes),
        *_loads(calibrations),
        *_levels(nodes),
    )


def _ages(calibrations: Sequence[Calibration], now: datetime, most_days: float) -> Iterator[str]:
    ages = [(age, entry) for entry in calibrations if (age := age_days(entry.made.made, now)) is not None]
    for age, entry in ages:
        if age > most_days:
            yield f"{entry.source}: {entry.what} is {age:.0f} days old, more than {most_days:g}"
        elif age < -1:
            yield f"{entry.source}: {entry.what} is of a day to come: {entry.made.made}"
    undated = [entry.source for entry in calibrations if entry.made.made is None]
    if undated:
        yield f"{_some(undated)}: no date found, so the age is not known"
    if ages:
        (young, youngest), (old, oldest) = (pick(ages, key=lambda item: item[0]) for pick in (min, max))
        if old - young > most_days:
            between = f"{old - young:.0f} days lie between them, more than {most_days:g}"
            yield f"{oldest.source} and {youngest.source}: {between}"


def _versions(calibrations: Sequence[Calibration]) -> Iterator[str]:
    for name in COMPARED_VERSIONS:
        found: dict[str, list[str]] = {}
        for entry in calibrations:
            if name in entry.made.versions:
                found.setdefault(entry.made.versions[name], []).append(entry.source)
        if len(found) > 1:
            said = "; ".join(f"{version} in {_some(sources)}" for version, sources in found.items())
            yield f"different versions of {name}: {said}"


def _kernels(nodes: Sequence[CalibratedNode]) -> Iterator[str]:
    everywhere = set.intersection(*(set(node.speeds) for node in nodes)) if nodes else set()
    for kernel in dict.fromkeys(kernel for node in nodes for kernel in node.speeds):
        if kernel not in everywhere:
            having = [node.source for node in nodes if kernel in node.speeds]
            lacking = [node.source for node in nodes if kernel not in node.speeds]
            yield f"different kernels: {kernel} was measured in {_some(having)}, not in {_some(lacking)}"


def _machines(nodes: Sequence[CalibratedNode]) -> Iterator[str]:
    """Unlike machines under one host's name, and models of several machines in one node."""
    by_host: dict[str, dict[tuple[object, ...], str]] = {}
    for node in nodes:
        for entry in node.calibrations:
            machine = entry.made.machine
            if machine is None:
                continue
            if machine.host:
                by_host.setdefault(machine.host, {}).setdefault(machine.identity, entry.source)
            if (other := _other_machine(node, machine)) is not None:
                yield f"{entry.source}: {entry.what} was measured on another machine than its node: {other}"
    for host, found in by_host.items():
        if len(found) > 1:
            said = "; ".join(
                f"{source} ({', '.join(str(part) for part in identity)})" for identity, source in found.items()
            )
            yield f"different machines under the name {host}: {said}"


def _other_machine(node: CalibratedNode, machine: MachineFacts) -> str | None:
    if node.host and machine.host and machine.host != node.host:
        return f"{machine.host}, not {node.host}"
    if node.cpu_model and machine.cpu_model and machine.cpu_model != node.cpu_model:
        return f"{machine.cpu_model}, not {node.cpu_model}"
    return None


def _loads(calibrations: Sequence[Calibration]) -> Iterator[str]:
    for entry in calibrations:
        load = entry.made.machine.load_average[:1] if entry.made.machine is not None else []
        if load and load[0] > LARGEST_LOAD:
            yield f"{entry.source}: {entry.what} was measured under load: {load[0]:.2f} in the minute before"


def _levels(nodes: Sequence[CalibratedNode]) -> Iterator[str]:
    having = [node.source for node in nodes if node.levels]
    if having and len(having) < len(nodes):
        yield f"memory levels are known of {_some(having)} only"


def _some(sources: Sequence[str]) -> str:
    """Up to three names, and how many more."""
    unique = list(dict.fromkeys(sources))
    rest = f" and {len(unique) - 3} more" if len(unique) > 3 else ""
    return f"{', '.join(unique[:3])}{rest}"

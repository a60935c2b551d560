"""From a platform file to a construction plan."""

from collections.abc import Mapping

from advisor.advise.process_counts.configurations import check_sizes
from advisor.advise.process_counts.construction import Wishes, make_construction_plan
from simulator import Platform, ScenarioError, formula
from simulator.calibration import ConstructionPlan, CostGuess, kinds_of

WORK = "2/3*N**3"
"""Units of volume of an LU factorisation, HPL's work."""
_MESSAGE_BYTES = 2**20
_LATENCY_S, _BYTE_S = 2e-6, 2e-10
"""Of messages inside a node, where nothing is said."""


def plan_construction(
    platform: Platform,
    wishes: Wishes,
    *,
    most: Mapping[str, int] | None = None,
    work: str = WORK,
    kernel: str | None = None,
) -> ConstructionPlan:
    """Plan the runs that a process-count model needs.

    Parameters
    ----------
    most
        Most processes per PE, by kind.
    work
        Units of volume of a run, a formula over N; divided by the speeds it guesses what runs cost.
    kernel
        The kernel whose speeds are taken.

    Raises
    ------
    ScenarioError
        If a kind is unknown, sizes are too few or too large for every configuration, or the budget is too small.
    """
    middle = sorted(wishes.sizes)[len(wishes.sizes) // 2]
    kinds = kinds_of(platform, kernel=kernel, size=middle**2, most=most or {})
    named = sorted({name for pe in platform.pes for name in pe.speeds})
    if kernel is not None and kernel not in named:
        raise ScenarioError(f"--kernel: {kernel!r} found, {', '.join(named) or 'none, as no speed is said,'} allowed")
    memory = {node.name: node.memory_bytes for node in platform.nodes if node.memory_bytes is not None}
    for field, sizes in (("--sizes", wishes.sizes), ("--at", wishes.at)):
        check_sizes(kinds, memory, sizes, field=field)
    latency_s, byte_s = _messages(platform)
    volumes = formula.parse(work, names=("N",), place="--work")
    for size in (*wishes.sizes, *wishes.at):
        if (volume := float(volumes.evaluate({"N": size}))) <= 0:
            raise ScenarioError(f"--work: {work!r} found, which is {volume:g} at N = {size:g}, above 0 allowed")
    guess = CostGuess(kinds, volumes, latency_s, byte_s)
    return make_construction_plan(guess, wishes, memory_bytes=memory)


def _messages(platform: Platform) -> tuple[float, float]:
    """Latency and seconds per byte between the first two PEs, on different nodes where there are several."""
    other = next((number for number, node in enumerate(platform.node_of) if node != platform.node_of[0]), 1)
    if len(platform.pes) == 1:
        return _LATENCY_S, _BYTE_S
    try:
        short, long = platform.message_s(0, other, [1.0, float(_MESSAGE_BYTES)])
    except ScenarioError:  # nothing said of messages inside the node
        return _LATENCY_S, _BYTE_S
    return float(short), max(0.0, float(long - short) / _MESSAGE_BYTES)

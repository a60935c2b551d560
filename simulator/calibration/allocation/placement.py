"""Where the processes of a run go: ranks in order of kinds and PEs, those of one PE one after another."""

from dataclasses import dataclass

from simulator.base.errors import ScenarioError
from simulator.calibration.allocation.plan import Allocation, PEKind, PlacedPE


@dataclass(frozen=True)
class PlacedRank:
    """One process of a run."""

    kind: str
    pe: PlacedPE


def placed_ranks(kinds: tuple[PEKind, ...], allocation: Allocation) -> tuple[PlacedRank, ...]:
    """The ranks of an allocation; of each kind the first PEs take part."""
    return tuple(
        PlacedRank(kind.name, pe)
        for kind, (pes, procs) in zip(kinds, allocation, strict=True)
        for pe in kind.pes[:pes]
        for _ in range(procs)
    )


def check_processors(kinds: tuple[PEKind, ...], allowed: tuple[int, ...]) -> None:
    """Refuse kinds whose PEs are no processors of this machine, or whose load busy loops cannot make.

    Raises
    ------
    ScenarioError
        One line per fault.
    """
    faults, used = [], set()
    for kind in kinds:
        for pe in kind.pes:
            if pe.cpu is None or pe.cpu not in allowed:
                said = "no cpu" if pe.cpu is None else f"cpu {pe.cpu}"
                numbers = ", ".join(map(str, allowed))
                faults.append(f"--local: PE {pe.name}: {said} found, one of this machine's ({numbers}) allowed")
            elif pe.cpu in used:
                faults.append(f"--local: PE {pe.name}: cpu {pe.cpu} found twice, once allowed")
            used.add(pe.cpu)
        if not kind.steady:
            faults.append(f"--local: kind {kind.name}: a load that changes found, a whole number (rule fair) allowed")
    if faults:
        raise ScenarioError(faults)

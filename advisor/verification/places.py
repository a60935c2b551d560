"""Which processors of this machine the ranks of a configuration, and the loads, run on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.advise.export import ranks_of
from simulator import Configuration, Machine, Scenario, some_names


@dataclass(frozen=True)
class Seat:
    """Where one rank runs and what it does."""

    pe: int
    first: int
    """Its first unit of work."""
    units: int
    cpus: tuple[int, ...]
    """The logical processors that it may use."""
    alone: bool
    """Whether no other rank may use them."""


@dataclass(frozen=True)
class Places:
    """The cores of each PE of a scenario on this machine."""

    scenario: Scenario
    cpus: tuple[tuple[int, ...], ...]
    """Logical processors of each PE, one per core."""

    def seats(self, configuration: Configuration) -> tuple[Seat, ...]:
        """One per rank, in order: processes without units are left out, but for a master.

        Each rank has a core of its own as long as its PE has one for each, and ranks in turn share cores where as many
        come to each of them. Otherwise ranks share all cores of the PE, by the system's scheduling, as the simulated PE
        does; so they do where a PE of several cores has a load.
        """
        layout = ranks_of(self.scenario, configuration)
        number = {pe.name: place for place, pe in enumerate(self.scenario.platform.pes)}
        busy = Counter(rank.pe for rank in layout.ranks)
        seats = []
        for rank, turn in zip(layout.ranks, layout.turns, strict=True):
            place, count = number[rank.pe], busy[rank.pe]
            loaded = self.scenario.platform.pes[place].load is not None
            shared = rank.cores > 1 and (loaded or (count > rank.cores and count % rank.cores))
            own = self.cpus[place] if shared else (self.cpus[place][turn],)
            alone = count <= rank.cores and not (shared and count > 1)
            seats.append(Seat(place, rank.first, rank.units, own, alone))
        return tuple(seats)

    def most_ranks(self, configurations: Sequence[Configuration]) -> int:
        """Ranks of the configuration that has most."""
        return max(len(self.seats(configuration)) for configuration in configurations)


def places_on(machine: Machine, scenario: Scenario) -> tuple[Places, list[str]]:
    """The cores of each PE on a machine, and one line per fault.

    A PE begins with the core that its `cpu` stands for, and goes on with those that follow it if it has several. Where
    no PE of a platform of one node says a `cpu`, they take the machine's cores in order.
    """
    here = [core.cpu for core in machine.cores]
    listed, pes = ", ".join(map(str, here)), scenario.platform.pes
    begins = [here.index(pe.cpu) if pe.cpu in here else None for pe in pes]
    if len(scenario.platform.node_names) == 1 and all(pe.cpu is None for pe in pes):
        begins = [sum(one.cores for one in pes[:place]) for place in range(len(pes))]
    found: list[tuple[int, ...]] = []
    silent = [pe.name for pe, begin in zip(pes, begins, strict=True) if begin is None and pe.cpu is None]
    who = f"PEs {some_names(silent)} have" if silent[1:] else f"PE {silent[0]} has" if silent else ""
    faults = [f"platform: {who} no cpu of this machine; say `cpu:` with each PE"] if silent else []
    faults += [f"platform: PE {pe.name} is a GPU, and verify runs on cores only" for pe in pes if pe.gpu is not None]
    owners: dict[int, str] = {}
    for pe, begin in zip(pes, begins, strict=True):
        where = f"platform: PE {pe.name}"
        if begin is None:
            said = f"says cpu {pe.cpu}, which this machine does not have for us"
            faults += [] if pe.cpu is None else [f"{where} {said}; really running it needs one of {listed}"]
            continue
        own = tuple(here[begin : begin + pe.cores])
        if len(own) < pe.cores:
            count = f"{pe.cores} cores" if pe.cores > 1 else "a core"
            from_cpu = "" if pe.cpu is None else f" from cpu {pe.cpu} on"
            faults.append(
                f"{where} needs {count}{from_cpu}, and this machine has no more than the cores {listed} for us"
            )
        faults += [
            f"{where} has cpu {cpu}, which PE {owners[cpu]} has too; say another `cpu` or fewer `cores`"
            for cpu in own
            if owners.setdefault(cpu, pe.name) != pe.name
        ]
        found.append(own)
    return Places(scenario, tuple(found)), faults

"""What the processes of a configuration ask of the domains that they share, as the engines reckon it."""

import numpy as np

from simulator.engines.costs.sharing import all_domains
from simulator.engines.costs.uses import CacheUse, Uses, mixes
from simulator.platform.sharing import Meeting, taken_by_loads
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Scenario


def domain_meetings(scenario: Scenario, configuration: Configuration) -> tuple[Meeting, ...]:
    """The domains, and shared levels of nodes, on whose PEs processes of a configuration compute, all at once.

    Uses are the nodes' `uses`, else what follows from how the kernel uses memory; what a process keeps in a cache is
    reckoned with all of the nearer ones.

    Raises
    ------
    ScenarioError
        If the application cannot run so.
    """
    domains = all_domains(scenario)
    if not domains:
        return ()
    columns, placement = assemble(scenario.program(configuration)), configuration.placement
    uses, mixed = Uses(scenario, columns), mixes(columns)
    on: dict[int, list[int]] = {}
    for process, pe in enumerate(placement):
        if mixed[process].computes:
            on.setdefault(pe, []).append(process)
    found = []
    for domain in domains:
        here = tuple(process for pe in domain.pes for process in on.get(pe, ()))
        if not here:
            continue
        each = [uses.of(process, placement[process], domain, mixed[process]) for process in here]
        asked = sum(use.demand for use in each) + taken_by_loads(scenario.platform, domain)
        kept = np.ones(len(here))
        for place, use in enumerate(each):
            others = np.array([max(0.0, asked - use.demand)])
            if isinstance(use, CacheUse):
                kept[place] = use.kept(others, {})[0]
            else:
                kept[place] = domain.law.kept(use, others)[0]
        found.append(Meeting(domain, here, float(asked), kept))
    return tuple(found)

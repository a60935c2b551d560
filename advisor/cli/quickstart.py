"""`apportion quickstart`: the whole loop on this machine."""

import sys
from pathlib import Path

import simulator
from advisor.cli.declared import option
from advisor.cli.options import HOUR_S, Seed, folder, read_budget
from advisor.cli.outputs import finish
from advisor.cli.progress import of_time
from simulator import files

LEAST_BUDGET_S = 10.0


def quickstart(
    budget: str = option("About how long it may take, with a unit: 60s, 2min.", default="60s"),
    output: Path = folder("report, scenario and measurements", default=Path("out/quickstart")),
    seed: Seed = 1,
) -> None:
    """Measure this machine, model it, simulate, advise, and check the advice by a real run.

    Example: apportion quickstart --budget 60s -o out/quickstart
    """
    from advisor.quickstart import quickstart as whole_loop
    from advisor.report.cluster import cluster_page

    budget_s = read_budget(budget, least_s=LEAST_BUDGET_S, most_s=HOUR_S)
    files.make_folder(output)
    machine = simulator.this_machine()
    measured = f"; all {machine.pe_count} PEs are measured: one of each kind of core alone, then all at once"
    print(f"{machine.summary()}{measured if machine.pe_count > 1 else ''}", file=sys.stderr)
    result = whole_loop(output, budget_s=budget_s, seed=seed, on_progress=of_time(budget_s))
    finish(result, cluster_page(result), output)

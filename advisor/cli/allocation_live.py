"""`apportion reproduce allocation --live`: the allocation paper's experiment in small, on this machine."""

import sys
from collections.abc import Sequence
from pathlib import Path

import simulator
from advisor.cli.options import print_json
from advisor.cli.progress import progress_lines
from simulator import Interrupted, ScenarioError, units

BUDGET = "20min"
LEAST_BUDGET_S = 30.0


def run(
    paper: str,
    program: tuple[str | None, Sequence[Path] | None, str | None],
    how: tuple[str | None, Path | None],
    *,
    seed: int,
    json_output: bool,
) -> None:
    """Run the experiment and show it; every run is kept in the folder, and it goes on there.

    Parameters
    ----------
    program
        Command template, the files written before each run, and the file that times are read from.
    how
        Budget and folder.
    """
    from advisor.reproduce import allocation_live

    if paper != "allocation":
        raise ScenarioError(f"--live goes with allocation, not with {paper}")
    simulator.require_linux()
    budget_s = units.parse_duration(how[0] or BUDGET, field="--budget")
    if budget_s < LEAST_BUDGET_S:
        raise ScenarioError(f"--budget: {how[0]!r} is too little for the experiment; allow {LEAST_BUDGET_S:g}s or more")
    folder = how[1] or Path("out") / "allocation"
    command, before, read = program
    chosen = allocation_live.LiveProgram(command, tuple(before or ()), read)
    about = f"about {units.show_duration(budget_s)} of runs, kept in {folder}"
    print(f"{simulator.this_machine().summary()}; {about}", file=sys.stderr)
    try:
        with progress_lines(budget_s) as on_progress:
            found = allocation_live.live(folder, budget_s=budget_s, seed=seed, program=chosen, on_progress=on_progress)
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; {folder} keeps every run made, the same command goes on from there") from error
    if json_output:
        print_json(found)
    else:
        print(allocation_live.text(found))

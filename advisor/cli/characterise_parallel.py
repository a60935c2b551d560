"""`apportion characterise KERNEL --parallel`: a kernel under its template, simulated and really run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.cli.options import print_json

if TYPE_CHECKING:
    from simulator.models import HardwareModel


@dataclass(frozen=True)
class Asked:
    """What the command line says of a parallel study."""

    methods: Sequence[str]
    processes: str | None
    sizes: Sequence[int]
    link: Path | None


def run(
    name: str,
    asked: Asked,
    hardware: "Callable[[], HardwareModel]",
    *,
    budget_s: float,
    seed: int,
    as_json: bool,
) -> None:
    """Check what was asked before anything is measured, then foretell, run and tell."""
    from advisor.cli.progress import progress_lines
    from advisor.reproduce import parallel_study
    from simulator import ScenarioError

    if len(asked.sizes) > 1:
        raise ScenarioError(f"--sizes: {','.join(map(str, asked.sizes))} found, one size allowed with --parallel")
    n = asked.sizes[0] if asked.sizes else None
    plan = parallel_study.Plan.of([name], processes=_counts(asked.processes), n=n, link=asked.link)
    with progress_lines(budget_s + 10) as on_progress:
        found = parallel_study.study(
            plan, hardware(), methods=asked.methods, budget_s=budget_s, seed=seed, on_progress=on_progress
        )
    if as_json:
        print_json({"command": "characterise", "parallel": True} | found)
        return
    print("\n".join(parallel_study.lines(found)))


def _counts(text: str | None) -> list[int] | None:
    from simulator import ScenarioError, units

    if text is None:
        return None
    found = [units.to_whole(part.strip()) for part in text.split(",")]
    if None in found:
        raise ScenarioError(f"--processes: {text!r} found, whole numbers above 0 with commas between allowed")
    return [number for number in found if number is not None]

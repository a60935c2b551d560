"""What a memory model is worth: speeds of triad and of the naive matrix product, foretold by it and really measured.

Both kernels run on the PE of the sweep, from the first-level cache out to twice the last one, as far as the time goes.
The speed at the fastest measured size is taken as known; all others are foretold from the memory model.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulator import plots, this_machine
from simulator.calibration import MeasuredMemory, RealSource, foretell_speed, measure_across, save_memory_model

SHARE = 0.25
"""Part of the whole budget that these runs take."""
MEMORY = "memory.json"
PAST_CACHE = {"triad": 2.0, "matmul": 5.0}
"""Largest problem size in last-level caches; of the matrix product a third is accessed again and again."""
SIZES = 16
"""Problem sizes measured of each kernel, at equal ratios."""
_CACHE_BYTES = 32 * 2**20
_WORD_BYTES = 8
_HEAD = f"{'kernel':<10}{'sizes':>6}{'model':>10}{'max':>8}{'levels':>10}{'max':>8}  largest size"


def measure(
    measured: MeasuredMemory, folder: Path, *, budget_s: float, cpu: int, on_progress: Callable[[str, float], None]
) -> None:
    """Write the memory model, and a speed model of each kernel, into the folder.

    Raises
    ------
    CalibrationError
        If a run fails; points finished before are kept in the folder.
    """
    save_memory_model(measured.judged.fit, folder / MEMORY)
    machine = this_machine()
    cache = (machine.last_level_cache_bytes or _CACHE_BYTES) / _WORD_BYTES
    for number, (kernel, caches) in enumerate(PAST_CACHE.items()):
        on_progress(f"speed of {kernel}", 1 - SHARE + SHARE * number / len(PAST_CACHE))
        cap_s, points = budget_s / len(PAST_CACHE) / SIZES, folder / f"{kernel}.points.json"
        with RealSource.of_kernel(kernel, cpu=cpu, time_cap_s=cap_s, max_size=caches * cache, store=points) as source:
            measure_across(source, folder / f"{kernel}.json", kernel=kernel, count=SIZES)


def foretold(folder: Path) -> dict[str, Any]:
    """Both kernels' predictions, each with a figure in the folder; empty where nothing was measured."""
    found = {}
    for kernel in PAST_CACHE:
        if (folder / f"{kernel}.json").exists():
            one = foretell_speed(folder / f"{kernel}.json", folder / MEMORY, kernel=kernel)
            path = folder / f"predicted-{kernel}.svg"
            plots.plot_predicted_speed(one, path)
            found[kernel] = one.to_dict() | {"figure": str(path)}
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The mean errors for the terminal."""
    if not found:
        return []
    text = ["speed foretold by the whole model and by its levels alone, mean and largest relative error:", _HEAD]
    for kernel, one in found.items():
        model, levels = one["errors"]["model"], one["errors"]["levels"]
        text.append(
            f"{kernel:<10}{len(one['points']):>6}{model['mean']:>10.1%}{model['max']:>8.1%}{levels['mean']:>10.1%}"
            f"{levels['max']:>8.1%}  {one['points'][-1]['size_elements']:.3g} elements"
        )
    text += [f"figure: {one['figure']}" for one in found.values()]
    return text + [f"warning: {kernel}: {line}" for kernel, one in found.items() for line in one["warnings"]]

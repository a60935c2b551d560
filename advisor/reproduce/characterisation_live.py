"""Message times for the characterisation paper, measured here: a chain of processes, and ping-pong over each medium."""

from collections.abc import Callable, Mapping
from importlib import util
from pathlib import Path

from simulator import files
from simulator.calibration import (
    LinkPlan,
    fit_network_table,
    measure_chain,
    measure_link_times,
    save_network_model,
)

SIZES = (
    100,
    200,
    400,
    700,
    1000,
    1400,
    2000,
    2800,
    3600,
    4096,
    4200,
    5000,
    6500,
    8192,
    10000,
    12288,
    14000,
    16384,
    20000,
)
"""The paper's range, 100 to 20000 bytes; around one packet and whole packets more of them."""
HOPS = tuple(range(1, 11))
PACKET_BYTES = 4096
MAX_BYTES = 2**20
MEDIA = {"unix": ("processes", "unix"), "pipe": ("processes", "pipe"), "tcp": ("tcp", None), "mpi": ("mpi", None)}
CHAIN_SHARE = 0.5
"""Of the budget; the rest is for the media in equal parts."""


def measure(
    folder: Path, *, budget_s: float, seed: int, on_progress: Callable[[str, float], None]
) -> tuple[dict[str, Path], list[str]]:
    """Measure, write a table per medium into the folder, and say what to know of it.

    Samples are kept there too: started again, it adds to them.

    Raises
    ------
    ScenarioError
        If the budget is too small, or there is one PE only.
    """
    files.make_folder(folder)
    media = [name for name in MEDIA if name != "mpi" or util.find_spec("mpi4py") is not None]
    part_s = (1 - CHAIN_SHARE) * budget_s / len(media)
    chain = measure_chain(
        SIZES,
        HOPS,
        packet_bytes=PACKET_BYTES,
        budget_s=CHAIN_SHARE * budget_s,
        seed=seed,
        store=folder / "chain.points.json",
        on_progress=lambda stage, share: on_progress(f"chain, {stage} hops", CHAIN_SHARE * min(share, 1.0)),
    )
    rows, warnings = {"chain": chain.rows()}, list(chain.warnings)
    for number, name in enumerate(media):
        between, medium = MEDIA[name]
        plan = LinkPlan(between=between, medium=medium, max_bytes=MAX_BYTES, budget_s=part_s, seed=seed)
        before = CHAIN_SHARE + (1 - CHAIN_SHARE) * number / len(media)

        def show(stage: str, share: float, name: str = name, before: float = before) -> None:
            on_progress(f"{name}, {stage}", before + min(share, 1.0) * (1 - CHAIN_SHARE) / len(media))

        measured = measure_link_times(plan, store=folder / f"{name}.points.json", on_progress=show)
        rows[name] = measured.rows()
        warnings += [f"{name}: {line}" for line in measured.warnings]
    return {name: _write(folder / f"{name}.csv", table) for name, table in rows.items()}, warnings


def link_model(folder: Path, tables: Mapping[str, Path]) -> Path:
    """Fit the times of Unix sockets and write their network model into the folder; its path."""
    path = folder / "unix.network.json"
    save_network_model(fit_network_table(tables["unix"]), path)
    return path


def _write(path: Path, rows: list[tuple[int, int, float]]) -> Path:
    lines = "".join(f"{size},{hops},{time_s!r}\n" for size, hops, time_s in rows)
    files.write_text(path, f"bytes,hops,one_way_s\n{lines}")
    return path

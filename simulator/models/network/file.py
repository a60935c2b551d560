"""Network models from and to files: ping-pong times in a CSV, the fitted forms and the chosen model in JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.base.provenance import provenance
from simulator.base.shipped import locate
from simulator.base.tables import Table, as_table
from simulator.models.file import ModelFile, cell_faults, refuse, rows_of, write_model
from simulator.models.foreign import MESSAGES, read_as
from simulator.models.network import (
    CRITERION,
    NetworkFit,
    NetworkModel,
    NetworkPoints,
    PacketisedModel,
    fit_network,
    make_points,
)
from simulator.models.network.choice import FormEntry

TIMES = "one_way_s", "time_s"
"""Columns of seconds, the first that there is; copies to and from a GPU have the second."""
LINKS = "direction", "pinned"
"""Columns that tell links apart."""
WORDS = {("pinned", "0"): "pageable", ("pinned", "1"): "pinned"}


@dataclass(frozen=True)
class Jump:
    """What one packet more takes at once, over so many hops."""

    bytes: float
    hops: float
    jump_s: float


@dataclass(frozen=True, kw_only=True)
class NetworkFile(ModelFile):
    """What the file of a network model says."""

    FORMAT, KIND, WRITER = 2, "network", "apportion calibrate network"
    chosen: str = ""
    criterion: str = ""
    models: tuple[FormEntry, ...] = ()
    jump: tuple[Jump, ...] | None = None
    model: NetworkModel
    points: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    measured: Mapping[str, object] | None = None
    """How they were measured, where they were."""

    def __repr__(self) -> str:
        return f"NetworkFile({self.model!r})"

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    @classmethod
    def of_fit(
        cls,
        fit: NetworkFit,
        provenance: Mapping[str, Any],
        warnings: tuple[str, ...] = (),
        measured: Mapping[str, object] | None = None,
    ) -> "NetworkFile":
        """All forms fitted to message times, with where the times are from."""
        points = fit.points
        columns = {"bytes": points.rows_size_bytes, "hops": points.rows_hops, "one_way_s": points.rows_time_s}
        return cls(
            chosen=fit.chosen,
            criterion=CRITERION,
            models=tuple(form.entry for form in fit.forms),
            jump=_jump(fit),
            model=fit.model,
            points={name: tuple(column.tolist()) for name, column in columns.items()},
            measured=measured,
            warnings=(*fit.warnings, *warnings),
            provenance=provenance,
        )


def _jump(fit: NetworkFit) -> "tuple[Jump, ...] | None":
    """Equation 5 at one packet, for each distance: `-d*tau*h`."""
    fitted = fit.form("packetised").fitted
    if fitted is None or not isinstance(fitted.model, PacketisedModel):
        return None
    model = fitted.model
    return tuple(Jump(model.packet_bytes, float(hops), float(model.jump_s(hops))) for hops in fit.points.distances)


def read_network_table(path: str | Path, *, only: str | None = None) -> tuple[NetworkPoints, tuple[str, ...]]:
    """Message times, and what to know of them, of a CSV file `bytes,hops,one_way_s` or another program's output.

    Without `hops` all are of one hop. Copies to and from a GPU have `time_s`.

    `only`: which rows count, such as `direction=h2d,pinned=1`.
    """
    printed = read_as(path, MESSAGES)
    table = printed.table.only(only)
    if len(links := links_of(table)) > 1:
        raise ScenarioError(f"{path}: it has {len(links)} links; choose one: --only {next(iter(links.values()))}")
    name = next((name for name in TIMES if name in table.names), TIMES[0])
    size, hops = _sizes_and_hops(table)
    time = table.numbers(name)
    refuse(cell_faults(table, name, time, time <= 0, "give a time above 0 s"))
    return make_points(size, hops, time), printed.notes


def links_in(path: str | Path, *, only: str | None = None) -> dict[str, str]:
    """The links of a file by name, and what `only` is for each; see `read_network_table`."""
    return links_of(read_as(path, MESSAGES).table.only(only))


def links_of(table: Table) -> dict[str, str]:
    """The links of a table by name, such as `h2d-pinned`, and what `only` is for each."""
    said = [name for name in LINKS if name in table.names]
    found = dict.fromkeys(zip(*(table.text(name) for name in said), strict=True))
    return {
        "-".join(WORDS.get((name, value), value) for name, value in zip(said, values, strict=True)): ",".join(
            f"{name}={value}" for name, value in zip(said, values, strict=True)
        )
        for values in found
    }


def _sizes_and_hops(table: Table) -> tuple[Floats, Floats]:
    size = table.numbers("bytes")
    refuse(cell_faults(table, "bytes", size, (size < 0) | (size % 1 != 0), "give whole bytes, 0 or more"))
    if "hops" not in table.names:
        return size, np.ones_like(size)
    hops = table.numbers("hops")
    refuse(cell_faults(table, "hops", hops, (hops < 1) | (hops % 1 != 0), "give a whole number from 1 on"))
    return size, hops


def fit_network_table(path: str | Path, *, only: str | None = None, machine: Machine | None = None) -> NetworkFile:
    """Fit every form of message times to a recorded table, and choose one.

    Raises ScenarioError if the table cannot be used, or has too few sizes.

    `only`: which rows count, such as `direction=h2d,pinned=1`.
    `machine`: where they were measured, if that is known.
    """
    path = locate(path)
    points, notes = read_network_table(path, only=only)
    try:
        fit = fit_network(points)
    except ScenarioError as error:
        raise ScenarioError([f"{path}: bytes: {line}" for line in error.lines]) from None
    made = provenance(inputs={str(path): files.digest(files.read_bytes(path))}, machine=machine)
    return NetworkFile.of_fit(fit, made, notes)


save_network_model = write_model


def load_network_model(path: str | Path) -> NetworkFile:
    """Read a network model.

    Raises ScenarioError if the file is missing, no JSON, or no network model.
    """
    return NetworkFile.load(path)


def predict_messages(path: str | Path, at: Table | str | Path, *, level: float = 0.95) -> list[Data]:
    """Message times at the rows of a table or a CSV file (`bytes`, perhaps `hops`), in its order, in seconds.

    Raises ScenarioError if model or table cannot be used.
    """
    model = load_network_model(path).model
    size, hops = _sizes_and_hops(as_table(at))
    found = model.predict(size, hops, level=level)
    return rows_of(
        {
            "at": rows_of({"bytes": size, "hops": hops}),
            "mean": found.mean_s,
            "low": found.low_s,
            "high": found.high_s,
            "unit": ["s"] * size.size,
            "extrapolation": found.extrapolation,
        }
    )

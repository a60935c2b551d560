"""Network models from and to files: ping-pong times in a CSV, the fitted forms and the chosen model in JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.documents import FLAT, read
from simulator.base.errors import ScenarioError
from simulator.base.provenance import provenance
from simulator.base.shipped import locate
from simulator.base.tables import Table, as_table, read_table
from simulator.models.file import ModelFile, cell_faults, read_model, refuse, rows_of, write_model
from simulator.models.network import (
    CRITERION,
    NetworkFit,
    NetworkModel,
    NetworkPoints,
    PacketisedModel,
    PiecewiseModel,
    fit_network,
    make_points,
)
from simulator.models.network.message_cost import CostEntries, MessageCost

FORMAT, WRITER = 2, "apportion calibrate network"


@dataclass(frozen=True)
class CalibratedNetwork:
    """All forms fitted to message times, with where the times are from."""

    fit: NetworkFit
    provenance: dict[str, Any]
    warnings: tuple[str, ...] = ()
    measured: dict[str, Any] | None = None
    """How they were measured, where they were."""
    cost: MessageCost | None = None
    """What messages cost in CPU and memory, where that was measured."""

    def __repr__(self) -> str:
        return f"CalibratedNetwork({self.fit.model!r})"

    def _repr_html_(self) -> str:
        return self.fit.model._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: what a model file holds."""
        points = self.fit.points
        return {
            "format": FORMAT,
            "kind": "network",
            "chosen": self.fit.chosen,
            "criterion": CRITERION,
            "models": [form.to_dict() for form in self.fit.forms],
            "jump": _jump(self.fit),
            "breakpoints": _breakpoints(self.fit),
            "model": self.fit.model.to_dict(),
            "points": _columns(points),
            "measured": self.measured,
            **({} if self.cost is None else self.cost.to_dict()),
            "warnings": [*self.fit.warnings, *self.warnings],
            "provenance": self.provenance,
        }


def _columns(points: NetworkPoints) -> dict[str, list[float]]:
    return {
        "bytes": points.rows_size_bytes.tolist(),
        "hops": points.rows_hops.tolist(),
        "one_way_s": points.rows_time_s.tolist(),
    }


def _jump(fit: NetworkFit) -> list[dict[str, float]] | None:
    """Equation 5 at one packet, for each distance: `-d*tau*h`."""
    fitted = fit.form("packetised").fitted
    if fitted is None or not isinstance(fitted.model, PacketisedModel):
        return None
    return [
        {"bytes": fitted.model.packet_bytes, "hops": float(hops), "jump_s": float(fitted.model.jump_s(hops))}
        for hops in fit.points.distances
    ]


def _breakpoints(fit: NetworkFit) -> list[dict[str, float]]:
    """Where the lines of the piecewise form meet or jump: the data's eager and rendezvous limits."""
    fitted = fit.form("piecewise").fitted
    if fitted is None or not isinstance(fitted.model, PiecewiseModel):
        return []
    breaks, sizes = fitted.model.breaks_bytes, fit.points.sizes
    first = np.searchsorted(sizes, breaks, side="right")
    jumps = fitted.model.jumps_s(float(fit.points.distances[0]))
    return [
        {"bytes": float(at), "after_bytes": float(sizes[k - 1]), "before_bytes": float(sizes[k]), "jump_s": float(jump)}
        for at, k, jump in zip(breaks, first, jumps, strict=True)
    ]


def read_network_table(path: str | Path) -> NetworkPoints:
    """Message times of a CSV file `bytes,hops,one_way_s`; without `hops` all are of one hop.

    Raises ScenarioError if the table cannot be read or holds what no message has; one line per fault.
    """
    path = Path(path)
    table = read_table(path)
    size, hops = _sizes_and_hops(table)
    time = table.numbers("one_way_s")
    refuse(cell_faults(table, "one_way_s", time, time <= 0, "give a time above 0 s"))
    return make_points(size, hops, time)


def _sizes_and_hops(table: Table) -> tuple[Floats, Floats]:
    size = table.numbers("bytes")
    refuse(cell_faults(table, "bytes", size, (size < 0) | (size % 1 != 0), "give whole bytes, 0 or more"))
    if "hops" not in table.names:
        return size, np.ones_like(size)
    hops = table.numbers("hops")
    refuse(cell_faults(table, "hops", hops, (hops < 1) | (hops % 1 != 0), "give a whole number from 1 on"))
    return size, hops


def fit_network_table(path: str | Path) -> CalibratedNetwork:
    """Fit every form of message times to a recorded table, and choose one.

    Raises ScenarioError if the table cannot be used, or has too few sizes.
    """
    path = locate(path)
    points = read_network_table(path)
    try:
        fit = fit_network(points)
    except ScenarioError as error:
        raise ScenarioError([f"{path}: bytes: {line}" for line in error.lines]) from None
    return CalibratedNetwork(fit, provenance(inputs={str(path): files.digest(files.read_bytes(path))}))


@dataclass(frozen=True, kw_only=True)
class NetworkFile(ModelFile):
    """What the file of a network model says."""

    model: NetworkModel
    chosen: str = ""
    criterion: str = ""
    models: tuple[dict[str, Any], ...] = ()
    jump: tuple[dict[str, float], ...] | None = None
    breakpoints: tuple[dict[str, float], ...] = ()
    points: dict[str, tuple[float, ...]] = field(default_factory=dict)
    measured: dict[str, Any] | None = None
    costs: CostEntries = field(default_factory=CostEntries, metadata=FLAT)


save_network_model = write_model


def load_network_model(path: str | Path) -> tuple[NetworkModel, dict[str, Any]]:
    """Read a network model: the chosen one, and the whole document; see `read_model`."""
    found, document = read_model(path, "network", NetworkFile, writer=WRITER, newest=FORMAT)
    return found.model, document


def message_cost(document: Mapping[str, Any], path: str | Path) -> MessageCost | None:
    """What the messages of a network model's file cost; None where it does not say.

    Raises ScenarioError if the entries are no costs.
    """
    names = ("cpu", "memory_bytes_per_byte", "memory_from")
    try:
        return read(CostEntries, {name: document[name] for name in names if name in document}).cost
    except ScenarioError as error:
        raise ScenarioError([f"{path}: {line}; name a file that `{WRITER}` wrote" for line in error.lines]) from None


def predict_messages(path: str | Path, at: Table | str | Path, *, level: float = 0.95) -> list[dict[str, Any]]:
    """Message times at the rows of a table or a CSV file (`bytes`, perhaps `hops`), in its order, in seconds.

    Raises ScenarioError if model or table cannot be used.
    """
    model, _ = load_network_model(path)
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

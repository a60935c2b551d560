"""A band that a builder built: its points in order, what they cost, the steps, and the assumptions that failed."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from simulator.base import files, notebook
from simulator.calibration.bands.shape import ShapeCheck
from simulator.calibration.bands.source import TableError
from simulator.calibration.bench.measurement import Measurement
from simulator.models.speed import FORMAT, TOGETHER, Cut, SpeedBand, SpeedSurface


@dataclass(frozen=True)
class BuiltBand:
    """The result of `build`."""

    method: str
    band: SpeedBand
    points: tuple[Measurement, ...]
    """In the order in which they were measured."""
    cuts: tuple[Cut, ...]
    """Measured or defined cuts by size; the band may hold foretold ones besides."""
    experimental_s: float
    largest_reason: str
    """Why b is b, and what its cut is."""
    steps: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    """What the method takes for granted."""
    assumptions_violated: tuple[str, ...] = ()
    """Where that, or the shape that partitioning needs, does not hold."""
    unmeasured: tuple[str, ...] = ()
    """Those of the assumptions that foretell a range in which nothing was measured; warnings of the model's file."""
    doubts: tuple[str, ...] = ()
    """What the source says of points of which too little is known."""
    shape: tuple[ShapeCheck, ...] = ()
    """What the paper assumes of the shape, and whether the cuts obey it."""
    incomplete: tuple[str, ...] = ()
    """Limits that were reached before the method was done, such as the budget; the band holds as far as it goes."""
    table_error: TableError | None = None
    """How far the band is from the recorded table that its points come from; None for real runs."""
    ends_s: float = 0.0
    """Seconds that finding a and b took, beside the experimental time."""
    expected_error: dict[str, float] | None = None
    """`mean` and `max` relative error that the method expects if its assumptions hold; None: it promises nothing."""
    provenance: dict[str, Any] = field(default_factory=dict)
    subject: dict[str, Any] = field(default_factory=dict)
    """What was measured: `kernel`, or `command` with its formulas, and the `cpu`; empty for a recorded table."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the model is trusted, one line each."""
        unknown = (line for check in self.shape if check.holds is None for line in check.found)
        stated = "was stated, not measured"
        return (
            *self.assumptions_violated,
            *self.unmeasured,
            *(f"shape: {line}" for line in unknown if stated not in line),
            *self.doubts,
        )

    @property
    def model(self) -> SpeedBand | SpeedSurface:
        """The band; of panels, with the number of columns that it holds for."""
        columns = self.subject.get("columns")
        return self.band if columns is None else SpeedSurface((float(columns),), (self.band,))

    def __repr__(self) -> str:
        return f"BuiltBand({self.method}, {len(self.points)} points, {self.band!r})"

    def _repr_html_(self) -> str:
        told = {"method": self.method, "points": len(self.points), "seconds of runs": self.experimental_s}
        error = self.expected_error
        told |= (
            {} if error is None else {"expected error": f"{error['mean']:.1%} on average, {error['max']:.1%} at most"}
        )
        title = f"Speed band of {self.subject.get('kernel') or self.subject.get('command') or 'a recorded table'}"
        return notebook.page(title, notebook.facts(told), self.band._repr_html_(), warnings=self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the body of a speed model's file is `model`."""
        cuts = {cut.size: cut for cut in self.cuts}
        return {
            "format": FORMAT,
            "kind": "speed",
            "kernel": self.subject.get("kernel"),
            "subject": self.subject,
            "method": self.method,
            "experimental_s": self.experimental_s,
            "ends_s": self.ends_s,
            "model": self.model.to_dict(),
            "measured": TOGETHER if self.subject.get("beside") else "alone" if self.subject else None,
            "points": [_point(point, cuts[point.size]) for point in self.points],
            "incomplete": list(self.incomplete),
            "table_error": None if self.table_error is None else asdict(self.table_error),
            "largest_reason": self.largest_reason,
            "steps": list(self.steps),
            "assumptions": list(self.assumptions),
            "assumptions_violated": list(self.assumptions_violated),
            "shape": [check.to_dict() for check in self.shape],
            "warnings": list(self.warnings),
            "expected_error": self.expected_error,
            "provenance": self.provenance,
        }


def _point(point: Measurement, cut: Cut) -> dict[str, Any]:
    return {
        "size_elements": point.size,
        "volume": point.volume,
        "cpu_s": list(point.cpu_s),
        "wall_s": list(point.wall_s),
        "cost_s": point.cost_s,
        "speed": {"low": cut.low, "mid": cut.mid, "high": cut.high},
    } | ({"visits": list(visits)} if (visits := point.clean_visits) else {})


def save_speed_model(built: BuiltBand, path: str | Path) -> None:
    """Write a band with its points as JSON, whole or not at all."""
    path = Path(path)
    files.write_json(path, built.to_dict())

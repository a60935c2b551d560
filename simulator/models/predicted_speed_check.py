"""A kernel's measured speed against the prediction by a memory model, one speed in the nearest level, its accesses."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.base.provenance import provenance
from simulator.models.memory.file import load_memory_model, named_levels
from simulator.models.memory.levels import WORD_BYTES, MemoryLevel, MemoryUse
from simulator.models.memory.model import MemoryModel, Sweeps
from simulator.models.predicted_speed import KERNEL_USES, accesses_s, exponent_of, unit_times_s
from simulator.models.speed import SpeedBand, load_speed_model

NEAR = 1.25
"""Accesses that take no longer than so many times the fastest ones are near."""


@dataclass(frozen=True)
class SpeedPrediction:
    """Measured and predicted speeds of one kernel over problem size; n sizes, ascending."""

    kernel: str
    use: MemoryUse
    band: SpeedBand
    sizes: Floats
    """Measured problem sizes in elements; (n,)."""
    measured: Floats
    """Units per second; (n,)."""
    by_levels: Floats
    """Predicted from the levels alone, as what-ifs do; (n,)."""
    by_model: Floats
    """Predicted from the whole memory model, its correction and sweeps included, and what calls take; (n,)."""
    reference: int
    """Place of the one measured speed that `by_model` rests on."""
    fastest: int
    """Place of the one that `by_levels` rests on, as what-ifs do: the fastest."""
    levels: tuple[MemoryLevel, ...]
    edges_elements: Floats
    """Problem sizes at which the accesses outgrow a level."""
    beyond_trained: int
    """How many sizes lie outside those that the memory model was fitted to."""
    call_s: float
    """CPU seconds of a run that has next to nothing to do; 0 where that was not measured."""
    swept: bool
    """Whether the model says what words take that vector loops sweep, and the kernel's are."""
    inputs: Mapping[str, str]

    def errors(self, predicted: Floats) -> Floats:
        """Relative errors of predicted speeds at all sizes but the one that they rest on; (n - 1,)."""
        return np.delete(np.abs(predicted / self.measured - 1), self._known(predicted))

    def errors_above(self, predicted: Floats) -> Floats:
        """Relative errors at sizes above that one, across the edges of levels: below it, calls cost time too."""
        return np.asarray(np.abs(predicted / self.measured - 1)[self._known(predicted) + 1 :])

    def _known(self, predicted: Floats) -> int:
        return self.fastest if predicted is self.by_levels else self.reference

    def _summed(self, predicted: Floats) -> dict[str, float | None]:
        errors, above = self.errors(predicted), self.errors_above(predicted)
        return {
            "mean": float(errors.mean()),
            "max": float(errors.max()),
            "mean_above_reference": float(above.mean()) if above.size else None,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the errors are trusted."""
        lines = []
        if not self.edges_elements.size or self.sizes[-1] < self.edges_elements[-1]:
            lines.append("the measured sizes do not pass all edges of the memory levels")
        if self.beyond_trained:
            lines.append(f"{self.beyond_trained} sizes lie outside those that the memory model was fitted to")
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "kind": "predicted speed",
            "kernel": self.kernel,
            "use": vars(self.use),
            "call_s": self.call_s,
            "swept": self.swept,
            "reference": {
                "size_elements": float(self.sizes[self.reference]),
                "speed": float(self.measured[self.reference]),
            },
            "levels": [
                {
                    "name": level.name,
                    "capacity_bytes": level.capacity_bytes if np.isfinite(level.capacity_bytes) else None,
                }
                for level in self.levels
            ],
            "errors": {
                name: self._summed(predicted)
                for name, predicted in (("levels", self.by_levels), ("model", self.by_model))
            },
            "points": [
                {"size_elements": size, "measured": speed, "by_levels": levels, "by_model": model}
                for size, speed, levels, model in np.stack(
                    (self.sizes, self.measured, self.by_levels, self.by_model), axis=-1
                ).tolist()
            ],
            "warnings": list(self.warnings),
            "provenance": provenance(inputs=dict(self.inputs)),
        }


@dataclass(frozen=True)
class Runs:
    """What was measured of a kernel; all arrays (n,), by ascending size."""

    call_s: float
    """CPU seconds of a run that has next to nothing to do."""
    sizes: Floats
    measured: Floats
    """Units per second."""
    volumes: Floats
    """Units of one run; infinite where that is not known."""

    @property
    def calls_s(self) -> Floats:
        """Seconds of each unit's part of a call."""
        return self.call_s / self.volumes

    @property
    def inside_s(self) -> Floats:
        """Seconds of a unit without its part of a call, of which no more than half its time is taken off."""
        return np.maximum(1 / self.measured - self.calls_s, 0.5 / self.measured)


def predict_speed(
    speed_model: str | Path, memory_model: str | Path, *, kernel: str | None = None, use: MemoryUse | None = None
) -> SpeedPrediction:
    """Predict the speeds of a measured kernel from a memory model and the speed at one size.

    From the levels alone that is the fastest size, as where a band is taken to other levels
    (`models.predicted_speed.rescaled`); from the whole model the middle one of those whose data are near, since the
    fastest may be a size that fits vectors and lines by luck.

    Raises ScenarioError if a file cannot be used, fewer than two sizes were measured, or nothing is known of the
    kernel's accesses.

    `kernel`: by default what the speed model says that it measured.
    `use`: how the kernel uses memory; by default as is known of it.
    """
    speed_model = Path(speed_model)
    memory_model = Path(memory_model)
    band, document = load_speed_model(speed_model)
    model, fitted = load_memory_model(memory_model)
    kernel = kernel or document.get("kernel")
    use = use or _use_of(kernel, speed_model)
    runs = _runs(document, speed_model)
    levels = named_levels(model.levels, fitted)
    return _predicted(kernel or "kernel", use, band, runs, model, levels, _hashes(speed_model, memory_model))


def swept_by_kernel(speed_model: str | Path) -> Sweeps:
    """What words take that a measured kernel swept: all its time without calls, a word written as long as one read.

    Where its data are near its computing is in it too: there words of others take no longer.

    Raises ScenarioError if the file cannot be used, fewer than two sizes were measured, or the kernel is none that is
    known.
    """
    speed_model = Path(speed_model)
    _, document = load_speed_model(speed_model)
    use, runs = _use_of(document.get("kernel"), speed_model), _runs(document, speed_model)
    words = np.maximum(1.0, use.footprint_share * runs.sizes)
    first = np.concatenate(([True], np.diff(words) > 0))
    word_s = runs.inside_s / (use.read_per_unit + use.written_per_unit)
    return Sweeps(words[first], word_s[first], word_s[first])


def _use_of(kernel: object, path: Path) -> MemoryUse:
    use = KERNEL_USES.get(str(kernel))
    if use is None:
        known = ", ".join(KERNEL_USES)
        raise ScenarioError(
            f"{path}: nothing is known of the accesses of kernel {kernel!r}; name the model of one of {known}"
        )
    return use


def _runs(document: Mapping[str, Any], path: Path) -> Runs:
    """The measured sizes of a speed model's file."""
    points = sorted(
        (float(p["size_elements"]), float(p["speed"]["mid"]), float(p.get("volume", np.inf)))
        for p in document.get("points", ())
    )
    points = [point for point in points if point[1] > 0]
    if len(points) < 2:
        raise ScenarioError(f"{path}: {len(points)} measured sizes are too few for a prediction; measure at least 2")
    return Runs(float(document.get("call_s", 0.0)), *np.array(points).T)


def _predicted(
    kernel: str,
    use: MemoryUse,
    band: SpeedBand,
    runs: Runs,
    model: MemoryModel,
    levels: tuple[MemoryLevel, ...],
    inputs: Mapping[str, str],
) -> SpeedPrediction:
    sizes, measured = runs.sizes, runs.measured
    words, footprints = np.maximum(1.0, use.footprint_share * sizes), WORD_BYTES * sizes
    fastest, accesses = int(np.argmax(measured)), model.unit_s(use, footprints)
    by_levels = unit_times_s(
        footprints, accesses_s(levels, use, footprints), at=fastest, known_s=1 / measured[fastest], exponent=1.0
    )
    reference = _middle_of_near(runs, accesses)
    known_s = float(runs.inside_s[reference])
    exponent = exponent_of(use, model)
    by_model = runs.calls_s + unit_times_s(footprints, accesses, at=reference, known_s=known_s, exponent=exponent)
    low, high = model.trained[0]
    return SpeedPrediction(
        kernel=kernel,
        use=use,
        band=band,
        sizes=sizes,
        measured=measured,
        by_levels=1 / by_levels,
        by_model=1 / by_model,
        reference=reference,
        fastest=fastest,
        levels=levels,
        edges_elements=np.array([level.capacity_bytes for level in levels[:-1]]) / WORD_BYTES / use.footprint_share,
        beyond_trained=int(np.count_nonzero((words < low) | (words > high))),
        call_s=runs.call_s,
        swept=model.knows_sweeps(use),
        inputs=inputs,
    )


def _middle_of_near(runs: Runs, accesses: Floats) -> int:
    """The size of middle speed, calls left out, of those whose accesses are as fast as any; else the fastest."""
    near = np.flatnonzero((accesses <= NEAR * accesses.min()) & (runs.calls_s <= 0.5 / runs.measured))
    if not near.size:
        return int(np.argmax(runs.measured))
    ordered = near[np.argsort(runs.inside_s[near], kind="stable")]
    return int(ordered[(ordered.size - 1) // 2])


def _hashes(*paths: Path) -> dict[str, str]:
    return {str(path): files.digest(files.read_bytes(path, limit_bytes=2**30)) for path in paths}

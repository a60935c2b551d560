"""A kernel measured at sizes of equal ratio, on both sides of every edge of the memory levels."""

from pathlib import Path

import numpy as np

from simulator.base import files
from simulator.base.machine import this_machine
from simulator.base.provenance import provenance
from simulator.calibration.speed.real_source import RealSource
from simulator.models.speed import SpeedBand, cut_from_samples


def measure_across(source: RealSource, path: Path, *, kernel: str, count: int) -> None:
    """Measure a kernel at sizes of equal ratio, from one that fits the first-level cache to the largest; a speed model.

    Sizes are measured in passes of random order; `apportion calibrate speed` builds better bands of fewer points, but
    does not look on both sides of every edge.

    Parameters
    ----------
    path
        Where the speed model goes.
    count
        How many sizes.

    Raises
    ------
    CalibrationError
        If a run fails.
    """
    sizes = np.geomspace(source.smallest, source.largest, count)
    source.measure_together([float(size) for size in sizes])
    points = {point.size: point for point in (source.measure(float(size)) for size in sizes)}
    cuts = [
        cut_from_samples(size, point.volume / np.array(point.cpu_s), point.volume / np.array(point.wall_s))
        for size, point in sorted(points.items())
    ]
    document = {
        "format": 1,
        "kind": "speed",
        "kernel": kernel,
        "method": f"{count} sizes of equal ratio",
        "model": SpeedBand.through(cuts).to_dict(),
        "call_s": source.measure_call(),
        "points": [
            {
                "size_elements": cut.size,
                "volume": points[cut.size].volume,
                "cpu_s": points[cut.size].ideal_s,
                "cost_s": points[cut.size].cost_s,
                "speed": {"low": cut.low, "mid": cut.mid, "high": cut.high},
            }
            for cut in cuts
        ],
        "experimental_s": sum(point.cost_s for point in points.values()),
        "largest_reason": source.largest_reason,
        "warnings": list(source.warnings),
        "provenance": provenance(machine=this_machine()),
    }
    files.write_json(path, document)

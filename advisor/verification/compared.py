"""Predictions beside what real runs took: the comparisons that are judged and kept, see `history.comparisons`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from advisor.verification.interleaved import Verification
from simulator import Configuration, RunSet, Scenario, SpeedBand, files
from simulator.calibration import Comparison, learnt_in, median_errors

Floats = NDArray[np.float64]


def comparisons(
    scenario: Scenario, runs: RunSet, verification: Verification, *, level: float, command: Sequence[str] | None
) -> tuple[Comparison, ...]:
    """One comparison per configuration, in the order of the scenario.

    Parameters
    ----------
    level
        How often the stated intervals are to hold.
    command
        What ranks ran, in the place of our own application.
    """
    described = {entry["name"]: entry for entry in runs.summary(level=level)}
    names = [configuration.name for configuration in scenario.configurations]
    errors = median_errors([verification.measured_s[name] for name in names])
    bands, left = _bands(scenario), _left(scenario, verification) if command is None else None
    found = []
    for configuration, error in zip(scenario.configurations, errors, strict=True):
        told, measured_s = described[configuration.name], verification.measured_s[configuration.name]
        low, high, run_low, run_high = _ends(told, runs)
        inside = None
        if run_low is not None and run_high is not None:
            inside = int(np.sum((measured_s >= run_low) & (measured_s <= run_high)))
        found.append(
            Comparison(
                kind=_kind(scenario, command),
                subject=scenario.application.kernel,
                model=", ".join(_files(scenario, bands)),
                version=_version(scenario, bands),
                case=configuration.name,
                level=level,
                predicted_s=told["mean"],
                low_s=low,
                high_s=high,
                runs=int(measured_s.size),
                measured_median_s=float(np.median(measured_s)),
                median_sd=error,
                median_ratio=median_ratio(runs.of(configuration.name), runs.truths),
                run_low_s=run_low,
                run_high_s=run_high,
                runs_inside=inside,
                learnt=max((learnt_in(band.doubt) for band in bands), default=1.0),
                pes=len(_computing(configuration)),
                size=float(max(configuration.partition)),
                left=left,
            )
        )
    return tuple(found)


def median_ratio(samples: Floats, truths: NDArray[np.int64] | None) -> float:
    """What the median of runs is over their mean, by the noise of the replications of each truth."""
    if truths is None:
        return float(np.median(samples) / np.mean(samples))
    counts = np.bincount(truths)
    means = np.bincount(truths, weights=samples) / np.maximum(counts, 1)
    return float(np.median(samples / means[truths]))


def _ends(told: dict[str, float | None], runs: RunSet) -> tuple[float | None, ...]:
    """The intervals of the mean and of one run; None where they have no width, since nothing is drawn."""
    found: list[float | None] = []
    for names in (("low", "high"), ("run_low", "run_high")):
        low, high = (told[name] for name in names)
        wide = low is not None and high is not None and low < high and not runs.deterministic
        found += [max(low or 0.0, 0.0), high] if wide else [None, None]
    return tuple(found)


def _kind(scenario: Scenario, command: Sequence[str] | None) -> Literal["kernel", "command", "regression"]:
    if scenario.application.model is not None:
        return "regression"
    return "kernel" if command is None else "command"


def _bands(scenario: Scenario) -> list[SpeedBand]:
    """The speeds of all PEs at the application's kernel, each once."""
    kernel = scenario.application.kernel
    bands = [pe.speeds[kernel] for pe in scenario.platform.pes if kernel in pe.speeds]
    return list({id(band): band for band in bands}.values())


def _files(scenario: Scenario, bands: Sequence[SpeedBand]) -> list[str]:
    """Names of the models' files, without folders."""
    sources = dict.fromkeys(band.source for band in bands if band.source in scenario.inputs)
    return [Path(source).name for source in sources]


def _version(scenario: Scenario, bands: Sequence[SpeedBand]) -> str:
    """Hash of the speeds, or the regression, that were predicted with: the same where they are written out."""
    model = scenario.application.model
    said = sorted(json.dumps(band.to_dict(), sort_keys=True, default=str) for band in bands)
    return files.digest(json.dumps([said, None if model is None else model.to_dict()], default=str).encode())


def _computing(configuration: Configuration) -> set[int]:
    pairs = zip(configuration.placement, configuration.partition, strict=True)
    return {pe for pe, units in pairs if units}


def _left(scenario: Scenario, verification: Verification) -> float | None:
    """Least share of a PE without load that was left to us."""
    if not verification.usages:
        return None
    pes = [number for number, pe in enumerate(scenario.platform.pes) if pe.load is None]
    return min((min(1.0, verification.share_of(number)) for number in pes), default=None)

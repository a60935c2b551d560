"""The pooled model as plain data for JSON, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import MALFORMED, ScenarioError
from simulator.models.process_count.pooled.cells import Cells
from simulator.models.process_count.pooled.fitting import Posterior
from simulator.models.process_count.pooled.model import PooledModel
from simulator.models.process_count.pooled.prior import prior_of
from simulator.models.process_count.pooled.structure import Structure
from simulator.models.process_count.pooled.terms import BELIEFS, SHAPES, TERMS
from simulator.models.process_count.runs import Floats


def to_document(model: PooledModel) -> dict[str, Any]:
    """Plain data for JSON."""
    cells = model.cells
    return {
        "kind": "process_count",
        "method": "pooled",
        "kinds": list(cells.kinds),
        "terms": [term.name for term in TERMS],
        "warnings": list(model.warnings),
        "inflation": model.inflation,
        "cells": {
            "size": cells.size.tolist(),
            "allocations": cells.allocations.tolist(),
            "time_s": cells.time_s.tolist(),
            "runs": cells.runs.tolist(),
            "run_sd": cells.run_sd,
        },
        "structures": [
            {"weight": float(weight), **_structure(structure.posterior, len(cells.size))}
            for weight, structure in zip(model.weights, model.structures, strict=True)
        ],
    }


def pooled_from_dict(document: Mapping[str, Any]) -> PooledModel:
    """The inverse of `PooledModel.to_dict`; the phases that were measured apart are not kept.

    Raises
    ------
    ScenarioError
        If it is none.
    """
    try:
        return _model(document)
    except (*MALFORMED, StopIteration) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ScenarioError(f"model: no pooled process-count model of this version found ({reason})") from error


def _model(document: Mapping[str, Any]) -> PooledModel:
    if document["terms"] != [term.name for term in TERMS]:
        raise ValueError("its terms are others")
    stored = document["cells"]
    size = _floats(stored["size"])
    allocations = np.array(stored["allocations"], dtype=np.int64)
    kinds = tuple(document["kinds"])
    unknown = np.full((len(size), len(kinds)), np.nan)
    fresh = np.any(np.diff(allocations.reshape(len(size), -1), axis=0) != 0, axis=1)
    cells = Cells(
        kinds=kinds,
        size=size,
        allocations=allocations,
        time_s=_floats(stored["time_s"]),
        comp_s=unknown,
        comm_s=unknown,
        runs=np.array(stored["runs"], dtype=np.int64),
        configuration=np.concatenate([[0], np.cumsum(fresh)]).astype(np.int64),
        run_sd=float(stored["run_sd"]),
    )
    return PooledModel(
        cells=cells,
        structures=tuple(Structure(_posterior(part, cells), cells) for part in document["structures"]),
        weights=_floats([part["weight"] for part in document["structures"]]),
        warnings=tuple(document["warnings"]),
        known_inflation=float(document["inflation"]),
    )


def _structure(fitted: Posterior, count: int) -> dict[str, Any]:
    return {
        "shape": fitted.shape.name,
        "belief": fitted.prior.belief,
        "scale": fitted.prior.scale.tolist(),
        "mode": fitted.mode.tolist(),
        "covariance": fitted.covariance.tolist(),
        "variance": fitted.variance,
        "freedom": fitted.freedom,
        "effective": fitted.effective,
        "likeness": fitted.likeness,
        "amplitude": fitted.amplitude[:count].tolist(),
        "noise": fitted.noise[:count].tolist(),
        "residuals": fitted.residuals[:count].tolist(),
        "evidence": fitted.evidence,
    }


def _posterior(part: Mapping[str, Any], cells: Cells) -> Posterior:
    shape = next(shape for shape in SHAPES if shape.name == part["shape"])
    belief = next(belief for belief in BELIEFS if belief.name == part["belief"])
    return Posterior(
        shape=shape,
        prior=prior_of(len(cells.kinds), belief, _floats(part["scale"])),
        mode=_floats(part["mode"]),
        covariance=_floats(part["covariance"]),
        variance=float(part["variance"]),
        freedom=float(part["freedom"]),
        effective=float(part["effective"]),
        likeness=float(part["likeness"]),
        amplitude=_floats(part["amplitude"]),
        noise=_floats(part["noise"]),
        residuals=_floats(part["residuals"]),
        evidence=float(part["evidence"]),
    )


def _floats(values: Any) -> Floats:
    return files.known(np.array(values, dtype=np.float64))

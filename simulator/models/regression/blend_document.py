"""The default model as plain data for JSON, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.base.formula import parse
from simulator.models.regression.blend import Blend
from simulator.models.regression.candidates import Design, Extra
from simulator.models.regression.runs import Cells, Floats


def blend_to_dict(blend: Blend) -> dict[str, Any]:
    """Plain data for JSON."""
    design, cells = blend.design, blend.cells
    return {
        "step_s": blend.step_s,
        "groups": [list(group) for group in design.groups],
        "scale": list(design.scale),
        "pilot": list(design.pilot),
        "varying": list(design.varying),
        "centre": list(design.centre),
        "span": list(design.span),
        "extras": [{"kind": e.kind, "name": e.name, "at": e.at, "scale": e.scale} for e in design.extras],
        "forward_error": blend.forward_error,
        "cells": {
            "names": list(cells.names),
            "values": cells.values.tolist(),
            "time_s": cells.time_s.tolist(),
            "runs": cells.runs.tolist(),
            "run_sd": cells.run_sd,
        },
        "members": [
            {
                "extra": int(blend.extra[i]),
                "alike": bool(blend.alike[i]),
                "weight": float(blend.weight[i]),
                "mode": blend.mode[i].tolist(),
                "covariance": blend.covariance[i].tolist(),
                "variance": float(blend.variance[i]),
                "freedom": float(blend.freedom[i]),
                "inflation": float(blend.inflation[i]),
            }
            for i in range(len(blend.weight))
        ],
    }


def blend_from_dict(document: Mapping[str, Any], formula_text: str) -> Blend:
    """The inverse of `blend_to_dict`."""
    cells, members = document["cells"], document["members"]
    times = np.array(cells["time_s"], dtype=np.float64)
    design = Design(
        formula=parse(formula_text),
        groups=tuple(tuple(group) for group in document["groups"]),
        scale=tuple(document["scale"]),
        pilot=tuple(document["pilot"]),
        varying=tuple(document["varying"]),
        centre=tuple(document["centre"]),
        span=tuple(document["span"]),
        extras=tuple(Extra(e["kind"], e["name"], e["at"], e["scale"]) for e in document["extras"]),
    )

    def column(name: str) -> Floats:
        return np.array([member[name] for member in members], dtype=np.float64)

    return Blend(
        design=design,
        cells=Cells(
            names=tuple(cells["names"]),
            values=np.array(cells["values"], dtype=np.float64).reshape(len(times), len(cells["names"])),
            time_s=times,
            runs=np.array(cells["runs"], dtype=np.int64),
            low_s=times,
            high_s=times,
            mean_s=times,
            cell_of_run=np.arange(len(times)),
            run_sd=float(cells["run_sd"]),
        ),
        step_s=float(document["step_s"]),
        extra=column("extra").astype(np.int64),
        alike=column("alike").astype(np.bool_),
        weight=column("weight"),
        mode=column("mode"),
        covariance=column("covariance"),
        variance=column("variance"),
        freedom=column("freedom"),
        inflation=column("inflation"),
        forward_error=document["forward_error"],
    )

"""The paper's model as plain data: runs and options that make it again, and its coefficients to read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.base.errors import MALFORMED, ScenarioError
from simulator.models.process_count.paper.assembly import Built, Options
from simulator.models.process_count.paper.composition import Composed
from simulator.models.process_count.paper.regimes import MemoryRegimes
from simulator.models.process_count.paper.runs_of_one_kind import Configurations
from simulator.models.process_count.runs import AllocationRuns, Floats


def runs_document(runs: AllocationRuns) -> dict[str, Any]:
    """Runs as lists, None for what was not measured."""
    return {
        "size": runs.size.tolist(),
        "allocations": runs.allocations.tolist(),
        "time_s": runs.time_s.tolist(),
        "comp_s": _with_none(runs.comp_s),
        "comm_s": _with_none(runs.comm_s),
    }


def parse_runs(document: Mapping[str, Any]) -> AllocationRuns:
    """Runs of such a document.

    Raises
    ------
    ScenarioError
        If something is missing or has another shape.
    """
    try:
        kinds, found = tuple(str(name) for name in document["kinds"]), document["runs"]
        runs = AllocationRuns(
            kinds,
            np.array(found["size"], float),
            np.array(found["allocations"], np.int64),
            np.array(found["time_s"], float),
            np.array(found["comp_s"], float),
            np.array(found["comm_s"], float),
        )
        count = len(runs.size)
    except MALFORMED as error:
        raise ScenarioError(f"runs: {error} found, the runs of a process-count model allowed") from error
    shapes = ((count,), (count, len(kinds), 2), (count,), (count, len(kinds)), (count, len(kinds)))
    if tuple(x.shape for x in (runs.size, runs.allocations, runs.time_s, runs.comp_s, runs.comm_s)) != shapes:
        raise ScenarioError("runs: lists of unequal length found, one entry per run allowed")
    return runs


def options_document(options: Options) -> dict[str, Any]:
    """Options as plain data."""
    regimes = options.regimes
    return {
        "compose": {name: vars(composed) for name, composed in options.compose.items()},
        "regimes": None if regimes is None else {**vars(regimes), "thresholds_bytes": list(regimes.thresholds_bytes)},
        "adjust": options.adjust,
        "adjust_size": options.adjust_size,
    }


def parse_options(document: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `fit_paper` from such a document.

    Raises
    ------
    ScenarioError
        If an entry is none of them.
    """
    try:
        found = document["options"]
        regimes = found["regimes"]
        return {
            "compose": {str(name): Composed(**composed) for name, composed in found["compose"].items()},
            "regimes": None
            if regimes is None
            else MemoryRegimes(
                tuple(tuple(float(x) for x in row) for row in regimes["thresholds_bytes"]),
                float(regimes["coefficient"]),
                float(regimes["power"]),
            ),
            "adjust": bool(found["adjust"]),
            "adjust_size": None if found["adjust_size"] is None else float(found["adjust_size"]),
        }
    except MALFORMED as error:
        raise ScenarioError(f"options: {error} found, the options of a process-count model allowed") from error


def coefficients(kinds: tuple[str, ...], one: Configurations, built: Built) -> dict[str, Any]:
    """k0 to k11 under the paper's names; of the whole time, where it alone is known, k0 to k3, and k8, k7, k9."""
    curves = built.curves
    unit = curves.scale ** np.arange(4)
    nt = [
        {**_configuration(kinds, one, at), "pes": int(one.pes[at]), **_nt(curves.nt[0, :, i] / unit)}
        for i, at in enumerate(curves.at.tolist())
    ]
    pt = [
        {**_configuration(kinds, one, at), "reference_pes": int(one.pes[at]), **_pt(curves.pt[0, :, i])}
        for i, at in enumerate(curves.group_at.tolist())
    ]
    composed = [
        {
            "kind": kinds[made.target],
            "source": kinds[made.source],
            "factors": made.factors[0].tolist(),
            "fitted": made.fitted,
        }
        for made in built.compositions
    ]
    adjusted = [
        {"kind": kinds[line.kind], "size": line.size, "runs": line.runs, "a": line.slope[0], "b_s": line.offset_s[0]}
        for line in built.adjustments
    ]
    return {"nt": nt, "pt": pt, "composed": composed, "adjusted": adjusted}


def _configuration(kinds: tuple[str, ...], one: Configurations, at: int) -> dict[str, Any]:
    return {"kind": kinds[one.kind[at]], "procs": int(one.m[at]), "regime": int(one.regime[at])}


def _nt(rows: Floats) -> dict[str, float]:
    names = dict(zip(("k3", "k2", "k1", "k0"), rows[0].tolist(), strict=True))
    if len(rows) > 1:
        names |= dict(zip(("k6", "k5", "k4"), rows[1].tolist(), strict=False))
    return dict(sorted(names.items()))


def _pt(rows: Floats) -> dict[str, float]:
    if len(rows) == 1:
        return dict(zip(("k8", "k7", "k9"), rows[0].tolist(), strict=True))
    return {
        **dict(zip(("k8", "k7"), rows[0].tolist(), strict=False)),
        **dict(zip(("k11", "k10", "k9"), rows[1].tolist(), strict=True)),
    }


def _with_none(values: Floats) -> list[list[float | None]]:
    return [[None if np.isnan(x) else float(x) for x in row] for row in values]

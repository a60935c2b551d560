"""Process-count models by name of their method: fitted to runs, or read back from plain data."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from simulator.base.errors import ScenarioError
from simulator.models.process_count.estimates import ProcessCountModel
from simulator.models.process_count.runs import AllocationRuns

Method = Literal["pooled", "paper"]
METHODS: tuple[Method, ...] = get_args(Method)


def fit_process_counts(runs: AllocationRuns, *, method: str = "pooled", **options: Any) -> ProcessCountModel:
    """Fit a model of a program that gives every process the same work.

    Parameters
    ----------
    runs
        Of one kind or several at a time.
    method
        `pooled` shares each physical constant over all runs, so that small cheap runs extrapolate; `paper` fits every
        configuration on its own, as Kishimoto and Ichikawa do.
    options
        What the method takes beside the runs; see `paper.fit_paper`.

    Raises
    ------
    ScenarioError
        If there is no such method, or the runs are too few for it.
    """
    if method == "pooled":
        from simulator.models.process_count.pooled.selection import fit_pooled

        return fit_pooled(runs, **options)
    if method == "paper":
        from simulator.models.process_count import paper

        return paper.fit_paper(runs, **options)
    raise ScenarioError(f"method: {method!r} found, {' or '.join(METHODS)} allowed")


def process_count_model_from_dict(document: Any) -> ProcessCountModel:
    """Read back what `ProcessCountModel.to_dict` gave.

    Raises
    ------
    ScenarioError
        If it is no process-count model.
    """
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if kind != "process_count":
        raise ScenarioError(f"kind: {kind!r} found, 'process_count' allowed")
    method = document.get("method")
    if method == "pooled":
        from simulator.models.process_count.pooled.model import pooled_from_dict

        return pooled_from_dict(document)
    if method == "paper":
        from simulator.models.process_count import paper

        return paper.from_dict(document)
    raise ScenarioError(f"method: {method!r} found, {' or '.join(METHODS)} allowed")

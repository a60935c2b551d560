"""Import of a Prometheus range query (`/api/v1/query_range`): a matrix of samples whose values are strings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import TraceError, meant
from simulator.load_traces.importers.source import ImportOptions, Rows, Source


def read(path: Path, options: ImportOptions) -> Source:
    """Samples of one series; what the query measures must be stated, and which series if it has several."""
    if options.measures is None:
        raise TraceError(
            f"{path}: measures: nothing stated; a query does not tell what it measures, so it must be stated"
        )
    series = _series(path, _matrix(path), options.series)
    samples = series.get("values")
    if not isinstance(samples, list):
        raise TraceError(f"{path}: data.result.values is not a list; give a list of [seconds, 'value'] pairs")
    rows = Rows(path, "time", "value", unix=True)
    for index, sample in enumerate(samples):
        place = f"values[{index}]"
        if not isinstance(sample, list) or len(sample) != 2:
            raise TraceError(f"{path}:{place} is {str(sample)[:40]}; give a pair [seconds, 'value']")
        rows.add(place, rows.number(place, "time", sample[0]), rows.number(place, "value", sample[1]))
    return rows.source(options.measures, f"series {_labels(series)}")


def _matrix(path: Path) -> list[Mapping[str, Any]]:
    document = files.read_json(path)
    if not isinstance(document, dict) or document.get("status") != "success":
        found = document.get("error", document.get("status")) if isinstance(document, dict) else type(document).__name__
        raise TraceError(f"{path}: status is {str(found)[:60]!r}; give the answer of a query with status 'success'")
    _check_keys(path, document, "status data")
    data = document.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    if kind != "matrix" or not isinstance(data, dict):
        raise TraceError(f"{path}: data.resultType is {kind!r}; give a 'matrix' (a range query)")
    _check_keys(path, data, "resultType result stats")
    result = data.get("result")
    if not isinstance(result, list) or not result or not all(_is_series(entry) for entry in result):
        raise TraceError(f"{path}: data.result has no series; give at least one")
    for entry in result:
        _check_keys(path, entry, "metric values")
    return result


def _check_keys(path: Path, found: Mapping[str, Any], known: str) -> None:
    """Also warnings and native histograms are refused: what they say of the values is not read."""
    for key in found:
        if key not in known.split():
            raise TraceError(f"{path}: {key!r} is not read{meant(key, known.split()) or '; leave it out'}")


def _is_series(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("metric", {}), dict)


def _series(path: Path, result: list[Mapping[str, Any]], wanted: str | None) -> Mapping[str, Any]:
    if wanted is None:
        fitting = result
    else:
        label, _, value = wanted.partition("=")
        fitting = [entry for entry in result if str(entry.get("metric", {}).get(label)) == value]
    if len(fitting) != 1:
        known = "; ".join(_labels(entry) for entry in result[:8])
        stated = "nothing is stated" if wanted is None else f"{wanted!r} fits {len(fitting)}"
        raise TraceError(f"{path}: series: {stated}; give a label=value that picks one of {len(result)}: {known}")
    return fitting[0]


def _labels(series: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in series.get("metric", {}).items()) + "}"

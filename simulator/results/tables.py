"""Tables of results: rows with columns of known kinds, as CSV or as Parquet, and back without loss."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.engines.costs.sharing import CacheUse, Uses, all_domains, mixes
from simulator.engines.run_set import RunSet
from simulator.platform.nodes import Meeting, taken_by_loads
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_form", "process_lines"]

COLUMNS = (
    *("configuration", "replication", "seed", "process", "pe", "node", "units"),
    *("busy_s", "waiting_s", "idle_s", "finish_s"),
)
LIMIT_BYTES = 2**30
AT_ONCE = 1000
"""Rows of heads that are turned into rows of runs at once."""
_LARGEST = 2**63


def process_lines(scenario: Scenario, runs: RunSet) -> Iterator[str]:
    """Busy, waiting and idle seconds of each process, which add up to the makespan; a piece of CSV per replication."""
    rows: list[tuple[object, ...]] = [COLUMNS]
    for k, configuration in enumerate(scenario.configurations):
        pes = [scenario.platform.pes[place] for place in configuration.placement]
        who = [(pe.name, pe.node, units) for pe, units in zip(pes, configuration.partition, strict=True)]
        for replication, makespan in enumerate(runs.makespan_ticks[k].tolist()):
            busy, finish = (ticks[k][replication].tolist() for ticks in (runs.busy_ticks, runs.finish_ticks))
            for process, (spent, end) in enumerate(zip(busy, finish, strict=True)):
                seconds = [ticks * runs.tick_s for ticks in (spent, end - spent, makespan - end, end)]
                rows.append((configuration.name, replication, runs.seed, process, *who[process], *seconds))
            yield files.csv_lines(rows)
            rows.clear()


def domain_meetings(scenario: Scenario, configuration: Configuration) -> tuple[Meeting, ...]:
    """The domains, and shared levels of nodes, on whose PEs processes of a configuration compute, all at once.

    Uses are the nodes' `uses`, else what follows from how the kernel uses memory; what a process keeps in a cache is
    reckoned with all of the nearer ones.

    Raises ScenarioError if the application cannot run so.
    """
    domains = all_domains(scenario)
    if not domains:
        return ()
    columns, placement = assemble(scenario.program(configuration)), configuration.placement
    uses, mixed = Uses(scenario, columns), mixes(columns)
    on: dict[int, list[int]] = {}
    for process, pe in enumerate(placement):
        if mixed[process].computes:
            on.setdefault(pe, []).append(process)
    found = []
    for domain in domains:
        here = tuple(process for pe in domain.pes for process in on.get(pe, ()))
        if not here:
            continue
        each = [uses.of(process, placement[process], domain, mixed[process]) for process in here]
        asked = sum(use.demand for use in each) + taken_by_loads(scenario.platform, domain)
        kept = np.ones(len(here))
        for place, use in enumerate(each):
            others = np.array([max(0.0, asked - use.demand)])
            if isinstance(use, CacheUse):
                kept[place] = use.kept(others, {})[0]
            else:
                kept[place] = domain.law.kept(use, others)[0]
        found.append(Meeting(domain, here, float(asked), kept))
    return tuple(found)


Form = Literal["csv", "parquet"]
FORMS: tuple[Form, ...] = ("csv", "parquet")


def check_form(form: Form) -> None:
    """Refuse Parquet where nothing here writes it.

    Raises ScenarioError if pyarrow is not installed.
    """
    if form == "parquet" and find_spec("pyarrow") is None:
        raise ScenarioError("--format parquet: pyarrow is not installed: pip install 'apportion[parquet]'")


def plain(value: Any) -> Any:
    """A value for a cell of a table: lists and the like as JSON text."""
    return value if isinstance(value, str | int | float) or value is None else json.dumps(value)


def kind_of(values: Iterable[Any]) -> str:
    """The kind of column, as pandas names it, that holds all values; None is a missing one.

    Whole numbers stay whole among missing ones; texts among numbers make all of them texts.
    """
    listed = list(values)
    kinds = {type(value) for value in listed}
    lacking = type(None) in kinds
    kinds -= {type(None)}
    if kinds == {bool}:
        return "boolean" if lacking else "bool"
    if kinds == {int}:
        fits = all(-_LARGEST <= value < _LARGEST for value in listed if value is not None)
        return "str" if not fits else "Int64" if lacking else "int64"
    return "float64" if kinds and kinds <= {int, float} else "str"


def framed(columns: Mapping[str, Sequence[Any] | NDArray[Any]], kinds: Mapping[str, str]) -> "pd.DataFrame":
    """A table of columns of equal length."""
    import pandas as pd

    found = {}
    for name, values in columns.items():
        kind = kinds[name]
        cells = [_text(value) for value in values] if kind == "str" else values
        found[name] = pd.Series(cells, dtype=kind)
    return pd.DataFrame(found)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else json.dumps(value)


def run_frames(
    entries: Iterable[tuple[Mapping[str, Any], Floats]], kinds: Mapping[str, str]
) -> Iterator["pd.DataFrame"]:
    """One row per run, a piece of the table at a time.

    `entries`: what all runs of some share, `seed` the last of it, and their makespans in seconds; (replication,).
    """
    waiting = iter(entries)
    while batch := list(islice(waiting, AT_ONCE)):
        counts = np.array([times_s.size for _, times_s in batch])
        frame = framed({name: [head[name] for head, _ in batch] for name in batch[0][0]}, kinds)
        frame = frame.loc[frame.index.repeat(counts)].reset_index(drop=True)
        place = list(frame.columns).index("seed")
        frame.insert(place, "replication", np.concatenate([np.arange(count) for count in counts]))
        frame["makespan_s"] = np.concatenate([times_s for _, times_s in batch])
        yield frame


def kinds_of(frame: "pd.DataFrame") -> dict[str, str]:
    """The kind of each column, for the manifest."""
    return {str(name): str(kind) for name, kind in frame.dtypes.items()}


def write_table(path: Path, frames: Iterable["pd.DataFrame"]) -> None:
    """Write a table, in pieces, in the form that its name ends in; it is there once it is whole.

    Raises ApportionError if it cannot be written.
    """
    with files.open_whole(path) as stream:
        if path.suffix == ".csv":
            for number, frame in enumerate(frames):
                stream.write(frame.to_csv(index=False, header=not number).encode())
            return
        import pyarrow as pa
        from pyarrow import parquet

        writer = None
        for frame in frames:
            piece = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or parquet.ParquetWriter(stream, piece.schema)
            writer.write_table(piece)
        if writer is not None:
            writer.close()


def read_table(path: Path, kinds: Mapping[str, str]) -> "pd.DataFrame":
    """Read what `write_table` wrote; the same table from either form.

    Raises ScenarioError if it is not there, not whole, or Parquet and pyarrow is not installed.
    """
    import pandas as pd

    if path.suffix == ".parquet":
        if find_spec("pyarrow") is None:
            raise ScenarioError(f"{path}: pyarrow is not installed: pip install 'apportion[parquet]'")
        data = files.read_bytes(path, limit_bytes=LIMIT_BYTES)
        try:
            return pd.read_parquet(io.BytesIO(data)).astype(dict(kinds))
        except (OSError, ValueError, KeyError) as error:
            raise ScenarioError(f"{path}: {str(error).splitlines()[0]}; give a whole Parquet file") from None
    text = files.read_text(path, limit_bytes=LIMIT_BYTES)
    try:
        frame = pd.read_csv(io.StringIO(text), dtype=dict(kinds), keep_default_na=False, na_values=[""])
    except (ValueError, pd.errors.ParserError, pd.errors.EmptyDataError):
        raise ScenarioError(f"{path}: a cell is not of its column's kind; give the table as it was written") from None
    if missing := sorted(set(kinds) - set(frame.columns)):
        raise ScenarioError(f"{path}: the column {missing[0]!r} is missing; write the table again")
    return frame

"""Simulated runs of a search, kept on disk as they come, so that the same search goes on where it was killed.

A search is a sequence of calls that its inputs decide alone, so a call is known by its number and by what it asks; its
answer stands in one line, which ends in a hash of itself. What was cut or garbled is simulated again.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.engines.run import run as simulate
from simulator.engines.run_set import RunSet
from simulator.results.files import sealed, unsealed
from simulator.scenario_file.scenario import Scenario

_current: ContextVar["KeptRuns | None"] = ContextVar("kept runs", default=None)


class KeptRuns:
    """The answers of a search so far.

    Parameters
    ----------
    path
        The file that keeps them; made with the first answer.
    search
        The hash of all that decides the search; answers of another one are not found.
    """

    def __init__(self, path: Path, search: str) -> None:
        self.path = path
        self.kept = 0
        """Simulated runs that are on disk."""
        self._search = search
        self._calls = 0
        self._known: dict[str, dict[str, Any]] = {}
        self._stream: IO[str] | None = None
        self._open = ExitStack()
        if path.exists():
            self._read()

    def run(self, scenario: Scenario, **how: Any) -> RunSet:
        """As `simulator.run`, or what it answered before."""
        name = self._name(scenario, how)
        self._calls += 1
        if name in self._known:
            return _runs_of(self._known.pop(name))
        runs = simulate(scenario, **how)
        self._keep(sealed({"hash": name, **_plain(runs)}), runs.makespan_ticks.size)
        return runs

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def _read(self) -> None:
        with files.open_lines(self.path) as lines:
            for line in lines:
                found = unsealed(line.decode(errors="replace"))
                if found is not None and found["hash"] not in self._known:
                    self._known[found["hash"]] = found
                    self.kept += int(np.prod(found["shape"]))

    def _keep(self, text: str, runs: int) -> None:
        if self._stream is None:
            files.make_folder(self.path.parent)
            if self.path.exists():
                files.end_with_line(self.path)
            self._stream = self._open.enter_context(files.open_append(self.path))
        self._stream.write(text)
        self.kept += runs

    def _name(self, scenario: Scenario, how: Mapping[str, Any]) -> str:
        asked = hashlib.sha256(f"{self._search} {self._calls} {sorted(how.items())} {scenario.seed} ".encode())
        asked.update(f"{scenario.replications} {scenario.truths} {scenario.application.parameters}".encode())
        for one in scenario.configurations:
            asked.update(f" {one.name!r} ".encode())
            asked.update(np.array([one.partition, one.placement]).tobytes())
            if one.grid is not None:
                asked.update(f" grid {one.grid}".encode())
        return asked.hexdigest()


@contextmanager
def keeping(path: Path, search: str) -> Iterator[KeptRuns]:
    """Keep what `run_or_recall` is asked meanwhile."""
    kept = KeptRuns(path, search)
    token = _current.set(kept)
    try:
        yield kept
    finally:
        _current.reset(token)
        kept.close()


def run_or_recall(scenario: Scenario, **how: Any) -> RunSet:
    """`simulator.run`, its answers kept where a search asks for it; those with a log are not."""
    kept = _current.get()
    if kept is None or how.get("log_replications"):
        return simulate(scenario, **how)
    return kept.run(scenario, **how)


_TABLES = ("computed_ticks", "busy_ticks", "finish_ticks")


def _plain(runs: RunSet) -> dict[str, Any]:
    return {
        "configurations": list(runs.configurations),
        "tick_s": runs.tick_s,
        "shape": list(runs.makespan_ticks.shape),
        "makespan_ticks": _packed(runs.makespan_ticks),
        **{name: [_packed(table) for table in getattr(runs, name)] for name in _TABLES},
        "engine": runs.engine,
        "seed": runs.seed,
        "deterministic": runs.deterministic,
        "truths": None if runs.truths is None else _packed(runs.truths),
        "truth_count": runs.truth_count,
    }


def _runs_of(found: Mapping[str, Any]) -> RunSet:
    shape = tuple(found["shape"])
    tables: dict[str, Any] = {name: tuple(_unpacked(text, (shape[1], -1)) for text in found[name]) for name in _TABLES}
    return RunSet(
        configurations=tuple(found["configurations"]),
        tick_s=found["tick_s"],
        makespan_ticks=_unpacked(found["makespan_ticks"], shape),
        engine=found["engine"],
        seed=found["seed"],
        deterministic=found["deterministic"],
        truths=None if found["truths"] is None else _unpacked(found["truths"], (-1,)),
        truth_count=found["truth_count"],
        logs={},
        **tables,
    )


def _packed(table: NDArray[np.int64]) -> str:
    """Whole numbers as text, eight bytes each before they are packed."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(table, dtype="<i8").tobytes(), 1)).decode()


def _unpacked(text: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i8").reshape(shape).astype(np.int64)

"""RUNS.csv: a row for each finished run, appended at once, and beside it a log of what every run cost."""

import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.tables import read_table
from simulator.calibration.allocation.output import MeasuredTimes
from simulator.calibration.allocation.plan import Allocation
from simulator.calibration.bench.journal import Journal

LOG_SUFFIX = ".log.jsonl"
"""What replaces `.csv` in the name of the log beside a table."""
FORMAT, KIND = 1, "allocation runs"


class RunTable:
    """A table of runs that only grows; read if it is there.

    Parameters
    ----------
    path
        The CSV file: `N,time_s`, per kind `KIND.pes` and `KIND.procs`, and with phases `KIND.comp_s` and `KIND.comm_s`.
    kinds
        Names of the kinds, in order.
    phases
        Whether computation and communication are told.
    about
        What the runs are of, plain data, kept in the log: runs of something else are refused.
    machine
        Where they are made, kept likewise.

    Raises
    ------
    ScenarioError
        If the file holds other columns, or runs of something else.
    """

    def __init__(
        self,
        path: Path,
        kinds: Sequence[str],
        *,
        phases: bool,
        about: Mapping[str, Any],
        machine: Mapping[str, Any] | None = None,
    ) -> None:
        self._path, self._kinds, self._phases = path, tuple(kinds), phases
        parts = ("pes", "procs", "comp_s", "comm_s") if phases else ("pes", "procs")
        self._columns = ["N", "time_s", *(f"{kind}.{part}" for kind in kinds for part in parts)]
        self.done: list[tuple[float, Allocation, float]] = []
        """Size, allocation and time of every run that is kept."""
        self.walls: dict[tuple[float, Allocation], list[float]] = {}
        """What runs took in all, in seconds, by run, finished or not."""
        self.failed: Counter[tuple[float, Allocation]] = Counter()
        """How often runs failed."""
        self._log = Journal(
            path.with_name(path.stem + LOG_SUFFIX),
            kind=KIND,
            version=FORMAT,
            what="runs",
            take=self._take,
            belongs={"about": dict(about)},
            note={"machine": machine},
            place=path,
        )
        self.damage = [self._log.damage] if self._log.damage else []
        """A line for each file of which a part was damaged."""
        if path.exists():
            self._drop_damaged()
        if path.exists():
            self._read()
        if not path.exists() or not files.read_bytes(path):
            files.write_text(path, _line(self._columns))

    @property
    def spent_s(self) -> float:
        """Seconds of all runs, failed ones too."""
        return sum(map(sum, self.walls.values()))

    def counts(self) -> Counter[tuple[float, Allocation]]:
        """How often each run is there."""
        return Counter((size, allocation) for size, allocation, _ in self.done)

    def keep(self, size: float, allocation: Allocation, times: MeasuredTimes, *, wall_s: float) -> None:
        """Append a finished run: to the disk before this returns."""
        row: list[str] = [f"{size:.0f}", repr(times.time_s)]
        for kind, (pes, procs) in zip(self._kinds, allocation, strict=True):
            row += [str(pes), str(procs)]
            if self._phases:
                row += ["" if (told := part.get(kind)) is None else repr(told) for part in (times.comp_s, times.comm_s)]
        self._note(size, allocation, {"time_s": times.time_s, "wall_s": wall_s})
        with files.open_append(self._path) as stream:
            stream.write(_line(row))
            os.fsync(stream.fileno())
        self.done.append((size, allocation, times.time_s))

    def keep_failure(self, size: float, allocation: Allocation, why: str, *, wall_s: float) -> None:
        """Note a run that failed, and what it cost."""
        self._note(size, allocation, {"failed": why, "wall_s": wall_s})
        self.failed[size, allocation] += 1

    def _note(self, size: float, allocation: Allocation, told: Mapping[str, Any]) -> None:
        self._log.keep({"N": size, "allocation": allocation, **told})
        self._log.sync()
        self.walls.setdefault((size, allocation), []).append(told["wall_s"])

    def _drop_damaged(self) -> None:
        """Cut off what a crash left at the end: part of a line, or lines that are no text."""
        files.end_with_line(self._path)
        text = files.read_bytes(self._path)
        if b"\n" not in text and _line(self._columns).encode().startswith(text):
            files.remove(self._path)
            return
        lines = text.splitlines(keepends=True)
        whole = len(lines)
        while whole > 1 and _is_garbage(lines[whole - 1]):
            whole -= 1
        if whole < len(lines):
            files.write_bytes(self._path, b"".join(lines[:whole]))
            self.damage.append(
                f"{self._path}: {len(lines) - whole} damaged lines at its end left out; going on from the {whole - 1} "
                "that are whole"
            )

    def _read(self) -> None:
        text = files.read_text(self._path)
        if not text.strip():
            return
        head = [files.plain_cell(cell) for cell in next(csv.reader([text.splitlines()[0]]))]
        if head != self._columns:
            raise ScenarioError(
                f"{self._path}: columns {', '.join(head)} found, {', '.join(self._columns)} or a new file allowed"
            )
        if len(text.strip().splitlines()) == 1:
            return
        table = read_table(self._path)
        size, time_s = table.numbers("N"), table.numbers("time_s")
        cells = np.stack(
            [[table.numbers(f"{kind}.{part}") for part in ("pes", "procs")] for kind in self._kinds]
        ).astype(np.int64)
        for row in range(size.size):
            allocation = tuple((int(pes), int(procs)) for pes, procs in cells[:, :, row])
            self.done.append((float(size[row]), allocation, float(time_s[row])))

    def _take(self, row: dict[str, Any]) -> None:
        allocation = tuple((int(pes), int(procs)) for pes, procs in row["allocation"])
        self.walls.setdefault((float(row["N"]), allocation), []).append(float(row["wall_s"]))


def _is_garbage(line: bytes) -> bool:
    """Whether a line holds what no text does."""
    try:
        return not line.decode().rstrip("\r\n").isprintable()
    except UnicodeDecodeError:
        return True


def _line(cells: Sequence[str]) -> str:
    return files.csv_lines([cells])

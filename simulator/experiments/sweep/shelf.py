"""Finished points by their hash, read where they lie each time: memory holds names, not makespans."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import ApportionError, ScenarioError, SweepError
from simulator.results.files import read_point, unsealed


class Shelf(Mapping[str, dict[str, Any]]):
    """The documents of finished points, in the order of the plan.

    Parameters
    ----------
    names
        The hashes of all points.
    folder
        Where each point is a file; None keeps them in a file without a name that ends with this process.
    """

    def __init__(self, names: Sequence[str], folder: Path | None) -> None:
        self._names = names
        self._folder = folder
        self._spool = files.Spool() if folder is None else None
        self._places: dict[str, tuple[int, int]] = {}
        self._last: tuple[str, dict[str, Any]] = ("", {})

    def put(self, name: str, text: str) -> None:
        """Keep a finished point: the file is whole or absent.

        Raises
        ------
        SweepError
            If it cannot be written, or the folder is gone.
        """
        path, data = self._file(name), text.encode()
        if self._spool is None and not path.parent.is_dir():
            raise SweepError(f"{path.parent}: no folder found, where finished points were kept")
        place = (0, 0)
        try:
            if self._spool is not None:
                place = self._spool.put(data)
            else:
                files.write_bytes(path, data, synced=False)
        except ApportionError as error:
            raise SweepError(error.lines) from None
        self._places[name] = place

    def find(self) -> None:
        """Take what lies in the folder from before; what is damaged is not finished."""
        for name in self._names:
            try:
                read_point(self._file(name), name)
            except ScenarioError:
                continue
            self._places[name] = (0, 0)

    def __getitem__(self, name: str) -> dict[str, Any]:
        place = self._places[name]
        if self._last[0] != name:
            if self._spool is None:
                document = read_point(self._file(name), name)
            else:
                document = unsealed(self._spool.get(place).decode(), name) or {}
            self._last = name, document
        return self._last[1]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _file(self, name: str) -> Path:
        return (self._folder or Path()) / f"{name}.json"

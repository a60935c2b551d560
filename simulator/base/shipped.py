"""What ships with the product, by name and from any folder: scenarios, graphs, traces and tables."""

import difflib
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

from simulator.base import files
from simulator.base.errors import ScenarioError

KINDS = ("scenarios", "traces")
SUFFIXES = (".yaml", ".json", ".toml", ".csv")
SCENARIOS = (".yaml", ".toml")
_NO_SCENARIOS = ("segs", "platforms")
"""Folders of what scenarios are made of."""
_HEAD_BYTES = 2**20


@dataclass(frozen=True)
class ShippedScenario:
    """A scenario that ships with the product."""

    name: str
    """Shortest name that leads to it."""
    file: str
    """As the README calls it: `scenarios/tutorial/two-cores.yaml`."""
    path: Path
    title: str
    """The first sentence of its first comment."""


def locate(path: str | Path) -> Path:
    """Where a file lies: a path on disk if there is one, else the shipped file that the name means.

    A shipped file may be called as the README does, from any folder, by the end of that path, or without its suffix:
    `scenarios/tutorial/two-cores.yaml`, `tutorial/two-cores`, `two-cores`. A name that means none is given back as it
    is, for its reader to refuse.

    >>> locate("two-cores").name
    'two-cores.yaml'
    """
    path = Path(path)
    if os.path.exists(path) or path.is_absolute() or ".." in path.parts or not path.name:  # noqa: PTH110 - never raises
        return path
    meant = _meant(path.parts)
    if len(meant) > 1:
        raise ScenarioError(
            f"{path}: there is no such file here, and several of that name are shipped; take {', '.join(meant)}"
        )
    if meant:
        return path_of(meant[0])
    near = difflib.get_close_matches(path.as_posix(), _callable_names(), n=1, cutoff=0.75)
    if near:
        raise ScenarioError(f"{path}: no such file or directory; nearest of what ships with apportion: {near[0]}")
    return path


@cache
def everything() -> tuple[str, ...]:
    """Every shipped file, as the README calls it: `scenarios/tutorial/two-cores.yaml`."""
    roots = {kind: files.shipped(kind, "") for kind in KINDS}
    return tuple(
        f"{kind}/{path.relative_to(root).as_posix()}"
        for kind, root in roots.items()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    )


@cache
def names() -> tuple[str, ...]:
    """Those that a command can read."""
    read = (PurePath(name) for name in everything())
    return tuple(name.as_posix() for name in read if name.suffix in SUFFIXES and not name.name.endswith(".schema.json"))


def scenarios() -> tuple[ShippedScenario, ...]:
    """The shipped scenarios, by file."""
    return tuple(
        ShippedScenario(_short(name), name, path_of(name), _title(path_of(name)))
        for name in names()
        if name.startswith("scenarios/") and name.endswith(SCENARIOS) and not {*_NO_SCENARIOS} & {*PurePath(name).parts}
    )


def path_of(name: str) -> Path:
    """Where one of `everything` lies."""
    kind, _, inside = name.partition("/")
    return files.shipped(kind, inside)


def _meant(asked: tuple[str, ...]) -> list[str]:
    """Shipped files that a name means: by their whole names if there are such, else without suffix."""
    tails = [(PurePath(name).parts[-len(asked) :], name) for name in names()]
    tails = [(tail, name) for tail, name in tails if tail[:-1] == asked[:-1]]
    for called in (str, lambda name: PurePath(name).stem, lambda name: name.partition(".")[0]):
        if meant := [name for tail, name in tails if called(tail[-1]) == asked[-1]]:
            return meant
    return []


def _short(name: str) -> str:
    """The shortest end of a path, without suffix, that means this file alone."""
    parts = PurePath(name).with_suffix("").parts
    ends = (parts[-count:] for count in range(1, len(parts) + 1))
    return next(("/".join(end) for end in ends if _meant(end) == [name]), name)


@cache
def _callable_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys([*map(_short, names()), *(PurePath(name).name for name in names()), *names()]))


def _title(path: Path) -> str:
    """What the first comment says, but for hints to editors, up to the end of its first sentence."""
    words: list[str] = []
    for line in files.read_text(path, limit_bytes=_HEAD_BYTES).splitlines():
        if "$schema" in line:
            continue
        if not line.startswith("# "):
            break
        words.append(line[2:].strip())
        if line.rstrip().endswith((".", "?", ":")):
            break
    return re.split(r"(?<=[^.]\.) ", " ".join(words), maxsplit=1)[0]


def copy_all(folder: Path) -> tuple[str, ...]:
    """Every shipped file at the place that the others expect it at."""
    there = [name for name in everything() if (folder / name).exists()]
    if there:
        raise ScenarioError(f"--output: {folder / there[0]} is there already; name a folder without the shipped files")
    for name in everything():
        files.write_bytes(folder / name, files.read_bytes(path_of(name)), synced=False)
    return everything()

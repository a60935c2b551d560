"""Parameters of `hpl` from the input file of the benchmark itself: HPL.dat, 31 lines of a value and what it means."""

from collections.abc import Mapping

from simulator.base import files, units
from simulator.base.errors import ScenarioError
from simulator.platform.named_files import NamedFiles
from simulator.programs.applications.parameters import Parameters

KEY = "hpl_dat"
BROADCASTS = {0: "ring", 1: "modified_ring", 2: "two_rings", 4: "scatter_ring"}
"""HPL's numbers of the broadcasts that are simulated."""
_LISTS = {"Ns": (5, 6), "NBs": (7, 8), "Ps": (10, 11), "Qs": (10, 12), "BCASTs": (22, 23), "DEPTHs": (24, 25)}
"""Lines of the number of values and of the values; HPL reads its file by line."""
_CHOICES = {"n": "Ns", "nb": "NBs", "broadcast": "BCASTs"}
_NEEDED = 25
_LIMIT_BYTES = 2**20


def with_hpl_dat(parameters: Parameters, named: NamedFiles) -> tuple[dict[str, float | str], tuple[str, ...]]:
    """Parameters with those of the HPL.dat that they name in its place, and what is to be known of it.

    What is said next to it holds in place of the file's: so one of several values is chosen.

    Raises
    ------
    ScenarioError
        If the file is none, or asks for several runs or for what is not simulated; with its line.
    """
    if KEY not in parameters:
        return dict(parameters), ()
    path = str(parameters[KEY])
    lines = files.read_text(named.path(path), limit_bytes=_LIMIT_BYTES).splitlines()
    if len(lines) < _NEEDED:
        raise ScenarioError(f"{path}: the file has {len(lines)} lines and HPL.dat has 31; name one")
    found = {name: _values(path, lines, name) for name in _LISTS}
    said: dict[str, float | str] = {name: value for name, value in parameters.items() if name != KEY}
    for name, listed in _CHOICES.items():
        if name not in said:
            said[name] = _only(path, found, listed, f"{name} next to {KEY} chooses")
    if "broadcast" not in parameters:
        said["broadcast"] = _broadcast(path, int(said["broadcast"]))
    rows = set(found["Ps"])
    if rows != {1}:
        grids = ", ".join(f"{p} x {q}" for p, q in zip(found["Ps"], found["Qs"], strict=True))
        advice = "write Ps of 1 here, and the grid in the configuration, such as grid: [2, 4]"
        raise ScenarioError(f"{path}:{_LISTS['Ps'][1]}: Ps: the file asks for {grids}: {advice}")
    deep = max(found["DEPTHs"])
    notes = (f"{path}: the look-ahead of {deep} is not simulated",) if deep else ()
    return said, notes


def _values(path: str, lines: list[str], name: str) -> list[int]:
    counted, listed = _LISTS[name]
    (count,) = _integers(path, lines, counted, 1, f"number of {name}")
    if not 1 <= count <= 20:
        raise ScenarioError(f"{path}:{counted}: number of {name} is {count}; give 1 to 20")
    return _integers(path, lines, listed, count, name)


def _integers(path: str, lines: list[str], line: int, count: int, name: str) -> list[int]:
    words = lines[line - 1].split()[:count]
    if len(words) < count or not all(units.to_whole(word) is not None for word in words):
        found = (" ".join(words) or "nothing")[:60]
        raise ScenarioError(f"{path}:{line}: {name}: {found!r} stands there; begin the line with {count} integers")
    return [int(word) for word in words]


def _only(path: str, found: Mapping[str, list[int]], name: str, advice: str) -> int:
    values = sorted(set(found[name]))
    if len(values) > 1:
        shown = ", ".join(map(str, values))
        raise ScenarioError(f"{path}:{_LISTS[name][1]}: {name}: there are {shown}; leave one value: {advice}")
    return values[0]


def _broadcast(path: str, number: int) -> str:
    if number not in BROADCASTS:
        known = ", ".join(f"{one} ({name})" for one, name in BROADCASTS.items())
        raise ScenarioError(f"{path}:{_LISTS['BCASTs'][1]}: BCASTs: {number} is not simulated; take {known}")
    return BROADCASTS[number]

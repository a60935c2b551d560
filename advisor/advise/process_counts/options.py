"""What may be used, as options say it: kinds with their PEs and most processes, memory, and hosts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simulator import ScenarioError, expanded, units

MOST_PES = 100_000
"""PEs of a kind, or processes on one of them."""
MOST_FAULTS = 20
Kinds = Mapping[str, tuple[int, int]]
"""Name -> how many PEs there are, and most processes on one of them."""


@dataclass(frozen=True)
class Limits:
    """What memory allows."""

    memory_bytes: Mapping[str, float]
    """Of a PE of that kind; kinds that are not named have enough."""
    footprint: str
    """Bytes of one process: a formula of N (problem size) and P (processes in all)."""


def parse_kinds(text: str) -> dict[str, tuple[int, int]]:
    """`fast:1:4,slow:3:2` as kinds: name, how many PEs, most processes on one.

    Raises ScenarioError for every part that is none, and for a kind that is named twice.
    """
    found: dict[str, tuple[int, int]] = {}
    faults = []
    for part in text.split(","):
        name, *numbers = part.strip().split(":")
        whole = [int(number) if number.isascii() and number.isdecimal() else 0 for number in numbers]
        if not name or len(whole) != 2 or not all(1 <= number <= MOST_PES for number in whole):
            wanted = f"give NAME:PES:MOST with whole numbers from 1 to {MOST_PES} (PEs, and processes on each)"
            faults.append(f"--kinds: {part.strip()!r} is no kind; {wanted}")
        elif name in found:
            faults.append(f"--kinds names {name} twice; name it once")
        else:
            found[name] = whole[0], whole[1]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])
    return found


def parse_memory(texts: list[str], kinds: Kinds) -> dict[str, float]:
    """`fast=4GiB` as bytes by kind; see `parse_kinds` for errors."""
    found: dict[str, float] = {}

    def add(name: str, size: str) -> None:
        found[name] = units.parse(size, units.SIZE, field=f"--memory: {name}")
        if found[name] <= 0:
            raise ScenarioError(f"--memory of {name} is {size!r}; give a size above 0")

    _named(texts, "--memory", kinds, add, example="fast=4GiB", several=False)
    return found


def parse_hosts(texts: list[str], kinds: Kinds) -> dict[str, list[str]]:
    """`fast=node1,slow=node[2-4]` as host names by kind; a name without a kind goes with the kind before it."""
    found: dict[str, list[str]] = {}

    def add(name: str, host: str) -> None:
        found.setdefault(name, []).extend(expanded(host))

    _named(texts, "--hosts", kinds, add, example="slow=node[2-4]", several=True)
    return found


def _named(
    texts: list[str], option: str, kinds: Kinds, add: Callable[[str, str], None], *, example: str, several: bool
) -> None:
    """Take apart `KIND=VALUE,...`, given once or repeated; with `several`, `VALUE` alone goes with the kind before."""
    faults: list[str] = []
    seen: set[str] = set()
    for text in texts:
        name = ""
        for part in text.split(","):
            before, mark, value = part.strip().partition("=")
            if not mark:
                before, value = (name, part.strip()) if several else ("", "")
            name = before
            if not (name and value):
                faults.append(f"{option}: {part.strip()!r} has no kind and value; give both, such as {example}")
            elif name not in kinds:
                faults.append(f"{option}: {name!r} is none of the kinds {', '.join(kinds)}")
            elif mark and not several and name in seen:
                faults.append(f"{option} names {name} twice; name it once")
            else:
                seen.add(name)
                try:
                    add(name, value)
                except ScenarioError as error:
                    faults += [line if line.startswith(option) else f"{option}: {line}" for line in error.lines]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])

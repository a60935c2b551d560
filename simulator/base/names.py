"""Names of many alike: `fast[01-08]` as eight names, and eight names as `fast[01-08]`."""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence

from simulator.base.errors import ScenarioError, meant

MAX_NAMES = 1_000_000
"""Most names of one pattern, and most PEs of a platform: they take some 7 s and 600 MB to make."""
MOST_DIGITS = 18
"""Of a number in a name."""
_MOST_SHOWN = 100
_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]")


def expanded(pattern: str) -> list[str]:
    """The names of a pattern with at most one range in square brackets; as wide as its first number is written.

    Raises ScenarioError if the range runs backwards, there are several, or it has too many names.
    """
    if not how_many(pattern) or not (match := _RANGE.search(pattern)):
        return [pattern]
    (low, high), head, tail = match.groups(), pattern[: match.start()], pattern[match.end() :]
    width = len(low) if low.startswith("0") else 0
    return [f"{head}{number:0{width}d}{tail}" for number in range(int(low), int(high) + 1)]


def how_many(pattern: str, count: int | None = None) -> int:
    """The number of names that `expanded`, or with a count `counted`, makes of a pattern, before any is made."""
    found = _RANGE.findall(pattern)
    if len(found) > 1:
        raise ScenarioError(f"{pattern!r} has several ranges; write one, such as [01-08]")
    if not found:
        return 1 if count is None else count
    low, high = found[0]
    number = int(high) - int(low) + 1 if max(len(low), len(high)) <= MOST_DIGITS else 0
    if not 1 <= number <= MAX_NAMES:
        shown = pattern if len(pattern) <= _MOST_SHOWN else f"{pattern[:_MOST_SHOWN]}..."
        raise ScenarioError(f"{shown!r} is no range that ascends and has 1 to {MAX_NAMES} names; write one")
    return number


def all_names(names: str | Sequence[str]) -> list[str]:
    """The names of one pattern or several."""
    patterns = [names] if isinstance(names, str) else names
    number = sum(map(how_many, patterns))
    if number > MAX_NAMES:
        raise ScenarioError(f"these are {number} names; write at most {MAX_NAMES}")
    return [name for pattern in patterns for name in expanded(pattern)]


def check_known(name: str, names: Collection[str], *, what: str) -> None:
    """Refuse a name that is not among others."""
    if name not in names:
        some = ", ".join(list(names)[:12])
        more = f", ... ({len(names)} in all)" if len(names) > 12 else ""
        raise ScenarioError(f"there is no {what} {name!r}; take one of {some}{more}{meant(name, names)}")


def counted(name: str, count: int | None) -> list[str]:
    """The names of a pattern, or `count` names that end in numbers from 1 on, as wide as the last."""
    names = expanded(name)
    if count is None or (_RANGE.search(name) and len(names) == count):
        return names
    if _RANGE.search(name):
        raise ScenarioError(
            f"count: {count} does not fit {name!r}, which is {len(names)} names; leave one of the two out"
        )
    width = len(str(count))
    return [f"{name}{number:0{width}d}" for number in range(1, count + 1)]


def first_name(name: str, count: int | None) -> str:
    """The first of the names that `counted` gives, up to zeros: the same for any number of them."""
    return f"{name}1" if count is not None and not _RANGE.search(name) else expanded(name)[0]


def compact(names: Sequence[str]) -> str | None:
    """The pattern of names that differ in one ascending number; None if there is none."""
    first = names[0]
    if len(names) == 1:
        return None if _RANGE.search(first) else first
    for digits in [*re.finditer(r"\d+", first, re.ASCII)][::-1]:
        head, number, tail = first[: digits.start()], digits.group(), first[digits.end() :]
        last = names[-1][len(head) : len(names[-1]) - len(tail)]
        pattern = f"{head}[{number}-{last}]{tail}"
        if last.isascii() and last.isdecimal() and _agrees(pattern, names):
            return pattern
    return None


def in_few(names: Sequence[str], *, least: int = 2) -> list[str]:
    """Names as one pattern where they make one and are not fewer than some, else as they are."""
    pattern = compact(names) if len(names) >= least else None
    return list(names) if pattern is None else [pattern]


def patterns_of(names: Sequence[str]) -> list[str]:
    """Names as patterns where they follow each other, in their order: `n[1-4]`, `n7`."""
    found, start = list[str](), 0
    for end in range(1, len(names) + 1):
        if end == len(names) or compact(names[end - 1 : end + 1]) is None:
            run = names[start:end]
            whole = compact(run) if len(run) > 1 else None
            found += list(run) if whole is None else [whole]
            start = end
    return found


def _agrees(pattern: str, names: Sequence[str]) -> bool:
    found = _RANGE.findall(pattern)
    if len(found) != 1 or max(map(len, found[0])) > MOST_DIGITS:
        return False
    if int(found[0][1]) - int(found[0][0]) + 1 != len(names):
        return False
    return expanded(pattern) == list(names)


def ranges(numbers: Iterable[int], between: str = ",") -> str:
    """Numbers as the system writes lists of processors, and Batsim, with spaces, sets of resources: `0-3,8`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return between.join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def turns(values: Iterable[Hashable]) -> list[int]:
    """How often each value came before: 0 for the first of its kind."""
    seen: Counter[Hashable] = Counter()
    found = []
    for value in values:
        found.append(seen[value])
        seen[value] += 1
    return found

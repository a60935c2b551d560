"""Foreign files with one entry misspelt, unknown, cut or doubled, drawn from seeds: none may be accepted in silence.

A `Foreign` is a good file with the ways in which its format is damaged, made by `misspell`, `insert`, `double`,
`add_column` and `double_column`. `accepted_in_silence` tries them all; where a number is another one, or none, reading
may end in a refusal of ours or well, and in nothing else.
"""

import random
import re
import string
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from simulator.base.errors import ApportionError

Damage = Callable[[str, random.Random], str]
SEEDS = range(30)
NUMBERS = range(400)


def _match(pattern: str, text: str, chance: random.Random) -> re.Match[str]:
    found = list(re.finditer(pattern, text, re.MULTILINE))
    assert found, f"the good file has no {pattern!r}"
    return chance.choice(found)


def misspell(pattern: str) -> Damage:
    """One letter of a name (the pattern's first group) is wrong, missing or there twice."""

    def damage(text: str, chance: random.Random) -> str:
        match = _match(pattern, text, chance)
        name, names = match[1], {found[1] for found in re.finditer(pattern, text, re.MULTILINE)}
        while name.lower() in {known.lower() for known in names}:
            at = chance.randrange(len(match[1]))
            other = chance.choice(["", 2 * match[1][at], chance.choice(string.ascii_lowercase)])
            name = match[1][:at] + other + match[1][at + 1 :]
        return text[: match.start(1)] + name + text[match.end(1) :]

    return damage


def insert(pattern: str, *texts: str) -> Damage:
    """Something that the format does not know, at the start of a match."""

    def damage(text: str, chance: random.Random) -> str:
        at = _match(pattern, text, chance).start()
        return text[:at] + chance.choice(texts) + text[at:]

    return damage


def double(pattern: str) -> Damage:
    """An entry (a whole match) twice."""

    def damage(text: str, chance: random.Random) -> str:
        match = _match(pattern, text, chance)
        return text[: match.end()] + match[0] + text[match.end() :]

    return damage


def _with_column(text: str, separator: str, column: Sequence[str], at: int) -> str:
    rows = [line.split(separator) for line in text.splitlines()]
    return "".join(separator.join([*row[:at], cell, *row[at:]]) + "\n" for row, cell in zip(rows, column, strict=True))


def add_column(separator: str, name: str, value: str) -> Damage:
    """A column of a name that nobody knows, in a table whose first line is its header."""

    def damage(text: str, chance: random.Random) -> str:
        lines = text.splitlines()
        at = chance.randint(1, lines[0].count(separator))
        return _with_column(text, separator, [name, *(value for _ in lines[1:])], at)

    return damage


def double_column(separator: str) -> Damage:
    """A column twice, in a table whose first line is its header."""

    def damage(text: str, chance: random.Random) -> str:
        rows = [line.split(separator) for line in text.splitlines()]
        at = chance.randrange(len(rows[0]))
        return _with_column(text, separator, [row[at] for row in rows], at + 1)

    return damage


def any_of(*ways: Damage) -> Damage:
    """One of several ways."""
    return lambda text, chance: chance.choice(ways)(text, chance)


def renumbered(text: str, chance: random.Random) -> str:
    """One number is 0, below it, too large, none, or missing."""
    match = _match(r"\d+(?:\.\d+)?", text, chance)
    other = chance.choice(["0", "0.00", "-1", "1e999", "nan", "", "x", "9" * 30])
    return text[: match.start()] + other + text[match.end() :]


def cut_off(text: str, chance: random.Random) -> str:
    """The end is missing, from within a line on."""
    inside = [at for at in range(1, len(text.rstrip())) if text[at - 1] != "\n" and text[at] != "\n"]
    return text[: chance.choice(inside)]


@dataclass(frozen=True)
class Foreign:
    """A good file, and how its format is damaged."""

    text: str
    misspelt: Damage
    unknown: Damage
    doubled: Damage
    cut: Damage = cut_off


def accepted_in_silence(
    form: Foreign, read: Callable[[Path], Iterable[str]], path: Path, seeds: Iterable[int] = SEEDS
) -> list[str]:
    """The damaged files of which nothing is said, as kind, seed and the first line that differs.

    `read`: reads the file at `path` and returns what it says of it; also said is what it refuses or warns of.
    """
    path.write_text(form.text)
    usual, silent = set(_said(read, path)), []
    for seed in NUMBERS:
        path.write_text(renumbered(form.text, random.Random(f"number {seed}")))  # noqa: S311
        with suppress(ApportionError):
            _said(read, path)
    for seed in seeds:
        for kind in ("misspelt", "unknown", "doubled", "cut"):
            text = getattr(form, kind)(form.text, random.Random(f"{kind} {seed}"))  # noqa: S311
            path.write_text(text)
            try:
                said = _said(read, path)
            except ApportionError as error:
                silent += [f"{kind} {seed}: several lines: {line!r}" for line in error.lines if "\n" in line]
                continue
            if set(said) <= usual:
                pairs = zip(text.splitlines(), form.text.splitlines(), strict=False)
                shown = next((new for new, old in pairs if new != old), "(its end)")
                silent.append(f"{kind} {seed}: {shown}")
    return silent


def _said(read: Callable[[Path], Iterable[str]], path: Path) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes = list(read(path))
    return [*notes, *(str(warning.message) for warning in caught)]

"""What the README and the tutorials show: blocks of text, commands with their output, and files."""

import re
import shlex
from collections.abc import Iterator

FILES = {"csv": "targets.csv", "yaml": "scenario.yaml", "json": "link.json", "python": "product.py"}
"""Language of a block that is a file -> the name by which the commands of the text call it."""


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of each block."""
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


def first(text: str, language: str) -> str:
    """The first block in a language."""
    return next(block for found, block in blocks(text) if found == language)


def lines_shown(block: str) -> Iterator[tuple[list[str], str]]:
    """Words of each command of a console's block, and what it shows of the output."""
    for part in block.split("$ ")[1:]:
        line, _, output = part.partition("\n")
        yield shlex.split(line), output


def commands(text: str) -> Iterator[tuple[list[str], str]]:
    """The same of all blocks, commands of `apportion` alone: their arguments."""
    for language, block in blocks(text):
        for words, output in lines_shown(block) if language == "console" else ():
            if words[0] == "apportion":
                yield words[1:], output


def cut(said: str, output: str) -> str:
    """What was said, from the place on cut where a text shows `...` as its last line."""
    if not output.endswith("\n...\n"):
        return said
    return "".join([*said.splitlines(keepends=True)[: output.count("\n") - 1], "...\n"])


def form(text: str) -> list[str]:
    """The words of a text, whatever its numbers and where its lines break."""
    return re.sub(r"-?\d+(?:\.\d+)?", "#", text).split()


def files(text: str) -> dict[str, str]:
    """The files that a text shows, by name."""
    return {FILES[language]: block for language, block in blocks(text) if language in FILES}

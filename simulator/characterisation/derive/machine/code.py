"""What blocks of intermediate or machine code are, and the version of the code that counts their entries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class CodeBlock:
    """Instructions that are entered together."""

    name: str
    """Function and label."""
    uses: Mapping[str, float]
    """Operation -> how often one entry uses it; of machine code also `cycles`, see `schedule`."""
    instructions: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"name": self.name, "uses": dict(self.uses), "instructions": self.instructions}


UNFORESEEN = "unforeseen"
"""Operation: the rarer way out of a conditional branch, which the processor may not foresee."""


@dataclass(frozen=True)
class Counting:
    """Code with counters."""

    text: str
    blocks: tuple[CodeBlock, ...]
    """By counter."""
    outside: tuple[str, ...]
    """Functions called whose own instructions are not in the code."""


@dataclass(frozen=True)
class Code:
    """Blocks of code, how often each was entered in each profiled run, and functions called outside them."""

    blocks: tuple[CodeBlock, ...]
    counts: tuple[tuple[int, ...], ...]
    """By point, by block."""
    outside: tuple[str, ...]


def with_unforeseen(code: Code) -> Code:
    """The code with how often each conditional branch goes its rarer way, in the largest profiled run.

    The block behind a branch is entered when it falls through: as often as that, or more often if others lead there.
    """
    if not code.counts:
        return code
    counts = code.counts[-1]
    blocks = list(code.blocks)
    for number, block in enumerate(blocks[:-1]):
        if block.uses.get("branch") and counts[number]:
            through = min(1.0, counts[number + 1] / counts[number])
            blocks[number] = replace(block, uses={**block.uses, UNFORESEEN: min(through, 1 - through)})
    return replace(code, blocks=tuple(blocks))

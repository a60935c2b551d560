"""What blocks of intermediate or machine code are, and the version of the code that counts their entries."""

from collections.abc import Mapping
from dataclasses import dataclass
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

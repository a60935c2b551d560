"""What a kernel of the study is: a plain function that Numba compiles, its arguments by size, what a designer knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StudyKernel:
    """A kernel with one size n."""

    name: str
    meaning: str
    """What it does and what n is, one line."""
    function: Callable[..., Any]
    """Plain Python that Numba compiles; it returns a result, or leaves it in its arguments."""
    arguments: Callable[[int], tuple[Any, ...]]
    """Arguments of size n, the same ones each time."""
    template: str
    """Parallel template that it is run with."""
    sizes: tuple[int, ...]
    """Sizes that are judged by default; nothing is ever calibrated at them."""
    training_sizes: tuple[int, ...]
    """Sizes whose counts and times costs may be fitted to, around those that are judged."""
    design: Mapping[str, str]
    """What its designer expects before there is code: operation -> formula of n."""
    overwrites: bool = False
    """Whether a run spoils its arguments for the next one."""

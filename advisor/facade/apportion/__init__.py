"""Apportion in your own programs: `from apportion import balance`."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator import balance

__all__ = ["balance"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return __all__

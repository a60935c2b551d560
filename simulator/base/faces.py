"""The public names of a package: the imports that its `__init__` makes for a type checker, made when first used."""

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any


def face(package: str) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """`__all__`, `__dir__` and `__getattr__` of a package that imports its public names `if TYPE_CHECKING` only."""
    homes = dict[str, str]()
    for statement in ast.parse(_source(package)).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            for one in statement.body:
                if isinstance(one, ast.ImportFrom):
                    homes |= {alias.name: str(one.module) for alias in one.names}
    public = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        if home != package:
            module = importlib.import_module(home)
            if hasattr(module, name):
                return getattr(module, name)
        return importlib.import_module(f"{home}.{name}")

    return public, public.copy, load


def _source(package: str) -> str:
    spec = sys.modules[package].__spec__
    loader: Any = None if spec is None else spec.loader
    return str(loader.get_source(package))

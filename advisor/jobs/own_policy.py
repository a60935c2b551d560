"""A policy of the user's own, from a Python file that the command line names."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import NoReturn

from simulator import Policy, ScenarioError

FUNCTION = "decide"
FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, NameError, OSError),
    *(RuntimeError, SyntaxError, SystemExit, TypeError, ValueError),
)
"""What a file of the user's own may end with when it is read."""


class _SourceAlone(SourceFileLoader):
    """Runs what the file says, not compiled code in a `__pycache__` next to it, and writes none there."""

    def path_stats(self, path: object) -> NoReturn:
        """Say that nothing is known of the file, by which compiled code is found."""
        raise FileNotFoundError(path)


def named_file(named: str) -> tuple[Path, str]:
    """The file of `FILE.py` or `FILE.py:FUNCTION`, and the function, if one is named."""
    file, _, function = named.rpartition(":")
    return (Path(file), function) if file and function.isidentifier() else (Path(named), "")


def own_policy(named: str, *, processors: str = "counted", same_second: str = "instant") -> Policy:
    """The policy of `FILE.py`, whose function is `decide`, or of `FILE.py:FUNCTION`.

    Raises ScenarioError for a file that is not there or cannot be run, and a name that is no function in it.

    `processors`, `same_second`: as in `Policy`.
    """
    path, function = named_file(named)
    wanted = function or FUNCTION
    if not path.is_file():
        raise ScenarioError(f"--policy: there is no file {path}; give FILE.py or FILE.py:FUNCTION")
    name = f"own policy {path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_SourceAlone(name, str(path)))
    if path.suffix != ".py" or spec is None or spec.loader is None:
        raise ScenarioError(f"--policy: {path} is no Python file; give FILE.py or FILE.py:FUNCTION")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses of the file look for their names
    try:
        spec.loader.exec_module(module)
    except FAULTS as error:
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise ScenarioError(f"--policy: {path} fails with {said}; mend it") from error
    decide = getattr(module, wanted, None)
    if not callable(decide):
        raise ScenarioError(f"--policy: {path} has no function {wanted}; define {wanted}(seen)")
    words = {"processors": processors, "same_second": same_second}
    return Policy(**words, own=decide, own_name=path.name + (f":{function}" if function else ""))  # type: ignore[arg-type]

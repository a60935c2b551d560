"""A policy of the user's own, from a Python file that the command line names."""

import importlib.util
import sys
from pathlib import Path

from simulator import Policy, ScenarioError

__all__ = ["own_policy"]

FUNCTION = "decide"
FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, NameError, OSError),
    *(RuntimeError, SyntaxError, SystemExit, TypeError, ValueError),
)
"""What a file of the user's own may end with when it is read."""


def own_policy(named: str, *, processors: str = "counted", same_second: str = "instant") -> Policy:
    """The policy of `FILE.py`, whose function is `decide`, or of `FILE.py:FUNCTION`.

    Parameters
    ----------
    processors, same_second
        As in `Policy`.

    Raises
    ------
    ScenarioError
        For a file that is not there or cannot be run, and a name that is no function in it.
    """
    file, _, function = named.partition(":")
    path, wanted = Path(file), function or FUNCTION
    if not path.is_file():
        raise ScenarioError(f"--policy: there is no file {path}; give FILE.py or FILE.py:FUNCTION")
    spec = importlib.util.spec_from_file_location(f"own policy {path.stem}", path)
    if spec is None or spec.loader is None:
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

"""Where this machine's resource model is kept if nobody names a file: in the user's cache, by machine and compiler."""

from pathlib import Path

from simulator.base import files, machine
from simulator.base.errors import ScenarioError
from simulator.characterisation.costs.timing import fingerprint
from simulator.models.resource import HardwareModel, load_resource_model


def kept_here() -> Path:
    """Path of the model of this machine, its compiler and these sources; it may not be there yet.

    Raises
    ------
    ScenarioError
        If there is no folder that only this user can write.
    """
    return _folder() / f"{fingerprint(machine.this_machine(), fitted=True)}.json"


def runs_beside(path: Path | None) -> Path:
    """Path of the counts and times that a model at a path (None: the one kept for this machine) is made from.

    Raises
    ------
    ScenarioError
        As `kept_here`.
    """
    if path is not None:
        return path.with_suffix(".runs.json")
    return _folder() / f"{fingerprint(machine.this_machine())}.runs.json"


def _folder() -> Path:
    found = files.user_cache()
    if found is None:
        raise ScenarioError(
            "resource model: there is no folder that only you can write to keep it in; set XDG_CACHE_HOME to one, "
            "or write the model to a file by `apportion calibrate resource -o FILE`"
        )
    return found / "resource"


def known_here() -> HardwareModel | None:
    """The model kept for this machine, None if there is none yet."""
    if files.user_cache() is None:
        return None
    path = kept_here()
    return load_resource_model(path) if path.exists() else None

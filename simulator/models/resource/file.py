"""Resource models from and to JSON files: the cost vectors of one PE."""

from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.models.resource import HardwareModel


def save_resource_model(model: HardwareModel, path: str | Path) -> None:
    """Write a resource model as JSON, whole or not at all."""
    path = Path(path)
    files.write_json(path, model.to_dict())


def load_resource_model(path: str | Path) -> HardwareModel:
    """Read a resource model; see `HardwareModel.from_dict` for what a file may say.

    Raises
    ------
    ScenarioError
        If the file is missing, no JSON, or no resource model; one line per fault.
    """
    path = Path(path)
    document = files.read_json(path)
    try:
        return HardwareModel.from_dict(document)
    except ScenarioError as error:
        raise ScenarioError([f"{path}: {line}" for line in error.lines]) from None

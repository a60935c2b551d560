"""Public names: what `__all__` promises, the lazy table loads, and nothing else."""

import ast
import importlib
from pathlib import Path

import pytest

PACKAGES = ["simulator", "simulator.calibration", "simulator.models", "advisor", "apportion"]


@pytest.mark.parametrize("package", PACKAGES)
def test_promised_loaded_and_typed_names_agree(package):
    module = importlib.import_module(package)
    source = Path(module.__file__).read_text()
    typed = {
        alias.name
        for node in ast.parse(source).body
        if isinstance(node, ast.If)
        for imported in ast.walk(node)
        if isinstance(imported, ast.ImportFrom)
        for alias in imported.names
    }
    promised = set(module.__all__)
    assert promised == set(module._HOMES) | set(getattr(module, "_MODULES", ()))
    assert typed >= set(module._HOMES)
    for name in promised:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing

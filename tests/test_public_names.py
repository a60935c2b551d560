"""Public names: what a package imports for a type checker is what it promises, and loads when first used."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house_rules import public_names

PACKAGES = ["simulator", "simulator.calibration", "simulator.characterisation", "simulator.models", "advisor"]
PACKAGES += ["apportion"]


@pytest.mark.parametrize("package", PACKAGES)
def test_promised_and_typed_names_agree_and_load(package):
    module = importlib.import_module(package)
    typed = public_names(Path(module.__file__).read_text(encoding="utf-8"))
    assert typed
    assert set(module.__all__) == typed == set(dir(module))
    for name in typed:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_a_face_costs_nothing(package):
    code = f"import sys, {package}; assert not {{'numpy', 'numba', 'matplotlib', 'pandas'}} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

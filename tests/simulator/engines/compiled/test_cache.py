"""Machine code on disk: found again, and never after anything that it was made of has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

TICK = 5 * 2**59 - 256
"""Least tick by which 5 is reached at 2^-59 per tick: float64 rounds the last 256 up."""

KERNEL = """
from simulator.engines.compiled.service import ServiceTables, tick_when


def probe(tables: ServiceTables) -> int:
    return tick_when(tables, 0, 5, 0)
"""

PROGRAM = """
import numpy as np
from simulator.engines.compiled import on_compile
from simulator.engines.compiled.cache import compiled
from simulator.engines.compiled.service import service_tables
from simulator.platform import PE
from simulator.engines.compiled.probe import probe

told = []
on_compile.append(told.append)
tables = service_tables([PE("a", "n")], np.array([1]), tick_s=1e-12)
print(compiled(probe)(tables._replace(last_rate=np.array([2.0**-59]))), told)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the simulator with a kernel more, whose callees are in another file."""
    shutil.copytree(ROOT / "simulator", tmp_path / "simulator", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "simulator/engines/compiled/probe.py").write_text(KERNEL)
    return tmp_path


def answer(package, cache):
    environment = os.environ | {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(cache)}
    call = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(call, cwd=package, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def edit(path, old, new):
    """Change a source so that neither its size nor its time tells."""
    before = path.stat()
    assert path.read_text().count(old) == 1
    assert len(old) == len(new)
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.slow
def test_an_edited_callee_and_an_edited_constant_are_seen(package, tmp_path):
    cache = tmp_path / "cache"
    assert answer(package, cache) == f"{TICK} ['probe']"
    assert answer(package, cache) == f"{TICK} []"
    callee = "found if found < LAST_TICK else OVERFLOW\n    first"
    edit(package / "simulator/engines/compiled/service.py", callee, callee.replace("found if", "1+1+1 if"))
    assert answer(package, cache) == "3 ['probe']"
    edit(package / "simulator/costs/ticks.py", "LAST_TICK = 2**62", "LAST_TICK = 2**61")
    assert answer(package, cache) == "-3 ['probe']"


@pytest.mark.slow
def test_without_a_place_to_write_to_nothing_is_kept(package, tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    assert answer(package, nowhere) == f"{TICK} ['probe']"
    assert nowhere.read_text() == ""
    assert not list(package.rglob("*.nbc"))

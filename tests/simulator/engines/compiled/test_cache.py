"""Machine code on disk: found again, and never after anything that it was made of has changed."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba.core import codegen

from simulator.engines.compiled import cache

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
from simulator.platform.nodes import PE
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


def answer(package, kept, program=PROGRAM, **options):
    """What a new process says; without bytecode, which knows a source by its size and time alone."""
    environment = os.environ | {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(kept)}
    call = [sys.executable, "-B", "-W", "error", "-c", program]
    options = {"env": environment, "cwd": package} | options
    done = subprocess.run(call, capture_output=True, text=True, check=False, **options)
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
    kept = tmp_path / "cache"
    assert answer(package, kept) == f"{TICK} ['probe']"
    assert answer(package, kept) == f"{TICK} []"
    callee = "found if found < LAST_TICK else OVERFLOW\n    first"
    edit(package / "simulator/engines/compiled/service.py", callee, callee.replace("found if", "1+1+1 if"))
    assert answer(package, kept) == "3 ['probe']"
    edit(package / "simulator/engines/costs/ticks.py", "LAST_TICK = 2**62", "LAST_TICK = 2**61")
    assert answer(package, kept) == "-3 ['probe']"


@pytest.mark.slow
def test_without_a_place_to_write_to_nothing_is_kept(package, tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    program = f"import tempfile; tempfile.tempdir = {str(nowhere)!r}{PROGRAM}"
    assert answer(package, nowhere, program) == f"{TICK} ['probe']"
    assert nowhere.read_text() == ""
    assert not list(package.rglob("*.nbc"))


def damages(whole):
    """A file's bytes, damaged in many ways: cut, overwritten, lengthened, a bit turned."""
    yield b""
    for share in (0.001, 0.3, 0.999):
        yield whole[: int(share * len(whole))]
    yield np.random.default_rng(18).bytes(len(whole))
    yield whole + b"\0"
    for place in (0, 40, len(whole) // 2, len(whole) - 1):
        yield whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]


def test_a_damaged_file_is_compiled_anew_and_mended(tmp_path, monkeypatch):
    """Loaded in this process: a turned bit in machine code would be a wrong answer or the process's end."""
    folder, told = tmp_path / "kept", []
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(cache, "cache_folder", lambda: folder)
    monkeypatch.setattr(cache, "on_compile", [told.append])

    def answered():
        told.clear()
        cache.compiled.cache_clear()
        found = cache.compiled(plus_one)(41)
        cache.compiled.cache_clear()
        return found, list(told)

    assert answered() == (42, ["plus_one"])
    assert answered() == (42, [])
    (file,) = folder.iterdir()
    for damaged in damages(file.read_bytes()):
        file.write_bytes(damaged)
        assert answered() == (42, ["plus_one"])
        assert answered() == (42, [])
        assert [path.name for path in folder.iterdir()] == [file.name]
    file.unlink()
    file.mkdir()
    assert answered() == (42, ["plus_one"])


def plus_one(number: int) -> int:
    return number + 1


def plus_two(number: int) -> int:
    return number + 2


def test_only_kernels_become_machine_code(monkeypatch):
    """The parts that it and its parts call are linked into it; as code of their own they took half of the time."""
    made, add = [], codegen.JITCPUCodegen._add_module
    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    monkeypatch.setattr(codegen.JITCPUCodegen, "_add_module", lambda self, code: made.append(code) or add(self, code))

    @cache.callee
    def once(number: int) -> int:
        return number + 1

    @cache.subroutine
    def twice(number: int) -> int:
        return once(once(number))

    def kernel(number: int) -> int:
        return twice(once(number))

    assert cache.compiled.__wrapped__(kernel)(39) == 42
    assert len(made) == 1


def test_a_file_copied_over_another_is_compiled_again(tmp_path, monkeypatch):
    """Each of the two is whole; the code of another kernel was loaded, or ended every later run with a traceback."""
    folder = tmp_path / "kept"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(cache, "cache_folder", lambda: folder)

    def answered(kernel):
        cache.compiled.cache_clear()
        found = cache.compiled(kernel)(40)
        cache.compiled.cache_clear()
        return found

    assert [answered(plus_one), answered(plus_two)] == [41, 42]
    one, two = sorted(folder.iterdir())
    shutil.copyfile(one, two)
    assert [answered(plus_one), answered(plus_two)] == [41, 42]
    assert one.read_bytes() != two.read_bytes()


@pytest.mark.slow
def test_processes_that_mend_at_the_same_time(package, tmp_path):
    kept = tmp_path / "cache"
    assert answer(package, kept) == f"{TICK} ['probe']"
    for file in kept.rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:1000])
    with ThreadPoolExecutor(4) as pool:
        begun = [pool.submit(answer, package, kept) for _ in range(4)]
        assert all(one.result().startswith(f"{TICK} ") for one in begun)
    assert answer(package, kept) == f"{TICK} []"
    assert not [path for path in kept.rglob("*") if path.is_file() and path.suffix != ".nbc"]


NOBODY = f"""
import pwd


def getpwuid(number):
    raise KeyError(number)


pwd.getpwuid = getpwuid
{PROGRAM}"""
"""A user without an entry in passwd: one of another number could not run this Python, if it lies in root's home."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give folders away")
def test_what_another_user_put_among_temporary_files_is_neither_read_nor_written(package, tmp_path):
    """No home, no setting, no entry in passwd, and all names among the temporary files are taken by somebody else."""
    temporary = tmp_path / "temporary"
    for folder in (temporary, temporary / "apportion", temporary / "apportion-cache-0"):
        folder.mkdir()
        folder.chmod(0o1777 if folder == temporary else 0o777)
        os.chown(folder, 54321 if folder != temporary else 0, 54321)
    environment = {name: value for name, value in os.environ.items() if name not in {"HOME", "XDG_CACHE_HOME"}}
    environment |= {"PYTHONPATH": str(package), "TMPDIR": str(temporary)}
    for _ in range(2):
        assert answer(package, None, NOBODY, env=environment) == f"{TICK} ['probe']"
    assert sorted(path.name for path in temporary.rglob("*")) == ["apportion", "apportion-cache-0"]


CHOICE = """
import sys
from dataclasses import replace
from simulator import load_scenario
from simulator.engines.compiled.place import cache_folder
from simulator.engines.run import in_time, worth_compiling

scenario = replace(load_scenario(sys.argv[1]), replications=4_000)
print(worth_compiling(scenario))
(cache_folder() / "any.nbc").touch()
print(worth_compiling(scenario))
(cache_folder() / "any.nbc").unlink()
with in_time(10):
    print(worth_compiling(scenario), worth_compiling(scenario))
    with in_time(None), in_time(100):
        print(worth_compiling(scenario))
with in_time(100):
    print(worth_compiling(scenario))
"""


def test_where_no_kernel_is_kept_more_must_be_asked_for_before_any_is_compiled(tmp_path):
    """Of 192,000 operations each time; where a budget is too short, never, whatever is asked within it."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    call = [sys.executable, "-c", CHOICE, str(ROOT / "scenarios/tutorial/two-cores.yaml")]
    done = subprocess.run(call, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", *["False"] * 3, "True"], done.stderr

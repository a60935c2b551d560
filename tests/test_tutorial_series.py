"""The tutorial series: its index, what its texts print, and its scenarios by hand."""

import re
import shutil
from math import log2

import pytest

from simulator import load_scenario, run
from simulator.base.machine import this_machine
from tests.support import shown
from tests.support.command_line import ROOT
from tests.support.sweep_points import thread

FOLDER = ROOT / "scenarios" / "tutorial"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")


def commands(name):
    """Arguments of each command of a text, and what it shows of the output."""
    return shown.commands((FOLDER / name).read_text(encoding="utf-8"))


@pytest.fixture
def at_root(tmp_path, monkeypatch):
    """An empty folder with the shipped scenarios and traces."""
    for name in ("scenarios", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(name, apportion, corpus, first=None):
    """Run a text's commands in this process; each must begin its output with what the text shows."""
    for arguments, output in list(commands(name))[:first]:
        code, printed, _ = apportion(*arguments)
        assert code == 0, arguments
        told = shown.cut(printed, output).splitlines(keepends=True)
        corpus.text(FOLDER / name, output, "".join(told[: output.count("\n")]))
        yield printed


def test_every_step_is_in_the_index():
    own = {path.name for path in FOLDER.iterdir() if path.suffix in {".yaml", ".md", ".json", ".csv"}}
    assert {name for name in own - {"README.md"} if f"`{name}`" not in INDEX and f"]({name})" not in INDEX} == set()
    assert all((FOLDER / name).exists() for name in re.findall(r"\]\(([a-z-]+\.md)\)", INDEX))
    steps = [int(row) for row in re.findall(r"^\| (\d+) \|", INDEX, re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) >= 16


@pytest.mark.usefixtures("at_root")
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("networks.md", 4),
        ("memory.md", 3),
        ("channels.md", 3),
        ("own-mpi.md", 1),
        ("gpus.md", 1),
        pytest.param("jobs.md", 6, marks=pytest.mark.slow),
        ("../papers/README.md", 1),
    ],
)
def test_a_text_prints_what_it_shows(apportion, corpus, monkeypatch, name, count):
    monkeypatch.setattr("advisor.cli.whatif._where", lambda *_: thread)  # a worker takes seconds to start
    assert len(list(follow(name, apportion, corpus))) == count


@pytest.mark.usefixtures("at_root")
def test_a_text_on_jobs_prints_what_it_shows_of_streams(apportion, corpus):
    """The rest, on a platform, is slow; in small: test_jobs_platform.py and a command of the README."""
    assert len(list(follow("jobs.md", apportion, corpus, first=2))) == 2


@pytest.mark.slow
def test_what_ifs_print_what_the_text_shows(at_root, apportion, corpus):
    printed = list(follow("whatif.md", apportion, corpus))
    assert len(printed) == 5
    assert printed[3].startswith("platform.network.contention=none with")  # resumed
    kept = sorted((at_root / "out" / "grid" / "points").iterdir())
    assert len(kept) == 7
    arguments = next(words for words, _ in commands("whatif.md"))
    code, printed, _ = apportion(*arguments, "--only", kept[0].stem[:12])
    assert code == 0
    assert printed.endswith("the bits that were kept\n")


@pytest.mark.real
@pytest.mark.skipif(this_machine().pe_count < 2, reason="two PEs really run")
def test_the_advice_is_put_to_the_test(at_root, apportion):
    (arguments, _), *_ = commands("verify.md")
    code, printed, _ = apportion(*arguments)
    assert code in {0, 1}  # 1: another machine, or a busy one
    assert "predicted" in printed
    assert (at_root / "out" / "verify" / "verification.json").exists()
    shutil.rmtree(at_root / "out")


def makespans(name, *changes):
    runs = run(load_scenario(FOLDER / name, changes=changes), replications=1, engine="process")
    return dict(zip(runs.configurations, runs.makespan_s[:, 0].tolist(), strict=True))


def test_the_first_run_by_hand():
    exchange = 50e-6 + 96 * 8 / 1e9
    assert makespans("first-run.yaml") == pytest.approx({"equal": 6 + exchange, "by-speed": 4 + exchange}, abs=1e-9)


def test_the_rules_of_load_by_hand():
    assert makespans("loads.yaml") == pytest.approx({"fair": 4.0, "idle": 5.0, "given": 4.5}, abs=1e-9)


@pytest.mark.parametrize(
    ("rule", "rounds"),
    [
        ("none", 3 * (50e-6 + 2**23 / 1e9)),
        ("fair", 3 * (50e-6 + 4 * 2**23 / 1e9)),
        ("fifo", 12 * (50e-6 + 2**23 / 1e9)),
    ],
)
def test_messages_that_meet_by_hand(rule, rounds):
    computing = 2 * 256 * 5 * 1024 * log2(1024) / 1e9
    found = makespans("networks.yaml", f"platform.network.contention={rule}")
    assert found["equal"] == pytest.approx(computing + rounds, abs=1e-9)


@pytest.mark.parametrize(("memory", "both_s"), [("16GiB", 6.1875), ("24MiB", 2500.0)])
def test_shared_memory_by_hand(memory, both_s):
    """Of 16 MiB a 16th is in L2, half in L3 alone, a quarter beside another; of 32 MiB three quarters in 24 MiB."""
    alone_s = 2e8 * (1 / 16 * 1e-9 + (1 / 2 - 1 / 16) * 10e-9 + 1 / 2 * 80e-9)
    found = makespans("memory.yaml", f"platform.nodes.0.memory={memory}")
    assert found["one core"] == pytest.approx(alone_s, rel=1e-3)
    assert found["both cores"] == pytest.approx(both_s, rel=5e-3)


def test_a_simgrid_platform_by_hand():
    exchange = 100e-6 + 2 * 96 / 125e6
    assert makespans("simgrid.yaml") == pytest.approx({"equal": 4 + exchange, "by-speed": 2 + exchange}, abs=1e-9)

"""Nodes of a scenario from what Slurm and lscpu say of a cluster."""

import json

import pytest

from simulator.base.errors import ScenarioError
from simulator.platform.foreign.slurm_nodes import nodes_in
from tests.support.mutated_files import Foreign, accepted_in_silence, double, insert, misspell

SHOWN = """NodeName=n01 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.01
   OS=Linux 5.14.0-362.el9.x86_64 #1 SMP PREEMPT_DYNAMIC
   RealMemory=257000 AllocMem=0 FreeMem=250000 Sockets=2 Boards=1
   State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A

NodeName=n02 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.01
   RealMemory=257000 AllocMem=0 FreeMem=250000 Sockets=2 Boards=1
   State=DOWN+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A

NodeName=big Arch=x86_64 CoresPerSocket=24
   CPUTot=48 RealMemory=1031000 Sockets=2
   State=MIXED ThreadsPerCore=1
"""
LISTED = """Sat Nov 28 16:00:00 2026
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON
n01            1      long        idle 64     2:16:2 257000        0      1   (null) none
n01            1     short        idle 64     2:16:2 257000        0      1   (null) none
n02            1      long       down* 64     2:16:2 257000        0      1   (null) Not responding
big            1      long       mixed 48     2:24:1 1031000        0      1   (null) none
"""
KINDS = ["n[01-02]: 32 cores 3 Gflop/s 257000MiB", "big: 48 cores 3 Gflop/s 1031000MiB"]


@pytest.mark.parametrize("text", [SHOWN, LISTED])
def test_nodes_are_kinds_with_the_speed_that_is_stated(tmp_path, text):
    (tmp_path / "nodes.txt").write_text(text)
    kinds, notes = nodes_in(tmp_path / "nodes.txt", "3 Gflop/s")
    assert kinds == KINDS
    assert len(notes) == 1
    assert notes[0].startswith("n02 is ")


def test_lscpu_is_a_node_of_its_cores(tmp_path):
    said = {"CPU(s):": 8, "Thread(s) per core:": 2, "Core(s) per socket:": 4}
    entries = [{"field": name, "data": str(value)} for name, value in said.items()]
    entries[1]["children"] = [{"field": "Socket(s):", "data": "1"}]
    (tmp_path / "login.json").write_text(json.dumps({"lscpu": entries}))
    assert nodes_in(tmp_path / "login.json", "2 Gflop/s") == (["login: 4 cores 2 Gflop/s"], [])


def test_new_takes_the_file_with_a_speed(apportion, tmp_path):
    (tmp_path / "nodes.txt").write_text(SHOWN)
    code, out, _ = apportion("new", "--nodes", f"{tmp_path / 'nodes.txt'}: 3 Gflop/s")
    assert code == 0
    assert "n[01-02]" in out
    code, _, err = apportion("new", "--nodes", str(tmp_path / "nodes.txt"))
    assert (code, "says no speeds; write that of a core behind it" in err) == (2, True)


@pytest.mark.parametrize(
    ("text", "misspelt", "unknown", "doubled"),
    [
        (
            SHOWN,
            misspell(r"\b(Sockets|CoresPerSocket|ThreadsPerCore|RealMemory)="),
            insert(r"^NodeName", "NodeName=x\n"),
            double(r"NodeName=big[^~]*\Z"),
        ),
        (
            LISTED,
            misspell(r"(NODELIST|S:C:T|MEMORY|STATE|CPUS)"),
            insert(r"^\w+ +1 ", "warp 3\n"),
            insert(r"^n02", "n02 1 long idle 64 2:16:2 1 0 1 (null) none\n"),
        ),
    ],
)
def test_no_damaged_list_of_nodes_is_accepted_in_silence(tmp_path, text, misspelt, unknown, doubled):
    form = Foreign(text, misspelt, unknown, doubled)

    def read(path):
        kinds, notes = nodes_in(path, "3 Gflop/s")
        return [*notes, *kinds]

    assert accepted_in_silence(form, read, tmp_path / "nodes.txt") == []


def test_what_contradicts_itself_is_refused(tmp_path):
    (tmp_path / "n").write_text(SHOWN.replace("CPUTot=48", "CPUTot=96"))
    with pytest.raises(ScenarioError, match="big: 96 CPUs are not 2:24:1"):
        nodes_in(tmp_path / "n", "3 Gflop/s")


@pytest.mark.parametrize("text", ['{"lscpu": [{"field": "CPU(s):", "data": "4", "children": 5}]}', '{"lscpu": [5]}'])
def test_lscpu_of_another_form_is_refused(tmp_path, text):
    (tmp_path / "n").write_text(text)
    with pytest.raises(ScenarioError, match="are no whole numbers above 0"):
        nodes_in(tmp_path / "n", "3 Gflop/s")

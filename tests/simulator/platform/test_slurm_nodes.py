"""Nodes of a scenario from what Slurm and lscpu say of a cluster."""

import json

import pytest

from simulator import read_job_nodes
from simulator.base.errors import ScenarioError
from simulator.platform.foreign.slurm_nodes import nodes_in, slurm_seconds
from simulator.scheduling.nodes import NO_LIMIT_MIB
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


CLUSTER = """Configuration data as of 2026-11-29T01:00:00
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY

Slurmctld(primary) at head is UP
PartitionName=long AllowGroups=ALL Default=YES MaxNodes=UNLIMITED MaxTime=7-00:00:00 Nodes=n[01-03] PriorityTier=1
   OverSubscribe=NO State=UP TotalCPUs=192 TotalNodes=3
PartitionName=gpu Default=NO MaxNodes=2 MaxTime=90 Nodes=g[1-2] PriorityTier=10 OverSubscribe=EXCLUSIVE TotalNodes=2
"""
NODE = (
    "NodeName={} CoresPerSocket={} CPUTot=64 Sockets=2 ThreadsPerCore={} State=IDLE Weight={} OS=Linux 5.14 #1 SMP "
    "AvailableFeatures={} ActiveFeatures={} Gres={} RealMemory={} Partitions={} MemSpecLimit=1000\n"
)
SHOWN_ALL = CLUSTER + "".join(
    [NODE.format(f"n0{k}", 16, 2, 1, "amd,rome", "amd,rome", "(null)", 257000, "long") for k in (1, 2, 3)]
    + [NODE.format(f"g{k}", 32, 1, 50, "amd", "amd", "gpu:a100:4(S:0-1),nic:1", 515000, "gpu") for k in (1, 2)]
)
CONF = """# the same cluster
SelectTypeParameters=CR_Core_Memory
NodeName=DEFAULT CPUs=64 MemSpecLimit=1000
NodeName=n[01-03] Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 \\
    RealMemory=257000 Features=amd,rome
nodename=g[1-2] sockets=2 corespersocket=32 realmemory=515000 gres=gpu:a100:4 feature=amd weight=50 State=UNKNOWN
NodeSet=old Feature=rome
PartitionName=DEFAULT MaxTime=1:30:00
PartitionName=long Nodes=old Default=YES MaxTime=7-0
PartitionName=gpu Nodes=g1,g2 MaxNodes=2 PriorityTier=10 OverSubscribe=EXCLUSIVE
"""
LINES = """NODELIST PARTITION CPUS MEMORY AVAIL_FEATURES GRES WEIGHT STATE TIMELIMIT OVERSUBSCRIBE
{}"""
LISTED_ALL = LINES.format(
    "".join(f"n0{k} long* 64 256000 amd,rome (null) 1 idle 7-00:00:00 NO\n" for k in (1, 2, 3))
    + "".join(f"g{k} gpu 64 514000 amd gpu:a100:4 50 idle 1:30:00 EXCLUSIVE\n" for k in (1, 2))
)


@pytest.mark.parametrize("text", [SHOWN_ALL, CONF, LISTED_ALL], ids=["scontrol", "slurm.conf", "sinfo"])
def test_what_slurm_says_in_any_words_is_the_same_cluster(tmp_path, text):
    path = tmp_path / "slurm.conf"
    path.write_text(text)
    nodes, _ = read_job_nodes(path)
    assert nodes.names == ("n01", "n02", "n03", "g1", "g2")
    assert nodes.capacity.tolist() == [[64, 256000, 0]] * 3 + [[64, 514000, 4]] * 2
    assert nodes.weight.tolist() == [1, 1, 1, 50, 50]
    assert nodes.features == (("amd", "rome"),) * 3 + (("amd", "gpu:a100"),) * 2
    long, gpu = nodes.partitions
    assert (long.name, long.members.tolist(), long.limit_s, long.exclusive) == ("long", [0, 1, 2], 604800, False)
    assert (gpu.name, gpu.members.tolist(), gpu.limit_s, gpu.exclusive) == ("gpu", [3, 4], 5400, True)
    assert (long.default, gpu.default) == (True, False)
    if text != LISTED_ALL:  # sinfo does not say these
        assert (gpu.max_nodes, long.max_nodes, gpu.tier, long.tier) == (2, None, 10, 1)


def test_memory_that_slurm_does_not_count_limits_nobody_and_linear_gives_whole_nodes(tmp_path):
    path = tmp_path / "slurm.conf"
    path.write_text(CONF.replace("CR_Core_Memory", "CR_Core") + "SelectType=select/linear\n")
    nodes, _ = read_job_nodes(path)
    assert set(nodes.memory_mib.tolist()) == {NO_LIMIT_MIB}
    assert all(one.exclusive for one in nodes.partitions)


def test_a_node_of_two_partitions_stands_twice_in_sinfo_and_files_include_others(tmp_path):
    (tmp_path / "sinfo.txt").write_text(LISTED_ALL + "n03 short 64 256000 amd,rome (null) 1 idle 10:00 NO\n")
    nodes, _ = read_job_nodes(tmp_path / "sinfo.txt")
    assert [one.members.tolist() for one in nodes.partitions] == [[0, 1, 2], [2], [3, 4]]
    assert nodes.partitions[1].limit_s == 600
    (tmp_path / "nodes.conf").write_text("NodeName=n[1-2] CPUs=4 State=FUTURE\nNodeName=n[3-4] Procs=4\n")
    (tmp_path / "slurm.conf").write_text(
        "Include nodes.conf\nPartitionName=all Nodes=ALL Shared=EXCLUSIVE Priority=3\n"
    )
    nodes, _ = read_job_nodes(tmp_path / "slurm.conf")
    assert nodes.names == ("n3", "n4")
    assert (nodes.partitions[0].tier, nodes.partitions[0].exclusive) == (3, True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60", 3600), ("1:30", 90), ("1:00:30", 3630), ("2-0", 172800), ("1-12:30", 131400), ("1-0:0:5", 86405),
     ("UNLIMITED", None), ("infinite", None)],
)  # fmt: skip
def test_times_of_slurm(text, seconds):
    assert slurm_seconds(text, "x") == seconds

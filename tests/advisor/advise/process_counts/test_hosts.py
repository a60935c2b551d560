"""Host files of an advised configuration, put to what reads them where it is installed."""

import pytest

from advisor.advise.process_counts.advice import advise_allocation, host_commands, host_files, layout_of_advice
from advisor.advise.process_counts.search import parse_hosts
from tests.support.known_models import KnownModel, fit_of

KINDS = {"fast": (2, 4), "slow": (4, 1)}


@pytest.fixture(scope="module")
def advice():
    """Four processes on each of two fast PEs, one on each of four slow ones."""
    made = advise_allocation(fit_of(KnownModel(("slow", "fast"), (1e9, 4e9))), KINDS, 6400.0)
    assert made.configuration == {"fast": {"pes": 2, "procs": 4}, "slow": {"pes": 4, "procs": 1}}
    return made


def test_kinds_stand_one_after_the_other_and_the_ranks_of_a_pe_side_by_side(advice):
    layout = layout_of_advice(advice, parse_hosts(["fast=a,b,slow=n[1-2]"], KINDS))
    assert layout.runs == (("a", 4), ("b", 4), ("n1", 2), ("n2", 2))
    texts = host_files(layout, "out/hosts")
    assert texts["out/hosts"].splitlines()[1:] == ["a:4", "b:4", "n1:2", "n2:2"]
    assert texts["out/hosts.openmpi"].splitlines()[1:] == [f"{h} slots={c}" for h, c in layout.slots.items()]
    assert texts["out/hosts.rankfile"].splitlines()[1:] == [
        *(f"rank {rank}=a slot=0" for rank in range(4)),
        *(f"rank {rank}=b slot=0" for rank in range(4, 8)),
        *(f"rank {8 + pe}=n{1 + pe // 2} slot={pe % 2}" for pe in range(4)),
    ]
    assert texts["out/hosts.mpich"].splitlines()[1:] == [
        *(f"{host}:4 binding=user:0,0,0,0" for host in "ab"),
        *(f"n{number}:2 binding=user:0,1" for number in (1, 2)),
    ]
    assert texts["out/hosts.slurm"].split() == ["a"] * 4 + ["b"] * 4 + ["n1"] * 2 + ["n2"] * 2
    assert host_commands(layout, "out/hosts").splitlines()[1::2] == [
        "mpiexec -f out/hosts -n 12 PROGRAM",
        "mpiexec -f out/hosts.mpich -n 12 PROGRAM",
        "mpirun --hostfile out/hosts.openmpi --rankfile out/hosts.rankfile --oversubscribe -n 12 PROGRAM",
        "mpirun --hostfile out/hosts.openmpi --map-by rankfile:FILE=out/hosts.rankfile:OVERSUBSCRIBE -n 12 PROGRAM",
        "SLURM_HOSTFILE=out/hosts.slurm srun --distribution=arbitrary -n 12 PROGRAM",
    ]


def test_two_kinds_on_one_host(advice):
    layout = layout_of_advice(advice, {"fast": ["here"], "slow": ["here"]})
    assert layout.slots == {"here": 12}
    assert host_files(layout, "h")["h.rankfile"].splitlines()[-1] == "rank 11=here slot=5"

"""Exports, put to what reads them: MPICH, Open MPI, METIS and a C compiler where they are installed."""

import csv
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.advise.export import export_files, layout_of, save_exports
from advisor.advise.export.hosts import mpich_rankfile, openmpi_rankfile
from advisor.advise.export.layout import Layout, Rank
from simulator import Configuration, ScenarioError
from simulator.platform.nodes import Node
from tests.support.platforms import pe, scenario

TUTORIAL = Path(__file__).parents[4] / "scenarios" / "tutorial" / "two-cores.yaml"
MPICH = next((name for name in ("mpiexec.mpich", "mpiexec.hydra") if shutil.which(name)), None)
OPEN_MPI = "mpirun.openmpi" if shutil.which("mpirun.openmpi") else None
PARAMETERS = {"matmul": {"n": 60}, "hpl": {"n": 100, "nb": 10}}
AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []


def spread(*names, application="matmul"):
    """PEs named NODE.NUMBER on their nodes, reached as NODE.lan."""
    made = scenario([replace(pe(name), node=name.partition(".")[0]) for name in names], 60)
    nodes = tuple(Node(name, host=f"{name}.lan") for name in made.platform.node_names)
    return replace(
        made,
        platform=replace(made.platform, nodes=nodes),
        application=replace(made.application, name=application, parameters=PARAMETERS[application]),
    )


def run(*command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_every_file_says_the_same_ranks():
    made = spread("a.0", "a.1", "b.0", "c.0")
    texts = export_files(made, Configuration("x", (10, 20, 0, 30), (2, 0, 1, 3)))
    assert texts["hostfile"].splitlines()[1:] == ["b.lan:1", "a.lan:1", "c.lan:1"]
    assert texts["hostfile.slurm"].splitlines() == ["b.lan", "a.lan", "c.lan"]
    assert texts["rankfile.openmpi"].splitlines()[1:] == [f"rank {r}={h}.lan slot=0" for r, h in enumerate("bac")]
    assert texts["rankfile.mpich"].splitlines()[1:] == [f"{host}.lan:1 binding=user:0" for host in "bac"]
    rows = list(csv.DictReader(texts["partition.csv"].splitlines()))
    assert [(row["pe"], int(row["first"]), int(row["units"])) for row in rows] == [
        ("b.0", 0, 10),
        ("a.0", 10, 20),
        ("c.0", 30, 30),
    ]
    assert [rank["units"] for rank in json.loads(texts["partition.json"])["ranks"]] == [10, 20, 30]
    assert texts["partition.dist"].splitlines() == [
        "#size 3",
        "#D 60",
        "#hostname\trank_intra\td",
        "b.lan\t0\t10",
        "a.lan\t0\t20",
        "c.lan\t0\t30",
    ]
    weights = [float(line.partition("=")[2]) for line in texts["metis.tpwgts"].splitlines()]
    assert weights == pytest.approx([1 / 6, 1 / 3, 1 / 2])


def test_a_master_without_units_stays_rank_0():
    ranks = layout_of(spread("a.0", "b.0"), Configuration("x", (0, 60), (0, 1))).ranks
    assert [(rank.host, rank.units) for rank in ranks] == [("a.lan", 0), ("b.lan", 60)]


def test_ranks_of_one_pe_share_its_core_and_those_of_another_do_not():
    made = spread("a.0", "a.1", "b.0")
    texts = export_files(made, Configuration("x", (20, 20, 10, 10), (0, 0, 1, 2)))
    assert [line.split("slot=")[1] for line in texts["rankfile.openmpi"].splitlines()[1:]] == ["0", "0", "1", "0"]
    assert texts["hostfile.openmpi"].splitlines()[1:] == ["a.lan slots=3", "b.lan slots=1"]
    assert "--oversubscribe" in texts["commands.txt"]


def test_fupermod_s_configuration_counts_ranks_within_hosts_and_binds_known_processors():
    made = spread("a.0", "a.1", "b.0")
    pes = tuple(replace(one, cpu=cpu) for one, cpu in zip(made.platform.pes, (4, None, 6), strict=True))
    made = replace(made, platform=replace(made.platform, pes=pes))
    lines = export_files(made, Configuration("x", (20, 20, 20), (0, 1, 2)))["fupermod.conf"].splitlines()
    assert lines[0].split("\t") == ["#hostname", "rank_intra", "bind", "device_type", "suboptions"]
    assert [line.split("\t")[:4] for line in lines[1:]] == [
        ["a.lan", "0", "4", "cpu"],
        ["a.lan", "1", "na", "cpu"],
        ["b.lan", "0", "6", "cpu"],
    ]


def test_a_heterogeneous_job_has_a_component_for_each_kind_in_rank_order():
    made = spread("a.0", "a.1", "b.0", "c.0")
    lines = export_files(made, Configuration("x", (20, 20, 10, 10), (0, 1, 2, 3)))["job.slurm"].splitlines()
    assert lines[0] == "#!/bin/bash"
    assert [line for line in lines if "nodelist" in line or "hetjob" in line] == [
        "#SBATCH --nodelist=a.lan",
        "#SBATCH hetjob",
        "#SBATCH --nodelist=b.lan,c.lan",
    ]
    assert "#SBATCH --ntasks-per-node=2" in lines
    assert lines[-1] == 'srun --het-group=0-1 "$@"'


def test_a_component_begins_where_names_go_back_since_slurm_sorts_them():
    made = spread("n10.0", "n9.0", "n11.0", "n12.0")
    lines = export_files(made, Configuration("x", (10, 20, 15, 15), (0, 1, 2, 3)))["job.slurm"].splitlines()
    assert [line for line in lines if "nodelist" in line] == [
        "#SBATCH --nodelist=n10.lan",
        "#SBATCH --nodelist=n9.lan,n11.lan,n12.lan",
    ]
    alone = export_files(made, Configuration("x", (60,), (2,)))["job.slurm"].splitlines()
    assert "#SBATCH hetjob" not in alone
    assert alone[-1] == 'srun "$@"'


def test_hpl_gets_its_input_where_it_can_do_what_is_asked():
    made = spread("a.0", "b.0", application="hpl")
    text = export_files(made, Configuration("x", (1, 1, 1), (0, 0, 1)))["HPL.dat"].splitlines()
    values = {line.split()[1]: line.split()[0] for line in text[2:]}
    assert (values["Ns"], values["NBs"], values["Ps"], values["Qs"], values["BCASTs"]) == ("100", "10", "1", "3", "0")
    assert "HPL.dat" not in export_files(made, Configuration("x", (2, 1), (0, 1)))
    assert "HPL.dat" in export_files(made, Configuration("x", (4, 3, 3), (0, 0, 1)))  # 10 blocks in turn
    assert "HPL.dat" not in export_files(spread("a.0"), Configuration("x", (60,), (0,)))


def test_a_host_that_no_launcher_takes_is_refused():
    made = scenario([replace(pe("p"), node="two words\n#SBATCH --wrap=x")], 60)
    with pytest.raises(
        ScenarioError,
        match=r"platform: node: host is 'two words\\n\#SBATCH \-\-wrap=x'; "
        r"give letters, digits, dots and hyphens \(say `host:` with the node\)",
    ):
        export_files(made, Configuration("x", (60,), (0,)))


if shutil.which("cc"):

    def test_a_c_program_reads_its_part(tmp_path):
        made = scenario([replace(pe(name), node="n") for name in ('x, "y"\n1,2', "b")], 60)
        save_exports(made, Configuration("x", (10, 50), (0, 1)), tmp_path)
        (tmp_path / "main.c").write_text(
            '#include "partition.h"\nint main(int c, char **v) { long long f, u; if (read_partition("partition.csv",'
            ' atoi(v[1]), &f, &u)) return 1; printf("%lld %lld\\n", f, u); return 0; }\n'
        )
        run("cc", "-Wall", "-Werror", "-o", "main", "main.c", folder=tmp_path)
        assert run("./main", "0", folder=tmp_path) == ["0 10"]
        assert run("./main", "1", folder=tmp_path) == ["10 50"]
        assert subprocess.run(["./main", "2"], cwd=tmp_path, check=False).returncode == 1


def test_python_reads_its_part(tmp_path):
    save_exports(spread("a.0", "b.0"), Configuration("x", (10, 50), (0, 1)), tmp_path)
    code = "from read_partition import read_partition as r; print(*r('partition.csv', 1))"
    assert run(sys.executable, "-c", code, folder=tmp_path) == ["10 50"]


if shutil.which("gpmetis"):

    @pytest.mark.slow
    def test_metis_parts_have_the_weights(tmp_path):
        """A ring of 1,000 vertices."""
        save_exports(spread("a.0", "b.0"), Configuration("x", (15, 45), (0, 1)), tmp_path)
        ring = [f"{(v - 1) % 1000 + 1} {(v + 1) % 1000 + 1}" for v in range(1000)]
        (tmp_path / "graph").write_text("\n".join(["1000 1000", *ring, ""]))
        run("gpmetis", "-tpwgts=metis.tpwgts", "graph", "2", folder=tmp_path)
        parts = (tmp_path / "graph.part.2").read_text().split()
        assert parts.count("0") == pytest.approx(250, abs=10)


def test_ranks_of_a_pe_of_several_cores_take_a_core_each():
    """Two PEs of 4 and 2 cores on one host, one of them with more ranks than cores, and a host of its own."""
    pes = [("a", "x", 4, 3), ("a", "y", 2, 3), ("b", "z", 4, 4)]
    ranks = tuple(Rank(host, pe, None, 0, 1, cores) for host, pe, cores, count in pes for _ in range(count))
    slots = [line.split("slot=")[1] for line in openmpi_rankfile(Layout("", ranks)).splitlines()[1:]]
    assert slots == ["0", "1", "2", "4", "5", "4", "0", "1", "2", "3"]
    assert Layout("", ranks).oversubscribed
    assert not Layout("", ranks[:5]).oversubscribed


CORES = sorted(os.sched_getaffinity(0))
BINDINGS = {
    "a core each on one host": [Rank("a", "here", CORES[0], 0, 1, 2)] * 2,
    "several on a core": [Rank("a", "p", CORES[-1], 0, 1)] * 2 + [Rank("a", "q", CORES[0], 0, 1)],
    "hosts that have their own cores": [Rank("a", "p", CORES[0], 0, 1), Rank("b", "q", CORES[-1], 0, 1)],
    "a host again": [
        Rank(host, host, cpu, 0, 1) for host, cpu in zip("aba", (CORES[-1], *CORES[:1], CORES[-1]), strict=True)
    ],
}


SAYS = [
    sys.executable,
    "-c",
    (
        "import os; rank = os.environ.get('PMI_RANK') or os.environ['OMPI_COMM_WORLD_RANK']; "
        "open('rank' + rank, 'w').write(' '.join(map(str, sorted(os.sched_getaffinity(0)))))"
    ),
]
"""Each rank writes down what it may use: lines of several ranks can mix."""


def bindings(folder, layout):
    """What each rank wrote down."""
    return [(folder / f"rank{rank}").read_text() for rank in range(len(layout.ranks))]


@pytest.mark.skipif(MPICH is None or len(CORES) < 2, reason="MPICH and two cores")
@pytest.mark.parametrize("case", BINDINGS)
def test_mpich_binds_ranks_where_the_rank_file_says(tmp_path, case):
    """Hosts of any name are started here (`-launcher fork`); each rank says what it may use."""
    layout = Layout("", tuple(BINDINGS[case]))
    (tmp_path / "ranks").write_text(mpich_rankfile(layout))
    command = [MPICH, "-launcher", "fork", "-f", "ranks", "-n", str(len(layout.ranks)), *SAYS]
    run(*command, folder=tmp_path)
    assert bindings(tmp_path, layout) == [f"{core}" for core in layout.cores]
    assert [core for core in layout.cores if core not in CORES] == []


@pytest.mark.skipif(OPEN_MPI is None or len(CORES) < 2, reason="Open MPI and two cores")
@pytest.mark.parametrize("cpus", [(0, 1), (1, 0), (1, 1, 0)])
def test_open_mpi_binds_several_ranks_of_a_core_where_the_rank_file_says(tmp_path, cpus):
    layout = Layout("", tuple(Rank("localhost", f"p{cpu}", cpu, 0, 1) for cpu in cpus))
    (tmp_path / "ranks").write_text(openmpi_rankfile(layout))
    host = ["--host", f"localhost:{len(cpus)}", *(["--oversubscribe"] if layout.oversubscribed else [])]
    command = [OPEN_MPI, *AS_ROOT, *host, "--rankfile", "ranks", "-n", str(len(cpus)), *SAYS]
    run(*command, folder=tmp_path)
    assert bindings(tmp_path, layout) == [f"{cpu}" for cpu in cpus]

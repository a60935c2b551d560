"""HPL.dat in place of the parameters of `hpl`: read as HPL reads it, refused where it asks for something else."""

import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.advise.export import export_files
from simulator import Configuration, ScenarioError, dump_scenario, load_scenario
from tests.support.platforms import pe, scenario

EXAMPLE = """\
HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
{ns}         # of problems sizes (N)
{n}         Ns
1            # of NBs
{nb}           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{p}            Ps
{q}            Qs
16.0         threshold
3            # of panel fact
0 1 2        PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
{bcast}            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
{depth}            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""
PLAIN = {"ns": 1, "n": "320 ", "nb": 32, "p": 1, "q": 2, "bcast": 1, "depth": 0}


def loaded(folder, *, more="", name="hpl", **said):
    (folder / "HPL.dat").write_text(EXAMPLE.format(**PLAIN | said))
    file = folder / "s.yaml"
    file.write_text(
        "format: 1\nplatform:\n  nodes:\n    - {name: n, pes: [{name: pe, count: 2, speeds: {dgemm: 1Gflop/s}}]}\n"
        "  link: {latency: 1us, bandwidth: 1GB/s}\n"
        f"application: {{name: {name}, kernel: dgemm, parameters: {{hpl_dat: HPL.dat{more}}}}}\n"
        "configurations: {x: {partition: [1, 1]}}\n"
    )
    return load_scenario(file)


def test_size_block_and_broadcast_come_from_the_file(tmp_path):
    made = loaded(tmp_path)
    assert dict(made.application.parameters) == {"n": 320, "nb": 32, "broadcast": "modified_ring"}
    assert set(made.inputs) == {"s.yaml", "HPL.dat"}
    assert "hpl_dat" not in str(dump_scenario(made))
    assert not made.notes


def test_what_is_said_beside_it_chooses(tmp_path):
    made = loaded(tmp_path, ns=3, n="100 200 300", bcast=4, depth=1, more=", n: 200, phases: all, broadcast: ring")
    assert dict(made.application.parameters) == {"n": 200, "nb": 32, "phases": "all", "broadcast": "ring"}
    assert made.notes == ("HPL.dat: the look-ahead of 1 is not simulated",)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            {"ns": 3, "n": "100 200 300"},
            "6:54: application.parameters.hpl_dat: HPL.dat:6: Ns: there are 100, 200, 300; leave one value: n next",
        ),
        (
            {"n": "12e3"},
            "6:54: application.parameters.hpl_dat: HPL.dat:6: Ns: '12e3' stands there; begin the line with 1 integers",
        ),
        (
            {"p": 2},
            "HPL.dat:11: Ps: the file asks for 2 x 2: write Ps of 1 here, and the grid in the configuration, such as",
        ),
        (
            {"bcast": 5},
            "6:54: application.parameters.hpl_dat: HPL.dat:23: BCASTs: 5 is not simulated; take 0 (ring), 1",
        ),
        ({"name": "matmul"}, "hpl_dat"),
    ],
)
def test_bad_files_say_where(tmp_path, said, line):
    with pytest.raises(ScenarioError) as caught:
        loaded(tmp_path, **said)
    (only,) = caught.value.lines[-1:]
    assert line in only
    assert only.startswith(f"{tmp_path}/s.yaml:6:")


def test_a_file_cut_short(tmp_path):
    loaded(tmp_path)
    (tmp_path / "HPL.dat").write_text("HPLinpack\n" * 8)
    with pytest.raises(
        ScenarioError,
        match=r"6:54: application\.parameters\.hpl_dat: HPL\.dat: the file has 8 lines and HPL\.dat has 31; name one",
    ):
        load_scenario(tmp_path / "s.yaml")


def exported(**parameters):
    made = scenario([pe("a"), pe("b")], 60)
    application = type(made.application)("hpl", "dgemm", parameters)
    made = type(made)(made.platform, application, made.configurations)
    return export_files(made, Configuration("x", (1, 1), (0, 1)))["HPL.dat"]


@pytest.mark.parametrize("broadcast", ["ring", "modified_ring", "two_rings", "scatter_ring"])
def test_what_advise_writes_is_read_back(tmp_path, broadcast):
    loaded(tmp_path)
    text = exported(n=960, nb=48, broadcast=broadcast)
    assert len(text.splitlines()) == 31
    (tmp_path / "HPL.dat").write_text(text)
    back = load_scenario(tmp_path / "s.yaml").application.parameters
    assert dict(back) == {"n": 960, "nb": 48, "broadcast": broadcast}


if shutil.which("xhpl") and shutil.which("mpiexec"):

    @pytest.mark.slow
    def test_hpl_itself_takes_what_advise_writes(tmp_path):
        for name in ("HPL.dat", "hpccinf.txt"):  # what HPL is called in hpcc
            (tmp_path / name).write_text(exported(n=320, nb=32, broadcast="modified_ring"))
        command = ["mpiexec", "-n", "2", str(Path(shutil.which("xhpl")))]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        said = done.stdout + "".join(path.read_text() for path in tmp_path.glob("hpccoutf.txt"))
        assert "1 tests completed and passed residual checks" in " ".join(said.split())
        assert "WR01C2R4" in said

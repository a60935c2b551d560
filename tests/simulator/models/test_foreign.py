"""Outputs of benchmarks become tables of ours, found by what they hold; what is not understood is refused or said."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.foreign import FORMATS, MEMORY, MESSAGES, RUNS, SPEED, read_as
from tests.support.mutated_files import (
    Foreign,
    accepted_in_silence,
    add_column,
    any_of,
    double,
    insert,
    misspell,
)

LATENCY = """# OSU MPI Latency Test v5.6.2
# Size          Latency (us)
0                       1.05
1                       1.10
8                       1.12
1024                    2.40
65536                  17.31
4194304              1098.77
"""
COLUMNS = """
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)    P50 Tail Lat(us)    P99 Tail Lat(us)  Iterations  Validation
1                       0.22                0.21                0.98       10000        Pass
1024                    0.44                0.40                1.21       10000        Pass
1048576               161.09              160.20              190.11        1000        Pass
"""
BANDWIDTH = """# OSU MPI Bandwidth Test v5.6.2
# Size      Bandwidth (MB/s)
1                       2.31
4096                 5102.12
4194304             12254.21
"""
IMB = """#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2018, MPI-1 part
#------------------------------------------------------------
# List of Benchmarks to run:

# PingPong
# PingPing

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.65         0.00
            1         1000         0.69         1.45
         4096         1000         2.52      1625.40
      4194304           10       890.45      4710.32

#---------------------------------------------------
# Benchmarking PingPing
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.77         0.00
      4194304           10      1890.45      2218.68

# All processes entering MPI_Finalize
"""
HPL = """================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       29184   192     2     2             384.37             4.3114e+01
HPL_pdgesv() start time Fri Jan 27 17:14:26 2023
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.85305050e-03 ...... PASSED
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4         800    64     2     1               0.35              9.742e-01
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0080624 ...... PASSED
================================================================================

Finished      2 tests with the following results:
              2 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
--------------------------------------------------------------------------------

End of Tests.
================================================================================
"""
STREAM = """-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
-------------------------------------------------------------
Array size = 4000000 (elements), Offset = 0 (elements)
Memory per array = 30.5 MiB (= 0.0 GiB).
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:            6673.7     0.021667     0.009590     0.029732
Scale:           8926.1     0.017637     0.007170     0.031295
Add:             8042.3     0.024912     0.011937     0.041165
Triad:           8696.6     0.026287     0.011039     0.051002
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
"""
LMBENCH = """"stride=128
0.00049 1.123
0.03125 1.123
0.50000 3.914
16.00000 21.307

"Memory read bandwidth
0.016384 42011.12
16.777216 9120.45

"Memory write bandwidth
16.777216 8120.45
"""
SPEEDS = "n,GFLOPS\n100,1.5\n200,2.25\n400,3.0\n"

READ = {
    "osu": (LATENCY, MESSAGES, "one_way_s", [1.05e-6, 1.1e-6, 1.12e-6, 2.4e-6, 17.31e-6, 1098.77e-6], 0),
    "osu columns": (COLUMNS, MESSAGES, "one_way_s", [0.22e-6, 0.44e-6, 161.09e-6], 4),
    "osu bandwidth": (BANDWIDTH, MESSAGES, "one_way_s", [1 / 2.31e6, 4096 / 5102.12e6, 4194304 / 12254.21e6], 1),
    "imb": (IMB, MESSAGES, "one_way_s", [0.65e-6, 0.69e-6, 2.52e-6, 890.45e-6], 1),
    "hpl": (HPL, RUNS, "time_s", [384.37, (2 / 3 * 800**3 + 1.5 * 800**2) / 0.9742e9], 0),
    "stream": (STREAM, MEMORY, "time_per_word_s", [8e-6 / rate for rate in (6673.7, 8926.1, 8042.3, 8696.6)], 1),
    "lmbench": (
        LMBENCH,
        MEMORY,
        "time_per_word_s",
        [*[1.123e-9] * 2, 3.914e-9, 21.307e-9, *[8e-6 / 42011.12, 8e-6 / 9120.45]],
        1,
    ),
    "speeds": (SPEEDS, SPEED, "flop_per_s", [1.5e9, 2.25e9, 3e9], 0),
}


@pytest.mark.parametrize("name", READ)
def test_an_output_is_found_by_what_it_holds_and_read(tmp_path, name):
    text, gives, column, values, notes = READ[name]
    path = tmp_path / "anything"
    path.write_text(text)
    found = read_as(path, gives)
    assert found.table.numbers(column) == pytest.approx(values, rel=1e-9)
    assert len(found.notes) == notes
    assert sum(bool(one.known_by.search(text)) for one in FORMATS) == 1


def test_sizes_of_memory_are_words_of_8_bytes(tmp_path):
    (tmp_path / "lm").write_text(LMBENCH)
    table = read_as(tmp_path / "lm", MEMORY).table
    assert table.numbers("M_words").tolist() == pytest.approx([64.225, 4096, 65536, 2097152, 2048, 2097152], rel=1e-3)
    assert table.numbers("L").tolist() == [1, 1, 1, 1, 2048, 4096]


def test_an_output_is_no_table_of_another_kind(tmp_path):
    (tmp_path / "HPL.out").write_text(HPL)
    with pytest.raises(ScenarioError, match="this is an output of HPL, which gives runs"):
        read_as(tmp_path / "HPL.out", MESSAGES)


def test_a_row_of_numbers_is_no_header(tmp_path):
    for text in ("1,2e-06\n2,3e-06\n", "1   2.0\n2   3.0\n"):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(ScenarioError, match=r"t\.csv:1: the first line holds numbers; begin with the names"):
            read_as(tmp_path / "t.csv", MESSAGES)


def test_a_run_of_hpl_whose_residual_failed_is_left_out_by_name(tmp_path):
    (tmp_path / "HPL.out").write_text(HPL.replace("0.0080624 ...... PASSED", "801.5 ...... FAILED"))
    found = read_as(tmp_path / "HPL.out", RUNS)
    assert len(found.table.rows) == 1
    assert "WR11C2R4         800    64     2     1" in found.notes[0]
    assert "left out: its residual failed" in found.notes[0]


ROW = r"^ *\d[^\n]*\n"
LINES = insert(ROW, "warning: warp 3\n", "12 oops\n", "7 7 7 7 7 7 7 7 7\n")
ALONE = IMB[: IMB.index("#---", IMB.index("4710.32"))] + IMB[IMB.index("# All") :]
WANTED = {
    MESSAGES: ("bytes", "one_way_s"),
    RUNS: ("N", "P", "time_s"),
    MEMORY: ("M_words", "alpha", "L", "time_per_word_s"),
    SPEED: ("n", "flop_per_s"),
}
DAMAGED = {
    "osu": (LATENCY, MESSAGES, misspell(r"(Latency|Size)"), any_of(LINES, insert(r"$(?<=us\))", "  Warp (us)"))),
    "imb": (
        ALONE,
        MESSAGES,
        misspell(r"((?<=# Benchmarking )PingPong|(?<=#)bytes|t\[usec\]|Mbytes)"),
        any_of(LINES, insert(r"$(?<=s/sec)", " Warp")),
    ),
    "hpl": (
        HPL,
        RUNS,
        misspell(r"(^WR|Gflops|Time|PASSED|Finished)"),
        insert(r"^WR", "WR11C2R4 7 7 7\n", "WR00 one\n"),
    ),
    "stream": (
        STREAM,
        MEMORY,
        misspell(r"(Copy|Scale|Add|Triad|Array size|Solution)"),
        insert(r"^Add", "Warp: 1.0 1 1 1\n"),
    ),
    "lmbench": (LMBENCH, MEMORY, misspell(r"^\"(stride|Memory read|Memory write)"), LINES),
    "speeds": (SPEEDS, SPEED, misspell("(GFLOPS)"), any_of(LINES, add_column(",", "warp", "7"))),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_no_damaged_output_is_accepted_in_silence(tmp_path, name):
    text, gives, misspelt, unknown = DAMAGED[name]
    row = r"^WR[^\n]*\n" if name == "hpl" else r"^(?:Copy|Add)[^\n]*\n" if name == "stream" else ROW
    form = Foreign(text, misspelt, unknown, double(row))

    def read(path):
        """As the command that takes it: a table without its columns is refused there."""
        found = read_as(path, gives)
        for column in WANTED[gives]:
            found.table.numbers(column)
        return found.notes

    assert accepted_in_silence(form, read, tmp_path / "damaged") == []


def test_a_curve_of_loads_of_one_word_says_capacities_and_what_it_cannot_tell(apportion, tmp_path):
    """Random loads over four levels, as a long lat_mem_rd -t prints them."""
    capacities, loads = np.array([2.0**15, 2.0**18, 2.0**22]), np.array([1.0, 4.0, 15.0, 80.0])
    sizes = 2.0 ** np.arange(12, 28, 0.5)
    inside = np.minimum(1, capacities[:, None] / sizes)
    shares = np.diff(np.vstack((np.zeros(sizes.size), inside, np.ones(sizes.size))), axis=0)
    rows = "".join(f"{size / 2**20:.5f} {time:.3f}\n" for size, time in zip(sizes, loads @ shares, strict=True))
    (tmp_path / "lat.txt").write_text(f'"stride=128\n{rows}')
    code, out, _ = apportion(
        "calibrate", "memory", "--replay", str(tmp_path / "lat.txt"), "-o", str(tmp_path / "m.json")
    )
    assert code == 0
    assert "chosen: 4 levels, one L" in out
    assert "warning: all times have L 1, which does not tell latency from gap" in out
    for shown in ("32 KiB", "256 KiB", "4 MiB"):
        assert shown in out


def test_one_command_from_an_output_to_a_model(apportion, tmp_path):
    (tmp_path / "a").write_text(LATENCY)
    (tmp_path / "b").write_text(SPEEDS)
    assert apportion("calibrate", "network", "--replay", str(tmp_path / "a"))[0] == 0
    code, _, err = apportion("calibrate", "speed", "--replay", str(tmp_path / "b"))
    assert code == 2
    assert "b says speeds over n; give --size and --volume" in err
    code, out, _ = apportion(
        "calibrate", "speed", "--replay", str(tmp_path / "b"), "--size", "3*n**2", "--volume", "2*n**3"
    )
    assert code == 0
    assert "480000" in out
    assert apportion("convert", str(tmp_path / "a"), str(tmp_path / "a.csv"))[0] == 0
    assert (tmp_path / "a.csv").read_text().startswith("bytes,one_way_s\n0,1.05e-06\n")


def test_swept_words_alone_are_no_model_of_a_whole_memory(apportion, tmp_path):
    (tmp_path / "stream.txt").write_text(STREAM)
    code, out, _ = apportion("calibrate", "memory", "--replay", str(tmp_path / "stream.txt"))
    assert code == 0
    assert out.splitlines()[-1].startswith("verdict: usable with care")
    assert "with only one alpha and one L measured, others are guesses" in out.splitlines()[-1]

"""What `sacct --parsable2` prints: jobs, steps, times, durations and memory."""

import re

import numpy as np

from simulator import read_stream

NAMES = "JobID|JobName|User|Group|Partition|Submit|Start|End|Elapsed|Timelimit|ReqCPUS|AllocCPUS|NNodes|ReqMem|State"
ROWS = (
    "101|mpi|ann|chem|long|2026-03-01T10:00:00|2026-03-01T11:00:00|2026-03-02T11:30:00|1-00:30:00|2-00:00:00|10|16|2|4Gn|COMPLETED",
    "101.batch|batch||||2026-03-01T11:00:00|2026-03-01T11:00:00|2026-03-02T11:30:00|1-00:30:00||16|16|1||COMPLETED",
    "101.0|mpi||||2026-03-01T11:00:00|2026-03-01T11:00:00|2026-03-02T11:30:00|1-00:30:00||16|16|2||COMPLETED",
    "102_7|seq|bob|phys|short|2026-03-01T09:59:30|2026-03-01T10:00:00|2026-03-01T10:00:42|00:00:42|UNLIMITED|1|1|1|2000Mc|FAILED",
    "103|seq|bob|phys|short|2026-03-01T10:00:10|Unknown|Unknown|00:00:00|Partition_Limit|1|0|1|1G|PENDING",
    "104|seq|bob|phys|short|2026-03-01T10:00:10|None|2026-03-01T10:30:10|00:00:00|01:00:00|1|0|1|1G|CANCELLED by 1000",
    "105|seq|ann|phys|long|2026-03-01T10:00:20|2026-03-01T10:00:30|Unknown|00:10:00|01:00:00|1|4|1|1G|RUNNING",
    "106|a b|ann|chem|short|2026-03-01T10:00:20|2026-03-01T10:00:30|2026-03-01T11:00:31|1:00:01|1:00:00|4|4|1|8G|OOM",
    "107|x|cyd|chem|short|2026-03-01T10:00:21|2026-03-01T10:00:30|2026-03-01T10:00:31|00:01|30:00|4|4|1|1.5T|CANCELLED",
)


def read(tmp_path, *rows, names=NAMES, **options):
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([names, *rows]) + "\n")
    return read_stream(path, **{"cleaning": "none", "machine_processors": 16} | options)


def test_jobs_that_ran(tmp_path):
    found = read(tmp_path, *ROWS)
    assert found.ids.tolist() == ["102_7", "101", "106", "107"]
    assert found.submit_s.tolist() == [0, 30, 50, 51]
    assert found.run_s.tolist() == [42, 88200, 3601, 1]
    assert found.processors.tolist() == [1, 16, 4, 4]
    np.testing.assert_array_equal(found.limit_s, [np.nan, 172800, 3600, 1800])
    assert found.memory_bytes.tolist() == [2000 * 2**20, 2 * 4 * 2**30 / 16, 2 * 2**30, 1.5 * 2**40 / 4]
    assert [found.names["user"][k] for k in found.user] == ["bob", "ann", "ann", "cyd"]
    assert [found.names["group"][k] for k in found.group] == ["phys", "chem", "chem", "chem"]
    assert [found.names["partition"][k] for k in found.partition] == ["short", "long", "short", "short"]
    assert [found.names["executable"][k] for k in found.executable] == ["seq", "mpi", "a b", "x"]
    assert found.start_unix_s == 1772359170  # date -u -d 2026-03-01T09:59:30 +%s
    assert found.machine_processors == 16


def test_what_is_left_out_is_counted(tmp_path):
    assert read(tmp_path, *ROWS).notes == (
        "4 of 4 jobs kept by cleaning none",
        "2 steps of jobs left out",
        "1 job dropped: not started",
        "1 job dropped: cancelled before the start",
        "1 job dropped: not ended",
        "partitions long, short are one machine where no --platform describes them",
    )


def test_strong_cleaning_ends_jobs_at_their_limit_and_drops_those_without(tmp_path):
    found = read(tmp_path, *ROWS, cleaning="strong")
    assert found.ids.tolist() == ["101", "106", "107"]
    assert found.run_s.tolist() == [88200, 3600, 1]


def test_other_columns_raw_numbers_and_epochs(tmp_path):
    names = "NCPUS|JobID|ElapsedRaw|TimelimitRaw|End|Start|Submit"
    found = read(
        tmp_path, "2|7|60|5|1772359300|1772359200|1772359170", "3|8|61|UNLIMITED|1772359300||1772359170", names=names
    )
    assert (found.ids.tolist(), found.ids.dtype.kind) == ([7], "i")
    assert (found.run_s.tolist(), found.limit_s.tolist(), found.processors.tolist()) == ([60], [300], [2])
    names = "JobID|Submit|Start|End|ReqCPUS"
    found = read(tmp_path, "7|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:00:45|3", names=names)
    assert (found.run_s.tolist(), found.processors.tolist()) == ([40], [3])


def test_zones_and_line_ends_of_windows(tmp_path):
    names = "JobID|Submit|Start|End|ReqCPUS\r"
    rows = ("7|2026-03-01T10:00:00+01:00|2026-03-01T10:00:05+01:00|2026-03-01T10:00:45+01:00|3\r",)
    assert read(tmp_path, *rows, names=names).start_unix_s == 1772355600


def test_job_names_may_hold_quotes_and_odd_letters(tmp_path):
    row = ROWS[0].replace("mpi", '"unbalanced \u2028 #1')
    assert read(tmp_path, row, ROWS[7]).ids.tolist() == [101, 106]


MORE = (
    "JobID|Submit|Eligible|Start|End|ReqCPUS|AllocCPUS|NNodes|ReqNodes|Partition|Account|QOS|Reservation|ReqTRES|AllocTRES"
    "|SubmitLine|Constraints"
)
ASKED = (
    ("1|00:00|00:00|00:05|10:00", "1|64|1|1|long|chem|normal||cpu=1|cpu=64,mem=1G",
     "sbatch --exclusive x|[amd*2|intel]"),
    ("2|00:01|10:06|10:07|20:00", "4|4|1|1|long|chem|high|maint|cpu=4,gres/gpu:a100=2|cpu=4,gres/gpu=2,gres/gpu:a100=2",
     "sbatch -d afterok:1 x.sh|"),
    ("3|00:02|00:02|10:06|20:00", "40|40|7|1|short|phys|high||cpu=40|cpu=40", "sbatch x.sh|amd,ib"),
    ("4|00:03|00:03|10:06|20:00", "2|64|1|1|long|phys|high||cpu=2|cpu=64", "sbatch x.sh --dependency=afterany:9|"),
    ("5|00:04|00:04|10:06|20:00", "8|8|2|2|short|phys|high||cpu=8|cpu=8", "srun --dependency=afterok:3 y|"),
)  # fmt: skip
"""Times are minutes and seconds of an hour."""


def asked(tmp_path):
    rows = ["|".join((re.sub(r"(?<=\|)(\d)", r"2026-03-01T10:\1", times), *rest)) for times, *rest in ASKED]
    return read(tmp_path, *rows, names=MORE, machine_processors=64)


def test_what_jobs_ask_of_nodes(tmp_path):
    found = asked(tmp_path)
    assert found.nodes.tolist() == [1, 1, 0, 1, 2], "job 3 may run wherever there are cores"
    assert found.gpus.tolist() == [0, 2, 0, 0, 0]
    assert found.exclusive.tolist() == [1, 0, 0, 1, 0], "by words, and with all of the largest nodes for 2 CPUs"
    words = {
        name: [found.names[name][k] if k >= 0 else "" for k in getattr(found, name)]
        for name in ("account", "qos", "feature")
    }
    assert words["account"] == ["chem", "chem", "phys", "phys", "phys"]
    assert words["qos"] == ["normal", "high", "high", "high", "high"]
    assert words["feature"] == ["amd|intel", "gpu:a100", "amd&ib", "", ""]
    assert "1 ran in a reservation, which is not simulated" in found.notes


def test_whom_jobs_depend_on(tmp_path):
    """Job 2 comes when submitted and waits for the end of 1; 4 names nobody; 5 was eligible before 3 had ended."""
    found = asked(tmp_path)
    assert found.preceding.tolist() == [-1, 1, -1, -1, -1]
    assert found.submit_s.tolist() == [0, 1, 2, 3, 4]
    assert found.think_s[1] == 6
    assert found.wait_s[1] == 1, "from the end of the first"
    assert np.isnan(found.think_s[[0, 2, 3, 4]]).all()

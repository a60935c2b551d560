"""Importers against real files of the real tools where these can be had, and the documented traps of each format.

`data/` holds output of sysstat 12.6 (`sadf`), collectl 4.3 and Prometheus, made on one machine (host name changed), and
a profile that SimGrid 3.32 played. Bitbrains, Dinda, Google and SWF have no tool to make them: their lines follow the
archives' own documentation.
"""

import gzip
import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from simulator.base.errors import ApportionError, ScenarioError, TraceError
from simulator.load_traces import FORMATS, ImportOptions, TraceWarning, import_trace, read_trace, trace_text
from simulator.models.load import Capacity
from tests.support.mutated_files import (
    Foreign,
    accepted_in_silence,
    add_column,
    any_of,
    double,
    double_column,
    insert,
    misspell,
)

DATA = Path(__file__).parent / "data"
SWF_HEAD = "; Version: 2.2\n; MaxProcs: 8\n"
BITBRAINS_HEAD = (
    "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%];\t"
    "Memory capacity provisioned [KB];\tMemory usage [KB];\tDisk read throughput [KB/s];\t"
    "Disk write throughput [KB/s];\tNetwork received throughput [KB/s];\tNetwork transmitted throughput [KB/s]\n"
)


def written(tmp_path, text, name="f.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def take(path, kind, *, cores=None, **options):
    return import_trace(path, kind, options=ImportOptions(**options), cores=cores)


def sadf_busy(path, cpu):
    """Busy percent of a processor, read with a pattern of its own."""
    pattern = rf"^node1;1;[^;]*;{cpu};([\d.]+);([\d.]+);([\d.]+);([\d.]+);([\d.]+);([\d.]+)$"
    rows = [[float(x) for x in row] for row in re.findall(pattern, path.read_text(), re.MULTILINE)]
    return [(100 - row[3] - row[5]) / 100 for row in rows]


@pytest.mark.parametrize(("cpu", "number"), [(None, -1), ("all", -1), ("0", 0), ("1", 1)])
def test_sadf_busy_of_each_processor(cpu, number):
    path = DATA / "sadf_u.txt"
    found = take(path, "sadf", cpu=cpu)
    assert found.column == "load"
    assert found.trace.values == pytest.approx(np.maximum(sadf_busy(path, number), 0), abs=1e-12)
    assert np.ptp(found.trace.durations_s) == 0
    assert np.max(found.trace.values) > 0.01


def test_sadf_busy_counts_for_the_cores_of_the_pe():
    one, two = (take(DATA / "sadf_u.txt", "sadf", cores=cores) for cores in (1, 2))
    assert two.trace.values == pytest.approx(2 * one.trace.values)
    assert "busy share of the source times 2 cores" in two.notes[0]


def test_sadf_with_busy_and_load_average_must_be_told_which():
    path = DATA / "sadf_uq.txt"
    with pytest.raises(TraceError, match=r"measures: nothing is stated; this file has busy\-percent, load, state one"):
        take(path, "sadf")
    averages = [float(row) for row in re.findall(r"UTC;\d+;\d+;([\d.]+);", path.read_text())]
    assert take(path, "sadf", measures="load").trace.values.tolist() == averages
    assert take(path, "sadf", measures="busy-percent").trace.values == pytest.approx(sadf_busy(path, -1))


def test_sadf_times_local_epoch_and_utc_agree():
    loads = [
        take(DATA / name, "sadf", measures="load").trace
        for name in ("sadf_uq.txt", "sadf_q_local.txt", "sadf_epoch.txt")
    ]
    for other in loads[1:]:
        assert other.values.tolist() == loads[0].values[: other.values.size].tolist()
        assert other.times_s.tolist() == loads[0].times_s[: other.times_s.size].tolist()


def test_sadf_json_says_what_the_table_says():
    table = take(DATA / "sadf_u.txt", "sadf", cpu="0").trace
    found = take(DATA / "sadf.json", "sadf", cpu="0", measures="busy-percent").trace
    assert found.values.size >= 5
    assert found.values == pytest.approx(table.values[: found.values.size])
    load = take(DATA / "sadf.json", "sadf", measures="load").trace
    assert load.values == pytest.approx(
        take(DATA / "sadf_uq.txt", "sadf", measures="load").trace.values[: load.values.size]
    )


def test_sadf_restarts_are_passed_over_and_told(tmp_path):
    lines = (DATA / "sadf_u.txt").read_text().splitlines(keepends=True)
    restart = "node1;-1;2026-11-21 04:05:46 UTC;LINUX-RESTART\t(2 CPU)\n"
    found = take(written(tmp_path, "".join([*lines[:28], restart, lines[0], *lines[28:]])), "sadf")
    assert found.trace.values.tolist() == take(DATA / "sadf_u.txt", "sadf").trace.values.tolist()
    assert found.notes[-1] == "1 restarts of the machine lie within"


def test_a_processor_that_is_not_there_is_named():
    with pytest.raises(TraceError, match="cpu is '7'; give one of all, 0, 1"):
        take(DATA / "sadf_u.txt", "sadf", cpu="7")
    with pytest.raises(TraceError, match="cpu is '7'; give one of all, 0, 1"):
        take(DATA / "collectl.txt", "collectl", cpu="7", measures="load")


def test_collectl_columns_and_the_chatter_before_its_header():
    path = DATA / "collectl.txt"
    assert path.read_text().startswith("waiting for")
    with pytest.raises(TraceError, match=r"measures: nothing is stated; this file has busy\-percent, load, state one"):
        take(path, "collectl")
    rows = [line.split() for line in path.read_text().splitlines() if line[:4] == "2026"]
    assert take(path, "collectl", measures="load").trace.values.tolist() == [float(row[18]) for row in rows]
    busy = take(path, "collectl", measures="busy-percent", cpu="0").trace
    assert busy.values == pytest.approx([float(row[31]) / 100 for row in rows])
    assert set(busy.durations_s) == {2.0}
    ran = take(path, "collectl", measures="load", value_column="[CPU]ProcRun").trace
    assert ran.values.tolist() == [float(row[17]) for row in rows]


def test_prometheus_values_are_strings_and_what_they_measure_must_be_stated():
    path = DATA / "prometheus_busy.json"
    with pytest.raises(TraceError, match="measures: nothing stated"):
        take(path, "prometheus")
    samples = json.loads(path.read_text())["data"]["result"][0]["values"]
    assert isinstance(samples[0][1], str)
    found = take(path, "prometheus", measures="busy")
    assert found.trace.values.tolist() == [float(value) for _, value in samples]
    assert found.trace.times_s.tolist() == [time - samples[0][0] for time, _ in samples]
    free = take(path, "prometheus", measures="available")
    assert (free.column, free.trace.values.tolist()) == ("available", found.trace.values.tolist())


def test_prometheus_with_several_series_must_be_told_which():
    path = DATA / "prometheus_per_cpu.json"
    with pytest.raises(
        TraceError, match=r"series: nothing is stated; give a label=value that picks one of 2: \{cpu=0\}; \{cpu=1\}"
    ):
        take(path, "prometheus", measures="busy")
    found = take(path, "prometheus", measures="busy", series="cpu=1")
    samples = json.loads(path.read_text())["data"]["result"][1]["values"]
    assert found.trace.values.tolist() == [float(value) for _, value in samples]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            {"status": "error", "error": "bad query"},
            "status is 'bad query'; give the answer of a query with status 'success'",
        ),
        (
            {"status": "success", "data": {"resultType": "vector", "result": []}},
            r"data\.resultType is 'vector'; give a 'matrix' \(a range query\)",
        ),
        (
            {"status": "success", "data": {"resultType": "matrix", "result": []}},
            r"data\.result has no series; give at least one",
        ),
        ([1], "status is 'list'; give the answer of a query with status 'success'"),
    ],
)
def test_prometheus_answers_that_are_no_range(tmp_path, document, message):
    with pytest.raises(TraceError, match=message):
        take(written(tmp_path, json.dumps(document)), "prometheus", measures="busy")


def test_prometheus_gaps_are_refused_by_place(tmp_path):
    series = {"metric": {}, "values": [[0, "1"], [10, "NaN"]]}
    document = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
    with pytest.raises(TraceError, match=r"values\[1\]: value is 'NaN'; give a finite number"):
        take(written(tmp_path, json.dumps(document)), "prometheus", measures="load")


SIMGRID_ENDS = [0.5, 1.0, 2.0, 4.5, 6.6, 8.6, 10.6, 11.8, 14.0, 16.2, 18.2, 20.2, 21.6, 23.5, 25.8, 27.8]
"""When SimGrid 3.32 ended 50-flop executions, one after another, on a host of 100 flop/s with `loopafter.profile`."""


def test_simgrid_profile_ends_executions_when_simgrid_does(tmp_path):
    found = take(DATA / "loopafter.profile", "simgrid", duration_s=40.0)
    path = written(tmp_path, trace_text(found.trace, column=found.column))
    capacity = Capacity.of(read_trace(path), "given")
    ends = capacity.inverse(0.5 * np.arange(1, len(SIMGRID_ENDS) + 1))
    assert ends == pytest.approx(SIMGRID_ENDS, abs=1e-6)


def test_simgrid_profile_whose_periods_differ_is_refused_without_a_duration():
    with pytest.raises(
        TraceError,
        match=r"LOOPAFTER: the first period is unlike the later ones \(full "
        r"speed up to 1 s, later 0\.25\); a duration writes it out exactly",
    ):
        take(DATA / "loopafter.profile", "simgrid")


def test_simgrid_profile_of_too_many_periods_is_refused_before_they_are_written_out(tmp_path):
    path = written(tmp_path, "0 1\nLOOPAFTER 1e-300\n")
    with pytest.raises(
        TraceError,
        match=r"3600 s in periods of 1e\-300 s are too many values; give a shorter duration for at most 10000000",
    ):
        take(path, "simgrid", duration_s=3600.0)


def test_simgrid_profile_repeats_loopafter_after_its_last_line(tmp_path):
    path = written(tmp_path, "1 0.5\n2 0.2\n5 1\nLOOPAFTER 5\n")
    found = take(path, "simgrid")
    again = read_trace(written(tmp_path, trace_text(found.trace, column="available"), "t.csv"))
    assert (found.column, again.end_s) == ("available", 10.0)
    # the tasks of the format notes: 100 flop each at 100 flop/s end at 1.0, 4.5, 5.9
    assert Capacity.of(again, "given").inverse([1.0, 2.0, 3.0]) == pytest.approx([1.0, 4.5, 5.9])
    assert "cycle" in found.notes[-1]


def test_dinda_doubles_are_little_endian_pairs(tmp_path):
    pairs = [(8.7e8 + second, 0.1 * second) for second in range(50)]
    path = written(tmp_path, b"".join(struct.pack("<dd", *pair) for pair in pairs))
    found = take(path, "dinda").trace
    assert found.values.tolist() == [load for _, load in pairs]
    assert found.times_s.tolist() == list(range(50))
    text = written(tmp_path, "".join(f"{time:.1f} {load}\n" for time, load in pairs))
    assert take(text, "dinda").trace.values == pytest.approx(found.values)
    swapped = written(tmp_path, b"".join(struct.pack(">dd", *pair) for pair in pairs))
    with pytest.raises(TraceError, match=r"f.txt:pair \d+: "):
        take(swapped, "dinda")
    with pytest.raises(TraceError, match=r"the size is 799 bytes; give a multiple of 16 \(pairs of doubles\)"):
        take(written(tmp_path, b"".join(struct.pack("<dd", *pair) for pair in pairs)[:-1]), "dinda")


@pytest.mark.parametrize(("scale", "unit"), [(1, "seconds"), (1000, "milliseconds")])
def test_bitbrains_header_says_milliseconds_but_rows_tell(tmp_path, scale, unit):
    row = ";\t4;\t11703.99824;\t10912.027692426667;\t93.23333333333333;\t6.7108864E7;\t6.1E7;\t0.0;\t18.8;\t0.0;\t0.0\n"
    text = BITBRAINS_HEAD + "".join(f"{(1376314846 + 300 * k) * scale}{row}" for k in range(3))
    found = take(written(tmp_path, text), "bitbrains")
    assert found.trace.times_s.tolist() == [0.0, 300.0, 600.0]
    assert found.trace.values == pytest.approx([4 * 0.9323333333333333] * 3)
    assert f"times read as {unit}" in found.notes[1]
    assert found.trace.start_instant.isoformat() == "2013-08-12T13:40:46+00:00"
    with pytest.raises(TraceError, match="cores: 2 stated, but the file says 4; leave it out"):
        take(written(tmp_path, text), "bitbrains", cores=2)
    changed = row.replace("4", "8", 1).join(text.rsplit(row, 1))
    with pytest.raises(TraceError, match="4: CPU cores is '8'; give 4 as in the rows before"):
        take(written(tmp_path, changed), "bitbrains")


def swf_job(number, submit, wait, run, used, *, requested=-1):
    return f"{number} {submit} {wait} {run} {used} -1 -1 {requested} 7200 -1 1 5 2 3 1 -1 -1 -1\n"


def test_swf_first_line_counts_and_minus_one_is_unknown(tmp_path):
    jobs = [
        swf_job(1, 0, 10, 100, 4),
        swf_job(2, 20, 0, 50, -1, requested=2),  # used processors unknown: those requested
        swf_job(3, 30, -1, 50, 8),  # start unknown
        swf_job(4, 30, 0, -1, 8),  # run time unknown
        swf_job(5, 30, 0, 50, -1),  # processors unknown
        swf_job(6, 60, 0, 0, 8),  # no run
    ]
    found = take(written(tmp_path, "".join(jobs)), "swf", processors=8, cores=8)
    assert found.trace.times_s.tolist() == [0.0, 10.0, 20.0, 70.0]
    assert found.trace.values.tolist() == [0.0, 4.0, 6.0, 4.0]
    assert found.trace.end_s == 110.0
    assert "2 jobs, 4 left out" in found.notes[1]


def test_swf_window_and_machine_size_from_the_header(tmp_path):
    path = written(tmp_path, SWF_HEAD + swf_job(1, 0, 10, 100, 4) + swf_job(2, 50, 0, 100, 2))
    found = take(path, "swf", start_s=40.0, duration_s=40.0)
    assert found.trace.times_s.tolist() == [0.0, 10.0]
    assert found.trace.values.tolist() == [0.5, 0.75]
    assert found.trace.end_s == 40.0
    flat = take(path, "swf", start_s=60.0, duration_s=10.0).trace  # one level: still a trace file of two rows
    assert (flat.times_s.tolist(), flat.values.tolist(), flat.end_s) == ([0.0, 5.0], [0.75, 0.75], 10.0)
    with pytest.raises(TraceError, match="start: the last job ends at 150 s; give a time before that"):
        take(path, "swf", start_s=200.0)
    with pytest.raises(TraceError, match="processors: 5 stated, but the jobs of the window use up to 6"):
        take(path, "swf", processors=5)
    with pytest.raises(TraceError, match="processors are not stated, and the header has no MaxProcs; state at least 1"):
        take(written(tmp_path, swf_job(1, 0, 10, 100, 4)), "swf")
    with pytest.raises(TraceError, match=r"2: run is \-5; give at least 0, or \-1 for unknown"):
        take(written(tmp_path, swf_job(1, 0, 10, 100, 4) + swf_job(2, 0, 0, -5, 4)), "swf", processors=8)


def google_row(start_s, end_s, machine, rate):
    """20 columns: start, end, job, task, machine, CPU rate, then memory, disk and hardware counters."""
    return f"{start_s}000000,{end_s}000000,3418309,{start_s % 7},{machine},{rate}" + ",0.01" * 13 + ",0\n"


GOOGLE = [(600, 900, 4155527081, 0.25), (700, 900, 4155527081, 0.5), (600, 900, 329150663, 0.1)]


@pytest.mark.parametrize("packed", [False, True])
def test_google_tasks_of_a_machine_add_up(tmp_path, packed):
    text = "".join(google_row(*row) for row in GOOGLE).encode()
    path = tmp_path / ("part.csv.gz" if packed else "part.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    found = take(path, "google", series="machine=4155527081", cores=4)
    assert found.trace.times_s.tolist() == [0.0, 100.0]
    assert found.trace.values.tolist() == [1.0, 3.0]
    assert found.trace.end_s == 300.0
    assert found.trace.start_instant.isoformat() == "2011-05-01T19:00:00-04:00"
    assert found.notes[1].startswith("machine 4155527081, 2 samples of its tasks, from 600 s")
    with pytest.raises(
        TraceError, match="series: nothing is stated; give one machine, such as machine=4155527081, machine=329150663"
    ):
        take(path, "google")
    with pytest.raises(
        TraceError,
        match="series: there is no 'machine=7'; give one machine, such as machine=4155527081, machine=329150663",
    ):
        take(path, "google", series="machine=7")
    with pytest.raises(TraceError, match="series is 'host=7'; give machine=NAME"):
        take(path, "google", series="host=7")


def test_google_files_that_are_broken(tmp_path):
    for text, line in (
        ("1,2,3\n", ":1: the line has 3 columns; give 20"),
        (google_row(600, 600, 1, 0.5), ":1: sample: 6e"),
        (google_row(600, 900, 1, ""), ":1: CPU rate is ''; give a finite number"),
    ):
        with pytest.raises(TraceError, match=line):
            take(written(tmp_path, text), "google")
    torn = tmp_path / "torn.csv.gz"
    torn.write_bytes(gzip.compress("".join(google_row(n, 900, 1, 0.5) for n in range(99)).encode())[:-12])
    with pytest.raises(ApportionError, match="this is no file that gzip packed"):
        take(torn, "google")
    torn.write_text("no gzip")
    with pytest.raises(ApportionError, match="this is no file that gzip packed"):
        take(torn, "google")


def test_csv_measures_and_columns_must_be_stated(tmp_path):
    path = written(tmp_path, "when,cpu,mem\n2026-01-01T00:00:00Z,25,1\n2026-01-01 00:01:00+00:00,50,1\n")
    with pytest.raises(TraceError, match="measures: nothing stated"):
        take(path, "csv")
    with pytest.raises(TraceError, match=r"1: value\-column is not stated; give one of when, cpu, mem"):
        take(path, "csv", measures="busy-percent")
    found = take(path, "csv", measures="busy-percent", value_column="cpu")
    assert (found.trace.times_s.tolist(), found.trace.values.tolist()) == ([0.0, 60.0], [0.25, 0.5])
    with pytest.raises(TraceError, match=r"1: value\-column is 'x'; give one of when, cpu, mem"):
        take(path, "csv", measures="load", value_column="x")


def test_csv_percent_read_as_a_share_is_refused(tmp_path):
    path = written(tmp_path, "ms,cpu\n0,25\n500,50\n")
    with pytest.raises(TraceError, match="row 2: busy is 50; give at most 1"):
        take(path, "csv", measures="busy")
    assert take(path, "csv", measures="busy-percent", time_unit="ms").trace.times_s.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("kind", "text", "options", "message"),
    [
        ("csv", "t,v\n1,1\n0,1\n", {"measures": "load"}, "3: time is 0; give more than 1, as before"),
        ("csv", "t,v\n0,1\n1,nan\n", {"measures": "load"}, "3: v is 'nan'; give a finite number"),
        ("csv", "t,v\n0,-1\n", {"measures": "load"}, r"2: value is \-1; give a finite number of at least 0"),
        ("csv", "t,v\n0,1\n", {"measures": "load"}, "the number of rows is 1; give at least 2"),
        ("sadf", "a;b\n", {}, r"1: there is no header before the first row; give a '\# hostname;\.\.\.' line"),
        ("collectl", "hello\n", {}, r"there is no header; give a line that begins with '\#Date'"),
        ("bitbrains", "a;b\n", {}, r"1: the header has no 'Timestamp \[ms\]'; give Bitbrains' columns"),
        ("simgrid", "0 1 2\n", {}, "1: the line has 3 columns; give 'time value' or 'LOOPAFTER d'"),
        ("simgrid", "0 1\n1 x\n", {}, "2: value is 'x'; give a finite number"),
        ("dinda", "", {}, "the file is empty; give pairs of doubles"),
        ("swf", "1 2 3\n", {"processors": 8}, "1: the line has 3 fields; give 18"),
        ("csv", b"t,v\n0,1\n1,\xff\n", {"measures": "load"}, r"3: the line is not UTF\-8; give UTF\-8 text"),
    ],
)
def test_faults_name_file_line_and_field(tmp_path, kind, text, options, message):
    with pytest.raises(TraceError, match=message):
        take(written(tmp_path, text), kind, **options)


@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [("sadf", "sadf_u.txt", {}), ("collectl", "collectl.txt", {"measures": "load"})],
)
def test_a_torn_last_line_is_left_out_with_a_warning(tmp_path, kind, name, options):
    data = (DATA / name).read_bytes()
    whole = take(DATA / name, kind, **options).trace
    last_row = data.rstrip(b"\n").rfind(b"\n") + 1
    for length in (last_row + 12, len(data) - 1):  # cut within the line, and where only its end is missing
        with pytest.warns(TraceWarning, match="torn last line"):
            torn = take(written(tmp_path, data[:length]), kind, **options).trace
        assert torn.values.tolist() == whole.values[: torn.values.size].tolist()
        assert torn.values.size >= whole.values.size - 1


def test_options_of_other_formats_are_refused():
    with pytest.raises(ScenarioError) as caught:
        take(DATA / "sadf_u.txt", "sadf", time_unit="s", processors=4)
    assert caught.value.lines == ("import: time-unit: not for sadf", "import: processors: not for sadf")
    with pytest.raises(ScenarioError, match=f"import: from is 'xls'; give one of {', '.join(FORMATS)}"):
        take(DATA / "sadf_u.txt", "xls")


BITBRAINS = BITBRAINS_HEAD + "".join(
    f"{1376314846 + 300 * k};\t4;\t11703.9;\t1091.0;\t{10 + k}.5;\t6.7;\t6.1;\t0.0;\t18.8;\t0.0;\t0.0\n"
    for k in range(3)
)
TABLE = "when,host,cpu,mem\n2026-01-01T08:00:00+01:00,a,25,7\n2026-01-01T09:00:00+01:00,a,50,8\n"
PROFILE = "0 0.5\n7 0.25\n9 1\nLOOPAFTER 5\n"
DINDA = "".join(f"{870000000 + k}.0 {k}.25\n" for k in range(5))
SWF = f"{SWF_HEAD}; UnixStartTime: 1164006800\n; TimeZoneString: Europe/Berlin\n" + "".join(
    swf_job(k, 10 * k, 1, 75, 2) for k in range(1, 4)
)


@pytest.mark.parametrize(
    ("kind", "text", "start", "options"),
    [
        ("sadf", (DATA / "sadf_u.txt").read_text(), "2026-11-21T04:05:36+00:00", {}),
        ("sadf", (DATA / "sadf.json").read_text(), "2026-11-21T04:05:37+00:00", {"measures": "load"}),
        ("sadf", (DATA / "sadf_epoch.txt").read_text(), "2026-11-21T04:05:37+00:00", {}),
        ("sadf", (DATA / "sadf_q_local.txt").read_text(), None, {}),
        ("collectl", (DATA / "collectl.txt").read_text(), None, {"measures": "load"}),
        ("csv", TABLE, "2026-01-01T08:00:00+01:00", {"measures": "busy-percent", "value_column": "cpu"}),
        ("prometheus", (DATA / "prometheus_busy.json").read_text(), "2026-", {"measures": "busy"}),
        ("dinda", DINDA, "1997-07-27T10:40:00+00:00", {}),
        ("swf", SWF, "2006-11-20T08:13:20+01:00", {}),
        ("simgrid", PROFILE, None, {}),
    ],
)
def test_an_imported_trace_keeps_date_and_zone_of_its_source(tmp_path, kind, text, start, options):
    """Whatever stands before the first line; where the zone is not told, this is said and no date is kept."""
    for beginning in ("", "\ufeff"):
        found = take(written(tmp_path, beginning + text), kind, **options)
        again = read_trace(written(tmp_path, trace_text(found.trace, column=found.column), "t.csv"))
        said = again.start_instant and again.start_instant.isoformat()
        assert said == start if start is None else said.startswith(start)
        assert any("whose zone it does not tell" in note for note in found.notes) == (
            start is None and kind != "simgrid"
        )


@pytest.mark.parametrize(
    ("kind", "text", "options", "message"),
    [
        ("swf", SWF.replace("8\n", "1,024\n", 1), {}, "2: MaxProcs is '1,024'; give a whole number"),
        ("swf", SWF.replace("8\n", "16 until March\n", 1), {}, "2: MaxProcs is '16 until March'; give a whole number"),
        ("swf", SWF.replace("8\n", "8.5e1\n", 1), {}, r"2: MaxProcs is '8\.5e1'; give a whole number"),
        ("swf", SWF.replace(" 75 ", " 1,024 ", 1), {}, "5: field 4 is '1,024'; give a number"),
        ("swf", SWF + swf_job(3, 99, 1, 75, 2), {}, "8: job 3 comes twice; give each its own number"),
        ("csv", TABLE.replace("50", "5 0"), {}, "3: cpu is '5 0'; give a finite number"),
        ("csv", TABLE.replace(",50,", ',"1,024",'), {}, "3: cpu is '1,024'; give a finite number"),
        ("csv", TABLE.replace("9:00:00+01:00", "9:00:00"), {}, "3: time: .* lacks a zone, unlike the rows before"),
        ("csv", TABLE.replace("+01:00,a,50", "+01:00,b,50"), {}, "give one host, such as host=a, host=b"),
        ("csv", TABLE, {"series": "host=c"}, "series: there is no 'host=c'; give one host, such as host=a"),
        ("csv", TABLE, {"series": "rack=c"}, "series is 'rack'; give one of when, host, cpu, mem"),
        ("sadf", "SADF", {}, "give one hostname, such as hostname=node1, hostname=node2"),
        ("bitbrains", BITBRAINS.replace("46;\t4", "46;\t4,5"), {}, "2: CPU cores is '4,5'; give a finite number"),
        ("google", google_row(600, 900, 1, 0.5) * 2, {}, "2: a sample of task 3418309/5 comes twice; leave one out"),
        ("simgrid", PROFILE.replace("7 0.25", "7 0,25"), {}, "2: value is '0,25'; give a finite number"),
        ("simgrid", PROFILE + "LOOPAFTER 5\n", {}, "5: LOOPAFTER comes twice; leave one out"),
        ("dinda", DINDA.replace("2.25", "2,25"), {}, "3: load is '2,25'; give a finite number"),
    ],
)
def test_numbers_are_read_whole_and_machines_one_by_one(tmp_path, kind, text, options, message):
    if kind == "csv":
        options = {"measures": "busy-percent", "value_column": "cpu"} | options
    if text == "SADF":
        rows = (DATA / "sadf_u.txt").read_text().splitlines(keepends=True)
        text = "".join([*rows, *(row.replace("node1", "node2") for row in rows)])
        assert take(written(tmp_path, text), kind, series="hostname=node2").trace.values.size > 5
    with pytest.raises(TraceError, match=message):
        take(written(tmp_path, text), kind, **options)


ROW = double(r"^[^#\n].*\n")
FIGURE = insert(r"(?<=\d)\.\d+$", "x", ",", " 1")
SILENT = {
    "csv": Foreign(TABLE, misspell(r"\b(cpu)\b"), add_column(",", "rack", "r1"), any_of(ROW, double_column(","))),
    "sadf": Foreign(
        (DATA / "sadf_u.txt").read_text(),
        misspell(r"(hostname|interval|timestamp|CPU|idle|iowait)"),
        any_of(add_column(";", "%gnome", "0"), insert(r"^node1;1;[^;]*;-1", "words\n")),
        any_of(double(r"^node1.*;-1;.*\n"), double_column(";")),
    ),
    "sadf of JSON": Foreign(
        (DATA / "sadf.json").read_text(),
        misspell(r'"(timestamp|date|time|interval|cpu-load|idle|iowait|cpu|queue|ldavg-1|nodename)"'),
        insert(r'"(cpu-load|queue)"', '"powers": 1, '),
        double(r'"(interval|idle|ldavg-1|iowait)": [\d.]+, '),
    ),
    "collectl": Foreign(
        (DATA / "collectl.txt").read_text(),
        misspell(r"(#Date|\[CPU\]L-Avg1) "),
        insert(r"(?<=\])$|\[CPU\]User%", "[CPU]Gnome% "),
        any_of(double(r"^2026.*\n"), double(r"\[CPU\]L-Avg1 ")),
    ),
    "prometheus": Foreign(
        (DATA / "prometheus_busy.json").read_text(),
        misspell(r'"(status|success|data|resultType|matrix|result|values)"'),
        insert(r'"(status|data|resultType|metric)"', '"warnings": ["half of it"], '),
        any_of(double(r'"(status|resultType)":"\w+",'), double(r'\[\d+(\.\d+)?,"[\d.]+"\],')),
    ),
    "simgrid": Foreign(PROFILE, any_of(misspell("(LOOPAFTER)"), FIGURE), insert("^7", "STATE 1\n", "3 4 5\n"), ROW),
    "dinda": Foreign(DINDA, FIGURE, insert(r"^8", "870000000.5 1 2\n", "# rate 1\n"), ROW),
    "bitbrains": Foreign(
        BITBRAINS,
        misspell(r"(Timestamp \[ms\]|CPU cores|CPU usage \[%\])"),
        add_column(";\t", "Gnomes [%]", "3"),
        any_of(ROW, double_column(";\t")),
    ),
    "google": Foreign(
        "".join(google_row(600 + k, 900, 7, 0.25) for k in range(4)),
        misspell(r",(7|0\.25),"),
        insert(r"^6", "when,", "gnome\n"),
        ROW,
    ),
    "swf": Foreign(
        SWF,
        any_of(misspell("(MaxProcs)"), insert(r"(?<=\d) 2 -1| -1$", "x", ",5")),
        insert(r"^\d", "1 2 3\n", "gnome "),
        double(r"^(\d|; Max).*\n"),
    ),
}
STATED = {
    "csv": {"measures": "busy-percent", "value_column": "cpu"},
    "sadf of JSON": {"measures": "busy-percent"},
    "collectl": {"measures": "load"},
    "prometheus": {"measures": "busy"},
}


@pytest.mark.parametrize("case", SILENT)
def test_nothing_is_accepted_in_silence(tmp_path, case):
    kind = case.split()[0]
    read = lambda path: take(path, kind, **STATED.get(case, {})).notes  # noqa: E731
    assert accepted_in_silence(SILENT[case], read, tmp_path / "file") == []


@pytest.mark.parametrize(
    ("name", "kind", "options", "message"),
    [
        ("sadf_uq.txt", "sadf", {"measures": "load", "cpu": "0"}, "cpu: load counts the whole machine"),
        (
            "collectl.txt",
            "collectl",
            {"measures": "load", "value_column": "[CPU]L-Avg1", "cpu": "0"},
            "cpu: no effect with",
        ),
        ("collectl.txt", "collectl", {"measures": "load", "cores": 2}, "cores: no effect on load"),
        ("loopafter.profile", "simgrid", {"duration_s": 9.0, "cores": 2}, "cores: no effect on available"),
    ],
)
def test_what_does_not_hang_on_a_processor_or_on_cores_refuses_them(name, kind, options, message):
    """They were taken and ignored."""
    cores = {"cores": options.pop("cores")} if "cores" in options else {}
    with pytest.raises(TraceError, match=re.escape(f"{name}: {message}") + ".*; leave it out$"):
        import_trace(DATA / name, kind, options=ImportOptions(**options), **cores)

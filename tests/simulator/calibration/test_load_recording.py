"""Recording: the file, its continuation, what ends it, and its truth about a known load."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simulator.base.errors import ScenarioError
from simulator.base.machine import busy_seconds, runnable_now
from simulator.calibration import record_load
from simulator.load_traces import read_head, read_table

INTERVAL_S = 0.1
POINTS = 0.05
RECORD = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"  # a script's background ignores it
    "from pathlib import Path; from simulator.calibration import record_load as r; "
)


def start_recording(path, interval_s=INTERVAL_S):
    code = RECORD + f"print(r(Path(sys.argv[1]), interval_s={interval_s}, duration_s=60.0).interrupted)"
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not (path.exists() and len(rows_of(path)) >= 3) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(rows_of(path)) >= 3, "rows must be in the file while it is recorded"
    return child


def rows_of(path):
    return [line for line in path.read_text().splitlines() if line[:1].isdigit()]


def test_a_recording_says_what_it_holds(tmp_path):
    path = tmp_path / "t.csv"
    done = record_load(path, interval_s=INTERVAL_S, duration_s=0.5, per_core=True)
    table, head = read_table(path), read_head(path)
    cpus = sorted(os.sched_getaffinity(0))
    assert (done.rows, done.interrupted) == (5, False)
    assert table.times_s == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert list(table.columns) == ["load", "busy", *(f"busy_cpu{cpu}" for cpu in cpus)]
    assert list(head.meanings) == ["time_s", *table.columns]
    assert all(head.meanings.values())
    assert head.interval_s == INTERVAL_S
    shares = [table.columns[f"busy_cpu{cpu}"] for cpu in cpus]
    assert table.columns["busy"] == pytest.approx(sum(shares) / len(cpus), abs=1e-5)
    assert done.mean_load == pytest.approx(table.columns["load"].mean(), abs=1e-5)


def test_a_file_that_exists_is_not_lost_by_mistake(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("precious\n")
    with pytest.raises(
        ScenarioError, match=r"this file is there; --append continues a recording, --overwrite replaces the file"
    ):
        record_load(path, interval_s=INTERVAL_S, duration_s=0.2)
    assert path.read_text() == "precious\n"
    record_load(path, interval_s=INTERVAL_S, duration_s=0.2, overwrite=True)
    assert len(rows_of(path)) == 2


def test_append_continues_on_the_same_clock_after_a_torn_line(tmp_path):
    path = tmp_path / "t.csv"
    record_load(path, interval_s=INTERVAL_S, duration_s=0.2)
    whole = path.read_text()
    path.write_text(whole + "0.2,0.")
    record_load(path, interval_s=INTERVAL_S, duration_s=0.3, append=True)
    assert path.read_text().startswith(whole)
    times = read_table(path).times_s
    assert times.size == 5
    assert times[2] >= 0.2 - 1e-9
    assert times[2] / INTERVAL_S == pytest.approx(round(times[2] / INTERVAL_S))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace('"cpu_model": "', '"cpu_model": "other '),
            r"machine\.cpu_model is .* in the file",
        ),
        (
            lambda text: text.replace('"interval_s": 0.1', '"interval_s": 5.0'),
            r"1: interval_s is 5 in the file; give that one, not 0\.1",
        ),
        (
            lambda text: text.replace("time_s,load,busy\n", "time_s,load\n"),
            "1: the file has the columns time_s,load; record these, not time_s,load,busy",
        ),
        (lambda _text: "time_s,load\n0,1\n1,1\n", "this is not the head of a recording"),
    ],
)
def test_append_refuses_another_recording(tmp_path, change, message):
    path = tmp_path / "t.csv"
    record_load(path, interval_s=INTERVAL_S, duration_s=0.2)
    path.write_text(change(path.read_text()))
    before = path.read_text()
    with pytest.raises(Exception, match=message) as caught:
        record_load(path, interval_s=INTERVAL_S, duration_s=0.2, append=True)
    assert str(caught.value).startswith(f"{path}:1: ")
    assert path.read_text() == before


@pytest.mark.parametrize(("interval_s", "duration_s"), [(0.05, 1.0), (1.0, 0.5), (1.0, float("inf")), (-1.0, 1.0)])
def test_lengths_that_cannot_be_measured_are_refused(tmp_path, interval_s, duration_s):
    with pytest.raises(
        ScenarioError,
        match=r"give an interval of 0\.1 s or more and a duration of one",
    ):
        record_load(tmp_path / "t.csv", interval_s=interval_s, duration_s=duration_s)
    assert not (tmp_path / "t.csv").exists()


def test_ctrl_c_ends_a_recording_and_keeps_it(tmp_path):
    path = tmp_path / "t.csv"
    child = start_recording(path)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    assert (child.returncode, out.strip()) == (0, "True")
    assert read_table(path).times_s.size >= 3


def test_a_killed_recording_loses_at_most_the_interval_under_way(tmp_path):
    path = tmp_path / "t.csv"
    child = start_recording(path)
    seen = len(rows_of(path))
    child.kill()
    child.communicate(timeout=20)
    text = path.read_text()
    assert len(rows_of(path)) >= seen
    assert text.endswith("\n")


@pytest.mark.real
def test_a_machine_that_slept_leaves_rows_out_and_keeps_the_clock(tmp_path):
    path = tmp_path / "t.csv"
    child = start_recording(path)
    child.send_signal(signal.SIGSTOP)
    seen = len(rows_of(path))
    time.sleep(0.6)
    child.send_signal(signal.SIGCONT)
    while len(rows_of(path)) < seen + 3 and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=20)
    times = read_table(path).times_s
    steps = (times[1:] - times[:-1]) / INTERVAL_S
    assert max(steps) >= 4
    assert steps == pytest.approx([round(step) for step in steps])


def test_the_run_queue_counts_others():
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.3)
        counts = [runnable_now() for _ in range(20) if time.sleep(0.01) is None]
    finally:
        spinner.kill()
        spinner.wait()
    assert sum(counts) / len(counts) >= 0.9


DUTY = """
import sys, time
end, share, period = time.monotonic() + float(sys.argv[1]), float(sys.argv[2]), 0.1
while time.monotonic() < end:
    cycle, spent = time.monotonic(), time.thread_time()
    while time.thread_time() - spent < share * period and time.monotonic() - cycle < period:
        pass
    time.sleep(max(0.0, cycle + period - time.monotonic()))
print(time.process_time())
"""


@pytest.mark.real
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_the_recorded_mean_is_the_truth_within_five_points(tmp_path, share):
    """Truth: the known process's own CPU seconds, and what all others used of the core at that time."""
    cpu = max(os.sched_getaffinity(0))
    path, seconds = Path(tmp_path / "t.csv"), 10.0
    before = busy_seconds()[cpu]
    child = subprocess.Popen(
        ["taskset", "-c", str(cpu), sys.executable, "-c", DUTY, str(seconds), str(share)],
        stdout=subprocess.PIPE,
        text=True,
    )
    started = time.monotonic()
    done = record_load(path, interval_s=0.5, duration_s=seconds - 0.5, per_core=True)
    out, _ = child.communicate(timeout=30)
    own = float(out) / seconds
    elapsed = time.monotonic() - started
    others = (busy_seconds()[cpu] - before) / elapsed - float(out) / elapsed
    recorded = float(read_table(path).columns[f"busy_cpu{cpu}"].mean())
    print(f"duty {share:.0%}: process {own:.3f}, others {others:.3f}, recorded {recorded:.3f}")
    assert abs(recorded - own - max(0.0, others)) <= POINTS
    assert done.mean_busy[cpu] == pytest.approx(recorded, abs=1e-6)

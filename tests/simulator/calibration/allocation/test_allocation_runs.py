"""Construction runs of real processes: kept at once, stopped when they hang, trimmed to the budget."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from advisor.cli import _run
from simulator.base.errors import CalibrationError
from simulator.calibration.allocation import program as output_module
from simulator.calibration.allocation.program import make_reader
from simulator.calibration.bench import pin
from tests.support.allocation_program import CLUSTER, CPUS, PROGRAM
from tests.support.processes import relatives

ROOT = Path(__file__).parents[4]
PHASES = r"^kind=(?P<kind>\S+) comp_s=(?P<comp_s>\S+) comm_s=(?P<comm_s>\S+)$"


@pytest.fixture
def planned(tmp_path):
    def make(*options, body="", planned="400ms", budget="60s"):
        (tmp_path / "cluster.yaml").write_text(CLUSTER)
        (tmp_path / "program.py").write_text(PROGRAM.format(log=str(tmp_path / "starts"), body=body))
        plan = tmp_path / "plan.json"
        arguments = ["--sizes", "100,200,300", "--most", "fast=2,slow=2", "--start", "50ms", "--budget", planned]
        assert _run(["fit", "--plan", str(tmp_path / "cluster.yaml"), *arguments, "-o", str(plan)]) == 0
        command = f"{sys.executable} -S {tmp_path / 'program.py'} {{N}} {{P}} {{cpus}} {{kinds}}"
        runs = tmp_path / "runs.csv"
        return [
            "fit",
            "--run",
            str(plan),
            "--command",
            command,
            "--time",
            "hpl",
            "--budget",
            budget,
            "-o",
            str(runs),
            *options,
        ]

    return make


def wanted(tmp_path, *, reserve=False):
    """How often each run is planned."""
    found = Counter()
    for run in json.loads((tmp_path / "plan.json").read_text())["runs"]:
        if reserve or not run["reserve"]:
            cells = tuple(str(number) for cell in run["allocation"] for number in cell)
            found[f"{run['size']:.0f}", *cells] += run["repetitions"]
    return found


def kept(tmp_path):
    with (tmp_path / "runs.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    return Counter((row["N"], *(row[f"{k}.{c}"] for k in ("fast", "slow") for c in ("pes", "procs"))) for row in rows)


def test_every_planned_run_is_made_and_read(planned, tmp_path, capsys):
    assert _run([*planned("--phases", PHASES), "--json"]) == 0
    document = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert kept(tmp_path) == wanted(tmp_path, reserve=True)
    assert document["runs_made"] == document["runs_kept"] == kept(tmp_path).total()
    assert 0 < document["spent_s"] < 60
    with (tmp_path / "runs.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        counts = {kind: int(row[f"{kind}.pes"]) * int(row[f"{kind}.procs"]) for kind in ("fast", "slow")}
        assert float(row["time_s"]) == pytest.approx(int(row["N"]) * sum(counts.values()) / 1e6)
        for kind, count in counts.items():
            assert (row[f"{kind}.comp_s"], row[f"{kind}.comm_s"]) == (
                (repr(int(row["N"]) / 1e6), "0.5") if count else ("", "")
            )
    starts = (tmp_path / "starts").read_text().splitlines()
    assert starts[:2] == ["100 fast", "100 slow"]
    assert starts != sorted(starts)
    before = (tmp_path / "runs.csv").read_bytes()
    assert _run(planned("--phases", PHASES)) == 0
    assert (tmp_path / "runs.csv").read_bytes() == before


@pytest.mark.real
def test_a_run_that_hangs_is_ended_with_all_that_it_started(planned, tmp_path, capsys):
    stray = "subprocess.Popen(['sleep', '987'], start_new_session=True)"
    body = f"if n == 200 and 'slow' not in kinds and p == 1:\n    {stray}\n    print('at rest', flush=True)\n"
    body += "    time.sleep(900)"
    assert _run(planned("--limit", "3s", body=body)) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-2] == (
        "error: N 200, fast 1 x 1: no end within 3 s, stopped with all that it started; its last line: at rest"
    )
    rest = wanted(tmp_path, reserve=True)
    del rest["200", "1", "1", "0", "0"]
    assert kept(tmp_path) == rest
    assert said[-1] == f"error: {rest.total()} runs kept in {tmp_path / 'runs.csv'}"
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "987"]]
    assert relatives() == []


@pytest.mark.real
def test_interrupted_it_ends_all_that_runs_and_keeps_what_is_there(planned, tmp_path):
    body = "if n == 300: subprocess.Popen(['sleep', '986'], start_new_session=True); time.sleep(900)"
    call = [sys.executable, "-m", "advisor.cli", *planned(body=body)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(call, env=environment, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not any(p.info["cmdline"] == ["sleep", "986"] for p in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < until
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130
    assert said.splitlines()[-1].endswith("runs.csv keeps every run made, the same command goes on from there")
    assert kept(tmp_path).total() >= 2
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "986"]]


@pytest.mark.parametrize(
    ("end", "line"),
    [
        ("print('hello'); sys.exit(0)", "exit status 0, no time in its output; its last line: hello"),
    ],
)
def test_a_run_that_fails_is_named_and_the_others_are_kept(planned, tmp_path, capsys, end, line):
    assert _run(planned(body=f"if n == 300 and p == 1: {end}")) == 1
    said = capsys.readouterr().err.splitlines()
    assert [said[-3], said[-2]] in (
        [f"error: N 300, {first} 1 x 1: {line}", f"error: N 300, {second} 1 x 1: {line}"]
        for first, second in (("fast", "slow"), ("slow", "fast"))
    )
    rest = wanted(tmp_path, reserve=True)
    del rest["300", "1", "1", "0", "0"], rest["300", "0", "0", "1", "1"]
    assert kept(tmp_path) == rest
    assert _run(planned()) == 0
    assert kept(tmp_path) == wanted(tmp_path, reserve=True)


def test_a_program_that_always_fails_is_not_run_for_ever(planned, tmp_path, capsys):
    assert _run(planned(body="sys.exit(4)")) == 1
    assert len((tmp_path / "starts").read_text().splitlines()) == 3
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "error: 3 runs failed one after another, no more are made",
        f"error: 0 runs kept in {tmp_path / 'runs.csv'}",
    ]


@pytest.mark.real
def test_the_plan_is_trimmed_to_the_budget_as_costs_show(planned, tmp_path, capsys):
    """Guessed 0.05 s each, really 0.25 s: the end of the plan is left out."""
    call = planned(body="time.sleep(0.25)", planned="800ms", budget="2s")
    capsys.readouterr()
    assert _run([*call, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    whole = wanted(tmp_path)
    assert 3 <= kept(tmp_path).total() < whole.total()
    assert len(said["dropped"]) == whole.total() - kept(tmp_path).total()
    assert all(line.startswith("N ") and " s" in line for line in said["dropped"])
    assert max(kept(tmp_path).values()) == 1  # no second repetition before all first ones
    walls = [json.loads(line)["wall_s"] for line in (tmp_path / "runs.log.jsonl").read_text().splitlines()[1:]]
    assert sum(walls) < 2 + max(walls)


def test_files_are_rendered_and_read_in_the_folder_of_the_runs(planned, tmp_path):
    (tmp_path / "HPL.dat").write_text("{N} {P} {other} of {kinds}\n")
    program = "import sys; n, p, *_ = open('HPL.dat').read().split(); a = open('{hostfile}').read().split()[-1]; "
    program += "print(f'{n} {p} {a} took 0.25')"
    (tmp_path / "write.py").write_text(program.replace("{hostfile}", "hostfile"))
    call = planned()
    call[call.index("--command") + 1] = f"{sys.executable} -S {tmp_path / 'write.py'} {{hostfile}}"
    call[call.index("--time") + 1] = r"^\d+ (\d+) localhost:\1 took (?P<time_s>\S+)$"
    assert _run([*call, "--before", str(tmp_path / "HPL.dat")]) == 0
    assert kept(tmp_path) == wanted(tmp_path, reserve=True)
    assert "{other}" in (tmp_path / "runs.work" / "HPL.dat").read_text()


@pytest.mark.real
def test_local_ranks_run_where_they_should_beside_as_many_busy_loops(planned, tmp_path):
    """The program notes who competes with its rank; it is its own launcher: it says that it is rank 0."""
    call = planned("--local")
    script = tmp_path / "look.py"
    script.write_text(
        "import os, sys, glob\nloops, ours = 0, os.environ['APPORTION_STATE'].encode()\n"
        "for path in glob.glob('/proc/[0-9]*'):\n"
        "    try: found = [open(f'{path}/{name}', 'rb').read() for name in ('cmdline', 'environ')]\n"
        "    except OSError: continue\n"
        "    loops += b'\\0load\\0' in found[0] and ours in found[1]\n"
        f"open({str(tmp_path / 'seen')!r}, 'a').write("
        "f'{sys.argv[1]} {sorted(os.sched_getaffinity(0))} {loops} {os.getsid(0) == os.getpid()}\\n')\n"
    )
    call[call.index("--command") + 1] = f"env PMI_RANK=0 {{pin}} {sys.executable} -S {script} {{kinds}} {{N}} {{P}}"
    at = call.index("--time")
    assert _run(call[:at] + call[at + 2 :]) == 0
    seen = {line.split(" ")[0].split(",")[0]: line for line in (tmp_path / "seen").read_text().splitlines()}
    assert seen["fast"].endswith(f" [{CPUS[0]}] 2 True")
    assert seen["slow"] == f"slow [{CPUS[-1]}] 2 True" or seen["slow"].startswith("slow,slow ")
    assert relatives() == []


class TestPin:
    def test_the_rank_is_found_in_what_each_launcher_says(self):
        for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"):
            assert pin.cpu_of("4,7,", {name: "1"}) == 7
            assert pin.cpu_of("4,7,", {name: "2"}) is None

    @pytest.mark.parametrize("environment", [{}, {"PMI_RANK": "5"}, {"PMI_RANK": "-1"}, {"PMI_RANK": "x"}])
    def test_no_rank_or_no_processor_is_told(self, environment):
        with pytest.raises(SystemExit, match=r"which rank this is|no processor for rank"):
            pin.cpu_of("0,1", environment)

    @pytest.mark.parametrize(("code", "status"), [("raise SystemExit(7)", 7), ("os.kill(os.getpid(), 9)", -9)])
    @pytest.mark.parametrize("group", [None, 0])
    def test_it_ends_as_its_command_does(self, code, status, group):
        """Also where it leads its process group, as Open MPI's ranks do, and cannot have a session itself."""
        command = [sys.executable, pin.__file__, str(CPUS[0]), "--", sys.executable, "-S", "-c", f"import os\n{code}"]
        environment = os.environ | {"PMI_RANK": "0"}
        assert subprocess.run(command, env=environment, process_group=group, check=False).returncode == status


class TestReading:
    def test_the_last_match_counts(self):
        reader = make_reader("took ([0-9.]+) s", None)
        assert reader.read("took 1.5 s\ntook 2.5 s\n", wall_s=9, kinds=["a"]).time_s == 2.5

    def test_without_a_pattern_it_is_the_wall_clock(self):
        assert make_reader(None, None).read("", wall_s=9, kinds=["a"]).time_s == 9

    @pytest.mark.parametrize("text", ["took 1e999 s", "took -1 s", "took x s"])
    def test_what_is_no_time_is_refused(self, text):
        with pytest.raises(CalibrationError, match="is no time in seconds"):
            make_reader("took (.*) s", None).read(text, wall_s=9, kinds=["a"])

    def test_hpl_tells_computation_and_communication_of_a_kind_that_runs_alone(self):
        """Ta = (rfact - mxswp) + (update - laswp) + uptrsv (EQUATIONS section 4)."""
        names = {"rfact": 4, "+ Max aggregated wall time pfact": 3, "mxswp": 1, "update": 20, "laswp": 2, "up tr sv": 5}
        lines = [f"Max aggregated wall time {name} . . : {value:>8.2f}" for name, value in names.items()]
        text = "\n".join(["WR00L2L2 400 64 1 2 40.0 1.0e+00", *lines])
        reader = make_reader("hpl", "hpl")
        assert reader.read(text, wall_s=50, kinds=["a"]) == output_module.MeasuredTimes(40.0, {"a": 26.0}, {"a": 14.0})
        assert reader.read(text, wall_s=50, kinds=["a", "b"]) == output_module.MeasuredTimes(40.0)

    def test_a_wrong_solution_of_hpl_is_no_run(self):
        line = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {} ...... {}\n"
        text = "WR00L2L2 400 64 1 2 40.0 1.0e+00\n"
        assert make_reader("hpl", None).read(text + line.format("0.0050", "PASSED"), wall_s=1, kinds=["a"]).time_s == 40
        with pytest.raises(CalibrationError, match="a residual that FAILED"):
            make_reader("hpl", None).read(text + line.format("5.0e+09", "FAILED"), wall_s=1, kinds=["a"])

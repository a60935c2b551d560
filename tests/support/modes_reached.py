"""A command line for every mode of every command, and the files that these name."""

import json
import shlex

import typer

from advisor.cli.commands import app
from advisor.cli.modes import option_name
from simulator import shipped
from tests.support.command_line import ROOT
from tests.support.made_up_machine import visits

DATA = ROOT / "tests" / "simulator" / "load_traces" / "data"

# How each mode is reached: of each axis of a command, in the order of its modes. {w} is a folder of prepared files, {s}
# that of the shipped ones, {d} that of foreign traces.
REACH = {
    "quickstart": {"": ""},
    "new": {"with --output": "-o c.yaml", "without --output": ""},
    "plot": {"": "{w}/results -o f.png"},
    "rerun": {"": "{w}/results"},
    "record": {"with --append": "-o r.csv --append", "without --append": "-o r.csv"},
    "trace import": {
        "with --from csv": "{w}/t.csv -o o.csv --from csv --measures load --time-column time_s --value-column load",
        "with --from sadf": "{d}/sadf_uq.txt -o o.csv --from sadf --measures load",
        "with --from collectl": "{d}/collectl.txt -o o.csv --from collectl --measures busy-percent",
        "with --from prometheus": "{d}/prometheus_busy.json -o o.csv --from prometheus --measures busy",
        "with --from simgrid": "{d}/loopafter.profile -o o.csv --from simgrid --duration 60s",
        "with --from dinda": "{w}/dinda.txt -o o.csv --from dinda",
        "with --from bitbrains": "{w}/bitbrains.csv -o o.csv --from bitbrains",
        "with --from google": "{w}/google.csv -o o.csv --from google",
        "with --from swf": "{w}/log.swf -o o.csv --from swf",
        "with a busy share": "{w}/google.csv -o o.csv --from google",
        "with a load or an availability": "{w}/dinda.txt -o o.csv --from dinda",
    },
    "trace generate": {
        "with constant": "constant --set load=1 --duration 1min -o o.csv",
        "with on-off": "on-off --set load=1 --set mean_on=10s --set mean_off=10s --duration 10min -o o.csv",
        "with ar1": "ar1 --set mean=1 --set deviation=0.5 --set correlation=0.5 --duration 1min -o o.csv",
        "with diurnal": "diurnal --set mean=1 --set amplitude=0.5 --set deviation=0.5 --duration 1min -o o.csv",
        "with bootstrap": "bootstrap --fit {w}/t.csv --duration 1min -o o.csv",
    },
    "trace show": {"": "{w}/t.csv"},
    "trace functions": {"": "{w}/t.csv --window 10"},
    "trace study": {"": "{w}/t.csv --window 10 --history 20"},
    "calibrate speed": {
        "with --replay": "--replay {s}/papers/gbbp_dgemm.csv",
        "with --kernel": "--kernel dgemm",
        "with --command": "--command 'true {{n}}' --size n --volume n",
        "with --method adaptive": "--replay {s}/papers/gbbp_dgemm.csv",
        "with --method gbbp": "--replay {s}/papers/gbbp_dgemm.csv --method gbbp",
        "with --method grid": "--replay {s}/papers/gbbp_dgemm.csv --method grid",
        "with --load": "--replay {s}/papers/gbbp_dgemm.csv --load {w}/t.csv --window 20",
        "without --load": "--replay {s}/papers/gbbp_dgemm.csv",
    },
    "calibrate memory": {
        "with --replay": "--replay {w}/apex.csv",
        "without --replay": "",
    },
    "calibrate network": {
        "with --replay": "--replay {s}/papers/characterisation_unix.csv",
        "with --between processes": "--between processes",
        "with --between tcp": "--between tcp",
        "with --between mpi": "--between mpi",
    },
    "calibrate neighbours": {
        "with --replay": "--replay {w}/visits.csv",
        "with --against": "--against {w}/neighbours.json",
        "without --replay and --against": "",
    },
    "calibrate resource": {"": ""},
    "calibrate load-check": {"": ""},
    "characterise": {
        "with dbc": "matmul --method poc,dbc",
        "without dbc": "matmul --method poc",
        "with --sizes and a kernel": "matmul --sizes 200",
        "without --sizes, or with FILE.py": "matmul",
    },
    "show": {
        "with a folder of results": "{w}/results",
        "with a network model": "{w}/link.json",
        "with a speed model alone": "{w}/speed.json",
        "with a speed model and --memory": "{w}/speed.json --memory {w}/memory.json --kernel matmul",
        "with a neighbours model": "{w}/neighbours.json",
    },
    "history add": {"": "--app a --time total=1"},
    "history list": {"": "--history {w}/h.sqlite"},
    "history import": {
        "with --format csv": "{w}/runs.csv --app a",
        "with --format extrap": "{w}/runs.extrap",
        "with --format extrap-json": "{w}/runs.json",
        "with --format sacct": "{w}/jobs.txt",
    },
    "history coverage": {"": ""},
    "history export": {"": "--history {w}/h.sqlite"},
    "history record": {
        "with --app": "--app matmul --grid N=100,P=1",
        "with --command": "--command 'true {{N}}' --grid N=1",
    },
    "fit": {
        "with a run history": "{w}/h.sqlite --formula N**3/P",
        "with a CSV file": "{s}/tutorial/hpl-runs.csv --formula N**3/P",
    },
    "predict": {
        "with a run-time model": "{w}/runtime.json --at {s}/tutorial/hpl-targets.csv",
        "with a memory model": "{w}/memory.json --at {w}/memory-at.csv",
        "with a network model": "{w}/link.json --at {w}/link-at.csv",
        "with a speed model": "{w}/speed.json --at {w}/speed-at.csv",
        "with a neighbours model": "{w}/neighbours.json --at {w}/neighbours-at.csv",
    },
    "machine": {"": ""},
    "platform": {
        "with --topology": "{w}/speed.json {w}/link.json --names n1 --topology {w}/topology.conf",
        "without --topology": "{w}/speed.json {w}/link.json --names n1",
    },
    "scenarios": {"": ""},
    "check": {
        "with a scenario": "two-cores",
        "with a scenario and --resolved": "two-cores --resolved",
        "with --schema": "--schema",
        "with a software execution graph": "{w}/matmul.seg.yaml",
    },
    "export": {"": "{w}/small.yaml --simgrid -o x"},
    "simulate": {
        "with --output": "{w}/small.yaml -o x",
        "without --output": "{w}/small.yaml",
        "with --timeline": "{w}/small.yaml --timeline x.csv",
        "without --timeline": "{w}/small.yaml",
    },
    "advise": {
        "with --vary partition": "{w}/small.yaml --vary partition",
        "with --vary allocation": "{w}/small.yaml --vary allocation --runs 20",
        "with --vary both": "{w}/small.yaml --vary both --runs 20",
        "with --vary scheduling": "{w}/strips.yaml --vary scheduling --runs 20",
        "with --measure-next": "{w}/small.yaml --measure-next 1s",
        "without --measure-next": "{w}/small.yaml",
    },
    "whatif": {
        "with --only": "{w}/small.yaml --as-is --vary platform.link.latency=x1,x2 --only {hash}",
        "without --only": "{w}/small.yaml --as-is --vary platform.link.latency=x1,x2 --workers 1",
        "with --output": "{w}/small.yaml --as-is --vary platform.link.latency=x1,x2 --workers 1 -o x",
        "without --output": "{w}/small.yaml --as-is --vary platform.link.latency=x1,x2 --workers 1",
        "with several --vary": "{w}/small.yaml --as-is --vary platform.link.latency=x1,x2 --vary seed=1,2 --workers 1",
        "with one --vary": "{w}/small.yaml --as-is --vary platform.link.latency=x1,x2 --workers 1",
    },
    "verify": {"with --command": "{w}/small.yaml --command 'true {{units}}'", "without --command": "{w}/small.yaml"},
    "cluster": {
        "with --slurm": "--slurm",
        "without --slurm": "--hosts nowhere --ssh false",
        "with a command": "--hosts nowhere --ssh false --parameter units=10 -- true {{units}}",
        "without a command": "--hosts nowhere --ssh false",
    },
    "partition": {
        "with --method equal": "--speeds {w}/band.json --units 1000 --method equal",
        "with --method proportional": "--speeds {w}/band.json --units 1000 --method proportional",
        "with --method functional": "--speeds {w}/band.json --units 1000 --method functional",
        "with --method discontinuous": "--speeds {w}/band.json --units 1000 --method discontinuous",
        "with --method banded": "--speeds {w}/band.json --units 1000 --method banded",
        "with --method grid2d": "--speeds {w}/band.json --units 1000 --method grid2d --matrix 100x10",
        "with --objective mean, cvar or worst": "--speeds {w}/band.json --units 1000 --method banded",
        "with --objective regret": "--speeds {w}/band.json --units 1000 --method banded --objective regret",
    },
    "allocate plan": {"": "{s}/tutorial/platforms/unequal-cores.yaml --sizes 400,800,1200"},
    "allocate run": {
        "with --time or --phases": "{w}/plan.json --command 'true {{N}} {{P}}' --time hpl",
        "without --time and --phases": "{w}/plan.json --command 'true {{N}} {{P}}'",
        "with --model": "{w}/plan.json --command 'true {{N}} {{P}}' --model {w}/alloc.json",
        "without --model": "{w}/plan.json --command 'true {{N}} {{P}}'",
    },
    "allocate fit": {"": "{s}/tutorial/allocation-runs.csv"},
    "allocate advise": {
        "with --hostfile": "{w}/alloc.json --kinds fast:1:2,slow:2:2 --size 1600 --hostfile x",
        "without --hostfile": "{w}/alloc.json --kinds fast:1:2,slow:2:2 --size 1600",
    },
    "jobs run": {
        "with --backfill none": "{w}/jobs.swf --engine process --backfill none",
        "with --backfill easy": "{w}/jobs.swf --engine process",
        "with --backfill conservative": "{w}/jobs.swf --engine process --backfill conservative",
        "with --processors counted": "{w}/jobs.swf --engine process",
        "with --processors named": "{w}/jobs.swf --engine process --processors named",
        "with --estimates limit": "{w}/jobs.swf --engine process",
        "with --estimates exact": "{w}/jobs.swf --engine process --estimates exact",
        "with --estimates last-two": "{w}/jobs.swf --engine process --estimates last-two",
        "with --estimates fit": "{w}/jobs.swf --engine process --estimates fit --model {w}/job-times.json",
        "with --estimates predicted": "{w}/apps.csv --platform {w}/jobs-on.yaml --processors named "
        "--engine process --estimates predicted",
        "with --platform": "{w}/apps.csv --platform {w}/jobs-on.yaml --processors named --engine process",
        "without --platform": "{w}/jobs.swf --engine process",
        "with --policy": "{w}/jobs.swf --engine process --policy {w}/own_policy.py",
        "without --policy": "{w}/jobs.swf --engine process --processors named",
        "with --fairness": "{w}/jobs.swf --engine process --order sjf --fairness 5 --json",
        "without --fairness": "{w}/jobs.swf --engine process",
    },
    "jobs generate": {
        "with --estimates none": "-o o.swf --jobs 400",
        "with --estimates exact": "-o o.swf --jobs 400 --estimates exact",
        "with --estimates tsafrir": "-o o.swf --jobs 400 --estimates tsafrir",
    },
    "jobs compare": {
        "with --model": "--model lublin --jobs 200 --procs 16 --replications 10 --policies 'easy,sjf easy,sjf'",
        "without --model": "{w}/jobs.swf --procs 18 --draws shaken --replications 10 --policies 'easy,sjf easy,sjf'",
        "with --platform": "{w}/apps.csv --platform {w}/jobs-on.yaml --draws loads --replications 10 "
        "--policies easy,fastest",
        "without --platform": "{w}/jobs.swf --procs 18 --draws shaken --replications 10",
    },
    "jobs advise": {
        "with --model": "--model lublin --jobs 200 --procs 16 --replications 10",
        "without --model": "{w}/jobs.swf --procs 18 --draws shaken --replications 10",
        "with --platform": "{w}/apps.csv --platform {w}/jobs-on.yaml --draws loads --replications 10",
        "without --platform": "{w}/jobs.swf --procs 18 --draws shaken --replications 10",
    },
    "jobs forecast": {"": "{w}/jobs.swf --job 40"},
    "reproduce": {"": "scopred"},
}

STRIPS = """
format: 1
platform:
  nodes:
    - {name: "n[0-1]", pes: [{speeds: {stencil: 2 Gflop/s}}]}
  link: {latency: 10us, bandwidth: 3GB/s}
application: {name: stencil, kernel: stencil, parameters: {n: 100, iterations: 20}}
configurations: {equal: {partition: equal}}
replications: 4
"""
"""Units of which may move while it runs."""
SMALL = """
format: 1
platform:
  nodes:
    - {name: "a[1-2]", pes: [{speeds: {k: 1 Gunits/s}}]}
    - {name: b, pes: [{speeds: {k: {sizes: [1e3, 1e6], low: [2e9, 2e9], mid: [3e9, 3e9], high: [4e9, 4e9]}}}]}
  link: {latency: 1ms, bandwidth: 1Gbit/s}
application: {name: matmul, kernel: k, parameters: {n: 120}}
configurations: {equal: {partition: equal}, uneven: {partition: [20, 30, 70]}}
replications: 3
seed: 5
"""


MANY_JOBS = "; MaxProcs: 8\n" + "".join(
    f"{job} {40 * job} 0 {30 + 61 * job % 271} {1 + 5 * job % 7} -1 -1 {1 + 5 * job % 7} {200 + 100 * (job % 3)} "
    f"-1 1 {job % 4} 1 -1 -1 -1 -1 -1\n"
    for job in range(60)
)
"""A log with a queue: 60 jobs of 1 to 7 processors on 8, of 4 users; some run past their limits."""


JOBS_ON = """
format: 1
platform:
  nodes:
    - name: "n[1-4]"
      pes: [{speeds: {k: 100 kunits/s}, load: {trace: {times_s: [0, 3], values: [0, 1], end_s: 7}, rule: fair}}]
    - name: "m[1-4]"
      pes: [{speeds: {k: 300 kunits/s}}]
  network: {topology: star, link: {latency: 1ms, bandwidth: 1MB/s}, contention: fair}
application: {name: matmul, kernel: k, parameters: {n: 60}}
configurations: {equal: {partition: equal}}
replications: 4
"""
"""A platform for jobs of applications: two speeds, loads that are drawn, and links that jobs share."""


def write_tables(folder):
    """What no command writes."""
    (folder / "runs.csv").write_text((shipped.path_of("scenarios/tutorial/hpl-runs.csv")).read_text())
    (folder / "runs.extrap").write_text(
        "PARAMETER N\nPOINTS (10) (20) (30)\nREGION all\nMETRIC time\n" + "DATA 1 2\n" * 3
    )
    points = [{"point": [10], "values": [1.0]}]
    (folder / "runs.json").write_text(json.dumps({"parameters": ["N"], "measurements": {"all": {"time": points}}}))
    (folder / "jobs.txt").write_text(
        "JobID|JobName|Elapsed|Start|NTasks|State\n1|a|00:01:00|2026-01-02T03:04:05|2|COMPLETED\n"
    )
    rows = shipped.path_of("scenarios/papers/apexmap_two_core_vm.csv").read_text().splitlines(keepends=True)
    (folder / "apex.csv").write_text(rows[0] + "".join(rows[1::18]))
    (folder / "dinda.txt").write_text("0 1.0\n1 2.0\n2 3.0\n")
    (folder / "memory-at.csv").write_text("M_words,alpha,L\n4096,0.1,16\n")
    (folder / "link-at.csv").write_text("bytes,hops\n1000,1\n")
    (folder / "visits.csv").write_text(visits(passes=2))
    (folder / "neighbours-at.csv").write_text("subject,size_elements,beside\ntriad,3e7,stencil:4e7\n")
    (folder / "speed-at.csv").write_text("size_elements\n1000000\n")
    for name, nodes in (("topology", "n1"), ("other", "n2")):
        (folder / f"{name}.conf").write_text(f"SwitchName=s1 Nodes={nodes}\n")
    job = "1 {} 0 100 2 -1 -1 2 -1 -1 1 1 1 1 1 -1 -1 -1\n"
    (folder / "log.swf").write_text("; MaxProcs: 8\n" + job.format(0) + job.format(50))
    (folder / "jobs.swf").write_text(MANY_JOBS)
    lines = ["application,processes,least,most,submitted_s,limit_s,user,n"]
    lines += [
        f"matmul,{'' if k % 2 else 2},{1 if k % 2 else ''},{4 if k % 2 else ''},{k},9,u{k % 3},60" for k in range(9)
    ]
    (folder / "apps.csv").write_text("\n".join(lines) + "\n")
    (folder / "jobs-on.yaml").write_text(JOBS_ON)
    (folder / "own_policy.py").write_text("def decide(seen):\n    return list(seen.waiting[-1:]) * (seen.free == 8)\n")
    for name, factor in (("job-times", 3), ("other-times", 9)):
        rows = "".join(
            f"{p},{limit},{limit / factor + 5 * p}\n" for p in (1, 2, 4, 8) for limit in (100, 200, 300, 400)
        )
        (folder / f"{name}.csv").write_text(f"processors,limit_s,time_s\n{rows}")
    row = "{},{},1,0,7,{},,,,,,,,,,,,,,\n"
    (folder / "google.csv").write_text(row.format(0, 300_000_000, 0.5) + row.format(300_000_000, 600_000_000, 0.25))
    speeds = [
        {"name": n, "sizes": [1, 1e4], "speeds": [s, s / f], "low": [s / 2, s / 2 / f], "high": [2 * s, 2 * s / f]}
        for n, s, f in (("a", 100, 2), ("b", 300, 5))
    ]
    stamps = "".join(f"{1376314846 + 300 * k};{10 + k}\n" for k in range(3))
    (folder / "bitbrains.csv").write_text(f"Timestamp [ms];CPU usage [%]\n{stamps}")
    (folder / "matmul.seg.yaml").write_bytes(shipped.path_of("scenarios/tutorial/segs/matmul.seg.yaml").read_bytes())
    (folder / "band.json").write_text(json.dumps(speeds))
    shared = {"kind": "neighbours", "domains": [{"kind": "memory", "capacity": "20GB/s"}], "uses": {}}
    (folder / "neighbours.json").write_text(json.dumps(shared))


def reached(name, mode, prepared):
    return [*name.split(), *shlex.split(REACH[name][mode].format(**prepared))]


def leaves(command, names=()):
    """Each command by its full name."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*names, name))
    else:
        yield " ".join(names), command


COMMANDS = dict(leaves(typer.main.get_command(app)))
OPTIONS = {
    name: {option_name(param): param for param in command.params if param.param_type_name == "option"}
    for name, command in COMMANDS.items()
}

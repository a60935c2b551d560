"""Every option that a mode takes changes what comes out there: shown by running it, or by what is said of a bad value.

Where only a real run would show it, the table says so, and which other test holds it. `test_modes.py` has the rest.
"""

import os
import re
import shlex

import pytest

from advisor.cli.modes import TABLE
from tests.support.command_line import apportion_here
from tests.support.modes_reached import REACH

SELECTS = {
    "trace import": "from",
    "calibrate speed": "kernel command replay",
    "calibrate memory": "replay",
    "calibrate neighbours": "replay against",
    "calibrate network": "replay between listen",
    "characterise": "parallel",
    "history record": "app command",
    "allocate run": "command program",
    "reproduce": "live recorded",
    "show": "memory",
    "partition": "method",
    "advise": "vary",
    "check": "schema resolved",
    "cluster": "slurm",
    "whatif": "only slurm job-script",
    "export": "simgrid",
    "jobs run": "backfill processors estimates fairness platform policy",
    "jobs generate": "estimates",
    "jobs compare": "model platform",
    "jobs advise": "model platform",
}
"""Options that ask for a mode: that modes differ is what the refusals show."""

CHANGES = {
    "new": {
        "nodes": "--nodes 'a[1-3]: 2 cores 1 Gflop/s'",
        "network": "--network HDR",
        "application": "--application matmul",
        "parameter": "--parameter n=100",
        "kernel": "--kernel mine",
        "busy": "--busy 'node1 13:00-18:00'",
        "output": "-o d.yaml",
        "json": "--json",
    },
    "plot": {
        "output": "-o g.png",
        "width": "--width 7in",
        "height": "--height 5in",
        "kind": "--kind runs",
        "json": "--json",
    },
    "rerun": {"output": "-o y", "json": "--json"},
    "trace import": {
        "output": "-o p.csv",
        "json": "--json",
        "measures": "--measures available",
        "time-column": "--time-column load",
        "value-column": "--value-column time_s",
        "time-unit": "--time-unit ms",
        "cpu": "--measures busy-percent => --measures busy-percent --cpu 0",
        "series": "--series machine=8",
        "duration": "--duration 40s",
        "processors": "--processors 16",
        "start": "--start 10s",
        "cores": "--cores 2",
    },
    "trace generate": {
        "output": "-o p.csv",
        "duration": "--duration 2min",
        "set": "--set load=2 --set mean=2 --set block=20s",
        "fit": "--fit {w}/other.csv",
        "json": "--json",
        "interval": "--interval 2s",
        "seed": "--seed 6",
    },
    "trace show": {"plot": "--plot x.svg", "output": "-o x.svg", "column": "--column x", "json": "--json"},
    "trace functions": {
        "window": "--window 20",
        "history": "--history 30",
        "ideal": "--ideal 10s",
        "column": "--column x",
        "resample": "--resample 2s",
        "plot": "--plot x.svg",
        "output": "-o x.svg",
        "json": "--json",
    },
    "trace study": {
        "window": "--window 12",
        "history": "--history 30",
        "every": "--every 7",
        "column": "--column x",
        "resample": "--resample 2s",
        "plot": "--plot x.svg",
        "output": "-o x.svg",
        "json": "--json",
    },
    "calibrate speed": {
        "method": "--method {other}",
        "band": "--json => --json --band 10%",
        "budget": "--budget 100ms",
        "max-size": "--max-size 1e6",
        "store": "--store p.json",
        "load": "--load {w}/t.csv --window 20",
        "output": "-o m.json",
        "json": "--json",
        "accuracy": "--accuracy 0.5%",
        "verify-largest": "--verify-largest",
        "column": "--column x",
        "window": "--json => --json --window 40",
        "history": "--json => --json --history 50",
        "availability": "--json => --json --availability fair",
    },
    "calibrate memory": {
        "output": "-o m.json",
        "json": "--json",
        "compare-with-this-machine": "--compare-with-this-machine",
        "swept": "--swept {w}/swept.json",
    },
    "calibrate network": {"output": "-o m.json", "json": "--json"},
    "calibrate neighbours": {"cache": "--cache L3=32MB", "output": "-o m.json", "json": "--json"},
    "show": {
        "json": "--json",
        "plot": "--plot x.svg",
        "held-out": "--held-out {s}/papers/gbbp_dgemm.csv",
        "kernel": "--kernel triad",
    },
    "history add": {
        "app": "--app b",
        "time": "--time part=2",
        "param": "--param N=1",
        "version": "--version 1",
        "machine": "--machine m",
        "when": "--when 2026-01-02T03:04:05-05:00",
        "history": "--history x.sqlite",
        "json": "--json",
    },
    "history list": {"app": "--app x", "version": "--version x", "history": "--history x.sqlite", "json": "--json"},
    "history coverage": {"level": "--json => --json --level 0.8", "json": "--json"},
    "history import": {
        "format": "--format {other}",
        "app": "--app b",
        "history": "--history x.sqlite",
        "json": "--json",
        "time": "--time total_time",
    },
    "history export": {
        "output": "-o x.csv",
        "format": "--format extrap-json",
        "app": "--app x",
        "version": "--version x",
        "history": "--history x.sqlite",
    },
    "fit": {
        "formula": "--formula N",
        "output": "-o m.json",
        "response": "--response N",
        "method": "--method ols",
        "plot": "--plot x.svg",
        "json": "--json",
        "app": "--app x",
        "version": "--version x",
    },
    "predict": {"at": "--at {w}/t.csv", "json": "--json", "level": "--level 0.5", "next-run": "--next-run"},
    "machine": {
        "hwloc": "--hwloc x.xml",
        "name": "--name n",
        "speed": "--speed {w}/speed.json",
        "memory": "--memory {w}/memory.json",
        "neighbours": "--neighbours {w}/neighbours.json",
        "output": "-o x.yaml",
        "json": "--json",
    },
    "platform": {
        "names": "--names n2",
        "kernel": "--kernel k",
        "topology": "--topology {w}/other.conf",
        "max-age": "--max-age 1ps",
        "output": "-o x.yaml",
        "json": "--json",
        "uplink": "--uplink 1us,1Gbit/s",
    },
    "scenarios": {"output": "-o x", "json": "--json"},
    "check": {
        "set": "--json => --json --set seed=6",
        "set with a scenario and --resolved": "--set seed=6",
        "json": "--json",
        "resolved": "--resolved",
    },
    "export": {
        "output": "-o y",
        "replication": "--replication 1",
        "seed": "--seed 6",
        "size": "! {w}/sized.yaml --simgrid -o x --size 1e6 => {w}/sized.yaml --simgrid -o x --size 1e3",
        "approximate": "! cluster --simgrid -o x --size 1e6 => cluster --simgrid -o x --size 1e6 --approximate",
        "set": "--set platform.link.latency=x2",
        "json": "--json",
    },
    "simulate": {
        "replications": "--replications 4",
        "seed": "--seed 6",
        "engine": "--json => --json --engine compiled",
        "engine without --output": "--json => --json --engine process",
        "output": "-o y",
        "jobs": "--jobs x.csv",
        "timeline": "--timeline y.csv",
        "set": "--set platform.link.latency=x2",
        "resource-model": "--resource-model poc",
        "level": "--level 0.5",
        "json": "--json",
        "format": "--format parquet",
        "replication": "--replication 1",
        "configuration": "--configuration uneven",
    },
    "advise": {
        "replications": "--replications 4",
        "seed": "--seed 6",
        "vary": "--vary {other}",
        "objective": "--objective worst",
        "top": "--top 1",
        "pareto": "--pareto",
        "output": "-o x.json",
        "hostfile": "--hostfile x",
        "explain": "--explain",
        "resource-model": "--resource-model poc",
        "level": "--level 0.5",
        "json": "--json",
        "format": "--format markdown",
        "budget": "--budget 60s --replications 400000",
        "runs": "--runs 5",
        "oversubscribe": "--oversubscribe",
    },
    "whatif": {
        "vary": "--vary seed=1,2",
        "replications": "--replications 4",
        "seed": "--seed 6",
        "advise": "--advise",
        "json": "--json",
    },
    "partition": {
        "speeds": "--speeds {s}/tutorial/speeds.json",
        "units": "--units 2000",
        "method": "--method {other}",
        "output": "-o x.csv",
        "json": "--json",
        "at": "--at 5000",
        "objective": "--objective cvar",
        "correlation": "--correlation 0.5",
        "seed": "--seed 6",
        "matrix": "--matrix 50x20",
    },
    "allocate plan": {
        "sizes": "--sizes 500,800,1200",
        "at": "--at 3000",
        "budget": "--budget 20s",
        "most": "--most fast=1",
        "work": "--work 9*N**3",
        "kernel": "--kernel x",
        "start": "--start 5s",
        "seed": "--json => --json --seed 6",
        "output": "-o x.json",
        "json": "--json",
    },
    "allocate fit": {"model": "--model paper", "output": "-o x.json", "json": "--json"},
    "allocate advise": {
        "kinds": "--kinds fast:1:1,slow:1:1",
        "size": "--size 800",
        "level": "--level 0.5",
        "memory": "--memory fast=1MiB --footprint 8*N**2/P",
        "footprint": "--memory fast=1MiB --footprint 8*N**2/P",
        "top": "--top 1",
        "hostfile": "--hostfile y",
        "json": "--json",
        "hosts": "--hosts fast=a,slow=b,c",
    },
    "jobs run": {
        "order": "--order sjf",
        "clean": "--clean pyss",
        "first": "--first 20",
        "procs": "--procs 16",
        "warm-up": "--warm-up 0.2",
        "same-second": "--same-second event",
        "engine": "--engine compiled",
        "output": "-o y",
        "jobs": "--jobs x.csv",
        "timeline": "--timeline x.json",
        "json": "--json",
        "format": "--format latex",
        "candidates": "--candidates shortest",
        "placement": "--placement fastest",
        "correction": "--correction limit",
        "seed": "--seed 6",
        "times": "--times simulated",
        "draw": "--draw 1",
        "sizes": "--sizes fit",
        "quantile": "--quantile 0.95",
        "model": "--model {w}/other-times.json",
    },
    "jobs generate": {
        "kind": "--kind both",
        "jobs": "--jobs 500",
        "processors": "--processors 64",
        "load": "--load 0.7",
        "start-hour": "--start-hour 8",
        "users": "--users 3",
        "seed": "--seed 6",
        "output": "-o p.swf.gz",
        "json": "--json",
        "most": "--most 100h",
    },
    "jobs compare": {
        "policies": "--policies easy,sjf",
        "estimates": "--estimates limit,exact",
        "procs": "--procs 24",
        "replications": "--replications 12",
        "metric": "--metric turnaround",
        "all-pairs": "--all-pairs",
        "level": "--level 0.9",
        "warm-up": "--warm-up 0.2",
        "seed": "--seed 6",
        "output": "-o y",
        "json": "--json",
        "format": "--format latex",
        "jobs": "--jobs 300",
        "load": "--load 0.5",
        "clean": "--clean pyss",
        "first": "--first 20",
        "draws": "--draws none",
        "sizes": "--sizes fixed,fit",
        "times": "--times simulated",
        "change": "--change platform.network.link.bandwidth=x9",
    },
    "jobs advise": {
        "policy": "--policy sjf",
        "estimates": "--estimates last-two",
        "procs": "--procs 24",
        "objective": "--objective slowdown",
        "add": "--add 3",
        "price": "--price add=5",
        "replications": "--replications 12",
        "level": "--level 0.9",
        "seed": "--seed 6",
        "jobs": "--jobs 300",
        "load": "--load 0.5",
        "clean": "--clean pyss",
        "first": "--first 20",
        "draws": "--draws users",
        "json": "--json",
        "format": "--format markdown",
        "output": "-o y",
        "times": "--times simulated",
        "change": "--change platform.network.link.bandwidth=x9",
    },
    "jobs forecast": {
        "job": "--job 41",
        "policy": "--policy sjf",
        "clean": "--clean pyss",
        "procs": "--procs 16",
        "replications": "--replications 30",
        "level": "--level 0.5",
        "seed": "--seed 6",
        "json": "--json",
    },
}
"""Option -> what is added to the command line that reaches the mode; what comes out must differ."""
OTHERS = {
    ("calibrate speed", "with --replay"): "gbbp",
    **{
        ("history import", f"with --format {kind}"): "sacct" if kind == "csv" else "csv"
        for kind in ("csv", "extrap", "extrap-json", "sacct")
    },
    ("advise", "with --vary partition"): "allocation --runs 20",
    **{("advise", f"with --vary {vary}"): "partition" for vary in ("allocation", "both")},
    **{
        ("partition", f"with --method {method}"): "equal"
        for method in ("proportional", "functional", "discontinuous", "banded", "grid2d")
    },
    ("partition", "with --method equal"): "functional",
}
"""What stands for {other}."""

REFUSES = {
    "jobs compare": {"platform": "--platform none.yaml", "sizes": "--sizes most"},
    "jobs advise": {"platform": "--platform none.yaml"},
    "quickstart": {"budget": "--budget 1s"},
    "record": {"interval": "--interval 0s", "duration": "--duration 1ms"},
    "calibrate speed": {
        "method": "--method x",
        "band": "--band 200%",
        "budget": "--budget 0s",
        "max-size": "--max-size 0",
        "load": "--load none.csv --window 2",
        "time-cap": "--time-cap 0s",
        "cpu": "--cpu 99999",
        "columns": "--columns 99999999",
        "depth": "--depth 1",
        "size": "--size 'n('",
        "volume": "--volume 'n('",
    },
    "calibrate memory": {
        "budget": "--budget 0s",
        "max-memory": "--max-memory 1B",
        "alpha": "--alpha 2",
        "length": "--length 0.5",
        "processes": "--processes 99999",
        "over": "--over x",
        "cpu": "--cpu 99999",
        "swept": "--swept {w}/memory.json",
    },
    "calibrate network": {
        "medium": "--medium x",
        "max-bytes": "--max-bytes 1B",
        "budget": "--budget 0s",
        "hosts": "--hosts a",
        "connect": "--connect x --token y",
    },
    "calibrate neighbours": {
        "kernel": "--kernel x",
        "command": "--command 'true {{n}}'",
        "size": "--size n",
        "volume": "--volume n",
        "budget": "--budget 0s",
    },
    "calibrate resource": {"budget": "--budget 0s", "memory": "--memory none.json"},
    "calibrate load-check": {
        "kernel": "--kernel x",
        "load": "--load 400%",
        "period": "--period 0s",
        "interval": "--interval 0s",
        "history": "--history 0s",
        "durations": "--durations 0s",
        "runs": "--runs 0",
        "cpu": "--cpu 99999",
    },
    "characterise": {
        "method": "--method x",
        "sizes": "--sizes x",
        "hardware": "--hardware none.json",
        "budget": "--budget 0s",
        "args": "--args x=1",
        "design": "--design x=1",
        "processes": "--processes x",
        "link": "--link none.json",
    },
    "history record": {
        "grid": "--grid x",
        "budget": "--budget 0s",
        "repetitions": "--repetitions 0",
        "kernel": "--kernel x",
    },
    "verify": {"command": '--command "\'"', "budget": "--budget 0s", "level": "--level 2", "format": "--format x"},
    "cluster": {
        "hosts": "--hosts a,a",
        "hosts-file": "--hosts-file none",
        "parameter": "--parameter x",
        "budget": "--budget 1s",
        "kernel": "--kernel x",
        "ssh": "--ssh ''",
        "level": "--level 2",
    },
    "advise": {"measure-next": "--measure-next 1s"},
    "allocate run": {
        "budget": "--budget 0s",
        "limit": "--limit 0s",
        "time": "--time '('",
        "phases": "--phases '('",
        "before": "--before none.dat",
        "read": "--time hpl --read a/b",
        "wait": "--wait x",
        "model": "--model none.json",
        "level": "--level 2",
    },
    "reproduce": {
        "budget": "--budget 1ps",
        "command": '--command "\'"',
        "log": "--log {w}/jobs.swf",
        "schedule": "--log {w}/jobs.swf --schedule x",
    },
    "whatif": {
        "dask": "--dask nowhere",
        "resume": "--resume --output {w}/small.yaml",
        "scaling": "--scaling strong",
        "nodes": "--nodes 1,2",
        "format": "--format x",
    },
}
"""Option -> a bad value, where a good one would be a real run of seconds to minutes: it is read in that mode."""

REASONED = {
    "new": ("overwrite", "test_new.py has a file there"),
    "jobs generate": ("model", "there is one so far"),
    "quickstart": ("output seed json", "tests/advisor/quickstart/test_quickstart.py runs it"),
    "record": ("output per-core append overwrite json", "tests/simulator/calibration/test_load_recording.py runs it"),
    "calibrate speed": (
        "store output json together",
        "the same lines of code as with --replay; test_calibrate_resumed.py runs it, and test_real_source.py together",
    ),
    "calibrate memory": (
        "table output seed json",
        "test_calibrate_memory_real.py runs it; the seed draws cells and starts",
    ),
    "calibrate network": (
        "token table output seed json max-bytes budget medium",
        "test_calibrate_network_real.py runs it; the seed draws orders; mpi and tcp share the plan of processes",
    ),
    "calibrate neighbours": (
        "table output seed json",
        "tests/advisor/cli/test_calibrate_neighbours.py runs it; the seed draws orders, and pairs of --against",
    ),
    "calibrate resource": ("output seed json", "minutes of runs; the seed draws their order"),
    "calibrate load-check": ("output seed json", "tests/advisor/verification runs it; the seed draws pauses"),
    "characterise": ("seed json sizes hardware budget method", "test_characterise.py runs it"),
    "history record": ("name version history json", "tests/simulator/calibration/history/test_history.py runs it"),
    "verify": ("dynamic seed output json", "tests/advisor/verification runs it"),
    "cluster": (
        "verify update python seed output json",
        "tests/hosts runs it; which hosts there are is asked before anything else",
    ),
    "allocate run": ("folder local output json", "tests/advisor/cli/test_allocate.py runs it"),
    "rerun": ("yes", "tests/advisor/rerun runs it"),
    "reproduce": (
        "json recorded output budget cpu seed seeds command before read",
        "tests/advisor/reproduce runs each paper by its functions; the command hands these on by name",
    ),
    "whatif": (
        "vary zip replications seed advise workers dask output resume level json",
        "tests/simulator/experiments/sweep, test_whatif.py and test_level.py run it; it prints the time it took",
    ),
}
"""Options whose effect nothing here shows, and what does."""

REAL = {
    "quickstart", "record", "calibrate resource", "calibrate load-check", "characterise", "history record", "verify",
    "allocate run", "cluster", "reproduce",
}  # fmt: skip
REAL_MODES = {
    ("calibrate speed", "with --kernel"),
    ("calibrate speed", "with --command"),
    ("calibrate memory", "without --replay"),
    ("calibrate neighbours", "with --against"),
    ("calibrate neighbours", "without --replay and --against"),
    *(
        ("calibrate network", f"with --{mode}")
        for mode in ("listen", "connect", "between processes", "between tcp", "between mpi")
    ),
    *(
        ("whatif", f"with{mode}")
        for mode in (" --slurm", "out --only and --job-script", " --output", " several --vary")
    ),
    ("whatif", "with --job-script"),
}
FAST = (
    "trace import",
    "trace generate",
    "trace show",
    "new",
    "history add",
    "history list",
    "history coverage",
    "history import",
    "history export",
    "check",
    "partition",
    "predict",
    "scenarios",
)
"""Commands that take some hundredths of a second; the others are run with the slow tests."""


def wanted():
    """Command, mode and option for all that has effect: named by a mode, or always, then in each of the first axis."""
    for name, rules in TABLE.items():
        first = rules.axes[0].modes if rules.axes else {"": ""}
        yield from ((name, mode, option) for mode in first for option in rules.always.split())
        for axis in rules.axes:
            yield from ((name, mode, option) for mode, names in axis.modes.items() for option in names.split())


def evidence(name, mode, option):
    """How the effect is shown."""
    if option in SELECTS.get(name, "").split():
        return "selects"
    if (name, mode, option) == ("check", "with --schema", "json"):
        return "reasoned"  # the schema is JSON either way
    if name not in REAL and (name, mode) not in REAL_MODES and option in CHANGES.get(name, {}):
        return "changes"
    if option in REFUSES.get(name, {}):
        return "refuses"
    return "reasoned" if option in REASONED.get(name, ("",))[0].split() else None


CASES = [(*case, evidence(*case)) for case in dict.fromkeys(wanted())]


def test_every_effect_has_its_evidence():
    assert not [case for case in CASES if case[-1] is None]


def test_most_effects_are_shown_by_a_run():
    """What only reasoning holds is counted, so that it does not grow unseen."""
    kinds = [kind for *_, kind in CASES]
    assert kinds.count("reasoned") <= 145
    assert kinds.count("changes") >= 250


STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
LOAD = re.compile(
    rb"(load [\d., ]+ over|[\d.]+ [KMGT]iB available|\"(load_average|memory_available_bytes)\": (\[[^]]*\]|\d+))"
)


def outcome(folder, arguments):
    """Exit code, output and files of a command, without the time of day and what else differs from call to call."""
    folder.mkdir()
    done = apportion_here(*arguments, cwd=folder)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    plain = {name: LOAD.sub(b"", STAMP.sub(b"", text)) for name, text in files.items()}
    return (
        done.returncode,
        *(LOAD.sub(b"", STAMP.sub(b"", text.encode())) for text in (done.stdout, done.stderr)),
        plain,
    )


def words(name, mode, more, prepared):
    """The command line that reaches a mode, with more behind it; behind a `!` stands a whole one."""
    text = more.removeprefix("! ") if more.startswith("! ") else f"{REACH[name][mode]} {more}"
    return [*name.split(), *shlex.split(text.format(**prepared, other=OTHERS.get((name, mode), "")))]


def parameters(kind):
    found = [case[:3] for case in CASES if case[-1] == kind]
    marks = {name: [] if name in FAST or kind == "refuses" else [pytest.mark.slow] for name, *_ in found}
    if kind == "refuses":
        marks["calibrate neighbours"] = [
            pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core only may be used here")
        ]
    return [pytest.param(*case, id=" ".join(case), marks=marks[case[0]]) for case in found]


@pytest.fixture(scope="module")
def bases():
    """What comes out of each mode as it is reached, run once."""
    return {}


@pytest.mark.parametrize(("name", "mode", "option"), parameters("changes"))
def test_an_option_changes_what_comes_out(tmp_path, prepared, bases, name, mode, option):
    before, arrow, after = CHANGES[name].get(f"{option} {mode}", CHANGES[name][option]).rpartition(" => ")
    before, after = (before, f"! {after}") if before.startswith("! ") else (before, after)
    key = (name, mode, before if arrow else "")
    if key not in bases:
        bases[key], again = (outcome(tmp_path / which, words(name, mode, key[2], prepared)) for which in ("1", "2"))
        assert again == bases[key], "what differs from call to call shows nothing"
    changed = outcome(tmp_path / "changed", words(name, mode, after, prepared))
    assert b"has no effect" not in changed[2]
    assert bases[key][0] == 0 or before.startswith("! ")
    assert changed != bases[key]


@pytest.mark.parametrize(("name", "mode", "option"), parameters("refuses"))
def test_an_option_is_read(tmp_path, prepared, name, mode, option):
    code, out, err, _ = outcome(tmp_path / "refused", words(name, mode, REFUSES[name][option], prepared))
    assert (code, out) == (2, b"")
    assert b"has no effect" not in err
    said = shlex.split(REFUSES[name][option].format(**prepared))
    assert any(word.removeprefix("--").encode() in err for word in said)

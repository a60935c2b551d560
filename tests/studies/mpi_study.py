"""Real MPI programs on unequal places of this machine, beside what one recording of them predicts.

Two kinds of places: `hosts`, namespaces with quotas and links of their own under a polling MPICH, a rank each; and
`cores`, where busy loops compete with ranks of an Open MPI that yields. Each program is recorded on the free machine
(`apportion mpi record`, a kernel of one speed), run in many placements of its ranks, and simulated in the same ones.
Nothing of the programs is ours: they are given as NAME=COMMAND. It takes root, both libraries and a quiet machine.

    python -m tests.studies.mpi_study hosts -o FOLDER mg=/opt/npb/mg.A.4 is=/opt/npb/is.A.4
    python -m tests.studies.mpi_study cores -o FOLDER cg=/opt/npb-openmpi/cg.W.4
    python -m tests.studies.mpi_study report -o FOLDER
"""

import argparse
import contextlib
import csv
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from simulator import load_scenario, run
from simulator.models.doubt import doubt_data
from simulator.models.network import fit_network, make_points
from tests.hosts.world import CGROUPS, PERIOD_US, SUBNET, Spec, missing, world

SOURCE = Path(__file__).with_suffix(".c")
WORLDS = {
    "near": (("0", 0.45, "1gbit"), ("1", 0.4, "1gbit"), ("0", 0.15, "1gbit"), ("1", 0.25, "1gbit")),
    "own": (("0", 1.0, "1gbit"), ("1", 1.0, "200mbit")),
    "pair": (("0", 0.8, "1gbit"), ("1", 0.5, "1gbit")),
    "far": (("0", 0.5, "1gbit"), ("1", 0.3, "1gbit"), ("0", 0.2, "200mbit"), ("1", 0.3, "500mbit")),
}
"""Processors, quota and link of each host. Two that share a processor leave a third of it, as they meet there too.
`own` has a processor for each of two hosts, and no quota."""
COMPETITORS = {"one": (0, 1), "two": (0, 2), "both": (1, 3)}
"""Busy loops on each core."""
SLICE = "1.4ms"
"""Chosen among 0, 1, 2 and 4 ms by runs of FT and IS as below, near what Linux 6.18 takes for two processors, 0.7 ms
(1 + log2 2): figures of these two programs on cores are no blind test."""
WEIGHT = "262144"
"""Of the control groups in which programs are recorded and run: whatever else runs here gets what they leave."""
REPETITIONS = 3
REPLICATIONS = 200
BYTES = 2**18
"""Of the large message that says what a link carries."""
RATES = {"gbit": 1.25e8, "mbit": 1.25e5}
EAGER = {"hosts": "8KiB", "cores": "4KiB"}
LIMIT_S, TRIES = 120, 4
COLUMNS = ("kind", "place", "program", "placement", "measured_s", "all_s", "low_s", "predicted_s", "high_s")


def compiled(mpi, *, ping=False):
    """The clock, or the ping-pong, where every host sees it."""
    made = Path("/var/tmp") / f"apportion-mpi-study-{mpi}{'-ping' if ping else '.so'}"  # noqa: S108 - theirs is hidden
    how = ["-DPING"] if ping else ["-shared", "-fPIC"]
    subprocess.run([f"mpicc.{mpi}", "-O2", *how, str(SOURCE), "-o", str(made)], check=True)
    return made


@contextlib.contextmanager
def shielded():
    """This process and what it starts in a control group of much weight while the block runs."""
    group = CGROUPS / "apx-study"
    group.mkdir(exist_ok=True)
    (group / "cpu.shares").write_text(WEIGHT)
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (CGROUPS / "cgroup.procs").write_text(str(os.getpid()))
        with contextlib.suppress(OSError):
            group.rmdir()


def recorded(mpi, ranks, command, folder):
    """The program on the free machine, three times."""
    if not (folder / "recording.json").exists():
        start = [f"mpiexec.{mpi}", *(("--oversubscribe", "--allow-run-as-root") if mpi == "openmpi" else ())]
        words = [sys.executable, "-m", "advisor.cli", "mpi", "record", "-o", str(folder), "--times", "3", "--"]
        subprocess.run([*words, *start, "-n", str(ranks), *command], check=True, capture_output=True)
    return folder


def simulated(nodes, network, waiting, recording, placements):
    """Seconds in all replications of each placement; PEs have the speed of the machine that recorded."""
    nodes = [{"name": "recorder", "pes": [{"speeds": {"triad": "1 units/s"}}]}, *nodes]
    parameters = {"recorded_on": "recorder", "waiting": waiting}
    document = {
        "format": 1,
        "platform": {"nodes": nodes, "network": network},
        "application": {
            "name": "recorded",
            "kernel": "triad",
            "recording": str(recording.resolve()),
            "parameters": parameters,
        },
        "configurations": {
            f"p{number}": {"partition": "equal", "pes": list(pes)} for number, pes in enumerate(placements)
        },
        "replications": REPLICATIONS,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(json.dumps(document))
        return run(load_scenario(file)).makespan_s


def seconds_of(words):
    """What the clock says of a run, or NaN if it took too long; what is lost at the end of one is run again."""
    for _ in range(TRIES):
        limited = ["timeout", "-s", "KILL", str(LIMIT_S), *words]
        done = subprocess.run(limited, capture_output=True, text=True, check=False, cwd="/")
        if found := re.findall(r"^seconds (\S+)$", done.stderr + done.stdout, re.MULTILINE):
            return float(found[0])
        if done.returncode in (124, 137, -9):
            return float("nan")
    raise RuntimeError(f"{' '.join(words)}: {done.stderr[-800:]}")


# Hosts


def launcher(hosts, names, *words):
    """A command that starts a rank on each of these hosts, in this order."""
    script, file = hosts.folder / "launch", hosts.folder / f"on-{'-'.join(names)}"
    script.write_text(f'#!/bin/sh\nexec {hosts.ssh} "$@"\n')
    script.chmod(0o755)
    file.write_text("".join(f"{name}:1\n" for name in names))
    start = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", str(script), "-localhost", f"{SUBNET}.254"]
    start += ["-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0,lo"]  # no memory that all share
    return [*start, "-f", str(file), "-n", str(len(names)), "-wdir", "/", *words]


def specs_of(place, *, quota=True):
    rows = zip(("alpha", "beta", "gamma", "delta"), WORLDS[place], strict=False)  # some places have fewer
    return tuple(Spec(name, cpus, share if quota else 1.0, rate) for name, (cpus, share, rate) in rows)


@contextlib.contextmanager
def weighty(specs):
    """Hosts whose control groups weigh much."""
    with tempfile.TemporaryDirectory() as folder, world(Path(folder) / "world", specs) as hosts:
        for spec in specs:
            (CGROUPS / f"apx-{spec.name}" / "cpu.shares").write_text(WEIGHT)
        yield hosts


def link_of(place):
    """Seconds of a small message between two hosts of a processor each, what a fit leaves unknown of messages, and how
    much of a link large ones get."""
    ping = compiled("mpich", ping=True)
    with weighty(specs_of(place, quota=False)) as hosts:
        words = launcher(hosts, ("alpha", "beta"), str(ping))
        said = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/", timeout=60).stdout
    times = {int(size): float(time_s) for size, time_s in re.findall(r"^oneway (\d+) (\S+)$", said, re.MULTILINE)}
    print(f"hosts {place}: one way {', '.join(f'{size} B {1e6 * t:.0f} us' for size, t in times.items())}", flush=True)
    bandwidth = (BYTES - 8) / (times[BYTES] - times[8])
    sizes, seconds = np.array(list(times.items()), dtype=np.float64).T
    doubt = fit_network(make_points(sizes, np.ones_like(sizes), seconds)).model.form.doubt
    return times[8], doubt_data(doubt), min(1.0, bandwidth / min(bytes_per_s(rate) for _, _, rate in WORLDS[place][:2]))


def bytes_per_s(rate):
    number, unit = re.fullmatch(r"(\d+)(\w+)", rate).groups()
    return float(number) * RATES[unit]


def on_hosts(place, programs, asked):
    """Measure and simulate placements of a rank on each host: all, or some in a random order that begins as given."""
    specs, clock = specs_of(place), compiled("mpich")
    names = [spec.name for spec in specs]
    latency, doubt, share = link_of(place)
    recordings = {
        name: recorded("mpich", len(names), command, asked.output / f"{name}-mpich") for name, command in programs
    }
    every = list(itertools.permutations(names))
    order = [0, *(1 + np.random.default_rng(1).permutation(len(every) - 1))]
    placements = [every[number] for number in order[: asked.most]]
    nodes = [
        {
            "name": spec.name,
            "link": {"latency": f"{latency / 2 * 1e6:.3f}us", "bandwidth": f"{share * bytes_per_s(spec.rate):.0f}B/s"}
            | doubt
            | {"source": "ping-pong"},
            "pes": [{"speeds": {"triad": "1 units/s"}, "quota": {"cpu": spec.quota, "period": f"{PERIOD_US}us"}}],
        }
        for spec in specs
    ]
    link = {"latency": f"{latency / 2 * 1e6:.3f}us", "bandwidth": "1Gbit/s"}
    network = {"topology": "star", "link": link, "contention": "fair", "eager": EAGER["hosts"]}

    @contextlib.contextmanager
    def there():
        """New hosts for each round, so that the periods of their quotas begin at other times."""
        with weighty(specs) as hosts:
            preload = ("env", f"LD_PRELOAD={clock}")
            yield lambda command, placement: seconds_of(launcher(hosts, placement, *preload, *command))

    judge("hosts", place, programs, placements, there, asked)
    predict("hosts", place, placements, asked.output, (nodes, network, "polling"), recordings)


# Cores


@contextlib.contextmanager
def busy(counts):
    """Busy loops on cores while the block runs, as heavy as a rank each."""
    loops = [
        subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"])
        for core, count in enumerate(counts)
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def on_cores(place, programs, asked):
    """Measure and simulate placements of 4 ranks on two cores."""
    clock, counts = compiled("openmpi"), COMPETITORS[place]
    recordings = {name: recorded("openmpi", 4, command, asked.output / f"{name}-openmpi") for name, command in programs}
    every = list(itertools.product(("core0", "core1"), repeat=4))
    placements = [every[number] for number in np.random.default_rng(1).permutation(len(every))[: asked.most]]
    start = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    start += ["--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"]

    preload = ("env", f"LD_PRELOAD={clock}")

    def measured(command, placement):
        ranks = [("-n", "1", "taskset", "-c", core.removeprefix("core"), *preload, *command) for core in placement]
        return seconds_of([*start, *itertools.chain.from_iterable([*rank, ":"] for rank in ranks)][:-1])

    @contextlib.contextmanager
    def there():
        with busy(counts):
            yield measured

    judge("cores", place, programs, placements, there, asked)
    nodes = [
        {
            "name": "machine",
            "pes": [
                {"name": f"core{core}", "speeds": {"triad": "1 units/s"}, "slice": SLICE}
                | (
                    {"load": {"trace": {"times_s": [0], "values": [count], "end_s": 1}, "rule": "fair"}}
                    if count
                    else {}
                )
                for core, count in enumerate(counts)
            ],
        }
    ]
    link = {"latency": "1us", "bandwidth": "5GB/s"}
    network = {"topology": "star", "link": link, "loopback": link, "eager": EAGER["cores"]}
    predict("cores", place, placements, asked.output, (nodes, network, "sleeping"), recordings)


# Both


def judge(kind, place, programs, placements, there, asked):
    """Run every placement in turns, so that what changes with time meets all of them."""
    found = defaultdict(list)
    for repetition in range(asked.repetitions):
        with there() as measured:
            for (name, command), placement in itertools.product(programs, placements):
                found[name, placement].append(measured(command, placement))
        said = {name: statistics.median(found[name, placements[0]]) for name, _ in programs}
        print(f"{kind} {place}: {repetition + 1} of {asked.repetitions}: {said}", flush=True)
    kept = [[name, list(placement), times] for (name, placement), times in found.items()]
    (asked.output / f"{kind}-{place}.json").write_text(json.dumps(kept))


def predict(kind, place, placements, out, platform, recordings):
    """Simulate the placements, and write both beside each other."""
    measured = {
        (name, tuple(pes)): times for name, pes, times in json.loads((out / f"{kind}-{place}.json").read_text())
    }
    rows = []
    for name, recording in recordings.items():
        begun = time.perf_counter()
        makespans = simulated(*platform, recording, placements)
        print(f"{kind} {place} {name}: simulated in {time.perf_counter() - begun:.1f} s", flush=True)
        for placement, times in zip(placements, makespans, strict=True):
            runs = measured[name, placement]
            low, mid, high = np.quantile(times, (0.05, 0.5, 0.95)).tolist()
            each = "/".join(f"{one:.4f}" for one in runs)
            rows.append((kind, place, name, " ".join(placement), statistics.median(runs), each, low, mid, high))
    with (out / f"{kind}-{place}.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *rows])


def report(out):
    """Errors of medians, how often 90 % intervals hold a run, and the regret of the placement that looks best."""
    rows = [row for file in sorted(out.glob("*-*.csv")) for row in csv.DictReader(file.read_text().splitlines())]
    groups = defaultdict(list)
    for row in rows:
        if np.isfinite(float(row["measured_s"])):
            groups[row["kind"], row["place"], row["program"]].append(row)
    for key, some in groups.items():
        measured, predicted = (np.array([float(row[name]) for row in some]) for name in ("measured_s", "predicted_s"))
        errors = predicted / measured - 1
        held = np.mean(
            [
                float(row["low_s"]) <= float(one) <= float(row["high_s"])
                for row in some
                for one in row["all_s"].split("/")
            ]
        )
        regret = measured[np.argmin(predicted)] / measured.min() - 1
        said = (
            f"median error {np.median(abs(errors)):.1%}, worst {abs(errors).max():.1%}, bias {np.median(errors):+.1%}"
        )
        span = f"{measured.min():.3f} to {measured.max():.3f} s"
        print(f"{' '.join(key)}: {len(some)} placements, {span}: {said}; 90 % hold {held:.0%}; regret {regret:.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("hosts", "cores", "report"))
    parser.add_argument("programs", nargs="*", help="NAME=COMMAND")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--place", action="append", help="of WORLDS or COMPETITORS; all by default")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--most", type=int, default=24, help="placements of each")
    asked = parser.parse_intermixed_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    programs = [(name, command.split()) for name, _, command in (one.partition("=") for one in asked.programs)]
    if asked.kind == "hosts" and (why := missing()):
        sys.exit(why)
    os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if asked.kind != "report":
        measure, places = (on_hosts, WORLDS) if asked.kind == "hosts" else (on_cores, COMPETITORS)
        with shielded():
            for place in asked.place or places:
                measure(place, programs, asked)
    report(asked.output)


if __name__ == "__main__":
    main()

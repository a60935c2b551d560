"""Programs run by SimGrid on a platform file, through Debian's `python3-simgrid`, as an oracle for what we write.

The options are those under which SimGrid's messages take latency plus bytes over bandwidth; `network/optim:Full`, for
the default of 3.32 is wrong at times (`tests/benchmarks/simgrid/README.md`).
"""

import functools
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

PYTHON = "/usr/bin/python3"
"""Debian's, which has Debian's python3-simgrid."""
OPTIONS = (
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/latency-factor:1",
    "network/bandwidth-factor:1",
    "network/weight-S:0",
    "network/crosstraffic:0",
    "network/optim:Full",
    "network/maxmin-selective-update:no",
    "surf/precision:1e-13",
    "maxmin/precision:1e-12",
)
SCRIPT = """
import json, sys, simgrid
jobs = json.load(sys.stdin)
engine = simgrid.Engine(["oracle", "--log=root.thres:error"] + ["--cfg=" + one for one in jobs["options"]])
engine.load_platform(jobs["platform"])
ends = {}
def act(name, steps):
    for kind, *figures in steps:
        if kind == "compute":
            simgrid.this_actor.execute(figures[0])
        elif kind == "sleep":
            simgrid.this_actor.sleep_for(figures[0])
        elif kind == "send":
            simgrid.Mailbox.by_name("%s>%s:%s" % (name, figures[0], figures[2])).put("x", figures[1])
        else:
            simgrid.Mailbox.by_name("%s>%s:%s" % (figures[0], name, figures[1])).get()
    ends[name] = simgrid.Engine.clock
for number, (host, steps) in enumerate(jobs["processes"]):
    simgrid.Actor.create("p%d" % number, simgrid.Host.by_name(host), act, str(number), steps)
engine.run()
print(json.dumps([ends[str(number)] for number in range(len(jobs["processes"]))]))
"""
ROUTES = """
import json, sys, simgrid
engine = simgrid.Engine(["oracle", "--log=root.thres:error"])
engine.load_platform(sys.argv[1])
engine.netzone_root.seal()
hosts = engine.all_hosts
print(json.dumps({
    "routes": {
        f"{one.name} {other.name}": [[link.name for link in one.route_to(other)[0]], one.route_to(other)[1]]
        for one in hosts for other in hosts if one.name != other.name
    },
    "hosts": {host.name: [host.speed, host.core_count] for host in hosts},
    "links": {link.name: [link.bandwidth, link.latency] for link in engine.all_links},
}))
"""


@functools.cache
def installed() -> bool:
    """Whether SimGrid's Python is there."""
    asked = [PYTHON, "-c", "import simgrid"]
    return Path(PYTHON).exists() and not subprocess.run(asked, capture_output=True, check=False).returncode


def run_on(platform: Path, processes: Sequence[tuple[str, Sequence[Sequence[float | str]]]]) -> list[float]:
    """When each process (its host, its steps: compute, sleep, send, recv) ends."""
    jobs = {"platform": str(platform), "options": OPTIONS, "processes": processes}
    done = subprocess.run(
        [PYTHON, "-c", SCRIPT], input=json.dumps(jobs), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def routes_of(platform: Path) -> Mapping[str, Mapping[str, list]]:
    """Routes, hosts and links as SimGrid reads them."""
    done = subprocess.run(
        [PYTHON, "-c", ROUTES, str(platform)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)

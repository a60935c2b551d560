"""MPI programs as time-independent traces, replayed by SimGrid's own replayer: an oracle for recorded programs.

Plain settings: latency plus bytes over bandwidth, no factors by size, background progress. SimGrid adds 16 bytes to
every message, in every mode (`ENVELOPE_BYTES`). Its collectives are chosen by name, such as `bcast: binomial_tree`.
"""

import itertools
import shutil
import subprocess
import tempfile
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulator.programs.columns import Kind

SMPIRUN = shutil.which("smpirun")
ENVELOPE_BYTES = 16
SETTINGS = (
    "network/model:CM02",  # smpirun itself sets SMPI's factors first
    "network/crosstraffic:0",
    "network/latency-factor:1",
    "network/bandwidth-factor:1",
    "network/weight-S:0",
    "network/TCP-gamma:0",
    "network/optim:Full",  # with its partial updates some shares of links are out of date
    "smpi/simulate-computation:yes",
    "smpi/test:0",  # else each test takes 0.1 ms
    "smpi/host-speed:1f",
    "surf/precision:1e-12",
    "maxmin/precision:1e-9",  # bytes per second; of finer ones it gives up now and then
)
LOOPBACK = '<link id="loop" bandwidth="1e10Bps" latency="1e-6s" sharing_policy="FATPIPE"/>'


def ti_lines(columns):
    """Columns of computing, sleeping and point-to-point messages as the lines of each rank.

    A message is written `ENVELOPE_BYTES` smaller than it is, so it has at least as many. A wait finds the oldest open
    request of its triple (source, receiver, tag): programs wait for those in the order of posting.
    """
    size_of = _received_bytes(columns)
    names = ("kind", "partner", "source", "tag", "amount")
    kind, partner, source, tag, amount = (getattr(columns, name).tolist() for name in names)
    found = []
    for rank, (first, end) in enumerate(itertools.pairwise(columns.first.tolist())):
        lines, opened = [f"{rank} init"], {}
        for row in range(first, end):
            out = f"{partner[row]} {tag[row]} {amount[row] - ENVELOPE_BYTES:.0f}"
            into = f"{partner[row]} {tag[row]} {size_of.get(row, 0):.0f}"
            match Kind(kind[row]):
                case Kind.COMPUTE:
                    said = [f"compute {amount[row]!r}"]
                case Kind.DELAY:
                    said = [f"sleep {amount[row]!r}"]
                case Kind.SEND:
                    said = [f"send {out}"]
                case Kind.RECV:
                    said = [f"recv {into}"]
                case Kind.EXCHANGE:
                    here = f"{source[row]} {tag[row]} {size_of[row]:.0f}"
                    said = [f"irecv {here}", f"send {out}", f"wait {source[row]} {rank} {tag[row]}"]
                case Kind.POST_SEND:
                    said, opened[source[row]] = [f"isend {out}"], f"wait {rank} {partner[row]} {tag[row]}"
                case Kind.POST_RECV:
                    said, opened[source[row]] = [f"irecv {into}"], f"wait {partner[row]} {rank} {tag[row]}"
                case Kind.WAIT:
                    said = [opened.pop(source[row])]
                case other:
                    raise ValueError(f"{other.name} is no operation between two points")
            lines += [f"{rank} {one}" for one in said]
        found.append([*lines, f"{rank} finalize"])
    return found


def _received_bytes(columns):
    """Bytes that each row receives, as they are written: messages of a channel meet in program order."""
    process, tag, amount = columns.process.tolist(), columns.tag.tolist(), columns.amount.tolist()
    partner, senders = columns.partner.tolist(), columns.senders.tolist()
    sent = defaultdict(deque)
    for row in np.flatnonzero(columns.sends).tolist():
        sent[process[row], partner[row], tag[row]].append(amount[row] - ENVELOPE_BYTES)
    takes = np.flatnonzero(columns.receives).tolist()
    return {row: sent[senders[row], process[row], tag[row]].popleft() for row in takes}


@dataclass(frozen=True)
class Replayed:
    """What SimGrid says of a trace."""

    makespan_s: float
    ends_s: tuple[float, ...]
    """When the last action of each rank ended that takes time; only of a replay with `ends`."""


def pairs(speeds: Sequence[float], links: Mapping[tuple[int, int], tuple[float, float]], cores: int = 1) -> str:
    """A platform whose hosts h0, h1 ... have a link of their own to each other: latency (s), bandwidth (bytes/s)."""
    lines = [LOOPBACK]
    for (one, other), (latency, bandwidth) in links.items():
        lines.append(f'<link id="l{one}.{other}" bandwidth="{bandwidth!r}Bps" latency="{latency!r}s"/>')
    routes = [_route(one, other, [f"l{one}.{other}"]) for one, other in links]
    return _platform(speeds, cores, [*lines, *routes])


def star(speeds: Sequence[float], bandwidths: Sequence[float], latency_s: float, cores: int = 1) -> str:
    """A platform whose hosts have a full-duplex link each, with half of the latency; messages share them."""
    lines = [LOOPBACK]
    lines += [
        f'<link id="{way}{host}" bandwidth="{bandwidth!r}Bps" latency="{latency_s / 2!r}s"/>'
        for host, bandwidth in enumerate(bandwidths)
        for way in ("up", "down")
    ]
    pairs_of = itertools.permutations(range(len(speeds)), 2)
    routes = [_route(one, other, [f"up{one}", f"down{other}"]) for one, other in pairs_of]
    return _platform(speeds, cores, [*lines, *routes])


def _route(one: int, other: int, links: Sequence[str]) -> str:
    inside = "".join(f'<link_ctn id="{link}"/>' for link in links)
    return f'<route src="h{one}" dst="h{other}" symmetrical="NO">{inside}</route>'


def _platform(speeds: Sequence[float], cores: int, lines: Sequence[str]) -> str:
    hosts = [f'<host id="h{host}" speed="{speed!r}f" core="{cores}"/>' for host, speed in enumerate(speeds)]
    loops = [f'<route src="h{host}" dst="h{host}"><link_ctn id="loop"/></route>' for host in range(len(speeds))]
    head = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">']
    body = ['<platform version="4.1"><zone id="z" routing="Full">', *hosts, *lines, *loops, "</zone></platform>"]
    return "\n".join([*head, *body])


def replay(
    trace: str | Path,
    platform: str,
    places: Sequence[int],
    *,
    eager_bytes: int = 0,
    collectives: Mapping[str, str] | None = None,
    ends: bool = False,
    limit_s: float = 120.0,
) -> Replayed:
    """Replay a trace of all ranks, rank i on host `places[i]`.

    Messages of less than `eager_bytes` start at once; 0: each waits for its receive. A trace that cannot be replayed
    raises RuntimeError with SimGrid's last words.
    """
    options = [*SETTINGS, f"smpi/async-small-thresh:{eager_bytes}", f"smpi/send-is-detached-thresh:{eager_bytes}"]
    options += [f"smpi/{name}:{algorithm}" for name, algorithm in (collectives or {}).items()]
    logs = ["root.fmt:%.12r:%h:%a:%m%n", f"smpi_replay.thresh:{'verbose' if ends else 'info'}", "xbt_cfg.thresh:error"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        file = trace if isinstance(trace, Path) else place / "trace.ti"
        if isinstance(trace, str):
            file.write_text(trace)
        (place / "list").write_text(f"{file.resolve()}\n")
        (place / "platform.xml").write_text(platform)
        (place / "hosts").write_text("".join(f"h{host}\n" for host in places))
        command = [str(SMPIRUN), "-np", str(len(places)), "-platform", "platform.xml", "-hostfile", "hosts"]
        command += [f"--cfg={option}" for option in options] + [f"--log={log}" for log in logs]
        done = subprocess.run(
            [*command, "-replay", "list"], cwd=place, capture_output=True, text=True, check=False, timeout=limit_s
        )
    lines = (done.stdout + done.stderr).splitlines()
    final = [line for line in lines if ":Simulation time " in line]
    if done.returncode or not final:
        raise RuntimeError(f"smpirun: status {done.returncode}: " + "\n".join(lines[-10:]))
    last = [0.0] * len(places)
    for line in lines if ends else ():
        clock, _, _, said = line.split(":", 3) if line.count(":") >= 3 else ("", "", "", "")
        rank = said.split(" ", 1)[0]
        if clock and rank.isdecimal():
            last[int(rank)] = max(last[int(rank)], float(clock))
    return Replayed(float(final[-1].split(":", 1)[0]), tuple(last))

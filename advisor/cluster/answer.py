"""`apportion cluster` from its hosts to its answer: reached, measured, advised, written, run."""

import math
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from advisor.advise.advice import advice_of
from advisor.advise.explanation.next_measurement import next_measurement
from advisor.advise.export import layout_of, ranks_of, save_exports
from advisor.advise.export.layout import check_hosts
from advisor.cluster import Answer, ClusterWish, advise_cluster, node_name, scenario_text, speeds_of
from advisor.cluster.real_runs import RealPieces, configuration_now, verify_cluster
from advisor.report.cluster import ClusterResult, HostShare, KernelSpeeds, MeasuredLoad
from advisor.report.origin import MessageTimes
from advisor.report.timelines import replication_near, timelines
from advisor.results import Provenance
from advisor.verification.applications import filled
from advisor.verification.check import VerifiedConfiguration
from simulator import ApportionError, Configuration, Scenario, ScenarioError, files, shares_of, this_machine
from simulator.calibration import MESSAGES, Coverage, Host, MeasuredCluster, measure_cluster, reach_hosts

MOST_WORDS = 64
"""Processes of a command line of the user's up to which the line names each."""


@dataclass(frozen=True)
class Asked:
    """What is asked, of which hosts."""

    wish: ClusterWish
    names: Sequence[str]
    words: Callable[[str, str], Sequence[str]]
    """See `Host`."""
    python: str | None
    folder: Path
    verify_s: float | None = None
    """Seconds for real runs; None: none are made."""
    update: bool = False
    begun_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Refuse names that no file for launchers can hold, before any host is reached."""
        bare = {name: name.rpartition("@")[2] for name in self.names}
        check_hosts(bare.values(), "--hosts", advice="; name an address in ssh's configuration")
        nodes: dict[str, str] = {}
        for name in self.names:
            if (other := nodes.setdefault(node_name(name), name)) != name:
                raise ScenarioError(f"--hosts: {other} and {name} are one machine to launchers; name it once")


def answer_cluster(asked: Asked, *, on_progress: Callable[[str, str, float], None]) -> ClusterResult:
    """Measure, advise, write what launchers read, and run it if that is asked for."""
    lost: dict[str, str] = {}
    with ExitStack() as stack:
        hosts = [stack.enter_context(Host(name, asked.words, python=asked.python)) for name in asked.names]
        about = reach_hosts(hosts, lost, on_progress)
        measure = partial(
            measure_cluster, hosts, about, asked.wish.plan, folder=asked.folder, lost=lost, on_progress=on_progress
        )

        def advised(measured: MeasuredCluster) -> Answer:
            pieces = RealPieces(asked.wish, {one.name: one.about for one in measured.hosts}, hosts, asked.folder)

            def check(*asked_of: Any) -> tuple[Scenario, list[str]]:
                on_progress("", "short pieces of the application", 0.0)
                return pieces.correct(*asked_of)

            ends_s = asked.begun_s + asked.wish.budget_s
            return advise_cluster(asked.wish, measured, asked.folder, check=check, ends_s=ends_s)

        answer = advised(measure())
        if asked.update and (again := most_doubted(answer)) is not None:
            on_progress("", f"measuring again what the advice doubts most: {again}", 0.0)
            answer = advised(measure(again=again))
        on_progress("", "advice", 0.0)
        exports = _written(answer, asked.folder)
        verified, fault = None, tuple[str, ...]()
        if asked.verify_s is not None:
            on_progress("", "real runs", 0.0)
            try:
                verified = verify_cluster(
                    answer,
                    asked.wish,
                    hosts,
                    budget_s=asked.verify_s,
                    kept=asked.folder / "runs.jsonl",
                    on_progress=lambda _found, share: on_progress("", "real runs", share),
                )
            except ApportionError as error:  # what was measured and advised stands
                fault = (f"not verified: {error.lines[0]}",)
    ran = Ran() if verified is None else Ran(verified.configurations, verified.intervals, verified.warnings)
    return cluster_result(answer, asked, exports, replace(ran, warnings=(*fault, *ran.warnings)))


def most_doubted(answer: Answer) -> str | None:
    """The host, or `MESSAGES`, whose measuring again is expected to save most; None where nothing is doubted."""
    _, found = next_measurement(answer.scenario, answer.recommendation)
    hosts = {node_name(host.name): host.name for host in answer.measured.hosts}
    return hosts.get(found.ranked[0].source, MESSAGES) if found.ranked else None


def _written(answer: Answer, folder: Path) -> list[str]:
    """The scenario, the advice, and what launchers and programs read."""
    made = answer.recommendation
    exports = save_exports(answer.scenario, made.configuration, folder)
    files.write_text(folder / "scenario.yaml", scenario_text(answer))
    files.write_json(folder / "advice.json", advice_of(answer.scenario, made, exports=exports).to_dict())
    return exports


@dataclass(frozen=True)
class Ran:
    """What really ran of an answer, and what was seen then."""

    verification: tuple[VerifiedConfiguration, ...] = ()
    intervals: Coverage | None = None
    warnings: tuple[str, ...] = ()
    load: MeasuredLoad | None = None
    largest_gain: float | None = None
    """What is possible at most beside the load."""
    kernels: tuple[KernelSpeeds, ...] = ()


def cluster_result(answer: Answer, asked: Asked, exports: Sequence[str], ran: Ran) -> ClusterResult:
    """What is answered of hosts."""
    return result_of(
        *(answer, asked.folder, ran),
        budget_s=asked.wish.budget_s + (asked.verify_s or 0.0),
        seconds={"measure": answer.measured.spent_s},
        line=run_line(answer, asked),
        exports=tuple(exports),
        provenance=Provenance.of(answer.scenario.seed, answer.scenario.inputs, this_machine()),
    )


def result_of(answer: Answer, folder: Path, ran: Ran, **said: Any) -> ClusterResult:
    """What is answered.

    `said`: further fields of the result.
    """
    made, measured = answer.recommendation, answer.measured
    scenario = answer.scenario.with_configurations(made.candidates)
    best, now = made.configuration, configuration_now(made)
    medians = {one.name: one.measured_median_s for one in ran.verification}
    both = {best.name, now.name} <= medians.keys()
    shown = list(dict.fromkeys((best.name, now.name)))
    alone = len(measured.hosts) == 1
    return ClusterResult(
        format=1,
        command="cluster" if ran.load is None else "quickstart",
        compared=replace(
            made.compared,
            measured_gain=medians[now.name] / medians[best.name] if both else None,
            largest_gain=ran.largest_gain,
        ),
        hosts=tuple(_shares(answer, best, now)),
        lost=dict(measured.lost),
        network=answer.network,
        messages=MessageTimes.of(scenario.platform.network.uniform_model) if alone else None,
        kernels=ran.kernels,
        load=ran.load,
        shares=shares_of(scenario, now, best),
        timelines=timelines(scenario, made.runs, shown, replication=replication_near(made.runs, best.name)),
        verification=ran.verification,
        intervals=ran.intervals,
        folder=str(folder),
        reused=measured.reused,
        warnings=tuple(dict.fromkeys((*ran.warnings, *answer.warnings, *scenario.warnings))),
        **said,
    )


def _shares(answer: Answer, advised: Configuration, now: Configuration) -> list[HostShare]:
    """Each host with what it gets."""
    scenario, speeds = answer.scenario, speeds_of(answer)
    kind = {name: number for number, group in enumerate(answer.kinds, start=1) for name in group}
    ranks = [rank.pe for rank in ranks_of(scenario, advised).ranks]  # a master without units is one
    found = []
    for host in answer.measured.hosts:
        own = {number for number, pe in enumerate(scenario.platform.pes) if pe.node == node_name(host.name)}
        given, before = (_units_on(one, own) for one in (advised, now))
        found.append(
            HostShare(
                name=host.name,
                kind=kind[host.name],
                cpu_model=host.about.machine.cpu_model,
                pes=len(own),
                memory_bytes=host.about.machine.memory_bytes,
                available=math.fsum(one.mean for one in host.available) / max(1, len(host.available)),
                units_per_s=math.fsum(speeds[scenario.platform.pes[number].name] for number in own),
                units=sum(given),
                processes=sum(ranks.count(scenario.platform.pes[number].name) for number in own),
                units_now=sum(before),
            )
        )
    return found


def _units_on(configuration: Configuration, pes: set[int]) -> list[int]:
    pairs = zip(configuration.partition, configuration.placement, strict=True)
    return [units for units, place in pairs if place in pes]


def run_line(answer: Answer, asked: Asked) -> str:
    """The one line to copy: the advice under MPICH, or Slurm in an allocation."""
    layout = layout_of(answer.scenario, answer.recommendation.configuration)
    folder, command = asked.folder, asked.wish.command
    if command and len(layout.ranks) <= MOST_WORDS:
        each = []
        for number, rank in enumerate(layout.ranks):
            values = {"rank": number, "first": rank.first, "units": rank.units, "processes": len(layout.ranks)}
            each.append(f"-n 1 {shlex.join([filled(word, values) for word in command])}")
        return f"mpiexec -f {shlex.quote(str(folder / 'rankfile.mpich'))} {' : '.join(each)}"
    program = "PROGRAM" if not command else shlex.join(command)
    return f"mpiexec -f {shlex.quote(str(folder / 'rankfile.mpich'))} -n {len(layout.ranks)} {program}"

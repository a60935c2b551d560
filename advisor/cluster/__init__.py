"""A cluster in one call: all hosts measured, the scenario that follows, advice, what launchers read, real runs."""

import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from advisor.advise.recommendation import Recommendation, recommend
from simulator import (
    PE,
    Application,
    CalibrationError,
    Configuration,
    Load,
    LoadTrace,
    NodeFile,
    Scenario,
    ScenarioError,
    SpeedBand,
    dump_scenario,
    files,
    intervals,
    join_platform,
    load_scenario,
    partitions,
    require_linux,
    this_machine,
)
from simulator.calibration import (
    About,
    ClusterPlan,
    Host,
    MeasuredCluster,
    MeasuredHost,
    fit_cluster_network,
    measure_cluster,
    reach_hosts,
)

AS_NOW = "equal"
"""What is compared with: one process per core with equal units."""
ALL_OF_IT = 0.97
"""A PE that leaves us more than this share has no load."""
LEAST_SHARE = 0.01
"""What is left of a PE at least, as a share: less would be a run without end."""
USED_UP = 0.9
"""Part of its quota from which on a PE is limited by nothing else: what was seen holds a period more or less."""
ONE_SLICE_S = 1.0
"""Seconds that what was seen once is taken to last, before it is seen again."""
COLUMNS = 2000
"""Order of the matrices where none is said."""
ITERATIONS = 100
REPLICATIONS = 200
PIECES, ADVICE = 0.08, 0.15
"""Shares of the budget: short real pieces of the application, where nothing else is said; the search for the advice."""
LEAST_ADVICE_S = 2.0
"""Seconds of each search for the advice at least, however long all before it took: enough to compare equal units with
a split by speed on some hundred PEs."""
FIRST_PIECES = 0.4
"""Share of that time for equal units; then what is advised is run as well."""
FIRST_SEARCH = 0.4
"""Share of the time that is left for the search before what is advised is run: the next one replaces it."""
FOLDER = "calibrations"
PROGRAMS = {"dgemm": "matmul", "matmul": "matmul", "stencil": "stencil"}
"""Kernel -> the application that is advised."""
Checked = Callable[[Scenario, Scenario, Sequence[Configuration], float], tuple[Scenario, Sequence[str]]]
"""Corrects a scenario by short real runs of its application, and says what it corrected: `RealPieces.correct`."""
_NO_LINK = {"kind": "network", "sizes_bytes": [0.0, 1e6], "times_s": [1e-6, 1e-4]}
"""In the place of message times, where there is one PE."""


@dataclass(frozen=True)
class ClusterWish:
    """What the user asks for."""

    kernel: str = "dgemm"
    command: tuple[str, ...] = ()
    """Words of the user's own command in the place of the kernel, with `{units}` in one."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Of the application; of a command `units`, all that there is to do."""
    budget_s: float = 300.0
    seed: int = 0
    level: float = intervals.LEVEL
    pieces: float = PIECES
    advice: float = ADVICE
    """Shares of the budget: short real pieces of the application; the search for the advice."""

    @property
    def application(self) -> Application:
        """What is advised."""
        if self.command:
            if (count := self.parameters.get("units")) is None:
                raise ScenarioError("a command needs --parameter units=N; give all the units that there are to do")
            return Application("ep", "command", {"samples": count, "result_bytes": 0})
        if self.kernel not in PROGRAMS:
            known = ", ".join(PROGRAMS)
            raise ScenarioError(f"--kernel is {self.kernel!r}; name one of {known}, or give a command after --")
        more = {"iterations": ITERATIONS} if PROGRAMS[self.kernel] == "stencil" else {}
        return Application(PROGRAMS[self.kernel], self.kernel, {"n": COLUMNS, **more, **self.parameters})

    @property
    def plan(self) -> ClusterPlan:
        """What is to be measured."""
        asked = self.application
        if self.command:
            words = shlex.join(self.command).replace("{units}", "{n}")
            largest = float(asked.parameters["samples"])
            return ClusterPlan(None, None, words, largest, self.budget_s, self.seed, spared=self.advice)
        columns = int(asked.parameters["n"])
        return ClusterPlan(self.kernel, columns, None, None, self.budget_s, self.seed, spared=self.pieces + self.advice)


@dataclass(frozen=True)
class Answer:
    """The scenario of a cluster and the advice on it."""

    scenario: Scenario
    recommendation: Recommendation
    measured: MeasuredCluster
    kinds: tuple[tuple[str, ...], ...]
    network: str
    warnings: tuple[str, ...]


@contextmanager
def this_host() -> Iterator[tuple[Host, Mapping[str, About]]]:
    """The machine that this runs on as a host of a cluster, reached, and what it is."""
    require_linux()
    lost = dict[str, str]()
    with Host(this_machine().host or "localhost", lambda _, line: ("sh", "-c", line), python=sys.executable) as host:
        about = reach_hosts([host], lost, _silent)
        if lost:
            raise CalibrationError([f"{name}: {reason}" for name, reason in lost.items()])
        yield host, about


def measure_here(wish: ClusterWish, folder: Path | None = None) -> Scenario:
    """The scenario of this machine alone, measured as a host of a cluster is; what is doubtful stands in its notes.

    `folder`: keeps every measured point, so that measuring goes on where it was broken off; None: nothing is kept.
    """
    with ExitStack() as stack:
        kept = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else folder
        files.make_folder(kept)
        stack.enter_context(files.alone(kept))
        host, about = stack.enter_context(this_host())
        measured = measure_cluster([host], about, wish.plan, folder=kept, lost={}, on_progress=_silent)
        scenario, _, _, warnings = cluster_scenario(wish, measured, kept)
    return replace(scenario, notes=(*scenario.notes, *warnings))


def _silent(_host: str, _stage: str, _share: float) -> None:
    """Show nothing."""


def advise_cluster(
    wish: ClusterWish,
    measured: MeasuredCluster,
    folder: Path,
    *,
    check: Checked = lambda scenario, *_: (scenario, ()),
    loaded: Callable[[Scenario], Scenario] = lambda scenario: scenario,
    ends_s: float | None = None,
) -> Answer:
    """Make the scenario of measured hosts, and find who should get how much.

    `folder`: keeps a node file of each host and the link's, as `apportion cluster --join` reads them.
    `check`: what real runs have to say of the scenario.
    `loaded`: puts loads on it that are not there while it is measured and checked, and that the advice is for.
    `ends_s`: when the advice is to be there, on the monotonic clock; None: the search takes what it wants.
    """

    def advice(believed: Scenario, share: float) -> Recommendation:
        budget_s = None if ends_s is None else max(LEAST_ADVICE_S, share * (ends_s - time.monotonic()))
        return recommend(loaded(believed), level=wish.level, budget_s=budget_s)

    scenario, kinds, network, warnings = cluster_scenario(wish, measured, folder)
    equal = scenario.configurations[0]
    believed, before = check(scenario, scenario, (equal,), FIRST_PIECES)
    made = advice(believed, FIRST_SEARCH)
    believed, said = check(scenario, believed, tuple(dict.fromkeys((made.configuration, equal))), 1.0)
    if before or said:  # processes that end together wait for each other in other ways than those of equal units
        made = advice(believed, 1.0)
    return Answer(loaded(believed), made, measured, kinds, network, (*warnings, *said))


def cluster_scenario(
    wish: ClusterWish, measured: MeasuredCluster, folder: Path
) -> tuple[Scenario, tuple[tuple[str, ...], ...], str, tuple[str, ...]]:
    """The scenario, the hosts that are alike, what the network is like in words, and what is doubtful."""
    names = [host.name for host in measured.hosts]
    nodes = [node_name(name) for name in names]
    files.make_folder(folder / FOLDER)
    paths = []
    for host, node in zip(measured.hosts, nodes, strict=True):
        paths.append(folder / FOLDER / f"{node}.json")
        files.write_json(paths[-1], node_document(wish, host, node))
    found = fit_cluster_network(names, measured.pairs) if len(names) > 1 else None
    of_links, notes = [], list(found.warnings if found is not None else ())
    if found is not None:
        of_links.append(("link.json", found.document))
    if within := _within(measured):
        of_links.append(("within.json", within))
    for name, document in of_links or [("link.json", _NO_LINK)]:
        paths.append(folder / FOLDER / name)
        files.write_json(paths[-1], document)
    joined = join_platform(paths, names=",".join(nodes), kernel=wish.application.kernel)
    draft = folder / FOLDER / "joined.yaml"
    files.write_text(draft, joined.text)
    scenario = _completed(load_scenario(draft), wish, measured, found)
    kinds = tuple(tuple(names[number] for number in group) for group in joined.alike)
    notes += [note for host in measured.hosts for note in host.notes]
    stated = "one host" if found is None else found.text
    return scenario, kinds, stated, tuple(dict.fromkeys((*notes, *_of_hosts(wish, measured))))


def node_name(host: str) -> str:
    """The name of a host's node: without the user's, and with nothing that a scenario's names cannot hold."""
    bare = host.rpartition("@")[2]
    return "".join(one if one.isalnum() or one in "._-" else "-" for one in bare)


def node_document(wish: ClusterWish, host: MeasuredHost, node: str) -> dict[str, Any]:
    """A node file; its speeds are those while all hosts compute."""
    machine, topology = replace(host.about.machine, host=node), replace(host.about.topology, host=node)
    models = (host.at_work(wish.plan), *([host.neighbours] if host.neighbours is not None else []))
    return NodeFile(name=node, topology=topology, machine=machine, models=models).to_dict()


def _within(measured: MeasuredCluster) -> dict[str, Any] | None:
    """Message times within hosts as a network's file; None where every host has one PE."""
    several = [host for host in measured.hosts if host.within_s]
    if not several:
        return None
    sizes = sorted(several[0].within_s)
    times = [float(np.median([time for host in several for time in host.within_s.get(size, ())])) for size in sizes]
    model = {"sizes_bytes": [float(size) for size in sizes], "times_s": np.maximum.accumulate(times).tolist()}
    return {"kind": "network", "between": "processes", **model}


def _completed(scenario: Scenario, wish: ClusterWish, measured: MeasuredCluster, found: Any) -> Scenario:
    """With the application asked for, what PEs leave us, the processors they stand for, and each host's own link."""
    hosts = {node_name(host.name): host for host in measured.hosts}
    pes, taken = list[PE](), dict[str, int]()
    for pe in scenario.platform.pes:
        place = taken.get(pe.node, 0)
        taken[pe.node] = place + 1
        available = hosts[pe.node].available[place]
        load, most = None, ALL_OF_IT if pe.quota is None else USED_UP * pe.quota.cpu
        if available.mean < most:
            slices = len(available.times_s)
            step = available.times_s[-1] / (slices - 1) if slices > 1 else ONE_SLICE_S
            times = np.arange(slices, dtype=np.float64) * step
            shares = np.clip(np.array(available.share, dtype=np.float64), LEAST_SHARE, 1.0)
            load = Load(LoadTrace(times, shares, float(times[-1] + step)), "given", recorded=True)
        pes.append(replace(_as_its_kind(pe, hosts[pe.node], wish, available.cpu), cpu=available.cpu, load=load))
    platform = replace(scenario.platform, pes=tuple(pes))
    platform = replace(platform, nodes=tuple(replace(node, host=_host(hosts, node.name)) for node in platform.nodes))
    network = None if found is None else found.network(platform.network.within)
    if network is not None:
        platform = replace(platform, network=network)
    application = wish.application
    equal = Configuration.one_each(AS_NOW, partitions.even_split(application.work.units, len(pes)), rule="equal")
    return Scenario(platform, application, (equal,), REPLICATIONS, wish.seed)


def _as_its_kind(pe: PE, host: MeasuredHost, wish: ClusterWish, cpu: int) -> PE:
    """A PE with the speed of its kind of core, where its host has several."""
    if not host.others:
        return pe
    band = SpeedBand.from_dict(host.at_work(wish.plan, cpu)["model"])
    return replace(pe, speeds={**pe.speeds, wish.application.kernel: band})


def _host(hosts: Mapping[str, MeasuredHost], node: str) -> str | None:
    bare = hosts[node].name.rpartition("@")[2]
    return None if bare == node else bare


def _of_hosts(wish: ClusterWish, measured: MeasuredCluster) -> list[str]:
    """What to know of the hosts before this is trusted."""
    lines = []
    for what in ("python", "numpy"):
        versions: dict[str, list[str]] = {}
        for host in measured.hosts:
            versions.setdefault(getattr(host.about, what), []).append(host.name)
        if len(versions) > 1:
            said = "; ".join(f"{version} on {', '.join(names[:4])}" for version, names in versions.items())
            lines.append(f"hosts have unlike versions of {what}: {said}")
    slowed = {host.name: kept for host in measured.hosts if (kept := host.kept(wish.plan))}
    if slowed:
        least = {name: min(kept.values()) for name, kept in slowed.items()}
        worst = min(least, key=lambda name: least[name])
        names = ", ".join(list(slowed)[:4]) + " and more" * (len(slowed) > 4)
        lines.append(
            f"speeds of {names} are those while all hosts compute: {worst} then keeps {least[worst]:.0%} of the speed "
            "that it has alone, as hosts do that share a cache or a memory"
        )
    for host in measured.hosts:
        left = [f"cpu {one.cpu} {one.mean:.0%}" for one in host.available if one.mean < ALL_OF_IT]
        if left:
            lines.append(f"{host.name}: other programs or a quota leave us a part of its PEs: {', '.join(left[:8])}")
    return lines


def scenario_text(answer: Answer) -> str:
    """The scenario with the candidates, as a file."""
    return dump_scenario(answer.scenario.with_configurations(answer.recommendation.candidates))


def speeds_of(answer: Answer) -> dict[str, float]:
    """Units per second of each PE at its equal share, what it leaves us counted."""
    work = answer.scenario.application.work
    pes = answer.scenario.platform.pes
    share = partitions.even_split(work.units, len(pes))
    compute = work.compute(len(pes))
    found = {}
    for pe, own in zip(pes, share, strict=True):
        step = compute(max(own, 1))
        speed = float(np.asarray(pe.speeds[answer.scenario.application.kernel].speed(np.array([step.size])))[0])
        found[pe.name] = partitions.mean_share(pe) * speed * max(own, 1) / float(np.sum(step.volume))
    return found

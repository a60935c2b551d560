"""Kernels under their templates: makespans predicted for many processes, judged by runs on one and two real ones.

The error due to the resource model alone is the error minus that of component timing, as in the paper's second table 6.
Where nothing can be run, the difference from component timing's prediction stands for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.report.text import aligned
from advisor.reproduce.comparison import published
from simulator import PE, Application, Configuration, Platform, Scenario, ScenarioError, files, randomness, run, units
from simulator.calibration import fit_network_table, load_network_model
from simulator.characterisation import (
    METHODS,
    PARALLEL_KERNELS,
    TIMED,
    parallel_kernel,
    parallel_work,
    predict_parallel,
    run_in_turns,
    shares,
)

if TYPE_CHECKING:
    from simulator.characterisation import ParallelKernel, ParallelPrediction, RealTimes
    from simulator.models import HardwareModel

OnProgress = Callable[[str, float], None]
PROCESSES = (1, 2, 4, 8, 16, 32, 64, 128)
MOST_PROCESSES = 1024
MOST_SIZE = 10**8
KERNELS = tuple(PARALLEL_KERNELS)
SHIPPED_LINK = "papers/characterisation_unix.csv"
REAL_SHARE = 0.6
"""Of the budget; the rest is for component timing."""
PAPER_NAMES = {"icc": "ICC", "hllc": "HLLC", "poc": "POC"}
PAPER_KERNELS = {"integration": "integration", "sort": "sorting", "matmul": "matmul"}
MOST_TIMING_ERROR = 10.0
"""Percent that component timing may be off on one process before it is mentioned."""
EXPLAINED = "of the model: error minus that of component timing (ct)"


@dataclass(frozen=True)
class Plan:
    """What is studied, all of it checked."""

    sizes: Mapping[str, int]
    """Kernel -> n."""
    processes: tuple[int, ...]
    """Numbers of processes that are simulated; 1 and 2 are run too."""
    message: Any
    """What messages take."""
    link: Mapping[str, str]
    """Form of that, and where it is from."""

    @classmethod
    def of(
        cls,
        kernels: Sequence[str],
        *,
        processes: Sequence[int] | None = None,
        n: int | None = None,
        link: Path | None = None,
    ) -> "Plan":
        """From names; sizes and numbers of processes are the kernels' own and the paper's where they are not given.

        Parameters
        ----------
        link
            A network model that `calibrate network` wrote; by default a shipped table of Unix sockets is fitted.

        Raises
        ------
        ScenarioError
            If a kernel has no template, or numbers of processes or the link cannot be used.
        """
        if n is not None and not 1 <= n <= MOST_SIZE:
            raise ScenarioError(f"--sizes is {n}; give 1 to {MOST_SIZE}")
        sizes = {name: parallel_kernel(name).size if n is None else n for name in kernels}
        counts = _checked(PROCESSES if processes is None else processes, min(sizes.values()))
        message, origin = _link(link)
        return cls(sizes, counts, message, origin)


def study(
    plan: Plan,
    hardware: "HardwareModel",
    *,
    methods: Sequence[str] = METHODS,
    budget_s: float,
    seed: int,
    on_progress: OnProgress = lambda _stage, _share: None,
) -> dict[str, Any]:
    """Predict, run and compare; plain data.

    Parameters
    ----------
    budget_s
        Soft limit of the measuring, in seconds.
    """
    on_progress("real processes", 0.0)
    real = run_in_turns(
        list(plan.sizes.items()),
        budget_s=REAL_SHARE * budget_s,
        generator=randomness.stream(seed, "parallel", "real"),
        on_round=lambda share: on_progress("real processes", REAL_SHARE * share),
    )
    entries = []
    for number, (name, n) in enumerate(plan.sizes.items()):
        on_progress(name, REAL_SHARE + (1 - REAL_SHARE) * number / len(plan.sizes))
        found = predict_parallel(
            parallel_kernel(name),
            n,
            plan.processes,
            hardware,
            methods=[method for method in METHODS if method in methods],
            budget_s=(1 - REAL_SHARE) * budget_s / len(plan.sizes),
            generator=randomness.stream(seed, "parallel", name),
        )
        entries.append(_entry(plan, name, found, [one for one in real if one.kernel == name], methods, hardware))
    return {"link": dict(plan.link), "processes": list(plan.processes), "kernels": entries}


def _entry(
    plan: Plan,
    name: str,
    found: "ParallelPrediction",
    real: Sequence["RealTimes"],
    methods: Sequence[str],
    hardware: "HardwareModel",
) -> dict[str, Any]:
    """One kernel: its simulated makespans with the real ones."""
    kernel, n = parallel_kernel(name), plan.sizes[name]
    warnings = [*found.warnings, *hardware.warnings]
    makespans: dict[str, dict[int, float]] = {
        method: {
            count: _makespan_s(kernel, n, seconds, count=count, message=plan.message)
            for count, seconds in by_count.items()
        }
        for method, by_count in found.seconds.items()
        if _takes_time(method, by_count, warnings)
    }
    predictions = _predictions(makespans, {one.processes: one for one in real}, methods)
    return {
        "kernel": name,
        "n": n,
        "template": kernel.template,
        "timing_formulas": dict(found.formulas),
        "real": [one.to_dict() for one in real],
        "predictions": predictions,
        "paper": _paper(name),
        "warnings": list(dict.fromkeys([*warnings, *_unsteady(makespans, real)])),
    }


def _unsteady(makespans: Mapping[str, Mapping[int, float]], real: Sequence["RealTimes"]) -> list[str]:
    """A line if one process took another time than its steps alone, where nothing but the PE's speed can differ."""
    alone = next((one.median_s for one in real if one.processes == 1), None)
    if alone is None or 1 not in makespans.get("ct", {}):
        return []
    off = 100 * (makespans["ct"][1] / alone - 1)
    if abs(off) <= MOST_TIMING_ERROR:
        return []
    return [f"ct: {off:+.0f} % off on one process, without messages: the PE's speed changed, others were running"]


def _checked(processes: Sequence[int], most: int) -> tuple[int, ...]:
    most = min(most, MOST_PROCESSES)
    wrong = [count for count in processes if not 1 <= count <= most]
    if wrong or not processes:
        found = f"{wrong[0]} is no such number" if wrong else "none is given"
        raise ScenarioError(f"--processes: {found}; give whole numbers of 1 to {most} with commas between")
    return tuple(sorted(set(processes)))


def _link(link: Path | None) -> tuple[Any, dict[str, str]]:
    """What messages take, and where that is from."""
    if link is not None:
        model, document = load_network_model(link)
        return model.form, {"model": str(document["chosen"]), "from": str(link)}
    fit = fit_network_table(files.shipped("scenarios", SHIPPED_LINK)).fit
    about = "shipped recording of Unix sockets on a two-core virtual machine, fitted; --link gives one of this machine"
    return fit.model.form, {"model": fit.chosen, "from": about}


def _makespan_s(kernel: "ParallelKernel", n: int, seconds: Mapping[str, float], *, count: int, message: Any) -> float:
    """One simulated run, a process on each of as many PEs."""
    work, partition = parallel_work(kernel, n, count, seconds), shares(n, count)
    speeds = {"seg": work.band(TIMED)}
    pes = tuple(PE(f"pe{rank}", "machine", speeds, resource=TIMED) for rank in range(len(partition)))
    application = Application("seg", "seg", work.parameters, prepared=work)
    configuration = Configuration.one_each("equal", partition)
    scenario = Scenario(Platform.uniform(pes, message), application, (configuration,), replications=1)
    return float(run(scenario).makespan_s[0, 0])


def _takes_time(method: str, by_count: Mapping[int, Mapping[str, float]], warnings: list[str]) -> bool:
    if all(sum(seconds.values()) > 0 for seconds in by_count.values()):
        return True
    warnings.append(f"{method}: no time at all found for the steps (nothing that it counts), left out")
    return False


def _predictions(
    makespans: Mapping[str, Mapping[int, float]], real: Mapping[int, "RealTimes"], methods: Sequence[str]
) -> list[dict[str, Any]]:
    """A row per method and number of processes."""
    timed = makespans.get("ct", {})
    rows = []
    for method, by_count in makespans.items():
        for count, predicted_s in by_count.items() if method in methods else ():
            measured = real[count].median_s if count in real else None
            error, timing = (
                None if measured is None else 100 * (s / measured - 1) for s in (predicted_s, timed[count])
            )
            rows.append(
                {
                    "method": method,
                    "processes": count,
                    "predicted_s": predicted_s,
                    "speed_up": by_count[1] / predicted_s if 1 in by_count else None,
                    "measured_s": measured,
                    "error_percent": error,
                    "resource_model_error_percent": None if error is None or timing is None else error - timing,
                    "difference_from_ct_percent": 100 * (predicted_s / timed[count] - 1),
                }
            )
    return rows


def _paper(kernel: str) -> list[dict[str, Any]]:
    """The paper's errors due to the resource models: its second table 6."""
    keys = ("kernel", "method", "processors")
    names = {printed: name for name, printed in PAPER_NAMES.items()}
    return [
        {"method": names[method], "processes": int(count), "error_percent": error}
        for (name, method, count), error in published("papers/warwick_errors.csv", keys, "error_percent").items()
        if name == PAPER_KERNELS[kernel]
    ]


def lines(found: Mapping[str, Any]) -> list[str]:
    """Makespans and speed-ups by method, errors at 1 and 2 processes, and the table after the paper's."""
    out = [f"messages: {found['link']['model']}, {found['link']['from']}"]
    for entry in found["kernels"]:
        out += ["", *_kernel_lines(entry, found["processes"])]
    return out


def _kernel_lines(entry: Mapping[str, Any], counts: Sequence[int]) -> list[str]:
    out = [f"{entry['kernel']}, n = {entry['n']}, template {entry['template']}"]
    for one in entry["real"]:
        half = "" if one["interval_percent"] is None else f" +-{one['interval_percent']:.1f} %"
        shown = units.show_duration(one["measured_s"])
        out.append(f"  {one['processes']} real: median of {one['runs']} runs {shown}{half}, results right")
    real = [one["processes"] for one in entry["real"] if one["processes"] in counts]
    beyond = [count for count in counts if count > 1]
    ours = entry["predictions"]
    others = [row for row in ours if row["method"] != "ct"]
    for title, name, rows, columns, write in (
        ("simulated makespan", "predicted_s", ours, counts, units.show_duration),
        ("speed-up", "speed_up", ours, counts, "{:.2f}".format),
        ("error, %", "error_percent", ours, real, "{:+.1f}".format),
        ("of the model, %", "resource_model_error_percent", ours, real, "{:+.1f}".format),
        ("simulated, off ct, %", "difference_from_ct_percent", others, beyond, "{:+.1f}".format),
        ("paper's error, %", "error_percent", entry["paper"], beyond, "{:.1f}".format),
    ):
        cells = {(row["method"], row["processes"]): row[name] for row in rows if row[name] is not None}
        methods = dict.fromkeys(row["method"] for row in rows)
        body = [[m, *(write(cells[m, p]) if (m, p) in cells else "-" for p in columns)] for m in methods]
        out += aligned([title, *map(str, columns)], body)
    return [*out, f"  {EXPLAINED}", *(f"  warning: {line}" for line in entry["warnings"])]

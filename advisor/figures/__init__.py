"""Figures of results for papers: what can be drawn of a file or folder that a command wrote, and the file of one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simulator
from advisor.advise.recommendation import Recommendation
from advisor.report.pages import check_written
from advisor.verification.check import Verified
from advisor.whatif import WhatIf
from simulator import ScenarioError, calibration, documents, files, intervals, load_traces, plots, some_names, units

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Draw = Callable[[], "Axes"]
Kinds = dict[str, Draw]
"""Kind of figure -> what draws it on axes of its own; the first one is drawn by default."""
Document = Mapping[str, Any]

DOCUMENTS = ("result.json", "cluster.json", "verification.json", "comparison.json", "advice.json", "manifest.json")
"""Where a folder of results says what it holds: the first of these that is there."""
WRITERS = "simulate, advise, whatif, verify, jobs, quickstart, cluster, allocate or calibrate"
LEAST_IN, MOST_IN = 1.0, 40.0
MOST_BYTES = 2**30
MOST_POINTS = 24
"""Points of a what-if in a figure of rows."""


@dataclass(frozen=True)
class Drawable:
    """What a figure can show of a result."""

    what: str
    """Which result it is: a command, or a kind of model."""
    kinds: Kinds

    def axes(self, kind: str | None = None) -> "Axes":
        """The figure of one kind, on axes of a new figure; see `plots.sized`.

        Raises
        ------
        ScenarioError
            If there is no such kind of it.
        """
        if kind is not None and kind not in self.kinds:
            hint = f"a result of {self.what} is drawn as {', '.join(self.kinds)}"
            raise ScenarioError(f"--kind is {kind!r}; {hint}")
        return self.kinds[next(iter(self.kinds)) if kind is None else kind]()


def plot(thing: object, *, over: str | None = None, level: float = intervals.LEVEL, ax: "Axes | None" = None) -> "Axes":
    """Draw a recommendation, a what-if, a verification, or whatever `simulator.plots.plot` draws; see there.

    Raises
    ------
    ScenarioError
        If it is nothing that can be drawn.
    """
    match thing:
        case Recommendation():
            rows = [{"name": one.name, "predicted_makespan_s": thing.described(one.name)} for one in thing.candidates]
            return plots.plot_makespans(rows, thing.configuration.name, level=thing.level, ax=ax)
        case Verified():
            return plots.plot_verification([documents.to_dict(one) for one in thing.configurations], ax=ax)
        case WhatIf():
            changed = [one | {"name": ", ".join(one["set"])} for one in thing.findings["points"] if one["set"]]
            return plots.plot_gains(changed, level=thing.found.drawn.held, ax=ax)
    return plots.plot(thing, over=over, level=level, ax=ax)


def draw(result: Path, output: Path, *, kind: str | None, width_in: float, height_in: float | None) -> Drawable:
    """Write a figure of a result; what could be drawn.

    Raises
    ------
    ScenarioError
        If the file or folder holds no result, or the figure is too small for its text.
    """
    ending = plots.figure_kind(output)
    found = drawable(result)
    with files.understood(result, f"apportion {found.what}"), plots.sized(width_in, height_in):
        axes = found.axes(kind)
    plots.save_printed(axes, output, kind=ending)
    return found


def read_length(text: str, option: str) -> float:
    """A length with a unit, in inches.

    Raises
    ------
    ScenarioError
        If it is none, or beyond what a page can hold.
    """
    inches = units.parse(text, units.LENGTH, field=option) / 0.0254
    if not LEAST_IN <= inches <= MOST_IN:
        raise ScenarioError(f"{option}: {text!r} is {inches:.3g} in; give {LEAST_IN:g}in to {MOST_IN:g}in")
    return inches


def drawable(path: Path) -> Drawable:
    """What can be drawn of a folder of results, its document, a model or a load trace.

    Raises
    ------
    ScenarioError
        If it is none of these.
    """
    if path.is_dir():
        return _of_folder(path)
    if path.suffix.lower() not in {".json", ""}:
        return _of_table(path)
    document = files.read_json(path, limit_bytes=MOST_BYTES)
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: this is no result of {WRITERS}; name a folder or a file that one of them wrote")
    if path.name == "manifest.json":
        return _of_folder(path.parent)
    return _of_document(document, path, folder=path.parent)


def _of_folder(folder: Path) -> Drawable:
    for name in DOCUMENTS:
        if (folder / name).is_file():
            document = files.read_json(folder / name, limit_bytes=MOST_BYTES)
            if isinstance(document, dict):
                return _of_document(document, folder / name, folder=folder)
    raise ScenarioError(f"{folder}: there is no {', '.join(DOCUMENTS[:-1])} or {DOCUMENTS[-1]}; name a results folder")


def _of_table(path: Path) -> Drawable:
    trace = simulator.read_trace(path)
    rule = "given" if load_traces.trace_column(path) == "available" else "fair"
    return Drawable("trace", {"load": lambda: plots.plot_load(trace, rule=rule)})


def _of_document(document: dict[str, Any], path: Path, *, folder: Path) -> Drawable:
    kind, command = str(document.get("kind")), str(document.get("command"))
    if (kind in MODELS and "model" in document) or kind in {"runtime", "neighbours"}:
        return MODELS[kind](path)
    read = _sweep if kind == "sweep" else COMMANDS.get(command)
    if read is None:
        raise ScenarioError(f"{path}: this is no result of {WRITERS}; name a folder or a file that one of them wrote")
    what = "whatif" if kind == "sweep" else command
    with files.understood(path, f"apportion {what}"):
        if kind != "sweep":
            check_written(document, path)
        kinds = read(document, folder)
    if not kinds:
        raise ScenarioError(
            f"{path}: nothing in this result of {what} can be drawn with an interval; take more replications"
        )
    return Drawable(what, kinds)


# Models


def _speed(path: Path) -> Drawable:
    speed, document = calibration.load_speed(path)
    points = document.get("points", ())
    shown = () if hasattr(speed, "bands") else points
    return Drawable("speed model", {"band": lambda: plots.plot_speed(speed, shown)})


def _memory(path: Path) -> Drawable:
    model, _ = calibration.load_memory_model(path)
    return Drawable("memory model", {"time": lambda: plots.plot_memory(model)})


def _network(path: Path) -> Drawable:
    model, document = calibration.load_network_model(path)
    return Drawable("network model", {"time": lambda: plots.plot_network(document, form=model.form)})


def _neighbours(path: Path) -> Drawable:
    model = calibration.read_neighbours(path)
    return Drawable("model of neighbours", {"kept": lambda: plots.plot_neighbours(model)})


def _runtime(path: Path) -> Drawable:
    model = calibration.load_runtime_model(path)
    return Drawable("run-time model", {name: partial(plots.plot_runtime, model, over=name) for name in model.names})


def _process_counts(path: Path) -> Drawable:
    fit = calibration.load_allocation_fit(path)
    return Drawable("allocate fit", {"time": lambda: plots.plot_process_counts(fit)})


MODELS: Mapping[str, Callable[[Path], Drawable]] = {
    "speed": _speed,
    "memory": _memory,
    "network": _network,
    "neighbours": _neighbours,
    "runtime": _runtime,
    "process_count": _process_counts,
}


# Results of commands


def _level(document: Document) -> float:
    level = document.get("level")
    return float(level) if isinstance(level, int | float) else intervals.LEVEL


def _simulated(document: Document, folder: Path) -> Kinds:
    named = document["configurations"]
    rows = [{"name": one["name"], "predicted_makespan_s": one["makespan_s"]} for one in named]
    kinds: Kinds = {"makespans": lambda: plots.plot_makespans(rows, level=_level(document))}
    if isinstance(document.get("files"), list):
        kinds["runs"] = lambda: plots.plot_runs(_runs(simulator.load_results(folder).to_dataframe()))
    for one in named:
        kinds[f"processes:{one['name']}"] = partial(plots.plot_breakdown, one["processes"])
    return kinds


def _runs(frame: "pd.DataFrame") -> dict[str, Any]:
    return {str(name): own["makespan_s"].to_numpy() for name, own in frame.groupby("configuration", sort=False)}


def _advised(document: Document, _folder: Path) -> Kinds:
    best, rows = str(document["recommended"]), [one for one in document["baselines"] if not one.get("same_as")]
    kinds: Kinds = {
        "strategies": lambda: plots.plot_makespans(rows, best, level=_level(document)),
        "shares": lambda: plots.plot_shares(document["pes"], _shares(document)),
    }
    if document.get("sensitivity"):
        kinds["sensitivity"] = lambda: plots.plot_sensitivity(document["sensitivity"])
    return kinds


def _shares(document: Document) -> dict[str, list[float]]:
    """What each PE gets as it is, and as is advised."""
    before = str(document.get("reference") or "equal")
    chosen = {before: None, str(document["recommended"]): None}
    found: dict[str, list[float]] = {}
    for one in document["baselines"]:
        if one["name"] in chosen:
            shares = [0.0] * len(document["pes"])
            for units_, place in zip(one["partition"], one["placement"], strict=True):
                shares[place] += units_
            found[one["name"]] = shares
    return {name: found[name] for name in chosen if name in found}


def _sweep(document: Document, folder: Path) -> Kinds:
    frame = simulator.load_results(folder).to_dataframe()
    frame = frame[frame["mean_s"].notna()]
    names = list(document["parameters"])
    changed = [str(name).removeprefix("platform.").removeprefix("application.parameters.") for name in names]
    kinds: Kinds = {}
    if len(names) == 1:
        kinds["points"] = lambda: _drawn_points(frame, names[0], changed[0], level=_level(document))
    kinds["makespans"] = lambda: plots.plot_makespans(_best_rows(frame, names, changed), level=_level(document))
    return kinds | {"differences": lambda: _drawn_differences(frame, names, changed, level=_level(document))}


def _drawn_points(frame: "pd.DataFrame", name: str, shown: str, *, level: float) -> "Axes":
    """Means over the values of the one thing that is varied; equal values, as of the base and x1, once."""
    texts = list(dict.fromkeys(str(value) for value in frame[name]))
    places, unit = _numbers(texts)
    series = {}
    for configuration, own in frame.groupby("configuration", sort=False):
        first = own.drop_duplicates(name).set_index(own.drop_duplicates(name)[name].astype(str))
        rows = [first.loc[text] if text in first.index else None for text in texts]
        series[str(configuration)] = [
            {} if row is None else {"mean": row["mean_s"], "low": row["low_s"], "high": row["high_s"]} for row in rows
        ]
    below = f"{shown}{f' in {unit}' if unit else ''}"
    return plots.plot_points(
        places or list(range(len(texts))), _known(series), below=below, level=level, names=() if places else texts
    )


def _known(series: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Numbers of NumPy as Python's own."""
    return {name: [{key: float(value) for key, value in row.items()} for row in rows] for name, rows in series.items()}


def _numbers(texts: list[str]) -> tuple[list[float], str]:
    """Values as numbers with their unit, that of the first; none if they are not all of a kind."""
    kinds = (units.DURATION, units.SIZE, units.BANDWIDTH, units.SPEED, units.POWER, {"": 1})
    amounts = [units.amount(text) for text in texts]
    for kind in kinds:
        if all(one is not None and one[1] in kind for one in amounts):
            known = [one for one in amounts if one is not None]
            unit = known[0][1]
            return [float(value * kind[own] / kind[unit]) for value, own in known], unit
    return [], ""


def _best_rows(frame: "pd.DataFrame", names: list[str], changed: list[str]) -> list[dict[str, Any]]:
    """The best configuration of each point."""
    rows = []
    for _, own in frame.groupby("point", sort=True):
        row = own.sort_values("mean_s").iloc[0]
        said = {part: float(row[f"{part}_s"]) for part in ("mean", "low", "high", "run_low", "run_high")}
        rows.append({"name": _named(row, names, changed), "predicted_makespan_s": said})
    return rows[:MOST_POINTS]


def _named(row: Any, names: list[str], changed: list[str]) -> str:
    if row["point"] == 0:
        return "as it is"
    return ", ".join(f"{short.rpartition('.')[2]} {row[name]}" for name, short in zip(names, changed, strict=True))


def _drawn_differences(frame: "pd.DataFrame", names: list[str], changed: list[str], *, level: float) -> "Axes":
    rows: list[dict[str, Any]] = []
    for _, row in frame[frame["point"] > 0].iterrows():
        mean, low, high = (float(row[f"difference_{part}_s"]) for part in ("mean", "low", "high"))
        name = f"{_named(row, names, changed)}: {row['configuration']}"
        rows.append({"name": name, "mean": mean, "low": low, "high": high, "sure": low > 0 or high < 0})
    return plots.plot_differences(rows, axis="makespan less that of now, in s", level=level)


def _found(document: Document, _folder: Path) -> Kinds:
    """What `whatif --json` prints."""
    rows = [
        {
            "name": ", ".join(one.get("set") or ()) or "as it is",
            "gain": one.get("gain"),
            "together": one.get("together"),
        }
        for one in document["points"]
    ]
    return {"gains": lambda: plots.plot_gains(rows[1:], level=_level(document))}


def _verified(document: Document, _folder: Path) -> Kinds:
    return {"verification": lambda: plots.plot_verification(document["configurations"])}


def _cluster(document: Document, _folder: Path) -> Kinds:
    hosts = document["hosts"]
    shares = {"now": [one["units_now"] for one in hosts], "advised": [one["units"] for one in hosts]}
    kinds: Kinds = {"shares": lambda: plots.plot_shares([one["name"] for one in hosts], shares)}
    rows = [
        {
            "name": name,
            "predicted_makespan_s": {part: document[key].get(f"{part}_s") for part in ("mean", "low", "high")},
        }
        for name, key in (("now", "now"), ("advised", "recommended"))
    ]
    kinds["makespans"] = lambda: plots.plot_makespans(rows, "advised", mark="advised", level=_level(document))
    if document.get("verified"):
        kinds |= _verified(document["verified"], _folder)
    return kinds


def _quickstart(document: Document, _folder: Path) -> Kinds:
    strategies = document["baselines"]
    rows = strategies["baselines"] if isinstance(strategies, dict) else strategies
    kinds: Kinds = {"verification": lambda: plots.plot_verification(document["verification"])}
    kinds["strategies"] = lambda: plots.plot_makespans(
        [one for one in rows if not one.get("same_as")], str(document["recommended"])
    )
    for kernel in dict.fromkeys(one["name"] for one in document["kernels"]):
        kinds[f"speed:{kernel}"] = partial(plots.plot_kernel, document["kernels"], kernel)
    kinds["timeline"] = lambda: plots.plot_timeline(document["timeline"])
    trace = document["load"]["trace"]
    load = simulator.LoadTrace(trace["times_s"], trace["values"], trace["end_s"])
    return kinds | {"load": lambda: plots.plot_load(load, rule=document["load"]["rule"])}


def _ran_jobs(document: Document, folder: Path) -> Kinds:
    def waits() -> "Axes":
        import pandas as pd

        table = folder / "jobs.csv"
        files.check_regular(table)
        return plots.plot_waits({document["policy"]["name"]: pd.read_csv(table)["wait_s"].to_numpy(dtype=float)})

    classes: Kinds = {
        f"slowdown:{what}": partial(plots.plot_classes, rows, what=what)
        for what, rows in document["classes"].items()
        if rows
    }
    return {"waits": waits} | classes


def _compared_jobs(document: Document, _folder: Path) -> Kinds:
    known = document["differences"]
    kinds: Kinds = {}
    for metric in dict.fromkeys(one["metric"] for one in known):
        rows = [
            one | {"name": f"{one['other']}, not {one['base']}", "sure": one["verdict"] != "open"}
            for one in known
            if one["metric"] == metric and one["low"] is not None
        ]
        axis = f"difference of the mean {metric}{' in s' if metric in SECONDS else ''}"
        if rows:
            kinds[metric] = partial(plots.plot_differences, rows, axis=axis, level=_level(document))
    return kinds


SECONDS = ("wait", "turnaround", "makespan", "p95-wait", "p99-wait")
"""Metrics of jobs that are times."""


def _advised_jobs(document: Document, _folder: Path) -> Kinds:
    holds = 1 - _level(document["compared"])
    rows = [
        one["gain"] | {"name": one["name"], "sure": one["gain"]["holm"] is not None and one["gain"]["holm"] <= holds}
        for one in document["candidates"]
        if one.get("gain") and one["gain"]["low"] is not None
    ]
    objective = str(document["objective"])
    axis = f"gain in the mean {objective}{' in s' if objective in SECONDS else ''}"
    draw_ = partial(plots.plot_differences, rows, axis=axis, level=_level(document["compared"]), less_is_better=False)
    return {"gains": draw_} if rows else {}


def _allocated(document: Document, _folder: Path) -> Kinds:
    def row(one: Document) -> dict[str, Any]:
        of_kinds = [
            f"{given['pes']} {kind} x {given['procs']}" for kind, given in one["configuration"].items() if given["pes"]
        ]
        return {"name": one.get("name") or " + ".join(of_kinds), "predicted_makespan_s": one["estimate_s"]}

    ranked = [row(one) for one in document["ranking"][:MOST_RANKED]]
    rows = [*ranked, *map(row, document["baselines"])]
    return {"ranking": lambda: plots.plot_makespans(rows, ranked[0]["name"], level=_level(document))}


MOST_RANKED = 6


def _divided(document: Document, _folder: Path) -> Kinds:
    return {"shares": lambda: plots.plot_shares(document["names"], {str(document["method"]): document["units"]})}


COMMANDS: Mapping[str, Callable[[Document, Path], Kinds]] = {
    "advise": _advised,
    "allocate advise": _allocated,
    "cluster": _cluster,
    "jobs advise": _advised_jobs,
    "jobs compare": _compared_jobs,
    "jobs run": _ran_jobs,
    "partition": _divided,
    "quickstart": _quickstart,
    "simulate": _simulated,
    "verify": _verified,
    "whatif": _found,
}
"""By the `command` of a document: what can be drawn of it."""


def told(found: Drawable, kind: str | None, output: Path) -> str:
    """The line that says what was drawn, and what else could be."""
    drawn = next(iter(found.kinds)) if kind is None else kind
    others = [name for name in found.kinds if name != drawn]
    more = f"; also --kind {some_names(others)}" if others else ""
    return f"{drawn} of {found.what} drawn in {output}{more}"

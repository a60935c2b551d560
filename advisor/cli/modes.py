"""Which options go with which mode of which command: the one place that says it, and what refuses the others.

A command that works in several ways (from a table or by real runs, by one method or another) has an axis for each
choice, and one mode of each axis holds at any time. An option that no axis names has effect in every mode; one that an
axis names has effect in the modes that name it, and elsewhere it is refused before anything is done: an option that is
accepted and ignored is a wrong answer that nobody sees.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperCommand

from advisor.cli.asked import answering
from simulator import ScenarioError, calibration

Given = Mapping[str, Any]
"""Values by the names of options (the first long one, without dashes) and of arguments."""


@dataclass(frozen=True)
class Axis:
    """One choice that decides how a command works."""

    chosen: Callable[[Given], str | None]
    """The mode that holds; None where the command itself must find out, or refuses what was given."""
    modes: Mapping[str, str]
    """Mode, as it stands behind "has no effect" -> options that have effect in no mode but those that name them."""
    why: Mapping[str, str] = field(default_factory=dict)
    """Mode -> half a sentence on why other options mean nothing there."""

    @property
    def named(self) -> frozenset[str]:
        """Options whose effect hangs on this choice."""
        return frozenset(name for names in self.modes.values() for name in names.split())

    def with_effect(self, option: str) -> list[str]:
        """The modes in which an option has effect."""
        return [mode for mode, names in self.modes.items() if option in names.split()]

    def refusal(self, option: str, mode: str) -> str:
        """What is said of an option without effect."""
        why = f", {self.why[mode]}" if mode in self.why else ""
        places = [place for place in self.with_effect(option) if place != f"with --{option}"]
        return f"--{option} has no effect {mode}{why}: leave it out{f', or use it {_either(places)}' if places else ''}"


@dataclass(frozen=True)
class Rules:
    """The options of a command."""

    always: str
    """Those that have effect in every mode."""
    axes: tuple[Axis, ...] = ()

    @property
    def options(self) -> frozenset[str]:
        """All options."""
        return frozenset(self.always.split()).union(*(axis.named for axis in self.axes))

    def refusals(self, stated: list[str], given: Given) -> list[str]:
        """One line for each stated option that has no effect; an axis that nothing stated hangs on is not looked at."""
        found: dict[str, str] = {}
        for axis in self.axes:
            names = [name for name in stated if name in axis.named and name not in found]
            mode = axis.chosen(given) if names else None
            found |= {name: axis.refusal(name, mode) for name in names if mode and mode not in axis.with_effect(name)}
        return [found[name] for name in stated if name in found]

    def limited(self) -> list[tuple[str, str]]:
        """Options that have effect in some modes only, those with the same modes together -> these modes."""
        found: dict[str, list[str]] = {}
        for option in sorted(self.options):
            places = [_either(axis.with_effect(option)) for axis in self.axes if option in axis.named]
            if places:
                found.setdefault("; ".join(places), []).append(f"--{option}")
        return [(", ".join(options), place) for place, options in found.items()]


def _either(modes: list[str]) -> str:
    """`with --vary allocation or both`: the words that all begin with are said once."""
    words = [mode.split() for mode in modes]
    alike = (
        0
        if len(modes) < 2
        else sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))
    )
    return " or ".join([modes[0], *(" ".join(mode[alike:]) for mode in words[1:])])


def is_given(value: object) -> bool:
    """Whether an option has a value; 0 and an empty text are some."""
    return value is not None and value is not False


def _flag(option: str, names: str, *, why: str = "", without: str = "") -> Axis:
    """Options that have effect only together with another one, and perhaps some only without it."""
    yes, no = f"with --{option}", f"without --{option}"
    return Axis(
        lambda given: yes if is_given(given[option]) else no,
        {yes: names, no: without},
        {no: why} if why else {},
    )


def _by_value(option: str, values: Mapping[str, str], **more: Any) -> Axis:
    """Options by the value of another one; a value that is none of these is the command's to refuse."""
    modes = {f"with --{option} {value}": names for value, names in values.items()}
    return Axis(lambda given: next((m for m in modes if m == f"with --{option} {given[option]}"), None), modes, **more)


def _first(*flags: str, otherwise: str | None = None) -> Callable[[Given], str | None]:
    """The first of some options that is given."""

    def chosen(given: Given) -> str | None:
        return next((f"with --{flag}" for flag in flags if is_given(given[flag])), otherwise)

    return chosen


def _commanded(given: Given) -> str:
    return "with a command" if given["command"] else "without a command"


def _design(given: Given) -> str:
    names = [name.strip() for name in given["method"].split(",")]
    return "with dbc" if {"dbc", "all"} & set(names) else "without dbc"


def _table_form(given: Given) -> str | None:
    """Whether tables are written that `--format` is of; one that is of printed tables has effect anywhere."""
    if is_given(given["output"]):
        return "with --output"
    return None if given["format"] in {"latex", "markdown"} and not given.get("resume") else "without --output"


def _tables(names: str) -> Axis:
    """Options that have effect only where tables are written."""
    why = {"without --output": "where no table is written"}
    return Axis(_table_form, {"with --output": names, "without --output": ""}, why)


_RUNTIME, _SPEED, _MEMORY, _NETWORK, _NEIGHBOURS = (
    f"with a {kind} model" for kind in ("run-time", "speed", "memory", "network", "neighbours")
)


def _characterised(given: Given) -> str:
    """For a kernel n is the only argument, and `--sizes` says it."""
    own = ".py" in given["subject"] or "/" in given["subject"]
    return "with --sizes and a kernel" if given["sizes"] is not None and not own else "without --sizes, or with FILE.py"


def _shown(given: Given) -> str:
    from advisor.cli.show import document_of_jobs, is_model_of

    if given["model"].is_dir() or document_of_jobs(given["model"]) is not None:
        return "with a folder of results"
    for kind, mode in (("network", _NETWORK), ("neighbours", _NEIGHBOURS)):
        if given["memory"] is None and is_model_of(given["model"], kind):
            return mode
    return "with a speed model alone" if given["memory"] is None else "with a speed model and --memory"


def _fitted(given: Given) -> str | None:
    if not given["runs"].is_file():
        return None
    return "with a run history" if calibration.runs_kind(given["runs"]) == "history" else "with a CSV file"


def _predicted(given: Given) -> str | None:
    kinds = {"runtime": _RUNTIME, "speed": _SPEED, "memory": _MEMORY, "network": _NETWORK, "neighbours": _NEIGHBOURS}
    return kinds.get(calibration.model_kind(given["model"]))


def _checked(given: Given) -> str:
    if given["schema"]:
        return "with --schema"
    if given["scenario"] is not None and ".seg" in given["scenario"].suffixes:
        return "with a software execution graph"
    return "with a scenario and --resolved" if given["resolved"] else "with a scenario"


def _varied(given: Given) -> str:
    return "with several --vary" if len(given["vary"] or ()) > 1 else "with one --vary"


def _swept(given: Given) -> str:
    return "without --only" if given["only"] is None else "with --only"


def _banded(given: Given) -> str:
    return "with --objective regret" if given["objective"] == "regret" else "with --objective mean, cvar or worst"


_METHODS = {
    "equal": "",
    "proportional": "at",
    "functional": "",
    "discontinuous": "",
    "banded": "objective correlation seed",
    "grid2d": "matrix",
}
_IMPORTS = {
    "csv": "measures time-column value-column time-unit",
    "sadf": "measures value-column cpu",
    "collectl": "measures value-column cpu",
    "prometheus": "measures series",
    "simgrid": "duration",
    "dinda": "",
    "bitbrains": "",
    "google": "series",
    "swf": "processors start duration",
}
_BUSY, _NOT_BUSY = "with a busy share", "with a load or an availability"
_MEASURED = dict.fromkeys(("busy", "busy-percent"), _BUSY) | dict.fromkeys(
    ("load", "available", "available-percent"), _NOT_BUSY
)
_KINDS_MEASURE = dict.fromkeys(("bitbrains", "google", "swf"), _BUSY) | dict.fromkeys(("simgrid", "dinda"), _NOT_BUSY)


def _measured(given: Given) -> str | None:
    """What a source measures, where it is known before the source is read."""
    return _KINDS_MEASURE.get(given["from"]) or _MEASURED.get(given["measures"])


def _generated(given: Given) -> str | None:
    kinds = ("constant", "on-off", "ar1", "diurnal", "bootstrap")
    return f"with {given['kind']}" if given["kind"] in kinds else None


def _linked(given: Given) -> str | None:
    if given["replay"] is not None:
        return "with --replay"
    kinds = ("processes", "tcp", "mpi")
    return f"with --between {given['between']}" if given["between"] in kinds else None


_RUNS = ("csv", "extrap", "extrap-json", "sacct")


def _history_read(given: Given) -> str | None:
    kind = given["format"] or (calibration.runs_kind(given["file"]) if given["file"].is_file() else None)
    return f"with --format {kind}" if kind in _RUNS else None


_LINKED = "max-bytes budget table output seed"

TABLE: Mapping[str, Rules] = {
    "quickstart": Rules("budget output seed full json"),
    "new": Rules(
        "nodes network application parameter kernel busy output json",
        (_flag("output", "overwrite", why="where no file is written"),),
    ),
    "plot": Rules("output width height kind json"),
    "rerun": Rules("output yes full json"),
    "record": Rules(
        "output interval duration per-core append json",
        (_flag("append", "", without="overwrite"),),
    ),
    "trace import": Rules(
        "output from json",
        (
            _by_value("from", _IMPORTS),
            Axis(_measured, {_BUSY: "cores", _NOT_BUSY: ""}, {_NOT_BUSY: "which does not hang on the number of cores"}),
        ),
    ),
    "trace generate": Rules(
        "output duration set fit json",
        (
            Axis(
                _generated,
                {
                    "with constant": "interval",
                    "with on-off": "seed",
                    **dict.fromkeys(("with ar1", "with diurnal", "with bootstrap"), "interval seed"),
                },
                {"with constant": "where nothing is drawn", "with on-off": "whose changes lie at exact times"},
            ),
        ),
    ),
    "trace show": Rules("plot output column json"),
    "trace functions": Rules("window history ideal column resample plot output json"),
    "trace study": Rules("window history every column resample plot output json"),
    "calibrate speed": Rules(
        "kernel command replay method band budget max-size load output json",
        (
            Axis(
                _first("replay", "kernel", "command"),
                {
                    "with --replay": "",
                    "with --kernel": "store time-cap cpu columns depth together",
                    "with --command": "store time-cap cpu size volume",
                },
                {
                    "with --replay": "where nothing is run",
                    "with --kernel": "which knows its own",
                    "with --command": "which has no rows and columns of ours",
                },
            ),
            _by_value("method", {"adaptive": "accuracy verify-largest", "gbbp": "", "grid": ""}),
            _flag("load", "column window history availability"),
        ),
    ),
    "calibrate memory": Rules(
        "replay swept output json",
        (
            Axis(
                _first("replay", otherwise="without --replay"),
                {
                    "with --replay": "compare-with-this-machine",
                    "without --replay": "budget max-memory alpha length cpu table seed",
                },
                {
                    "with --replay": "where nothing is measured",
                    "without --replay": "where this machine is compared with anyway",
                },
            ),
        ),
    ),
    "calibrate network": Rules(
        "between replay json",
        (
            Axis(
                _linked,
                {
                    "with --replay": "output",
                    "with --between processes": f"medium {_LINKED}",
                    "with --between tcp": _LINKED,
                    "with --between mpi": _LINKED,
                },
                {"with --replay": "where nothing is measured"},
            ),
        ),
    ),
    "calibrate neighbours": Rules(
        "json",
        (
            Axis(
                _first("replay", "against", otherwise="without --replay and --against"),
                {
                    "with --replay": "replay cache output",
                    "with --against": "against command size volume budget seed",
                    "without --replay and --against": "kernel command size volume budget table output seed",
                },
                {
                    "with --replay": "where nothing is measured",
                    "with --against": "where the model says which kernels",
                },
            ),
        ),
    ),
    "calibrate resource": Rules("output budget memory seed json"),
    "calibrate load-check": Rules("kernel load period interval history durations runs cpu output seed json"),
    "characterise": Rules(
        "method sizes hardware budget seed json",
        (
            Axis(_design, {"with dbc": "design", "without dbc": ""}),
            Axis(_characterised, {"with --sizes and a kernel": "", "without --sizes, or with FILE.py": "args"}),
        ),
    ),
    "show": Rules(
        "",
        (
            Axis(
                _shown,
                {
                    "with a folder of results": "json",
                    "with a network model": "json",
                    "with a speed model alone": "plot held-out",
                    "with a speed model and --memory": "memory kernel plot json",
                    _NEIGHBOURS: "json",
                },
            ),
        ),
    ),
    "history add": Rules("app time param version machine when history json"),
    "history list": Rules("history app version json"),
    "history coverage": Rules("level json"),
    "history import": Rules(
        "format app history json",
        (Axis(_history_read, {f"with --format {kind}": "time" if kind == "csv" else "" for kind in _RUNS}),),
    ),
    "history export": Rules("output format app version history"),
    "history record": Rules(
        "grid app command name budget repetitions version history json",
        (Axis(_first("app", "command"), {"with --app": "kernel", "with --command": ""}),),
    ),
    "fit": Rules(
        "formula output response method plot full json",
        (Axis(_fitted, {"with a run history": "app version", "with a CSV file": ""}),),
    ),
    "predict": Rules(
        "at full json",
        (
            Axis(
                _predicted,
                {_RUNTIME: "level next-run", _MEMORY: "level", _NETWORK: "level", _SPEED: "level", _NEIGHBOURS: ""},
                {_NEIGHBOURS: "which predicts ratios alone"},
            ),
        ),
    ),
    "machine": Rules("hwloc name speed memory neighbours output json"),
    "platform": Rules("names kernel topology max-age output json", (_flag("topology", "uplink"),)),
    "scenarios": Rules("output json"),
    "check": Rules(
        "",
        (
            Axis(
                _checked,
                {
                    "with a scenario": "set json",
                    "with a scenario and --resolved": "resolved set",
                    "with --schema": "schema json",
                    "with a software execution graph": "json",
                },
                {"with a scenario and --resolved": "which prints YAML"},
            ),
        ),
    ),
    "export": Rules("simgrid output replication seed size approximate set json"),
    "simulate": Rules(
        "replications seed engine output jobs timeline set resource-model level full json",
        (_tables("format"), _flag("timeline", "replication configuration", why="which they are for")),
    ),
    "advise": Rules(
        "replications seed vary objective top budget runs pareto output hostfile explain measure-next "
        "resource-model level format full json",
        (
            _by_value(
                "vary", {"partition": "", "allocation": "oversubscribe", "both": "oversubscribe", "scheduling": ""}
            ),
            _flag("measure-next", "command", why="where nothing is run"),
        ),
    ),
    "whatif": Rules(
        "",
        (
            Axis(
                _swept,
                {
                    "with --only": "only vary zip scaling nodes replications seed advise output json",
                    "without --only": (
                        "vary zip scaling nodes replications seed advise workers dask output format resume level full "
                        "json"
                    ),
                },
                {"with --only": "which runs one point, here"},
            ),
            _tables("format resume"),
            Axis(_varied, {"with several --vary": "zip", "with one --vary": ""}),
        ),
    ),
    "verify": Rules("command budget seed level output format full json", (_flag("command", "", without="dynamic"),)),
    "cluster": Rules(
        "hosts hosts-file slurm parameter budget verify update python seed level output full json",
        (
            _flag("slurm", "", without="ssh"),
            Axis(_commanded, {"with a command": "", "without a command": "kernel"}),
        ),
    ),
    "partition": Rules(
        "speeds units method output full json",
        (
            _by_value("method", _METHODS),
            Axis(
                _banded,
                {"with --objective mean, cvar or worst": "correlation seed", "with --objective regret": ""},
                {"with --objective regret": "which draws nothing"},
            ),
        ),
    ),
    "allocate plan": Rules("sizes at budget most work kernel start seed output json"),
    "allocate run": Rules(
        "command time phases before folder local budget limit model output json",
        (
            _flag("model", "level"),
            Axis(
                lambda given: (
                    "without --time and --phases"
                    if _first("time", "phases")(given) is None
                    else "with --time or --phases"
                ),
                {"with --time or --phases": "read", "without --time and --phases": ""},
                {"without --time and --phases": "where the wall clock counts"},
            ),
        ),
    ),
    "allocate fit": Rules("output json"),
    "allocate advise": Rules("kinds size level memory footprint top hostfile json", (_flag("hostfile", "hosts"),)),
    "jobs run": Rules(
        "processors estimates clean first procs platform policy warm-up same-second engine output jobs timeline "
        "fairness format full json",
        (
            _flag("policy", "", without="order backfill candidates placement"),
            _flag("platform", "times draw sizes", why="where no applications can be simulated"),
            _by_value("backfill", {"none": "", "easy": "candidates", "conservative": ""}),
            _by_value("processors", {"counted": "", "named": "placement"}),
            _by_value(
                "estimates",
                {"limit": "", "exact": "", "last-two": "correction", "fit": "model quantile", "predicted": "quantile"},
            ),
            _flag("fairness", "seed", why="where nothing is drawn"),
        ),
    ),
    "jobs generate": Rules(
        "model kind jobs processors load start-hour users estimates seed output json",
        (_by_value("estimates", {"none": "", "exact": "", "tsafrir": "most"}),),
    ),
    "jobs compare": Rules(
        "policies estimates procs model replications metric all-pairs level warm-up seed output format full json",
        (
            _flag("model", "jobs load", without="clean first draws platform sizes"),
            _flag("platform", "times change", why="where no applications can be simulated"),
        ),
    ),
    "jobs advise": Rules(
        "policy estimates procs model objective add price replications level seed output format full json",
        (
            _flag("model", "jobs load", without="clean first draws platform"),
            _flag("platform", "times change", why="where no applications can be simulated"),
        ),
    ),
    "jobs forecast": Rules("job policy clean procs replications level seed full json"),
    "reproduce": Rules("output recorded json"),
}
"""Command -> its options."""


class ModalCommand(TyperCommand):
    """A command that refuses options without effect before it does anything; `--help` says where they have one."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises ScenarioError with a line for each option that has no effect in the mode that was asked for.
        """
        names = {str(param.name): option_name(param) for param in self.params}
        given = {name: ctx.params.get(key) for key, name in names.items()}
        stated = [name for key, name in names.items() if _on_command_line(ctx, key)]
        if refused := rules_of(ctx).refusals(stated, given):
            raise ScenarioError(refused)
        with answering(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """All options, then those that have effect in some modes only."""
        super().format_options(ctx, formatter)
        if limited := rules_of(ctx).limited():
            with formatter.section("Only in some modes, elsewhere refused"):
                formatter.write_dl(limited)


def rules_of(ctx: Any) -> Rules:
    """What goes with what for the command that is called."""
    names: list[str] = []
    place: Any = ctx
    while place.parent is not None:
        names.insert(0, str(place.info_name))
        place = place.parent
    return TABLE[" ".join(names)]


def option_name(param: Any) -> str:
    """The first long name of an option, without dashes; of an argument its own."""
    if param.param_type_name == "argument":
        return str(param.name)
    return next(str(name) for name in param.opts if name.startswith("--")).removeprefix("--")


def _on_command_line(ctx: Any, name: str) -> bool:
    """Whether a parameter was written out; a default and an environment variable are nobody's wish for this call."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def enforce(app: typer.Typer) -> None:
    """Have every command of an application refuse options without effect."""
    for command in app.registered_commands:
        command.cls = ModalCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            enforce(group.typer_instance)

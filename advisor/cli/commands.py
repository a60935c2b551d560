"""All commands as one application of typer."""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from advisor.cli import (
    advise,
    allocate,
    calibrate,
    calibrate_memory,
    calibrate_neighbours,
    calibrate_network,
    characterise,
    check,
    cluster,
    ending,
    fit,
    history,
    jobs,
    jobs_compare,
    new,
    partition,
    platform,
    plot,
    quickstart,
    record,
    reproduce,
    rerun,
    scenarios,
    show,
    simulate,
    trace,
    verify,
    whatif,
)
from advisor.cli.declared import DeclaredCommand
from advisor.cli.outputs import check_first
from simulator import ApportionError

TASKS: dict[str, dict[str, str]] = {
    "Begin": {
        "quickstart": "the whole loop on this machine, in a minute",
        "new": "a scenario of your cluster, by flags or questions",
        "check": "is a scenario sound, what is in it, for what is it ready",
        "scenarios": "scenarios that ship with apportion",
        "show": "what a model or a folder of results says",
    },
    "Measure": {
        "calibrate": "speeds, memory, network, neighbours, costs of operations",
        "record": "the load of this machine, as a trace",
        "cluster": "all hosts at once, with advice and the line to run it",
        "machine": "this machine as a node of a scenario",
        "platform": "nodes measured one by one, joined to a cluster",
        "characterise": "one function by every method, predicted and measured",
    },
    "Model": {
        "fit": "run times by your cost formula, from real runs",
        "predict": "what any model says of what nobody measured",
        "history": "runs that are kept, and how well predictions held",
        "trace": "load traces: import, generate, show, study",
    },
    "Simulate and advise": {
        "simulate": "how long each configuration of a scenario takes",
        "advise": "who should get how much, and how sure that is",
        "whatif": "which change of the platform or the program pays most",
        "partition": "units divided among PEs of known speeds",
        "allocate": "how many processes on which PEs, from few real runs",
    },
    "Check by real runs": {
        "verify": "the advice and the baselines, really run here",
        "reproduce": "tables of five papers, computed again",
        "rerun": "a result that was kept, computed again and compared",
    },
    "Many jobs": {"jobs": "streams of jobs: run, compare, advise, forecast, generate"},
    "Hand on": {
        "plot": "a picture of any result, for a paper",
        "export": "a platform as another simulator's files",
    },
}
"""What somebody wants to do -> the commands for it, in the order of `--help`, with what each is about."""


class ByTask(TyperGroup):
    """All commands, listed by what they are for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of tasks; what has none comes last."""
        known = super().list_commands(ctx)
        ordered = [name for own in TASKS.values() for name in own if name in known]
        return [*ordered, *(name for name in known if name not in ordered)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A section for each task."""
        names = self.list_commands(ctx)
        widest = max(map(len, names))
        for task, own in TASKS.items():
            if rows := [(name.ljust(widest), about) for name, about in own.items() if name in names]:
                with formatter.section(task):
                    formatter.write_dl(rows)


app = typer.Typer(
    name="apportion",
    cls=ByTask,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

COMMANDS: dict[str, Callable[..., None]] = {
    "quickstart": quickstart.quickstart,
    "new": new.new,
    "record": record.record,
    "characterise": characterise.characterise,
    "show": show.show,
    "fit": fit.fit,
    "predict": fit.predict,
    "machine": platform.machine,
    "platform": platform.platform,
    "scenarios": scenarios.scenarios,
    "check": check.check,
    "cluster": cluster.cluster,
    "export": check.export,
    "simulate": simulate.simulate,
    "advise": advise.advise,
    "whatif": whatif.whatif,
    "verify": verify.verify,
    "partition": partition.partition,
    "reproduce": reproduce.reproduce,
    "plot": plot.plot,
    "rerun": rerun.rerun,
}
SETTINGS = {"cluster": {"allow_interspersed_args": False}}
"""What a command reads otherwise: of a cluster, all that follows the first word is the program to run."""
GROUPS: dict[str, tuple[str, dict[str, Callable[..., None]]]] = {
    "trace": (
        "Import, generate, show and study load traces.\n\nExample: apportion trace show load.csv",
        {
            "import": trace.import_file,
            "generate": trace.generate,
            "show": trace.show,
            "functions": trace.functions,
            "study": trace.study,
        },
    ),
    "calibrate": (
        "Real runs become models.\n\nExample: apportion calibrate speed --kernel dgemm -o dgemm.json",
        {
            "speed": calibrate.speed,
            "memory": calibrate_memory.memory,
            "network": calibrate_network.network,
            "neighbours": calibrate_neighbours.neighbours,
            "resource": calibrate.resource,
            "load-check": calibrate.load_check,
        },
    ),
    "history": (
        (
            "Keep, show, import, export and record the runs of applications, and how well predictions held. "
            "Example: apportion history list --app hpl"
        ),
        {
            "add": history.add,
            "list": history.list_,
            "import": history.import_,
            "export": history.export,
            "record": history.record,
            "coverage": history.coverage,
        },
    ),
    "allocate": (
        (
            "Choose PEs and processes on each for a program that gives every process the same work, by its real runs. "
            "Example: apportion allocate fit runs.csv -o model.json"
        ),
        {
            "plan": allocate.plan,
            "run": allocate.run,
            "fit": allocate.fit,
            "advise": allocate.advise,
        },
    ),
    "jobs": (
        (
            "Streams of jobs on one cluster: run, compare and forecast them, and say what pays most.\n\n"
            "Example: apportion jobs run KTH-SP2-1996-2.swf.gz --backfill easy"
        ),
        {
            "run": jobs.run,
            "generate": jobs.generate,
            "compare": jobs_compare.compare,
            "advise": jobs_compare.advise,
            "forecast": jobs_compare.forecast,
        },
    ),
}
"""Group -> its help and its commands."""

for name, command in COMMANDS.items():
    app.command(name, cls=DeclaredCommand, context_settings=SETTINGS.get(name))(command)
for name, (text, commands) in GROUPS.items():
    group = typer.Typer(no_args_is_help=True, help=text)
    for inner, command in commands.items():
        group.command(inner, cls=DeclaredCommand)(command)
    app.add_typer(group, name=name)
check_first(app)


def _version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        from importlib import metadata

        try:
            print(f"apportion {metadata.version('apportion')}")
        except metadata.PackageNotFoundError:
            print("apportion, run from its source without being installed")
        raise typer.Exit


@app.callback()
def _whole(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Say who should get how much of the work on unequal machines, and how sure we are."""


def run(arguments: list[str]) -> int:
    """Run one command; its exit code.

    Raises
    ------
    ApportionError
        What the user can mend.
    """
    from typer.exceptions import TyperException

    _check_words(arguments)
    try:
        return int(_built()(arguments, prog_name="apportion", standalone_mode=False) or 0)
    except TyperException as error:
        text = error.format_message()
        ending.say(text if text.startswith("Usage:") else f"error: {ApportionError(text).lines[0]}")
        return 2
    except typer.Abort:
        return 130


@cache
def _built() -> Any:
    """The commands as click has them; typer would build all of them again for each use."""
    return typer.main.get_command(app)


def _check_words(arguments: list[str]) -> None:
    """Refuse words that are no text, which could not be printed again, and numbers that only Python writes: 1_000.

    Raises ApportionError with the word, or the option.
    """
    for number, word in enumerate(arguments, 1):
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            shown = word.encode("utf-8", "backslashreplace").decode()
            raise ApportionError(f"word {number} of the command line, {shown!r:.80}, is not UTF-8; rename it")
    command = _built()
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        option, _, value = word.partition("=")
        if "_" in (value or following) and option in _numeric(command):
            raise ApportionError(f"{option}: {value or following!r:.80} has an underscore; write the digits alone")


def _numeric(command: Any) -> set[str]:
    """Options of a command that take numbers."""
    described = ((parameter, getattr(parameter, "type_descriptor", None)) for parameter in command.params)
    return {
        name for parameter, kind in described if kind and kind.annotation in {int, float} for name in parameter.opts
    }

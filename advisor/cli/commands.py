"""All commands as one application of typer."""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from advisor.cli import (
    advise,
    calibrate,
    calibrate_machine,
    calibrate_memory,
    calibrate_neighbours,
    calibrate_network,
    characterise,
    check,
    cluster,
    convert,
    ending,
    fit,
    generate,
    history,
    jobs,
    jobs_compare,
    load_check,
    new,
    plot,
    predict,
    quickstart,
    reproduce,
    rerun,
    resource,
    show,
    simulate,
    trace,
    verify,
    whatif,
)
from advisor.cli.declared import DeclaredCommand, ungrouped
from advisor.cli.outputs import check_first
from advisor.cli.renamed import OLD
from simulator import ApportionError

TASKS: dict[str, dict[str, tuple[Callable[..., None] | None, str]]] = {
    "Begin": {
        "quickstart": (quickstart.quickstart, "the whole loop on this machine, in a minute"),
        "new": (new.new, "a scenario of your cluster, by flags or questions"),
        "check": (check.check, "is a scenario sound, what is in it, for what is it ready"),
        "show": (show.show, "what any file or folder says; nothing: what ships"),
    },
    "Divide": {
        "simulate": (simulate.simulate, "how long each configuration of a scenario takes"),
        "advise": (advise.advise, "who should get how much, and how sure that is"),
        "whatif": (whatif.whatif, "which change of the platform or the program pays most"),
        "verify": (verify.verify, "the advice and the baselines, really run here"),
    },
    "Measure": {
        "cluster": (cluster.cluster, "all hosts at once, with advice and the line to run it"),
        "calibrate": (None, "this machine: speeds, memory, network, neighbours, load"),
    },
    "Model": {
        "fit": (fit.fit, "run times from real runs, and which runs to make"),
        "predict": (predict.predict, "what any model says of what nobody measured"),
    },
    "Queue": {"jobs": (None, "streams of jobs: which change pays, run, compare, forecast")},
    "Hand on": {
        "plot": (plot.plot, "a picture of any result, for a paper"),
        "rerun": (rerun.rerun, "a result that was kept, computed again and compared"),
        "convert": (convert.convert, "files from and for other programs"),
    },
}
"""What somebody wants to do -> the commands for it in the order of `--help`, each with what it is about; or a group."""
WORKSHOP = "Workshop: apportion lab --help (papers, characterisation, load traces)"


class ByTask(TyperGroup):
    """All commands, listed by what they are for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of tasks; what has none comes last."""
        known = super().list_commands(ctx)
        ordered = [name for own in TASKS.values() for name in own if name in known]
        return [*ordered, *(name for name in known if name not in ordered)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A section for each task, and where the rest is."""
        widest = max(map(len, self.list_commands(ctx)))
        for task, own in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(name.ljust(widest), about) for name, (_, about) in own.items()])
        formatter.write(f"\n{WORKSHOP}\n")


class OfJobs(TyperGroup):
    """Commands on streams of jobs; a word that is none of them is a log, for which advice is asked."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As `jobs LOG` or `jobs run LOG`; a file that is called run is `./run`."""
        named = not args or args[0] in {*self.commands, *self.get_help_option_names(ctx)}
        return super().parse_args(ctx, args if named else [UNNAMED, *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Help and usage say `jobs LOG`, as it is typed."""
        name, command, rest = super().resolve_command(ctx, args)
        return None if name == UNNAMED else name, command, rest


app = typer.Typer(
    name="apportion",
    cls=ByTask,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SETTINGS = {"cluster": {"allow_interspersed_args": False}}
"""What a command reads otherwise: of a cluster, all that follows the first word is the program to run."""
GROUPS: dict[str, tuple[str, dict[str, Callable[..., None]]]] = {
    "calibrate": (
        "Real runs become models.\n\nExample: apportion calibrate speed --kernel dgemm -o dgemm.json",
        {
            "speed": calibrate.speed,
            "memory": calibrate_memory.memory,
            "network": calibrate_network.network,
            "neighbours": calibrate_neighbours.neighbours,
            "load": calibrate_machine.load,
            "machine": calibrate_machine.machine,
        },
    ),
    "jobs": (
        (
            "Streams of jobs on one cluster: which change pays most, one policy, policies compared, when a job starts."
            "\n\nExample: apportion jobs KTH-SP2-1996-2.swf.gz (apportion jobs LOG --help lists its options)"
        ),
        {
            "advise": jobs_compare.advise,
            "run": jobs.run,
            "compare": jobs_compare.compare,
            "forecast": jobs_compare.forecast,
        },
    ),
    "lab": (
        (
            "The workshop: papers computed again, functions characterised, load traces studied and drawn."
            "\n\nExample: apportion lab reproduce scopred"
        ),
        {
            "characterise": characterise.characterise,
            "resource": resource.resource,
            "load-check": load_check.load_check,
            "trace": trace.trace,
            "history": history.history,
            "reproduce": reproduce.reproduce,
            "generate": generate.generate,
        },
    ),
}
"""Group -> its help and its commands."""
UNNAMED = "advise"
"""The command of jobs that is meant where none is named."""

COMMANDS = {name: run for own in TASKS.values() for name, (run, _) in own.items() if run is not None}
for name, command in COMMANDS.items():
    app.command(name, cls=DeclaredCommand, context_settings=SETTINGS.get(name))(ungrouped(command))
for name, (text, commands) in GROUPS.items():
    of_jobs = name == "jobs"
    group = typer.Typer(no_args_is_help=True, help=text, cls=OfJobs if of_jobs else TyperGroup)
    for inner, command in commands.items():
        group.command(inner, cls=DeclaredCommand, hidden=of_jobs and inner == UNNAMED)(ungrouped(command))
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
    _check_old(arguments)
    try:
        return int(_built()(arguments, prog_name="apportion", standalone_mode=False) or 0)
    except TyperException as error:
        text = error.format_message()
        ending.say(text if text.startswith("Usage:") else f"error: {ApportionError(text).lines[0]}")
        return 2
    except typer.Abort:
        return 130


def _check_old(arguments: list[str]) -> None:
    """Refuse a name of before with the line of now."""
    for old in (" ".join(arguments[:2]), *arguments[:1]):
        if old in OLD:
            raise ApportionError(f"`apportion {old}` is now: apportion {OLD[old]}")


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

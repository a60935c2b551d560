"""All commands, each built when it is asked for: one that lists or completes others imports none of them."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from advisor.cli import ending
from simulator import ApportionError

TASKS = {
    "Begin": {
        "quickstart": "the whole loop on this machine, in a minute",
        "new": "a scenario of your cluster, by flags",
        "check": "is a scenario sound, what is in it, for what is it ready",
        "show": "what any file or folder says; nothing: what ships",
    },
    "Divide": {
        "simulate": "how long each configuration of a scenario takes",
        "advise": "who should get how much, and how sure that is",
        "whatif": "which change of the platform or the program pays most",
        "verify": "the advice and the baselines, really run here",
    },
    "Measure": {
        "cluster": "all hosts at once, with advice and the line to run it",
        "calibrate": "this machine: speeds, memory, network, neighbours, load",
        "mpi": "your own MPI program: what its ranks do, recorded",
    },
    "Model": {
        "fit": "run times from real runs, and which runs to make",
        "predict": "what any model says of what nobody measured",
    },
    "Queue": {"jobs": "streams of jobs: which change pays, run, compare, forecast"},
    "Hand on": {
        "plot": "a picture of any result, for a paper",
        "rerun": "a result that was kept, computed again and compared",
        "convert": "files from and for other programs",
    },
}
"""What somebody wants to do -> the commands and groups for it in the order of `--help`, with what they are about."""
GROUPS = {
    "calibrate": "Real runs become models.\n\nExample: apportion calibrate speed --kernel dgemm -o dgemm.json",
    "mpi": "Your own MPI program, recorded.\n\nExample: apportion mpi record -o run -- mpiexec -n 4 ./program",
    "jobs": (
        "Streams of jobs on one cluster: which change pays most, one policy, policies compared, when a job starts."
        "\n\nExample: apportion jobs KTH-SP2-1996-2.swf.gz (apportion jobs LOG --help lists its options)"
    ),
    "lab": (
        "The workshop: papers computed again, functions characterised, load traces studied and drawn."
        "\n\nExample: apportion lab reproduce scopred"
    ),
}
"""Group -> its help."""
INSIDE = {
    "calibrate speed": "calibrate",
    "calibrate memory": "calibrate_memory",
    "calibrate network": "calibrate_network",
    "calibrate neighbours": "calibrate_neighbours",
    "calibrate load": "calibrate_machine",
    "calibrate machine": "calibrate_machine",
    "mpi record": "mpi",
    "mpi import": "mpi",
    "jobs advise": "jobs_compare",
    "jobs run": "jobs",
    "jobs compare": "jobs_compare",
    "jobs forecast": "jobs_compare",
    "lab characterise": "characterise",
    "lab resource": "resource",
    "lab load-check": "load_check",
    "lab trace": "trace",
    "lab history": "history",
    "lab reproduce": "reproduce",
    "lab generate": "generate",
}
"""Command of a group -> the module that has a function of its name."""
TOP = [*(name for own in TASKS.values() for name in own), "lab"]
LEAVES = [*(name for name in TOP if name not in GROUPS), *INSIDE]
"""Commands in full; one at the first level has a module of its name."""
UNNAMED = "advise"
"""The command of jobs that is meant where none is named."""
WORKSHOP = "Workshop: apportion lab --help (papers, characterisation, load traces)"


class Lazy(Mapping[str, Any]):
    """The commands of a group, or of the whole, by their own names."""

    def __init__(self, group: str = "") -> None:
        known = [one for one in INSIDE if one.startswith(f"{group} ")] if group else TOP
        self.full = {one.split()[-1]: one for one in known}

    def __iter__(self) -> Iterator[str]:
        return iter(self.full)

    def __len__(self) -> int:
        return len(self.full)

    def __getitem__(self, name: str) -> Any:
        return _made(self.full[name])


class ByTask(TyperGroup):
    """All commands, listed by what they are for."""

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """A section for each task, and where the rest is."""
        widest = max(map(len, self.commands))
        for task, own in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(name.ljust(widest), about) for name, about in own.items()])
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


@cache
def _made(name: str) -> Any:
    """A command or a group by its full name."""
    if name in GROUPS:
        about: Any = {"commands": Lazy(name), "help": GROUPS[name], "no_args_is_help": True, "rich_markup_mode": None}
        return (OfJobs if name == "jobs" else TyperGroup)(name=name, **about)
    from advisor.cli.command import leaf

    word = name.rpartition(" ")[2].replace("-", "_")
    module = import_module(f"advisor.cli.{INSIDE.get(name, name)}")
    function = getattr(module, f"{word}_" if iskeyword(word) else word)
    # of these, all that follows the first word is the program to run
    settings = {"allow_interspersed_args": False} if name in {"cluster", "mpi record"} else None
    return leaf(function, name, context_settings=settings, hidden=name == f"jobs {UNNAMED}")


def _version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        from importlib import metadata

        try:
            print(f"apportion {metadata.version('apportion')}")
        except metadata.PackageNotFoundError:
            print("apportion, run from its source without being installed")
        raise typer.Exit


def _whole(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Say who should get how much of the work on unequal machines, and how sure we are."""


@cache
def root() -> Any:
    """The whole command line, as click has it."""
    alone = typer.Typer(name="apportion", cls=ByTask, no_args_is_help=True, rich_markup_mode=None)
    alone.callback()(_whole)
    found: Any = typer.main.get_command(alone)
    found.commands = Lazy()
    return found


def run(arguments: list[str]) -> int:
    """Run one command; its exit code."""
    from typer.exceptions import TyperException

    _check_words(arguments)
    try:
        return int(root()(arguments, prog_name="apportion", standalone_mode=False) or 0)
    except TyperException as error:
        text = error.format_message()
        ending.say(text if text.startswith("Usage:") else f"error: {ApportionError(text).lines[0]}")
        return 2
    except typer.Abort:
        return 130


def _check_words(arguments: list[str]) -> None:
    """Refuse words that are no text, which could not be printed again, and numbers that only Python writes: 1_000."""
    for number, word in enumerate(arguments, 1):
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            shown = word.encode("utf-8", "backslashreplace").decode()
            raise ApportionError(f"word {number} of the command line, {shown!r:.80}, is not UTF-8; rename it")
    command = root()
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

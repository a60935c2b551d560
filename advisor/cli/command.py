"""A command as typer has it, made of a function: it refuses what has no effect, then looks at what it is to write."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_args

import typer
from typer.core import TyperCommand

from advisor.cli.asked import answering
from advisor.cli.declared import Only, call, either, parameters_of
from advisor.cli.options import Full, Json
from advisor.cli.outputs import looked_at
from simulator import ScenarioError

ANSWERS = (
    *("simulate", "advise", "whatif", "verify", "quickstart", "cluster", "rerun"),
    *("jobs run", "jobs compare", "jobs advise", "jobs forecast"),
    *("fit", "predict", "show"),
)
"""Commands that answer with a page: at a terminal with its first lines, or with all of it by `--full`."""


class Leaf(TyperCommand):
    """A command that refuses options without effect before it does anything; `--help` says where they have one."""

    full_name = ""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        declared = inspect.signature(self.callback).parameters if self.callback else {}
        self.limits: dict[str, tuple[Only, ...]] = {}
        for param in self.params:
            described: Any = param
            meant = declared[str(param.name)].annotation if param.name in declared else None
            limits = tuple(one for one in get_args(meant)[1:] if isinstance(one, Only))
            if limits:
                self.limits[str(param.name)] = limits
                where = "; ".join(either(limit.modes) for limit in limits)
                described.help = f"{described.help} Only {where}."

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """As it is typed: a command that is meant where none is named has no word of its own."""
        formatter.write_usage(ctx.command_path.rstrip(), " ".join(self.collect_usage_pieces(ctx)))

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        names = {str(param.name): option_name(param) for param in self.params}
        given = {name: ctx.params.get(key) for key, name in names.items()}
        stated = [key for key in self.limits if _on_command_line(ctx, key)]
        found = [[limit.refusal(names[key], given) for limit in self.limits[key]] for key in stated]
        if refused := [next(line for line in lines if line) for lines in found if any(lines)]:
            raise ScenarioError(refused)
        with answering(ctx):
            return super().invoke(ctx)


def leaf(run: Callable[..., None], name: str, **settings: Any) -> Any:
    """The command of a function: its groups are made of their options, and `--json` comes with it.

    `name`: in full, such as `jobs run`.
    `settings`: as typer's decorator of commands takes them.
    """
    own = parameters_of(run)
    more = {"as_json": Json} | ({"full": Full} if name in ANSWERS else {})
    own += [inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=more[one]) for one in more]
    defaults = {one.name: one.default for one in own}

    @functools.wraps(run)
    def called(**given: Any) -> None:
        given = {one: value for one, value in given.items() if one not in more}  # `asked` reads those
        with looked_at(name, given, defaults):
            call(run, given)

    called.__dict__["__signature__"] = inspect.Signature(own)
    called.__annotations__ = {one.name: one.annotation for one in own}
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name.rpartition(" ")[2], cls=Leaf, **settings)(called)
    found: Any = typer.main.get_command(alone)
    found.full_name = name
    return found


def option_name(param: Any) -> str:
    """The first long name of an option, without dashes; of an argument its own."""
    if param.param_type_name == "argument":
        return str(param.name)
    return next(str(name) for name in param.opts if name.startswith("--")).removeprefix("--")


def _on_command_line(ctx: Any, name: str) -> bool:
    """Whether a parameter was written out; a default and an environment variable are nobody's wish for this call."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"

"""Where an option has an effect, said where it is declared: its help and its refusal come from that alone.

An option that is accepted and ignored is a wrong answer that nobody sees, so one that has no effect beside what else
was given is refused before anything is done.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, get_args

from typer.core import TyperCommand

from advisor.cli.asked import answering
from simulator import ScenarioError

Given = Mapping[str, Any]
"""Values by the names of options (the first long one, without dashes) and of arguments."""


@dataclass(frozen=True)
class Only:
    """In the `Annotated` of an option: where it has an effect; of several all have to hold."""

    modes: tuple[str, ...]
    """As they stand behind "has no effect": `with --method adaptive`."""
    mode_of: Callable[[Given], str | None]
    """The mode that was asked for; None where the command itself must find out, or refuses what was given."""
    why: str = ""
    """Half a sentence on why the option means nothing elsewhere."""
    advice: bool = True
    """Whether a refusal says where it has an effect."""

    def refusal(self, option: str, given: Given) -> str | None:
        """What is said of an option without effect; None if it has one."""
        mode = self.mode_of(given)
        if mode is None or mode in self.modes:
            return None
        why, where = f", {self.why}" if self.why else "", f", or use it {either(self.modes)}" if self.advice else ""
        return f"--{option} has no effect {mode}{why}: leave it out{where}"


def only_with(option: str, *values: str, why: str = "") -> Only:
    """Together with another option, or with some of its values; one that is left open is the command's to settle."""
    if values:
        return Only(
            tuple(f"with --{option} {value}" for value in values),
            lambda given: f"with --{option} {given[option]}" if is_given(given[option]) else None,
            why,
        )
    return Only((f"with --{option}",), lambda given: f"with{'' if is_given(given[option]) else 'out'} --{option}", why)


def only_without(option: str, why: str = "") -> Only:
    """Not together with another option."""
    found = only_with(option)
    return Only((f"without --{option}",), found.mode_of, why, advice=False)


def is_given(value: object) -> bool:
    """Whether an option has a value; 0 and an empty text are some."""
    return value is not None and value is not False and value not in ([], ())


def either(modes: tuple[str, ...]) -> str:
    """`with --vary allocation or both`: the words that all begin with are said once."""
    words = [mode.split() for mode in modes]
    alike = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))
    return " or ".join([modes[0], *(" ".join(mode[alike:]) for mode in words[1:])])


class DeclaredCommand(TyperCommand):
    """A command that refuses options without effect before it does anything; `--help` says where they have one."""

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

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises ScenarioError with a line for each option that has no effect beside what else was given.
        """
        names = {str(param.name): option_name(param) for param in self.params}
        given = {name: ctx.params.get(key) for key, name in names.items()}
        stated = [key for key in self.limits if _on_command_line(ctx, key)]
        found = [[limit.refusal(names[key], given) for limit in self.limits[key]] for key in stated]
        if refused := [next(line for line in lines if line) for lines in found if any(lines)]:
            raise ScenarioError(refused)
        with answering(ctx):
            return super().invoke(ctx)


def option_name(param: Any) -> str:
    """The first long name of an option, without dashes; of an argument its own."""
    if param.param_type_name == "argument":
        return str(param.name)
    return next(str(name) for name in param.opts if name.startswith("--")).removeprefix("--")


def _on_command_line(ctx: Any, name: str) -> bool:
    """Whether a parameter was written out; a default and an environment variable are nobody's wish for this call."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"

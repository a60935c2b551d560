"""Where an option has an effect, said where it is declared: its help and its refusal come from that alone.

An option that is accepted and ignored is a wrong answer that nobody sees, so one that has no effect beside what else
was given is refused before anything is done.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from itertools import takewhile
from typing import Annotated, Any, get_args

import typer
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
    *first, last = [modes[0], *(" ".join(mode[alike:]) for mode in words[1:])]
    return f"{', '.join(first)} or {last}" if first else last


REQUIRED: Any = ...
"""The default of an option that has to be given."""


def option(about: str, *only: Only, default: Any = None, names: tuple[str, ...] = (), **more: Any) -> Any:
    """An option: a field of a group, or the default of a command's parameter.

    `names`: with their dashes, where the name of the field is none.
    `more`: as `typer.Option` takes it.
    """
    return field(default=default, metadata={"only": only, "names": names, "said": {"help": about, **more}})


def ungrouped(run: Callable[..., None]) -> Callable[..., None]:
    """A command with each option of its groups as a parameter; a group is a frozen dataclass of options."""
    declared = inspect.signature(run).parameters
    groups: dict[str, Any] = {name: one.annotation for name, one in declared.items() if is_dataclass(one.annotation)}

    @functools.wraps(run)
    def called(**given: Any) -> None:
        own = {name: {one.name for one in fields(group)} & given.keys() for name, group in groups.items()}
        made = {name: group(**{one: given.pop(one) for one in own[name]}) for name, group in groups.items()}
        run(**made, **given)

    parameters = [one for each in declared.values() for one in _parameters(each)]
    called.__dict__["__signature__"] = inspect.Signature(parameters)
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _parameters(declared: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """As typer reads them: the options of a group, or what is none."""
    own: dict[str, tuple[Any, Any]]
    if is_dataclass(declared.annotation):
        own = {one.name: (one.type, one if one.metadata else one.default) for one in fields(declared.annotation)}
    else:
        own = {declared.name: (declared.annotation, declared.default)}
    for name, (annotation, default) in own.items():
        kind, value = annotation, inspect.Parameter.empty if default is MISSING else default
        if isinstance(default, Field):
            names, value = default.metadata["names"], default.default
            if kind is bool:  # a switch has one name only
                names, value = names or (f"--{name.replace('_', '-')}",), False
            kind = Annotated[(kind, typer.Option(*names, **default.metadata["said"]), *default.metadata["only"])]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kind)


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

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """As it is typed: a command that is meant where none is named has no word of its own."""
        formatter.write_usage(ctx.command_path.rstrip(), " ".join(self.collect_usage_pieces(ctx)))

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

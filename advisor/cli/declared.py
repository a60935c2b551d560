"""Where an option has an effect, said where it is declared: its help and its refusal come from that alone.

An option that is accepted and ignored is a wrong answer that nobody sees, so one that has no effect beside what else
was given is refused before anything is done.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from itertools import takewhile
from typing import Annotated, Any

import typer

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
    said = {"help": about, **more}
    return field(default=default, metadata={"made": typer.Option, "only": only, "names": names, "said": said})


def argument(about: str, default: Any = REQUIRED, **more: Any) -> Any:
    """What is given without the name of an option; `more` as `typer.Argument` takes it."""
    said = {"help": about, **more}
    return field(default=default, metadata={"made": typer.Argument, "only": (), "names": (), "said": said})


def parameters_of(run: Callable[..., None]) -> list[inspect.Parameter]:
    """Those of a command as typer reads them, arguments first, with each option of its groups as one of its own."""
    declared = sorted(inspect.signature(run).parameters.values(), key=lambda one: not _is_argument(one.default))
    return [one for each in declared for one in _parameters(each)]


def _is_argument(default: Any) -> bool:
    return isinstance(default, Field) and default.metadata["made"] is typer.Argument


def call(run: Callable[..., None], given: Given) -> None:
    """Run a command with its groups, which are frozen dataclasses, made of their options, and what is in none."""
    own: Any
    left, groups = dict(given), inspect.signature(run).parameters.items()
    for name, own in [(name, one.annotation) for name, one in groups if is_dataclass(one.annotation)]:
        left[name] = own(**{each.name: left.pop(each.name) for each in fields(own) if each.name in left})
    run(**left)


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
            said = default.metadata["made"](*names, **default.metadata["said"])
            kind = Annotated[(kind, said, *default.metadata["only"])]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kind)

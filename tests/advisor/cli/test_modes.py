"""Every option of every command: effective in the modes that the table names, refused in all others.

The commands and options are those of the application itself, so that nobody adds one that the table does not know.
"""

import itertools
from typing import get_args

import pytest

from advisor.advise.partition import METHODS
from advisor.cli.modes import TABLE, option_name
from simulator.load_traces.importers import _READERS
from tests.support.command_line import apportion_here
from tests.support.modes_reached import COMMANDS, OPTIONS, REACH, reached


def value_of(name, option):
    """Something to write behind an option, to see it refused: what it is does not matter, but for its type."""
    param = OPTIONS[name][option]
    kind = param.type_descriptor.annotation
    if param.is_flag:
        return []
    return [str(*get_args(kind)[:1]) or {int: "1", float: "0.9"}.get(kind, "x")]


def test_the_table_knows_every_command_and_every_option():
    assert set(TABLE) == set(COMMANDS)
    assert {name: set(rules.options) for name, rules in TABLE.items()} == {
        n: set(options) for n, options in OPTIONS.items()
    }


def test_each_option_is_said_once():
    for rules in TABLE.values():
        words = rules.always.split()
        assert len(words) == len(set(words))
        assert not any(axis.named & set(words) for axis in rules.axes)
        assert not any(set(axis.why) - set(axis.modes) for axis in rules.axes)


def mode_of(name, axis, arguments):
    """The mode that a command line asks for."""
    command = COMMANDS[name]
    params = command.make_context(name, list(arguments)).params  # it takes words away
    return axis.chosen({option_name(param): params[param.name] for param in command.params})


def with_options(arguments, words):
    """Further options, before the command line of the user's own if there is one."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], *words, *arguments[end:]]


@pytest.mark.parametrize("name", [name for name, rules in TABLE.items() if rules.axes])
def test_what_has_no_effect_is_refused_before_anything_is_done(tmp_path, prepared, name):
    for axis in TABLE[name].axes:
        for mode in axis.modes:
            refuses(tmp_path, prepared, name, axis, mode)
    assert not list(tmp_path.iterdir())


def refuses(folder, prepared, name, axis, mode):
    """All options that the mode does not name, one line for each; those that ask for another mode are that one's."""
    arguments, others = reached(name, mode, prepared)[len(name.split()) :], {}
    assert mode_of(name, axis, arguments) == mode
    for option in sorted(axis.named - set(axis.modes[mode].split())):
        words = [f"--{option}", *value_of(name, option)]
        after = mode_of(name, axis, with_options(arguments, words))
        assert after == mode or after in axis.with_effect(option)
        others |= {option: words} if after == mode else {}
    together = mode_of(name, axis, with_options(arguments, itertools.chain(*others.values()))) == mode
    for group in [list(others)] if together and others else [[option] for option in others]:
        stated = itertools.chain(*(others[option] for option in group))
        done = apportion_here(*name.split(), *with_options(arguments, stated), cwd=folder)
        assert (done.returncode, done.stdout) == (2, ""), mode
        told = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert sorted(line.split()[1] for line in told) == [f"--{option}" for option in group]
        assert all(" has no effect with" in line and ": leave it out" in line for line in told)


def test_every_mode_is_reached_here():
    modes = {name: {mode for axis in rules.axes for mode in axis.modes} or {""} for name, rules in TABLE.items()}
    assert modes == {name: set(found) for name, found in REACH.items()}


def test_methods_and_formats_are_those_of_the_packages():
    methods, formats = (TABLE[name].axes[0].modes for name in ("partition", "trace import"))
    assert list(methods) == [f"with --method {method}" for method in METHODS]
    known = {
        f"with --from {kind}": {n.removesuffix("_s").replace("_", "-") for n in names}
        for kind, (_, names) in _READERS.items()
    }
    assert {mode: set(names.split()) for mode, names in formats.items()} == known

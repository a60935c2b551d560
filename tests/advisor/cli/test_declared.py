"""Options are declared once, each with where it has an effect: help and refusals follow from the declaration."""

import ast
from collections import Counter
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer

from advisor.cli.command import leaf, option_name
from advisor.cli.commands import root
from advisor.cli.declared import only_with, only_without, option
from simulator import ScenarioError
from tests.support.command_line import ROOT, apportion_here


def leaves(command, names=()):
    """Each command by its full name."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*names, name))
    else:
        yield " ".join(names), command


DECLARING = {"option", "argument", "typer.Option", "typer.Argument"}
COMMANDS = dict(leaves(root()))
OPTIONS = {
    name: {option_name(param): param for param in command.params if param.param_type_name == "option"}
    for name, command in COMMANDS.items()
}


@dataclass(frozen=True)
class Source:
    """A group of options."""

    method: str = "grid"
    replay: Annotated[Path | None, typer.Option(help="A table.")] = None
    cpu: int = option("Where.", only_without("replay", why="where nothing is run"), default=3, envvar="CPU")
    accuracy: float = option("How near.", only_with("method", "adaptive", "near"), default=0.1)


def ask(
    source: Source,
    shift: Annotated[int | None, typer.Option(help="By how much.")] = None,
    sign: bool = option("Which way.", only_with("shift")),
) -> None:
    """Print what was given."""
    print(*astuple(source), shift, sign)


@pytest.fixture
def command():
    return leaf(ask, "ask")


def said(command, words):
    with pytest.raises(ScenarioError) as caught:
        command(words.split(), standalone_mode=False)
    return list(caught.value.lines)


def test_an_option_without_effect_is_refused_by_the_words_of_its_declaration(command):
    assert said(command, "--replay t.csv --cpu 0") == [
        "--cpu has no effect with --replay, where nothing is run: leave it out"
    ]
    assert said(command, "--accuracy 0 --sign") == [
        "--accuracy has no effect with --method grid: leave it out, or use it with --method adaptive or near",
        "--sign has no effect without --shift: leave it out, or use it with --shift",
    ]


def test_zero_is_a_value_and_what_nobody_wrote_is_not_refused(command, capsys, monkeypatch):
    monkeypatch.setenv("CPU", "5")
    for words in ("--shift 0 --sign", "--replay t.csv", "--method near --accuracy 0"):
        command(words.split(), standalone_mode=False)
    assert capsys.readouterr().out.splitlines() == [
        "grid None 5 0.1 0 True",
        "grid t.csv 5 0.1 None False",
        "near None 5 0.0 None False",
    ]


def test_help_says_where_an_option_has_an_effect(command):
    helps = {param.name: param.help for param in command.params}
    assert helps["cpu"] == "Where. Only without --replay."
    assert helps["accuracy"] == "How near. Only with --method adaptive or near."
    assert helps["replay"] == "A table."


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("calibrate speed --replay x --cpu 0", "cpu"),
        ("lab generate constant -o y --seed 0", "seed"),
        ("show two-cores.json --column load", "column"),
        ("whatif two-cores --only 00 --workers 1", "workers"),
        ("jobs run KTH.swf --quantile 0.5", "quantile"),
        ("cluster --kernel stencil -- ./program", "kernel"),
    ],
)
def test_the_first_thing_that_a_command_does_is_to_refuse(tmp_path, words, option):
    for name in ("x", "two-cores.json", "KTH.swf"):
        (tmp_path / name).write_text("{}")
    done = apportion_here(*words.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: --{option} has no effect with" in done.stderr
    assert len(list(tmp_path.iterdir())) == 3


def test_no_option_is_declared_in_a_second_place():
    """Two commands with the same option name one declaration, and nothing else says where an option has an effect."""
    sources = [ast.parse(path.read_text()) for path in sorted((ROOT / "advisor" / "cli").glob("*.py"))]
    calls = [node for source in sources for node in ast.walk(source) if isinstance(node, ast.Call)]
    declared = [ast.unparse(call) for call in calls if ast.unparse(call.func) in DECLARING]
    assert [text for text, times in Counter(declared).items() if times > 1] == []
    limits = [limit for command in COMMANDS.values() for limit in command.limits.values()]
    assert len(limits) > 60

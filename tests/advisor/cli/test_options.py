"""Options that many commands have mean one thing in all of them, in the same words."""

import pytest

from advisor.cli.options import LEVEL, PLOT, REPLICATIONS
from advisor.cli.outputs import FOLDERS
from tests.advisor.cli.test_declared import COMMANDS, OPTIONS
from tests.support.command_line import apportion_here

SHOWN = [(name, option, one) for name, own in OPTIONS.items() for option, one in own.items()]
"""Intervals of policies, which studies of job schedulers state with 95 %."""


def having(option):
    return [(name, one) for name, said, one in SHOWN if said == option and not getattr(one, "hidden", False)]


def test_an_output_is_a_folder_or_a_file_and_says_which():
    for name, option in having("output"):
        assert option.opts == ["--output", "-o"], name
        folder = name in FOLDERS
        assert option.help.startswith("Write a folder: " if folder else "Write a file: "), name
        assert (option.metavar == "FOLDER") == folder, name


def test_a_plot_is_a_picture_of_the_result():
    for name, option in having("plot"):
        assert (option.opts, option.metavar) == (["--plot"], "PICTURE"), name
        assert option.help.startswith(PLOT.help), name
        assert "output" not in OPTIONS[name] or name in {"fit", "trace show", "trace functions", "trace study"}


def test_a_level_is_how_often_intervals_hold():
    for name, option in having("level"):
        assert option.opts == ["--level"], name
        assert option.help.startswith("How often each stated interval is to hold."), name
        assert option.default == LEVEL, name


def test_replications_are_simulations_with_new_draws():
    for name, option in having("replications"):
        assert (option.opts, option.help, option.metavar) == (["--replications"], REPLICATIONS.help, "N"), name


@pytest.mark.parametrize("shared", ["seed", "json"])
def test_seeds_and_json_are_said_alike(shared):
    words = {one.help for name, said, one in SHOWN if said == shared}
    begin = {"seed": "Seed of all random draws", "json": "Print one JSON document on standard output and nothing else."}
    assert {text[: len(begin[shared])] for text in words} == {begin[shared]}
    assert len({text.partition(" Only with")[0] for text in words}) <= 2  # a scenario has a seed of its own


def test_no_option_is_written_with_one_letter_but_output():
    assert {letter for _, _, one in SHOWN for letter in one.opts if len(letter) == 2 and letter[0] == "-"} == {"-o"}


@pytest.mark.parametrize("name", ["trace show", "trace study"])
def test_the_old_way_to_ask_for_a_picture_draws_it_and_says_the_new_one(tmp_path, name):
    more = {
        "trace show": [],
        "trace study": ["--window", "10", "--history", "20"],
    }
    ran = apportion_here(*name.split(), "traces/two-core-vm.csv", *more[name], "-o", tmp_path / "o.svg")
    assert (ran.returncode, (tmp_path / "o.svg").exists()) == (0, True), ran.stderr
    assert ran.stderr.startswith("note: write --plot ")


def test_every_command_was_walked_over():
    assert len(COMMANDS) > 40

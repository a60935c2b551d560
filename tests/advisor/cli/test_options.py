"""Options that many commands have mean one thing in all of them, in the same words."""

from advisor.cli.outputs import FOLDERS
from tests.advisor.cli.test_declared import OPTIONS

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


def test_no_option_is_written_with_one_letter_but_output():
    assert {letter for _, _, one in SHOWN for letter in one.opts if len(letter) == 2 and letter[0] == "-"} == {"-o"}

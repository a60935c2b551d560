import re
import subprocess
import sys
import time

import pytest

from advisor.cli.commands import TASKS, TOP
from tests.support.command_line import APPORTION, apportion, apportion_here


@pytest.mark.real
def test_help_answers_about_as_fast_as_typer_is_imported():
    """At most 1.6 times `python -c 'import typer'`, medians of interleaved runs."""

    def seconds(command):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return time.perf_counter() - start

    pairs = [(seconds([*APPORTION, "--help"]), seconds([sys.executable, "-c", "import typer"])) for _ in range(9)]
    ours, typer = (sorted(column)[4] for column in zip(*pairs, strict=True))
    assert ours <= 1.6 * typer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["quikstart"], "No such command 'quikstart'. Did you mean 'quickstart'?"),
        (["quickstart", "--bugdet", "3s"], "No such option: --bugdet"),
        (["quickstart", "--seed", "x"], "'--seed'"),
        (["simulate", "nowhere.yaml"], "nowhere.yaml: no such file or directory"),
        (["simulate"], "SCENARIO"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(apportion, arguments, message):
    code, out, err = apportion(*arguments)
    assert code == 2
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert out == ""


def test_every_command_has_a_task_and_what_it_is_about_in_one_line_of_eighty_columns():
    named = [name for own in TASKS.values() for name in own]
    assert len(named) == len(set(named))
    assert [*named, "lab"] == TOP
    assert len(named) == 17
    listing = apportion("--help").stdout
    assert max(map(len, listing.splitlines())) <= 80
    for task, own in TASKS.items():
        for name, about in own.items():
            assert re.search(rf"^  {name} +{re.escape(about)}$", listing.partition(f"{task}:")[2], re.MULTILINE)


def commands_of(*parents):
    text = apportion(*parents, "--help").stdout
    listing = text.partition("Commands:" if parents else f"{next(iter(TASKS))}:")[2]
    return [line.split()[0] for line in listing.splitlines() if re.match(r"  \S", line)]


@pytest.mark.slow
def test_every_command_has_help_with_an_example():
    assert {"quickstart", "simulate", "check"} <= set(commands_of())
    for command in commands_of():
        for words in [(command, below) for below in commands_of(command)] or [(command,)]:
            assert " ".join(("apportion", *words)) in apportion(*words, "--help").stdout, words


def test_a_file_is_no_subcommand_of_jobs(tmp_path):
    (tmp_path / "run").write_text("")
    for words in (("jobs", "./run"), ("jobs", "--policy", "easy", "./run")):
        done = apportion_here(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert "run: " in done.stderr, words  # read as a log
    assert "Missing argument" in apportion_here("jobs", "run", cwd=tmp_path).stderr

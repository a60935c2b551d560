"""The tutorials' commands are executed, in order, with the files that they show."""

import contextlib
import io
import json
import re

import pytest

from simulator import files
from tests.support import shown
from tests.support.command_line import ROOT, apportion, apportion_here
from tests.support.sweep_points import thread

TUTORIAL = ROOT / "scenarios" / "tutorial"
FOUR_NODES = "four-nodes.md"


def text_of(name):
    return (TUTORIAL / name).read_text(encoding="utf-8")


def follow(name, folder):
    """Write the files that a tutorial shows, run its commands; each command's output, and what it shows of it."""
    for language, block in shown.blocks(text_of(name)):
        if language in shown.FILES:
            (folder / shown.FILES[language]).write_text(block)
        for words, output in shown.lines_shown(block) if language == "console" else ():
            assert words[0] == "apportion"
            done = apportion(*words[1:], cwd=folder)
            assert done.returncode == 0, (words, done.stderr)
            yield done.stdout, output


@pytest.mark.real
def test_the_way_from_runs_to_an_advice(tmp_path):
    told = [output for output, _ in follow("history.md", tmp_path)]
    assert len(told) == 7
    assert told[0] == "15 runs added to runs.sqlite\n"
    assert told[2].startswith("N = 240: ")
    assert told[4].count("held-out") == 3
    advice = files.read_json(tmp_path / "advice.json")
    assert sorted(advice["partition"]) != [120, 120]
    assert set(advice["provenance"]["inputs"]) == {"scenario.yaml", "model.json"}


@pytest.mark.slow
def test_the_way_from_sizes_to_a_speed_band(corpus, tmp_path):
    for name in ("scenarios", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    told = list(follow("speed-bands.md", tmp_path))
    assert len(told) == 5
    assert "case b: it meets the right cut" in told[0][0]
    quoted = shown.first(text_of("speed-bands.md"), "text")
    corpus.text(
        TUTORIAL / "speed-bands.md", quoted, "".join(told[1][0].splitlines(keepends=True)[-quoted.count("\n") :])
    )
    assert (tmp_path / "dgemm.svg").stat().st_size > 1000
    corpus.text(TUTORIAL / "speed-bands.md", told[2][1], told[2][0])
    bands = [files.read_json(tmp_path / name)["model"] for name in ("dgemm.json", "loaded.json")]
    idle, loaded = (min(low / high for low, high in zip(band["low"], band["high"], strict=True)) for band in bands)
    assert loaded < 0.55 < idle
    assert len(json.loads(told[4][0])["predictions"]) == 3
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.slow
def test_a_graph_under_two_templates_on_two_resource_models(corpus, tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    told = list(follow("characterisation.md", tmp_path))
    assert len(told) == 9
    assert told[0][0] == told[0][1]
    for output, quoted in told[1:]:
        shown_lines = output.splitlines(keepends=True)[: quoted.count("\n")]
        corpus.text(TUTORIAL / "characterisation.md", quoted, "".join(shown_lines))


@pytest.mark.slow
def test_an_advice_explained(corpus, tmp_path):
    for name in ("scenarios", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    ((told, _),) = follow("explained.md", tmp_path)
    quoted = shown.first(text_of("explained.md"), "text")
    reasons, _, _ = told[told.index("What is not known, by source\n") :].partition("\nAll candidates")
    corpus.text(TUTORIAL / "explained.md", quoted, shown.cut(reasons, quoted))


@pytest.mark.slow
def test_an_advice_for_ranks_explained(corpus, tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    told = apportion("advise", "scenarios/tutorial/own-mpi.yaml", "--explain", "--full", cwd=tmp_path).stdout
    quoted = list(shown.blocks(text_of("own-mpi.md")))[-1][1]
    calls = told[told.index("Ranks that send each other most") :].splitlines(keepends=True)
    corpus.text(TUTORIAL / "own-mpi.md", quoted, "".join(calls[: quoted.count("\n")]))


def your_own_cluster(corpus, folder, commands):
    """Of the page of a cluster of your own: each of these commands prints what is shown."""
    told = {arguments[0]: (arguments, output) for arguments, output in shown.commands(text_of(FOUR_NODES))}
    assert list(told) == ["new", "check", "simulate", "advise", "whatif"]
    for arguments, output in (told[name] for name in commands):
        done = apportion_here(*arguments, cwd=folder)
        assert done.returncode == 0, (arguments, done.stderr)
        corpus.text(TUTORIAL / FOUR_NODES, output, shown.cut(done.stdout, output))


def test_a_cluster_of_your_own_is_described_and_asked(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("advisor.cli.whatif._where", lambda *_: thread)  # a worker takes seconds to start
    your_own_cluster(corpus, tmp_path, ("new", "check", "simulate", "whatif"))


@pytest.mark.slow
def test_a_cluster_of_your_own_is_advised_and_the_same_in_python(corpus, tmp_path):
    """The rest of the five commands; and twelve lines at most."""
    your_own_cluster(corpus, tmp_path, ("new", "advise"))
    assert (tmp_path / "out" / "advice" / "commands.txt").exists()
    code = shown.first(text_of(FOUR_NODES), "python")
    assert len([line for line in code.splitlines() if line]) <= 12
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, FOUR_NODES, "exec"), {})  # noqa: S102 - our own page
    corpus.text(TUTORIAL / FOUR_NODES, shown.first(text_of(FOUR_NODES), "text"), printed.getvalue())


@pytest.mark.slow
def test_the_way_from_nodes_to_a_cluster(corpus, tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    told = list(follow("clusters.md", tmp_path))
    assert len(told) == 4
    for output, quoted in told:
        if quoted:
            corpus.text(TUTORIAL / "clusters.md", quoted, output)


def alike(told, quoted):
    """The same words, and numbers within 5 %: the last digits are those of a machine's linear algebra."""
    number = re.compile(r"-?\d+(?:\.\d+)?")
    assert [number.sub("#", line).split() for line in told.splitlines()] == [
        number.sub("#", line).split() for line in quoted.splitlines()
    ]
    pairs = zip(number.findall(told), number.findall(quoted), strict=True)
    return all(abs(float(a) - float(b)) <= max(0.05 * abs(float(b)), 1.5) for a, b in pairs)


@pytest.mark.slow
def test_the_way_from_runs_to_processes_per_pe(tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    told = list(follow("allocation.md", tmp_path))
    assert len(told) == 3
    assert all(alike(shown.cut(output, quoted), quoted) for output, quoted in told)
    assert (tmp_path / "hosts").read_text().splitlines()[1:] == ["athlon:3", *(f"p2-{n}:1" for n in range(1, 9))]

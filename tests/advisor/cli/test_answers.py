"""What commands print at a terminal: twelve lines at most, none wider than it is, and where there is more."""

import os
from dataclasses import replace

import pytest

from advisor.report import text
from advisor.report.text import page_blocks, render_blocks, render_first
from simulator import blocks
from tests.support.command_line import ROOT
from tests.support.sweep_points import thread

TWELVE = 12
THREE = str(ROOT / "scenarios" / "tutorial" / "three-pes.yaml")
RUNS = str(ROOT / "scenarios" / "tutorial" / "hpl-runs.csv")
STREAM = ("--model", "lublin", "--jobs", "200", "--load", "0.5", "--replications", "4")
LOG = "".join(f"{job} {60 * job} 0 {90 * job} 1 -1 -1 1 3600 -1 1 1 1 1 1 1 -1 -1\n" for job in range(1, 30))
COMMANDS = {
    "simulate": ("simulate", THREE, "--replications", "20", "--engine", "process", "-o", "simulated"),
    "rerun": ("rerun", "simulated"),
    "advise": ("advise", THREE, "--replications", "5", "--runs", "60", "-o", "advice"),
    "whatif": ("whatif", THREE, "--vary", "platform.link.bandwidth=x10", "--as-is", "--replications", "6"),
    "scaling": ("whatif", THREE, "--scaling", "strong", "--nodes", "1", "--replications", "5"),
    "jobs run": ("jobs", "run", "log.swf", "-o", "ran"),
    "jobs compare": ("jobs", "compare", *STREAM, "--policies", "easy,sjf easy,fcfs"),
    "jobs advise": ("jobs", *STREAM, "--price", "add=1000,policy=200", "--procs", "32"),
    "jobs forecast": ("jobs", "forecast", "log.swf", "--job", "20"),
    "partition": ("advise", str(ROOT / "scenarios/tutorial/speeds.json"), "--units", "1000"),
    "fit": ("fit", RUNS, "--formula", "N**3/(P*Q) + N", "--response", "time_s", "-o", "model.json"),
    "predict": ("predict", "model.json", "--at", "N=12000,P=8,Q=8", "--at", "N=100,P=1,Q=1"),
}
"""In an order in which each finds what it reads."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("answers")
    (where / "log.swf").write_text("; MaxProcs: 2\n" + LOG, encoding="utf-8")
    return where


@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_has_twelve_lines_that_fit(apportion, folder, monkeypatch, name):
    """Each command runs once; its page is then printed as on terminals of all widths."""
    pages = []
    monkeypatch.chdir(folder)
    monkeypatch.setattr("advisor.cli.whatif._where", lambda *_: thread)  # a worker takes seconds to start
    monkeypatch.setattr(text, "render_first", lambda page, written, width: pages.append((page, written, width)) or "")
    code, _, err = apportion(*COMMANDS[name])
    assert code == 0, err
    *_, (page, written, width) = pages  # what a rerun prints comes last
    assert width == 80, "into a pipe"
    for columns in (80, 100, 160):
        lines = render_first(page, written, width=columns).splitlines()
        assert 0 < len(lines) <= TWELVE, (name, columns)
        assert max(map(len, lines)) <= columns, (name, columns)
    assert lines[0].startswith(page.answer[:30])
    assert name != "advise" or "advice/hostfile.openmpi" in page.run[0].line, "works from where the user stands"
    assert "predicted" in str(lines) or "simulated" in str(lines) or name in {"rerun", "fit"}
    whole = render_blocks(page_blocks(page), width=100)
    assert set(page.answer.split()) <= set(whole.split())


def test_a_terminal_has_its_own_width_and_all_is_there_if_asked_for(apportion, monkeypatch):
    command = COMMANDS["partition"]
    printed = {}
    for columns in ("60", "160"):
        monkeypatch.setitem(os.environ, "COLUMNS", columns)
        printed[columns] = apportion(*command)[1].splitlines()
    assert len(printed["160"]) < len(printed["60"]) <= TWELVE
    whole = apportion(*command, "--full")[1]
    assert (whole.count("slow"), str(printed["160"]).count("slow")) == (3, 3)
    assert "gpu" in whole
    assert "gpu" not in str(printed["160"])
    code, out, err = apportion(*command, "--full", "--json")
    assert (code, out) == (2, "")
    assert "--full has no effect with --json" in err


def page_with(**more):
    rows = blocks.table("", ("strategy", "mean"), [(f"s{place}", "1 s") for place in range(6)])
    return blocks.Page("asked", "Give all to a.", (), facts=blocks.pairs({"Rests on": "little"}), rows=rows, **more)


def test_the_worst_warning_stands_in_full_and_the_others_are_counted():
    page = page_with(warnings=("a default is assumed", "the engines disagree on a", "b"))
    lines = render_first(page, {"Report": "out/report.html"}, width=80).splitlines()
    assert "Warning   the engines disagree on a (and 2 more: --full)" in lines
    assert lines[-1] == "Report    out/report.html"
    assert [line.split()[0] for line in lines[2:7]] == ["strategy", "s0", "s1", "s2", "s3"]


def test_rows_make_way_for_an_answer_and_a_warning_that_are_long():
    page = replace(page_with(warnings=("word " * 60,)), answer="Give much to many. " * 30)
    lines = render_first(page, {}, width=80).splitlines()
    assert len(lines) == TWELVE
    assert [line.split()[0] for line in lines if line.endswith(" 1 s")] == ["s0", "s1"]


def test_a_line_to_run_is_broken_as_a_shell_reads_it():
    page = page_with(
        run=(blocks.Command("a --policy 'fcfs easy named' " + " ".join(f"--set a.b.c.d{k}=5" for k in range(3))),)
    )
    lines = render_first(page, {}, width=60).splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("Run"))
    assert max(map(len, lines)) <= 60
    joined = "".join(line.removeprefix("Run").lstrip().removesuffix("\\") for line in lines[at:])
    assert joined == page.run[0].line
    long = replace(page, run=(blocks.Command(f"{page.run[0].line} {'--more word ' * 9}"),))
    assert render_first(long, {}, width=60).splitlines()[at:] == [
        "Run       a --policy 'fcfs easy named' --set ... (--full)"
    ]

"""What pages open with: picture, lines to run, verdict; the same picture in a notebook."""

import re
from dataclasses import replace

import numpy as np
import pytest

from advisor import Advice, plot, recommend
from advisor.report.cluster import ClusterResult, cluster_page
from advisor.report.explanation import explanation_section
from advisor.report.picture import answer_picture, launch_lines
from advisor.report.verdict import speeds_line, stated_cost, verdict
from simulator import Share, load_scenario, plots
from simulator.base.figures import label
from simulator.base.units import show_duration
from tests.support.illustrated import simulated
from tests.support.made import made
from tests.support.report_sample import sample_document

COMMANDS = """\
# MPICH
mpiexec -f hostfile -n 2 PROGRAM
# Open MPI 5
mpirun --hostfile hostfile.openmpi -n 2 PROGRAM
# Slurm, as a heterogeneous job
sbatch job.slurm PROGRAM
# METIS, parts of these weights
gpmetis -tpwgts=metis.tpwgts GRAPH 2
"""


def test_open_mpi_comes_first_and_what_is_no_launcher_is_left_out():
    assert [one.line.split()[0] for one in launch_lines(COMMANDS)] == ["mpirun", "sbatch", "mpiexec"]
    assert launch_lines("") == ()


COSTS = "what is not known costs {} of the answer"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"known": 0.04, "loss": 0.02, "noisy": 5},
            "Usable: speeds known to 4 %, 5 noisy points; " + COSTS.format("2.0 %"),
        ),
        ({"known": 0.0, "loss": 0.05}, "Usable with care: speeds taken as exact; " + COSTS.format("5.0 %")),
        ({"loss": 0.3}, "Not usable yet: " + COSTS.format("30.0 %")),
        (
            {"loss": 0.001, "off": 0.482},
            "Not usable yet: real runs at most 48.2 % off what was predicted; " + COSTS.format("0.1 %"),
        ),
        (
            {"stated": 0.056, "loss": 0.0},
            "Stated, not measured: a speed that is 10 % off costs about 6 %",
        ),
        ({}, ""),
    ],
)
def test_the_verdict_is_made_of_the_numbers_there_are(asked, said):
    assert verdict([], **asked) == said


def test_what_a_stated_speed_may_cost_depends_on_who_does_how_much():
    """Half of the work by each of two kinds: all wait 1 / 0.9 as long, where 0.95 / 0.9 would have been needed."""
    half = [Share(name, "", None, 100.0, speed, 0.0) for name, speed in (("a", 1e9), ("b", 2e9))]
    assert stated_cost(half) == pytest.approx(0.95 / 0.9 - 1)
    assert stated_cost(half[:1] * 2) == pytest.approx(0.95 / 0.9 - 1), "of one kind alone, one PE is off"
    assert stated_cost(half[:1]) == pytest.approx(0.0), "nobody to give units to"
    assert stated_cost([replace(one, known=0.02) for one in half]) is None
    assert speeds_line(half) == "stated speeds (10 % off costs about 6 %)"
    assert speeds_line([replace(one, known=0.02) for one in half]) == "measured speeds, known to 2.0 %"
    assert speeds_line(half, divided=False) == "stated speeds"
    assert speeds_line([replace(one, known=2.4) for one in half]) == "guessed speeds, known to 240 %"
    assert speeds_line([]) == ""


def test_names_that_begin_alike_are_cut_where_they_do_not_differ():
    names = [f"platform.nodes.cluster.link.bandwidth=x{factor}" for factor in (2, 10)]
    assert [label(name) for name in names] == ["platform…nk.bandwidth=x2", "platform…k.bandwidth=x10"]
    assert {len(label(name)) for name in names} == {24}
    assert label("short") == "short"


def test_the_mean_of_all_runs_is_marked_beside_a_typical_one():
    run = plots.Run("as now", 1.0, (plots.RunRow("a", np.array([1.0, 0.0]), np.array([0.0, 1.0])),))
    assert plots.runs([run]).axes().get_xlim()[1] == pytest.approx(1.02)
    axes = plots.runs([replace(run, mean_s=2.0)]).axes()
    (mark,) = [line for line in axes.lines if line.get_marker() == "v"]
    assert mark.get_xdata() == [2.0]
    assert axes.get_xlim()[1] > 2.0


def test_a_bad_run_stands_below_the_typical_one():
    _, runs, shown = simulated("three-pes.yaml", 5)
    drawn, best = shown.illustration, shown.compared.recommended
    assert drawn.bad.makespan_s == runs.of(best).max()
    assert drawn.timelines[0].makespan_s == np.median(runs.of(best))
    picture = answer_picture(shown.compared, drawn.shares, drawn.timelines, bad=drawn.bad, advised=best)
    caption = picture[1][0].caption
    assert f"and a bad one, slower than 95 % of all (replication {drawn.bad.replication})" in caption
    assert f"{best}, a bad run: {show_duration(drawn.bad.makespan_s)}" in picture[1][0].drawing.svg()
    assert "bad" not in answer_picture(shown.compared, drawn.shares, drawn.timelines, advised=best)[1][0].caption


def test_an_answer_that_real_runs_took_back_is_not_called_advised():
    page = cluster_page(made(ClusterResult, sample_document() | {"measured_gain": 0.88}))
    assert page.answer.startswith("Keep the equal split")
    drawn = "".join(figure.drawing.svg() for column in page.picture for figure in column)
    assert "tried (functional)" in drawn
    assert "advised" not in drawn


def test_a_notebook_shows_the_picture_of_the_page():
    scenario = load_scenario("three-pes")
    made = recommend(scenario, replications=8, runs=40)
    shown = made._repr_html_()
    assert "Who gets how much: rows" in shown
    assert "Predicted makespan" in shown
    assert shown == made._repr_html_(), "the same value is shown alike"
    assert plot(made).get_xlabel() == "predicted makespan in s"
    assert len(re.findall(r'id="shares-[0-9a-f]+-title"', shown)) == 1


def test_waits_of_several_processes_are_said_of_one():
    waits = [{"pe": "node", "waits_for": "other", "seconds": 8.0}]
    document = {
        "pes": ["node", "other"],
        "recommended": "a",
        "baselines": [{"name": "a", "partition": [3, 3, 3, 3, 9], "placement": [0, 0, 0, 0, 1]}],
        "explanation": {"simulated_runs": 1, "replications": 2},
        "why": {"computing": 0.9, "waiting": 0.1, "idle": 0.0, "waits": waits},
    }
    advice = made(Advice, document)
    (shown,) = (one for one in explanation_section(advice.compared, advice.explained).blocks if hasattr(one, "right"))
    table = next(one for one in shown.right if one.caption.startswith("Who waits"))
    assert table.rows == (("each of 4 processes on node for other", "2 s"),)

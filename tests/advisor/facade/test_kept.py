"""Folders that calls from Python write are those of the command line, and `rerun` makes them again from anywhere."""

import apportion as ap
import pytest

from tests.support.applications import fitted
from tests.support.command_line import apportion_here
from tests.support.sweep_points import thread


def cluster():
    fast = ap.nodes("fast[1-2]", cores=2, speeds={"stencil": "3 Gflop/s"})
    slow = ap.nodes("slow", cores=2, speeds={"stencil": 1.5e9}, load=ap.busy("13:00", "13:30", processes=2))
    platform = ap.star(fast, slow, link=ap.Link("10 GbE", "30us", "10 Gbit/s"))
    stencil = ap.Application("stencil", parameters={"n": 400, "iterations": 20})
    return ap.Scenario(platform, stencil, {"as-now": "one-per-core", "mine": [160, 160, 80]}, replications=20)


def by_runs():
    """An application that is known by its run times only."""
    fast, slow = (ap.nodes(name, speeds={"reference": f"{speed} units/s"}) for name, speed in (("f", 1), ("s", 0.5)))
    application = ap.Application("modelled", "reference", {"N": 400, "units": 100}, fitted())
    return ap.Scenario(
        ap.star(fast, slow, link=ap.Link("10 GbE", "30us", "10 Gbit/s")),
        application,
        {"as-now": "equal"},
        replications=20,
    )


CALLS = {
    "advise by runs": lambda folder: ap.advise(by_runs(), vary="partition", folder=folder),
    "simulate": lambda folder: ap.simulate(cluster(), seed=3, folder=folder),
    "advise": lambda folder: ap.advise("two-cores", replications=5, vary="partition", folder=folder),
    "what_if": lambda folder: ap.what_if(cluster(), {"platform.network.link.latency": ["x2"]}, folder=folder),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_folder_is_written_and_made_again(tmp_path, monkeypatch, name):
    monkeypatch.setattr("advisor.cli.whatif._where", lambda *_: thread)  # a worker takes seconds to start
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    CALLS[name](folder)
    assert (folder / "report.html").exists()
    done = apportion_here("rerun", folder, cwd=elsewhere)
    assert (done.returncode, done.stdout.partition(":")[2][:6]) == (0, " equal"), done.stdout


def test_a_folder_that_holds_anything_else_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ap.ScenarioError, match=r"holds mine.txt, which is no result of ours; name a new folder"):
        ap.simulate("two-cores", folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]

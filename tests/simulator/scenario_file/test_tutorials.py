"""The tutorial scenarios run, and both engines agree on them."""

from pathlib import Path

from simulator import load_scenario, run

FOLDER = Path(__file__).parents[3] / "scenarios" / "tutorial"


def test_what_the_comments_of_the_tutorials_say():
    def means(name):
        runs = run(load_scenario(FOLDER / f"{name}.yaml"), engine="process")
        return dict(zip([c.name for c in load_scenario(FOLDER / f"{name}.yaml").configurations],
                        runs.makespan_s.mean(axis=1), strict=True))  # fmt: skip

    cluster = means("cluster")
    assert cluster["fast-only"] < cluster["four-on-fast"] < cluster["equal"]
    three = means("three-pes")
    assert three["by-what-is-left"] < three["equal"] < three["by-speed"]

"""A kept run is known by its grid too."""

from simulator import Application, Configuration, LinkModel, Platform, Scenario, run
from simulator.experiments.sweep.folder import keeping
from tests.support.platforms import pe

PES = 12


def scenario(name, parameters, *, bandwidth=1e8, load=None):
    pes = tuple(pe(f"pe{index}", 1e9, load=load) for index in range(PES))
    platform = Platform.uniform(pes, LinkModel.from_latency(1e-6, bandwidth))
    return Scenario(platform, Application(name, "dgemm", parameters), (), 3)


def test_a_kept_run_of_another_grid_is_not_taken(tmp_path):
    """Same name, partition and placement: only the grid says that it is another run."""
    made = scenario("hpl", {"n": 200, "nb": 20})
    flat, square = (
        made.with_configurations((Configuration("c", (1,) * 4, (0, 1, 2, 3), grid),)) for grid in ((1, 4), (2, 2))
    )
    with keeping(tmp_path / "kept", "search") as kept:
        first = kept.run(flat, replications=1).makespan_ticks
    with keeping(tmp_path / "kept", "search") as kept:
        other = kept.run(square, replications=1).makespan_ticks
    assert first.tolist() != other.tolist()
    assert other.tolist() == run(square, replications=1).makespan_ticks.tolist()

"""Generated traces: moments of each model against theory."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError, TraceError
from simulator.base.randomness import stream
from simulator.load_traces import make_generator
from simulator.load_traces.generate import BlockBootstrap, Constant, OnOff
from simulator.models.load import LoadTrace

HOUR_S = 3600.0


def draws(*key):
    return stream(11, *key)


def regular(values):
    values = np.array(values, dtype=float)
    return LoadTrace(np.arange(values.size) * 1.0, values, float(values.size))


def test_a_seed_gives_the_same_trace_and_another_seed_another():
    model = OnOff(1.0, 5.0, 5.0)
    first, again = (model.draw(HOUR_S, 1.0, stream(3, "a")) for _ in range(2))
    assert np.array_equal(first.times_s, again.times_s)
    assert not np.array_equal(first.times_s, model.draw(HOUR_S, 1.0, stream(4, "a")).times_s)


def test_constant():
    made = Constant(2.5).draw(10.0, 2.0, draws())
    assert (made.values.tolist(), made.end_s) == ([2.5] * 5, 10.0)


def test_on_off_keeps_its_share_and_its_mean_stays():
    made = OnOff(3.0, mean_on_s=4.0, mean_off_s=12.0, off_load=0.5).draw(400_000.0, 1.0, draws("exponential"))
    lengths, is_on = made.durations_s[1:-1], made.values[1:-1] == 3.0
    assert set(made.values) == {0.5, 3.0}
    assert np.mean(lengths[is_on]) == pytest.approx(4.0, rel=0.03)
    assert np.mean(lengths[~is_on]) == pytest.approx(12.0, rel=0.03)
    assert made.mean() == pytest.approx(0.25 * 3.0 + 0.75 * 0.5, rel=0.03)
    assert np.std(lengths[is_on]) == pytest.approx(4.0, rel=0.05)


def test_on_off_begins_as_a_random_instant_finds_it():
    model = OnOff(1.0, mean_on_s=1.0, mean_off_s=3.0)
    begun = [model.draw(1.0, 1.0, draws("start", k)).values[0] for k in range(2000)]
    assert np.mean(begun) == pytest.approx(0.25, abs=0.04)


def test_bootstrap_is_made_of_the_recordings_blocks():
    recorded = regular(range(100))
    made = BlockBootstrap(recorded, block_s=10.0).draw(1000.0, 1.0, draws()).values
    steps = np.diff(made.reshape(-1, 10), axis=1) % 100
    assert np.all(steps == 1)
    assert len(set(made[::10])) > 40
    with pytest.raises(TraceError, match="generate: the step is 2 s; give 1 s as recorded, or resample the recording"):
        BlockBootstrap(recorded, block_s=10.0).draw(1000.0, 2.0, draws())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(-1.0), r"generate: load is \-1; give at least 0"),
        (lambda: OnOff(1.0, 0.0, 1.0), r"generate: mean_on_s is 0; give at least 1e\-09"),
        (lambda: BlockBootstrap(regular([1, 2]), 5.0), "generate: block_s is 5; give 1 to 2"),
        (lambda: Constant(1.0).draw(1.0, 2.0, draws()), "generate: duration_s is 1; give at least 2"),
        (
            lambda: OnOff(1.0, 1e-6, 1e-6).draw(1e6, 1.0, draws()),
            (
                r"generate: the trace would have 1e\+12 values; give at "
                "most 10000000: a shorter trace, or longer steps or stays"
            ),
        ),
    ],
)
def test_parameters_out_of_bounds_are_refused(make, message):
    with pytest.raises(TraceError, match=message):
        make()


def test_settings_as_people_write_them():
    made = make_generator("on-off", {"load": "2", "mean_on": "500ms", "mean_off": "1min"})
    assert made == OnOff(2.0, 0.5, 60.0)
    with pytest.raises(ScenarioError) as caught:
        make_generator("on-off", {"load": "2", "maen_on": "1s"})
    assert sorted(caught.value.lines) == [
        "generate: on-off has no maen_on; set one of load, mean_on, mean_off, off_load",
        "generate: on-off needs mean_off; set it",
        "generate: on-off needs mean_on; set it",
    ]
    with pytest.raises(ScenarioError, match=r"generate: mean_on: '3' is no duration; write one such as 50us, 1\.5s"):
        make_generator("on-off", {"load": "2", "mean_on": "3", "mean_off": "1s"})
    with pytest.raises(ScenarioError, match="generate: bootstrap needs a recording; name one"):
        make_generator("bootstrap", {"block": "1s"})

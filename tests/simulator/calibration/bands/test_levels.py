"""Levels from runs at once: what they are, when none is shown, how long they last, and who shares a core."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.calibration.bands import TABLE, apart, build, read_recorded_sizes, with_levels
from simulator.calibration.bands.levels import AtOnce, fit_levels, who_share
from simulator.calibration.bands.source import recorded
from simulator.calibration.speed.speeds import fit_speed

SIZES = (100.0, 1000.0, 1e4)
SLOW = 1.5


def made(pes=8, turns=30, *, lasts_s=1e9, seed=1, moment=0.01, slow=0.3, pairs=()):
    """Runs of PEs that are slow or quick and draw again now and then; those of a pair at the same time."""
    draws = np.random.default_rng(seed)
    leader = {other: one for one, other in pairs}
    begins_s = np.sort(draws.uniform(0, 60.0, turns))
    state, rows = np.where(draws.random(pes) < slow, SLOW, 1.0), []
    for turn, begin_s in enumerate(begins_s):
        passed = begin_s - (begins_s[turn - 1] if turn else 0.0)
        again = draws.random(pes) < 1 - np.exp(-passed / lasts_s)
        state = np.where(again, np.where(draws.random(pes) < slow, SLOW, 1.0), state)
        size, jitter = SIZES[turn % len(SIZES)], np.exp(moment * draws.standard_normal(pes))
        for pe in range(pes):
            of = leader.get(pe, pe)
            rows.append((size, pe, size * 1e-6 * state[of] * jitter[of], begin_s))
    sizes, names, times_s, begins = np.array(rows).T
    return AtOnce(sizes, names.astype(np.int64), times_s, begins)


def test_levels_of_a_size_are_its_quantiles_drawn_a_little_to_those_of_all_sizes():
    runs = made(turns=3, moment=0.05, seed=3)
    logs = np.concatenate([np.log(t / np.median(t)) for t in (runs.times_s[runs.sizes == size] for size in SIZES)])
    places = (np.arange(8) + 0.5) / 8
    whole = np.quantile(logs, places, method="hazen")
    found = fit_levels(replace(runs, begins_s=None))
    for row, own in zip(found.factors, np.split(logs, 3), strict=True):
        expected = (8 * np.quantile(own, places, method="hazen") + 4 * whole) / 12
        assert np.log(row) == pytest.approx(expected)


def test_which_pe_is_which_does_not_matter():
    runs = made(lasts_s=10.0)
    other = np.random.default_rng(2).permutation(8)[runs.pes]
    assert fit_levels(replace(runs, pes=other)).factors.tolist() == fit_levels(runs).factors.tolist()
    assert fit_levels(replace(runs, pes=other)).lasts_s == fit_levels(runs).lasts_s


def test_times_in_another_unit_have_the_same_levels_and_last_as_long_in_it():
    runs = made(turns=120, lasts_s=5.0)
    found = fit_levels(runs)
    longer = fit_levels(replace(runs, times_s=7 * runs.times_s, begins_s=7 * runs.begins_s))
    assert longer.factors == pytest.approx(found.factors)
    assert longer.lasts_s == pytest.approx(7 * found.lasts_s)


def test_repetitions_twice_say_the_same():
    runs = made(moment=0.0)
    twice = AtOnce(*(np.concatenate((part, part)) for part in (runs.sizes, runs.pes, runs.times_s)))
    for position in (0.05, 0.5, 0.95):
        once = fit_levels(replace(runs, begins_s=None))
        assert fit_levels(twice).at(1000.0, position) == pytest.approx(once.at(1000.0, position))


def test_a_pe_that_stays_in_the_middle_makes_slow_ones_rarer_and_no_slower():
    runs = made(slow=0.45)
    quiet = np.array([np.median(runs.times_s[runs.sizes == size]) for size in SIZES])
    begins = np.unique(runs.begins_s)
    more = AtOnce(
        np.concatenate((runs.sizes, np.resize(SIZES, begins.size))),
        np.concatenate((runs.pes, np.full(begins.size, 8))),
        np.concatenate((runs.times_s, np.resize(quiet, begins.size))),
        np.concatenate((runs.begins_s, begins)),
    )
    before, after = fit_levels(runs), fit_levels(more)
    slow = [float(np.mean(one.at(1000.0, (np.arange(1000) + 0.5) / 1000) > 1.25)) for one in (before, after)]
    assert slow[1] < slow[0]
    assert after.factors.max() <= before.factors.max() * (1 + 1e-9)


def test_pes_that_are_alike_have_no_levels():
    assert not [seed for seed in range(20) if fit_levels(made(slow=0.0, moment=0.08, seed=seed)) is not None]
    one = made()
    assert fit_levels(AtOnce(one.sizes, np.zeros(one.pes.size, np.int64), one.times_s)) is None


@pytest.mark.parametrize("lasts_s", [3.0, 10.0])
def test_how_long_a_level_lasts_is_found(lasts_s):
    found = [fit_levels(made(16, 120, lasts_s=lasts_s, seed=seed)).lasts_s for seed in range(7)]
    assert lasts_s / 1.5 < np.median(found) < 1.5 * lasts_s


def test_levels_that_never_change_last_longer_than_was_measured():
    assert fit_levels(made(16, 120)).lasts_s is None


def test_who_shares_a_core_is_said_by_name():
    runs = made(turns=60, lasts_s=5.0, pairs=[(0, 3), (2, 5)])
    (line,) = who_share(replace(runs, names=tuple(f"cpu{pe}" for pe in range(8))))
    assert "cpu0 and cpu3 (" in line
    assert "cpu2 and cpu5 (" in line
    assert line.count(" and cpu") == 2
    assert "60 runs at once" in line


def test_pes_that_are_slow_by_themselves_share_nothing():
    named = [seed for seed in range(40) if who_share(made(lasts_s=5.0, seed=seed, moment=0.003))]
    assert len(named) <= 8  # equally slow by chance, and for a while
    assert not who_share(made())  # slow all the time: nothing shows why


def table(path, runs, *, clock=True):
    """A file of the runs."""
    lines = ["size_elements,volume,cpu_s,pe" + ",at_s" * clock]
    for size, pe, time_s, begin_s in zip(runs.sizes, runs.pes, runs.times_s, runs.begins_s, strict=True):
        lines.append(f"{size!r},{size!r},{time_s!r},cpu{pe}" + f",{begin_s!r}" * clock)
    path.write_text("\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n")
    return path


def test_the_band_is_that_of_the_middle_pe_whichever_was_measured():
    runs = made(turns=30, lasts_s=5.0)
    sizes = np.array(SIZES)
    built = build(recorded(sizes, sizes, 2e-6 * sizes, np.ones(3)), method=TABLE)
    found = with_levels(apart(built, half_width=0.05), runs).band
    for size in SIZES:
        assert float(found.speed(size)) == pytest.approx(size / np.median(runs.times_s[runs.sizes == size]))
    assert found.noise.levels.factors.tolist() == fit_levels(runs).factors.tolist()


def test_a_table_with_pes_gives_a_band_with_levels_that_all_pes_have_in_common(tmp_path):
    runs = made(turns=60, lasts_s=5.0, pairs=[(0, 3)])
    built = fit_speed(read_recorded_sizes(table(tmp_path / "runs.csv", runs)))
    levels = built.band.noise.levels
    assert levels.factors.tolist() == fit_levels(runs).factors.tolist()
    assert levels.lasts_s == pytest.approx(fit_levels(runs).lasts_s)
    assert built.band.doubt.common == 1.0
    assert [line for line in built.warnings if "cpu0 and cpu3" in line]
    plain = table(tmp_path / "plain.csv", runs, clock=False)
    assert fit_speed(read_recorded_sizes(plain)).band.noise.levels.lasts_s is None

"""The study of stated intervals: its made-up runs by closed forms and by the engine, and that it runs at all."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from simulator import load_scenario
from simulator.base import intervals
from simulator.scenario_file.truths import deviates
from tests.studies import coverage_band
from tests.studies import coverage_study as study
from tests.studies import made_up_clusters as clusters
from tests.support.command_line import apportion_here

pytestmark = pytest.mark.slow

CALM = clusters.Noise(sd=0.0, spikes=0.0, height=0.0, rho=0.0)


def calm(number, **changes):
    """A made-up cluster that is known exactly, and its truth."""
    made = clusters.made(number, seed=3)
    kinds = tuple(replace(kind, noise=CALM, drift=0.0) for kind in made.kinds)
    cluster = replace(made, kinds=kinds, link=replace(made.link, drift=0.0), **changes)
    return cluster, clusters.true_one(cluster, np.random.default_rng(1))


def split(cluster):
    """Unequal parts of all units."""
    shares = np.arange(1, len(cluster.of_kind) + 1)
    parts = (cluster.n * shares / shares.sum()).astype(int)
    parts[-1] += cluster.n - parts.sum()
    return parts.tolist(), list(range(parts.size))


def by_engine(cluster, configuration, seen, folder):
    """The same run by `simulate`: speeds and message times as knots at exactly what is asked, loads as drawn."""
    partition, _ = configuration
    pes = []
    for place, (units, one) in enumerate(zip(partition, cluster.of_kind, strict=True)):
        speed = float(cluster.kinds[one].speed(cluster.size(units)))
        pes.append({"name": f"pe{place}", "speeds": {"made": f"{speed!r} flop/s"}})
        if seen.ends[place] is not None:
            begin, ends = seen.begins_s[place, 0], seen.ends[place]
            after = ends[1:] > begin
            loads = np.round(np.diff(ends) / np.diff(seen.attained[place]) - 1)
            times = np.maximum(ends[:-1][after] - begin, 0.0)
            trace = {"times_s": times.tolist(), "values": loads[after].tolist(), "end_s": float(ends[-1] - begin)}
            pes[-1]["load"] = {"trace": trace, "rule": "fair", "start": "zero"}
    n, word = cluster.n, clusters.WORD_BYTES
    asked = {
        clusters.RESULT_BYTES,
        word * n,
        *(word * (n * n + u * n) for u in partition),
        *(word * u * n for u in partition),
    }
    sizes = sorted(asked)
    link = {"sizes_bytes": sizes, "times_s": [float(t) for t in cluster.link.time_s(sizes)]}
    parameters = {"ep": {"samples": n, "volume": cluster.volume}, "matmul": {"n": n},
                  "stencil": {"n": n, "iterations": cluster.iterations}}[cluster.program]  # fmt: skip
    document = {"format": 1, "platform": {"nodes": [{"name": "n", "pes": pes}], "link": link},
                "application": {"name": cluster.program, "kernel": "made", "parameters": parameters},
                "configurations": {"one": {"partition": partition}}, "replications": 1}  # fmt: skip
    path = folder / "calm.yaml"
    path.write_text(yaml.safe_dump(document))
    return study.asked("simulate", path, cwd=folder)["configurations"][0]["makespan_s"]["mean"]


@pytest.mark.parametrize("number", range(9))
def test_made_up_runs_take_what_the_engine_says(number, tmp_path):
    cluster, truth = calm(number)
    configuration = split(cluster)
    seen = clusters.circumstances(cluster, truth, 1, np.random.default_rng(2))
    (mine,) = clusters.makespans(cluster, truth, configuration, seen)
    assert by_engine(cluster, configuration, seen, tmp_path) == pytest.approx(mine, rel=1e-6)


def test_a_load_takes_its_share():
    """Two competitors half of the time: (1 + 1/3) / 2 of the service in the long run."""
    load = clusters.Load((0.0, 2.0), (5.0, 5.0), 0.5)
    ends, levels = load.history(1e5, np.random.default_rng(4))
    lasting = np.diff(ends, prepend=0.0)
    assert np.average(1 / (1 + levels), weights=lasting) == pytest.approx(2 / 3, abs=0.02)


def test_noise_that_is_correlated_has_the_same_spread():
    noise = clusters.Noise(sd=0.03, spikes=0.0, height=0.0, rho=0.6)
    draws = np.random.default_rng(5)
    alone, measured = np.log(noise.factors(20_000, draws)), np.log(noise.measured(20_000, draws))
    assert np.std(alone) == pytest.approx(0.03, rel=0.03)
    assert np.std(measured) == pytest.approx(0.03, rel=0.06)
    assert np.corrcoef(measured[:-1], measured[1:])[0, 1] == pytest.approx(0.6, abs=0.05)


def test_gains_of_truths_in_bands_by_hand():
    """Equal parts wait for the slow PE, fitted ones for either: with speeds as their middles the gain is 1.5."""
    gains = coverage_band.true_gains((2000, 1000), (1500, 1500), np.random.default_rng(6))
    assert gains.max() == pytest.approx(1.5)
    assert 1500 / 11 * 18 / 2000 < gains.min() < 1.25
    assert np.mean(np.isclose(gains, 1.5)) == pytest.approx(0.5, abs=0.03)  # where the slow PE limits both


def test_a_cluster_is_studied_and_kept(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study, "RUNS", 200)
    monkeypatch.setattr(study, "JUDGED_TRUTHS", 20)
    arguments = ["--clusters", "1", "--jobs", "1", "--replications", "40", "--out", str(tmp_path)]
    study.main(arguments)
    first = capsys.readouterr()
    assert "1 clusters, 0 failed" in first.out
    kept = next(tmp_path.glob("*.jsonl"))
    written = kept.read_text()
    kept.write_text(written + '{"cluster": 7')  # torn: made again if it is asked for
    study.main(arguments)
    again = capsys.readouterr()
    assert again.out == first.out


def test_pes_of_one_joined_kind_share_their_doubt_and_kinds_do_not(tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_STATE", str(tmp_path / "state"))
    cluster = clusters.made(50, seed=1)
    study.measured(cluster, tmp_path, np.random.default_rng(3))
    found = deviates(load_scenario(study.scenario(cluster, tmp_path, replications=20)))
    common = [name for name in found if name.startswith("speed of ") and " PE " not in name]
    assert len(common) == len(cluster.kinds) == 2
    assert len([name for name in found if name.startswith("speed of PE ")]) == len(cluster.of_kind)


def test_what_earlier_sittings_taught_is_in_the_models(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SITTINGS", 3)
    monkeypatch.setenv("APPORTION_STATE", str(tmp_path / "state"))
    cluster, draws = clusters.made(0, seed=1, upset=True), np.random.default_rng(7)
    wild = replace(cluster, upset="drift", kinds=tuple(replace(kind, drift=0.2) for kind in cluster.kinds))
    factor = study.sittings(wild, tmp_path, draws, replications=20)
    assert 1.2 < factor < 10
    before = study.json.loads((tmp_path / "kind0.json").read_text())["model"]["doubt"]["sd"]
    study.measured(wild, tmp_path, np.random.default_rng(8))
    study._widen(tmp_path / "kind0.json", factor)
    doubt = study.json.loads((tmp_path / "kind0.json").read_text())["model"]["doubt"]
    assert np.mean(doubt["sd"]) == pytest.approx(factor * np.mean(before), rel=0.3)
    assert doubt["sources"]["learnt"] == pytest.approx(1 - factor**-2)


def test_a_cluster_that_nothing_can_be_said_of_is_a_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "measured", lambda *_, **__: apportion_failed())
    assert study.main(["--clusters", "1", "--jobs", "1", "--out", str(tmp_path)]) == 1
    assert "1 failed" in capsys.readouterr().out


def apportion_failed():
    """As where a command ends badly."""
    raise RuntimeError(apportion_here("simulate", "no-such-scenario").stderr)


def test_an_end_that_many_truths_share_leaves_both_tails_to_the_other():
    """Gains of the band: in half of the truths exactly 1.5, but for the microsecond of a message."""
    held = []
    for seed in range(20):
        draws = np.random.default_rng([seed, 9])
        speeds = np.array(coverage_band.MIDS) * draws.uniform(0.9, 1.1, (200, 2))
        base, other = (
            (np.array(part) * coverage_band.VOLUME / speeds).max(axis=1) + 1e-6 for part in ((1500, 1500), (2000, 1000))
        )
        found = intervals.of_ratio(base, other[np.newaxis], np.arange(200))
        true = coverage_band.true_gains((2000, 1000), (1500, 1500), np.random.default_rng(seed))
        held.append(np.mean((found.low[0] <= true + 1e-6) & (true - 1e-6 <= found.high[0])))
    assert np.mean(held) == pytest.approx(0.9, abs=0.02)

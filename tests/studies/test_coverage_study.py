"""The study of stated intervals: its made-up runs by closed forms and by the engine, and that it runs at all."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from tests.studies import coverage_band
from tests.studies import coverage_study as study
from tests.studies import made_up_clusters as clusters

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

"""`apportion calibrate memory --replay` and `predict` of its models, as their users meet them."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import corpus

BAD = corpus.cases(Path(__file__).parents[2] / "bad_inputs" / "memory")
HEADER = "M_words,alpha,L,time_per_word_s\n"


def two_levels(m, alpha, run):
    """Model 3 of EQUATIONS, section 5: 2^15 words of 2 ns and 1 ns, then 40 ns and 3 ns."""
    inside = min(1.0, 2**15 / m) ** alpha
    return inside * (2e-9 + 1e-9 * (run - 1)) / run + (1 - inside) * (40e-9 + 3e-9 * (run - 1)) / run


@pytest.fixture
def table(tmp_path):
    noise = np.random.default_rng(5)
    path = tmp_path / "table.csv"
    grid = itertools.product([2**k for k in range(10, 25, 2)], [0.1, 1], [1, 8, 256])
    rows = [f"{m},{a},{r},{two_levels(m, a, r) * (1 + 0.02 * noise.standard_normal())}\n" for m, a, r in grid]
    path.write_text(HEADER + "".join(rows))
    return path


@pytest.mark.slow
def test_a_table_becomes_a_model_that_predicts(apportion, table, tmp_path):
    model, targets = tmp_path / "m.json", tmp_path / "targets.csv"
    code, out, err = apportion("calibrate", "memory", "--replay", table, "-o", model, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["format"], document["kind"], document["command"]) == (2, "memory", "calibrate memory")
    chosen = next(entry for entry in document["models"] if entry["name"] == document["chosen"])
    assert (chosen["levels"], document["levels"]) == (2, 2)
    first, last = chosen["parameters"]
    assert first["capacity_bytes"] == pytest.approx(2**18, rel=0.1)
    assert [last["latency_s"], last["gap_s"]] == pytest.approx([40e-9, 3e-9], rel=0.1)
    assert last["capacity_bytes"] is None
    assert 0 < first["capacity_bytes_error"] < 0.1 * first["capacity_bytes"]
    assert {"model 0", "model 1", "model 2", "model 3", "3 levels"} <= {entry["name"] for entry in document["models"]}
    assert document["provenance"]["inputs"] == {
        str(table): pytest.approx(next(iter(document["provenance"]["inputs"].values())))
    }
    assert document["comparison"] == []

    asked = [(2**17, 0.5, 1), (2**12, 1, 64), (2**30, 0.5, 1)]
    targets.write_text("L,M_words,alpha\n" + "".join(f"{r},{m},{a}\n" for m, a, r in asked))
    code, out, err = apportion("predict", model, "--at", targets, "--json")
    assert (code, err) == (0, "")
    answers = json.loads(out)
    assert answers["kind"] == "memory"
    for entry, at in zip(answers["predictions"], asked, strict=True):
        assert entry["mean"] == pytest.approx(two_levels(*at), rel=0.05)
        assert entry["low"] < two_levels(*at) < entry["high"]
        assert entry["high"] < 1.3 * entry["mean"]
    assert [entry["outside_training_range"] for entry in answers["predictions"]] == [False, False, True]
    assert answers["predictions"][2]["distance"]["M_words"] == 2**6

    code, out, _ = apportion("predict", model, "--at", targets, "--level", "0.5")
    assert code == 0
    assert "1 of 3 outside what was measured" in " ".join(out.split())


def test_few_points_say_which_models_need_how_many(apportion, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text(HEADER + "1024,1,1,1e-9\n4096,1,1,1.1e-9\n4096,1,16,9e-10\n8192,1,1,1e-9\n")
    code, out, _ = apportion("calibrate", "memory", "--replay", path, "--json")
    document = json.loads(out)
    assert code == 0
    assert [entry["name"] for entry in document["models"]] == ["model 0", "model 2"]
    assert {entry["name"]: entry["points_needed"] for entry in document["not_fitted"]} == {
        "model 1": 6, "model 3": 10, "3 levels": 16, "4 levels": 22, "5 levels": 28,
    }  # fmt: skip
    assert "model 3: not fitted: 4 distinct points; at least 10 are needed" in document["warnings"]


@pytest.mark.slow
def test_sizes_in_one_level_are_said_to_be(apportion, tmp_path):
    noise = np.random.default_rng(3)
    path = tmp_path / "one.csv"
    grid = itertools.product([2**10, 2**11, 2**12, 2**13], [0.1, 1], [1, 16, 64])
    path.write_text(
        HEADER
        + "".join(f"{m},{a},{r},{(3e-9 / r + 1e-9) * (1 + 0.01 * noise.standard_normal())}\n" for m, a, r in grid)
    )
    document = json.loads(apportion("calibrate", "memory", "--replay", path, "--json")[1])
    assert document["levels"] == 1
    assert any("all sizes lie in one level" in line for line in document["warnings"])
    path.write_text(
        "".join(line for line in path.read_text().splitlines(keepends=True) if line[:4] in {"M_wo", "1024"})
    )
    document = json.loads(apportion("calibrate", "memory", "--replay", path, "--json")[1])
    assert {entry["name"] for entry in document["models"]} == {"model 0", "model 2"}
    assert any("one M_words; at least 2 are needed" in line for line in document["warnings"])


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_table_gets_its_lines(refused, tmp_path, path):
    refused(path, ["calibrate", "memory", "--replay", path, "-o", tmp_path / "m.json"], FILE=path)
    assert not (tmp_path / "m.json").exists()


def test_bad_targets_are_refused(apportion, tmp_path, table):
    model, targets = tmp_path / "m.json", tmp_path / "at.csv"
    few = tmp_path / "few.csv"
    few.write_text("".join(table.read_text().splitlines(keepends=True)[:8]))
    assert apportion("calibrate", "memory", "--replay", few, "-o", model)[0] == 0
    targets.write_text("M_words,alpha,L\n1024,1,2000\n1024,2,1\n")
    code, out, err = apportion("predict", model, "--at", targets)
    assert (code, out) == (2, "")
    assert f"{targets}:2: L is 2000; give 1 up to the M_words, 1024" in err
    assert f"{targets}:3: alpha is 2; give" in err
    targets.write_text("M_words,L\n1024,1\n")
    assert "column 'alpha' is missing" in apportion("predict", model, "--at", targets)[2]
    targets.write_text("M_words,alpha,L\n1024,1,1\n")
    assert "level" in apportion("predict", model, "--at", targets, "--level", "1.5")[2]

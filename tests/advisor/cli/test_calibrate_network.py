"""`apportion calibrate network --replay` and `predict`: recorded message times in, models and predictions out."""

import json
from pathlib import Path

import numpy as np
import pytest

from advisor.cli import _run
from simulator import files
from simulator.models.network import PacketisedModel
from tests.support import corpus

CASES = corpus.cases(Path(__file__).parents[2] / "bad_inputs" / "network")
PACKETS = PacketisedModel(300e-6, 200e-6, 100e-6, 0.5e-6, 1000.0, 400.0)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A model file fitted to every second row of a table with noise, and the table."""
    folder = tmp_path_factory.mktemp("network")
    size, hops = (c.reshape(-1) for c in np.meshgrid(np.arange(100, 20_001, 400), [1, 2, 5]))
    time = PACKETS.time_s(size, hops) * np.exp(0.02 * np.random.default_rng(4).standard_normal(size.size))
    rows = [f"{s},{d},{t!r}" for s, d, t in zip(size.tolist(), hops.tolist(), time.tolist(), strict=True)]
    for name, part in (("fitted.csv", rows[::2]), ("others.csv", rows[1::2])):
        (folder / name).write_text("\n".join(["bytes,hops,one_way_s", *part]) + "\n")
    return folder


def said(capsys, *arguments):
    code = _run([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_recorded_table_becomes_a_model_that_predicts(capsys, calibrated):
    table, model = calibrated / "fitted.csv", calibrated / "link.json"
    code, out, err = said(capsys, "calibrate", "network", "--replay", table, "-o", model, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["command"], document["kind"], document["format"]) == ("calibrate network", "network", 2)
    assert document["chosen"] == "packetised"
    assert document["provenance"]["inputs"] == {str(table): files.digest(table.read_bytes())}
    assert json.loads(model.read_text()) == {k: v for k, v in document.items() if k != "command"}
    forms = {form["name"]: form for form in document["models"]}
    assert list(forms) == ["hockney", "packetised", "piecewise", "smooth"]
    chosen = forms["packetised"]
    assert {p["name"]: p["unit"] for p in chosen["parameters"]} == {
        "alpha": "s",
        "alpha2": "s",
        "beta": "s",
        "tau": "s/B",
        "p": "B",
        "h": "B",
    }
    assert chosen["physical"]
    assert chosen["held_out"]["mean_relative_error"] < forms["hockney"]["held_out"]["mean_relative_error"]
    jump = next(entry for entry in document["jump"] if entry["hops"] == 5)
    found = {p["name"]: p["value"] for p in chosen["parameters"]}
    assert jump["jump_s"] == pytest.approx(-5 * found["tau"] * found["h"])
    assert jump["jump_s"] == pytest.approx(-5 * 0.5e-6 * 400, rel=0.3)  # three sizes lie below p

    code, out, err = said(capsys, "predict", model, "--at", calibrated / "others.csv", "--json")
    assert (code, err) == (0, "")
    predicted = json.loads(out)
    measured = np.loadtxt(calibrated / "others.csv", delimiter=",", skiprows=1)[:, 2]
    mean, low, high = (np.array([entry[key] for entry in predicted["predictions"]]) for key in ("mean", "low", "high"))
    assert np.mean(np.abs(mean / measured - 1)) < 0.03
    assert np.mean((low <= measured) & (measured <= high)) >= 0.85


def test_hops_may_be_left_out(capsys, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("bytes,one_way_s\n" + "".join(f"{2**k},{1e-5 + 2**k * 1e-9}\n" for k in range(20)))
    code, out, _ = said(capsys, "calibrate", "network", "--replay", table, "--json")
    document = json.loads(out)
    assert (code, document["chosen"], set(document["points"]["hops"])) == (0, "hockney", {1.0})
    assert any("not determined by one distance" in (p["note"] or "") for p in document["models"][1]["parameters"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_table_gets_its_lines(refused, path):
    refused(path, ["calibrate", "network", "--replay", path], FILE=path)

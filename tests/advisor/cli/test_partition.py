"""`apportion advise` of a speeds file: the document, the table and the files it leaves."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from advisor.cli import _run

TUTORIAL = Path(__file__).parents[3] / "scenarios" / "tutorial" / "speeds.json"


def partition(*arguments, speeds=TUTORIAL, units=200_000):
    assert _run(["advise", str(speeds), "--units", str(units), *map(str, arguments)]) == 0


@pytest.fixture
def document(capsys):
    def made(*arguments, **more):
        partition(*arguments, "--json", **more)
        return json.loads(capsys.readouterr().out)

    return made


def test_fupermod_s_file_has_each_device_s_units(tmp_path, document):
    units = document("-o", tmp_path / "partition.dist")["units"]
    rows = [line.split("\t") for line in (tmp_path / "partition.dist").read_text().splitlines()[3:]]
    assert [(name, rank) for name, rank, _ in rows] == [*zip(["fast", *["slow"] * 3, "gpu"], "00120", strict=True)]
    assert [int(count) for *_, count in rows] == units


def test_files_hold_every_pe(document, tmp_path):
    made = document("-o", tmp_path / "partition.csv")
    rows = list(csv.DictReader((tmp_path / "partition.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == made["names"]
    assert [int(row["units"]) for row in rows] == made["units"]
    assert [float(row["time_s"]) for row in rows] == made["times_s"]
    partition("-o", tmp_path / "partition.json")
    assert json.loads((tmp_path / "partition.json").read_text())["optimal"] is True


def model(tmp_path, name, **model):
    path = tmp_path / name
    path.write_text(json.dumps({"format": 2, "kind": "speed", "model": model}))
    return path.name


def test_speed_models_stand_in_the_place_of_curves(document, tmp_path):
    plain = model(tmp_path, "plain.json", sizes=[100.0, 300.0], low=[5.0, 6.0], mid=[10.0, 12.0], high=[11.0, 13.0])
    ends = model(tmp_path, "ends.json", sizes=[10.0, 30.5], low=[8.0, 0.0], mid=[10.0, 0.0], high=[12.0, 0.0])
    speeds = tmp_path / "speeds.json"
    entries = [
        {"name": "a", "model": plain, "elements_per_unit": 10, "volume_per_unit": 2},
        {"name": "b", "model": ends},
    ]
    speeds.write_text(json.dumps(entries))
    made = document(speeds=speeds, units=45)
    a, b = made["units"]
    assert made["times_s"][0] == pytest.approx(a / np.interp(a, [10, 30], [5, 6]))
    assert made["times_s"][1] == pytest.approx(b / np.interp(b, [10, 30.5], [10, 0]))
    assert b <= 30
    assert len(made["provenance"]["inputs"]) == 3
    full = document(speeds=speeds, units=5000)
    assert full["units"][1] <= 30

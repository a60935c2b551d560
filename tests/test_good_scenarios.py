"""Scenario files that must be taken, one feature each: what they resolve to is the same again, with its makespans."""

import dataclasses
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from advisor.cli import _run
from simulator import Platform, files, load_scenario, resolved_text, run, scenario_schema
from simulator.base.yaml_document import read_document
from simulator.platform.networks import Link
from simulator.scenario_file.load import load_either
from tests.support.json_schema import faults

FOLDER = Path(__file__).parent / "good_inputs" / "scenarios"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_file())
SHIPPED = sorted(files.shipped("scenarios", "README.md").parent.rglob("*.yaml"))
SCHEMAS = {kind: json.loads(scenario_schema(kind)) for kind in ("scenario", "platform", "seg")}


def kind_of(path):
    if ".seg" in path.suffixes:
        return "seg"
    return "platform" if path.parent.name == "platforms" else "scenario"


def test_there_are_cases():
    assert len(CASES) >= 40
    assert len(SHIPPED) >= 10


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """The folder where explicit forms can lie beside the files, as files are named from there."""
    return shutil.copytree(FOLDER, tmp_path_factory.mktemp("good") / "scenarios")


def differences(one, other, at="platform"):
    """Where two things made of data classes differ, but for names of links, which files need not tell."""
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        for field in dataclasses.fields(one):
            if not (isinstance(one, Link) and field.name == "name"):
                yield from differences(getattr(one, field.name), getattr(other, field.name), f"{at}.{field.name}")
    elif isinstance(one, Mapping) and isinstance(other, Mapping) and list(one) == list(other):
        for key in one:
            yield from differences(one[key], other[key], f"{at}.{key}")
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{at}.{number}")
    elif not np.array_equal(one, other):
        yield f"{at}: {one!r} and {other!r}"


@pytest.mark.parametrize("name", [path.name for path in CASES])
def test_a_good_scenario_is_taken_and_resolves_to_the_same_again(capsys, copies, name):
    path, again = copies / name, copies / f"resolved-{name}.yaml"
    assert list(faults(read_document(path).data, SCHEMAS["scenario"], SCHEMAS["scenario"])) == []
    assert _run(["check", str(path)]) == 0
    assert _run(["check", str(path), "--resolved"]) == 0
    text = resolved_text(path)
    told = capsys.readouterr()
    assert told.out.endswith(text)
    assert "error" not in told.err
    again.write_text(text, encoding="utf-8")
    assert resolved_text(again) == text
    assert "extends" not in read_document(again).data
    found, same = (run(load_scenario(one), engine="process") for one in (path, again))
    assert same.configurations == found.configurations
    assert list(differences(load_scenario(path).platform, load_scenario(again).platform)) == []
    np.testing.assert_array_equal(same.makespan_ticks, found.makespan_ticks)


def test_lines_may_end_as_on_windows(copies):
    text = (copies / "least.yaml").read_text()
    path = copies / "crlf.yaml"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert resolved_text(path) == resolved_text(copies / "least.yaml")


def test_shipped_files_are_taken_and_name_their_schema(capsys):
    for path in SHIPPED:
        assert _run(["check", str(path)]) == 0
        capsys.readouterr()
        first = path.read_text().splitlines()[0]
        named = (path.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve()
        assert named == files.shipped("scenarios", f"{kind_of(path)}.schema.json").resolve()
        schema = SCHEMAS[kind_of(path)]
        assert list(faults(read_document(path).data, schema, schema)) == [], path


def test_a_platform_that_is_extended_is_a_platform(apportion):
    path = FOLDER / "bases" / "platform.yaml"
    assert isinstance(load_either(path), Platform)
    code, told, _ = apportion("check", path)
    assert (code, told) == (0, f"{path}: a platform of 4 PEs on 3 nodes\n")
    assert json.loads(apportion("check", path, "--json")[1])["pes"] == 4


def test_the_schema_refuses_what_the_forms_refuse():
    """A schema that takes anything would pass the tests above."""
    schema = SCHEMAS["scenario"]
    data = read_document(FOLDER / "topology_tree.yaml").data
    for change in ({"seed": -1}, {"sede": 1}, {"platform": {"nodes": []}}, {"format": 2}, {"application": None}):
        assert list(faults(data | change, schema, schema))
    data["platform"]["network"]["nodes_per_switch"] = 2
    assert list(faults(data, schema, schema))
    part = {"format": 1, "extends": "x.yaml"}
    assert not list(faults(part | {"platform": {"nodes": [{"name": "a", "memory": None}]}}, schema, schema))
    assert list(faults(part | {"platform": {"nodes": [{"name": "a", "memroy": None}]}}, schema, schema))
    assert list(faults({"extends": "x.yaml"}, schema, schema))
    assert not list(faults(part | {"application": {"parameters": {"nb": 4, "n": None}}}, schema, schema))
    assert list(faults(part | {"application": {"name": "hpl", "parameters": {"bn": 4}}}, schema, schema))


def test_an_explicit_form_means_the_same_in_any_folder(tmp_path):
    """Traces are named by their whole paths."""
    text = resolved_text(files.shipped("scenarios", "tutorial/two-cores.yaml"))
    (tmp_path / "elsewhere.yaml").write_text(text)
    assert resolved_text(tmp_path / "elsewhere.yaml") == text

"""The written reference: tables in scenarios/README.md, schemas and their descriptions, all from the forms."""

import json
import re

import pytest

from simulator import files, scenario_schema
from simulator.base.errors import ScenarioError, meant
from simulator.scenario_file.extending import Shape
from tests.support.reference import table_names, with_tables

FOLDER = files.shipped("scenarios", "README.md").parent
KINDS = ("scenario", "platform", "seg")


def test_the_readme_has_the_tables_of_the_forms():
    """If not: python -m tests.support.reference."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert text == with_tables(text)
    assert sorted(re.findall(r"<!-- table: (\w+) -->", text)) == sorted(table_names())
    assert text.count("<!-- end -->") == len(table_names())


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_schema_is_that_of_the_forms(kind):
    """If not: python -m tests.support.reference."""
    assert (FOLDER / f"{kind}.schema.json").read_text() == scenario_schema(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_says_what_it_means(kind):
    schema = json.loads(scenario_schema(kind))
    forms = {name: form for name, form in schema["$defs"].items() if "properties" in form}
    silent = [
        f"{name}.{key}" for name, form in forms.items() for key, field in form["properties"].items() if not told(field)
    ]
    assert silent == []
    assert [name for name, form in forms.items() if not form.get("description")] == []
    assert len(forms) >= 9


def told(field):
    return len(field.get("description", "")) >= 4


def test_texts_that_name_files_are_known():
    shape = Shape.of_file(
        json.loads(scenario_schema())["$defs"]["ScenarioForm"] | {"$defs": json.loads(scenario_schema())["$defs"]}
    )

    def at(*way):
        here = shape
        for part in way:
            here = here.entry() if part == 0 else here.field(part)
        return here.names_file

    pe = ("platform", "nodes", 0, "pes", 0)
    assert at(*pe, "load", "trace")
    assert at(*pe, "resource")
    assert at(*pe, "speeds", "k", "model")
    assert at("platform", "nodes", 0, "levels", "model")
    assert at("platform", "simgrid")
    assert at("platform", "network", "links", "up", "model")
    assert at("platform", "network", "switches", 0, "uplink", "model")
    assert at("application", "model")
    assert at("application", "graph")
    assert not at("application", "name")
    assert not at(*pe, "name")
    assert not at("notes", 0)


def test_a_schema_of_no_kind_is_refused(apportion):
    assert apportion("check", "--schema", "platfrom") == (
        2,
        "",
        "error: --schema: there is no schema of 'platfrom'; take scenario, platform, seg; did you mean platform?\n",
    )
    assert apportion("check", "--schema", "seg")[1] == scenario_schema("seg")
    with pytest.raises(ScenarioError):
        scenario_schema("")


def test_the_nearest_name_is_near():
    assert meant("sede", ["seed", "notes"]) == "; did you mean seed?"
    assert meant("FAIR", ["none", "fair"]) == "; did you mean fair?"
    assert meant("xyz", ["seed", "notes"]) == ""
    assert meant(7, []) == ""

"""TOML: what stands somewhere is known by the path of its key."""

from pathlib import Path

import pytest

from simulator.base.errors import ScenarioError
from simulator.base.yaml_document import document_of

TEXT = """
format = 1
"a b".c = 2
[platform]
link = {latency = "1us"}
[[platform.nodes]]
name = "a"
"""


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ((), "top level"),
        (("a b", "c"), "a b.c"),
        (("platform", "link", "latency"), "platform.link.latency"),
        (("platform", "nodes", 0, "name"), "platform.nodes.0.name"),
        (("platform", "nodes", 1, "none"), "platform.nodes.1.none"),
    ],
)
def test_a_field_is_named_by_its_key(field, place):
    assert document_of(TEXT, Path("x.toml")).place(field) == f"x.toml: {place}"


def test_a_sign_in_two_halves_is_one_in_json_only():
    text = r'{"name": "\ud83d\ude00"}'
    assert document_of(text, Path("x.json")).data == {"name": "\N{GRINNING FACE}"}
    with pytest.raises(ScenarioError, match=r"^x\.yaml:1:"):
        document_of(text, Path("x.yaml"))

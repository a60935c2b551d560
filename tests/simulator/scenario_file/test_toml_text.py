"""TOML: every key and entry is placed where it stands."""

import random
import tomllib
from pathlib import Path

import pytest

from simulator.scenario_file.yaml_text import document_of

TEXT = '''# first
format = 1
"a b".c = 2   # dotted and quoted
lines = """x
[no.table]
y = 1"""
flat = [ 1, '#', # of three
  [3, {q = 1, "r.s" = 'x'}],
]
inside = { p = { q = 1 }, r.s = [1, 2] }
[platform]
link = {latency = "1us"}
[[platform.nodes]]
name = "a"
  [[platform.nodes.pes]]
  name = \'a0\'
  [platform.nodes.pes.speeds]
  dgemm = "1 Gflop/s"
[[platform.nodes.pes]]
[[platform.nodes]]
name = "b"
'''


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ((), "1:1: top level"),
        (("format",), "2:1: format"),
        (("a b", "c"), "3:1: a b.c"),
        (("lines",), "4:1: lines"),
        (("flat", 1), "7:13: flat.1"),
        (("flat", 2, 1, "r.s"), "8:15: flat.2.1.r.s"),
        (("inside", "p", "q"), "10:18: inside.p.q"),
        (("inside", "r", "s", 1), "10:37: inside.r.s.1"),
        (("platform", "link", "latency"), "12:9: platform.link.latency"),
        (("platform", "nodes", 0), "13:1: platform.nodes.0"),
        (("platform", "nodes", 0, "pes", 0, "name"), "16:3: platform.nodes.0.pes.0.name"),
        (("platform", "nodes", 0, "pes", 0, "speeds", "dgemm"), "18:3: platform.nodes.0.pes.0.speeds.dgemm"),
        (("platform", "nodes", 0, "pes", 1), "19:1: platform.nodes.0.pes.1"),
        (("platform", "nodes", 1, "name"), "21:1: platform.nodes.1.name"),
        (("platform", "nodes", 1, "none"), "20:1: platform.nodes.1.none"),
    ],
)
def test_a_field_is_placed(field, place):
    assert document_of(TEXT, Path("x.toml")).place(field) == f"x.toml:{place}"


def test_whatever_the_reader_takes_is_placed():
    """The place of each key begins with the key, in files put together at random of all that TOML has."""
    draw = random.Random(3)  # noqa: S311 - texts, no secrets
    values = [
        "1",
        "-0.5e3",
        "true",
        "1979-05-27T07:32:00Z",
        '"a]}#,"',
        "'it\\'",
        '"""a\n"b"\n"""',
        "'''\n[x]'''",
        '"\\"\\\\"',
    ]
    values += [
        "[1, [2, 3], {a = 1}]",
        "[\n 1, # one\n 2,\n]",
        "{}",
        '{a = 1, "b.c" = [{d = 2}], e.f = "g"}',
        "[]",
        "0x1F",
        "inf",
    ]
    for _ in range(200):
        lines, tables = [], []
        for number in range(draw.randrange(1, 8)):
            name = draw.choice(["key", '"quo.ted"', "'lit eral'", "a . b", "-"])
            lines.append(f"{' ' * draw.randrange(3)}{name} = {draw.choice(values)}")
            if draw.random() < 0.5:
                tables.append(number)
                head = f"t{number}.'u v'"
                lines.append(draw.choice([f"[{head}]", f"[[list.{head}]]", f"[[list]]\n[list.{head}]"]))
            lines.append(draw.choice(["", "# comment = [", "\r"]))
        text = "\n".join(lines)
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        document = document_of(text, Path("x.toml"))
        assert document.data == data
        cut = text.split("\n")
        for key in _keys(data, ()):
            line, column = map(int, document.place(key).split(":")[1:3])
            assert cut[line - 1][column - 1 :].lstrip("[ ").startswith(_first_letters(key)), (key, line, column, text)


def _keys(data, way):
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        if isinstance(key, str):
            yield (*way, key)
        yield from _keys(value, (*way, key))


def _first_letters(key):
    """A key, its quotes, or what a dotted key or table begins with on the way to it."""
    names = [part for part in key if isinstance(part, str)]
    return tuple(f"{quote}{name}" for name in names for quote in ("", '"', "'"))

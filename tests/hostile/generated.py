"""Hostile cases from a seed: good inputs of every command with damage as disks, editors, scripts and people do it."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile.running import Case
from tests.support.mistakes import broken, mutated, places

COMMANDS = {
    "first-run.yaml": (
        "check first-run.yaml",
        "simulate first-run.yaml --replications 2",
        "convert first-run.yaml x",
        "advise first-run.yaml --replications 2 --top 1",
    ),
    "cluster.yaml": ("check cluster.yaml --resolved", "fit cluster.yaml --plan --sizes 400,800,1200 --budget 60s"),
    "scenario.json": ("check scenario.json --resolved", "simulate scenario.json --replications 2"),
    "scenario.toml": ("check scenario.toml --json",),
    "link_kinds.yaml": ("check link_kinds.yaml --resolved",),
    "loads.yaml": ("check loads.yaml --resolved",),
    "levels_model.yaml": ("check levels_model.yaml --resolved",),
    "application_seg.yaml": ("check application_seg.yaml --resolved",),
    "graph.seg.yaml": ("check graph.seg.yaml",),
    "files/speed.json": ("check speed_kinds.yaml",),
    "files/resource.json": ("check application_seg.yaml",),
    "files/network.json": ("check link_kinds.yaml",),
    "files/memory.json": (
        "check levels_model.yaml",
        "calibrate machine --memory files/memory.json",
    ),
    "speed.json": (
        "show speed.json",
        "predict speed.json --at elements.csv",
        "cluster -o x --join speed.json,link.json",
        "calibrate machine --speed speed.json -o node.json",
    ),
    "network.json": ("predict network.json --at bytes.csv --json", "cluster -o x --join speed.json,network.json"),
    "neighbours.json": (
        "predict neighbours.json --at pairs.csv",
        "show neighbours.json",
        "show neighbours.json --json",
    ),
    "link.json": ("cluster -o x --join speed.json,speed.json,link.json --names n[1-2]",),
    "runtime.json": (
        "predict runtime.json --at targets.csv",
        "predict runtime.json --at targets.csv --json",
    ),
    "counts.json": ("advise counts.json --kinds fast:1:6,slow:8:1 --size 6400",),
    "plan.json": ("fit plan.json --run --command nonesuch",),
    "speeds.json": ("advise speeds.json --units 1000",),
    "runs.csv": ("fit runs.csv --formula N**3/P", "convert runs.csv new.sqlite --app a"),
    "targets.csv": ("predict runtime.json --at targets.csv --json",),
    "history.csv": ("convert history.csv new.sqlite",),
    "runs.sqlite": (
        "show runs.sqlite",
        "fit runs.sqlite --formula N**3/P",
        "convert runs.sqlite out.txt --to extrap-json",
        "convert runs.csv runs.sqlite --app a",
    ),
    "allocations.csv": ("fit allocations.csv -o out.json", "fit allocations.csv"),
    "sizes.csv": (
        "calibrate speed --replay sizes.csv --method gbbp -o out.json",
        "show speed.json --held-out sizes.csv",
    ),
    "messages.csv": ("calibrate network --replay messages.csv -o out.json",),
    "elements.csv": ("predict speed.json --at elements.csv --json",),
    "visits.csv": ("calibrate neighbours --replay visits.csv -o out.json",),
    "pairs.csv": ("predict neighbours.json --at pairs.csv",),
    "bytes.csv": ("predict network.json --at bytes.csv",),
    "memory_at.csv": ("predict files/memory.json --at memory_at.csv",),
    "load.csv": (
        "show load.csv",
        "lab trace load.csv --window 3 --ideal 10s",
        "lab trace --study load.csv --window 2 --history 3",
        "lab generate bootstrap --recording load.csv --set block=5s --duration 1min -o out.csv",
    ),
    "sadf.json": ("convert sadf.json out.csv --from sadf --measures load",),
    "sadf.txt": ("convert sadf.txt out.csv --from sadf",),
    "prometheus.json": ("convert prometheus.json out.csv --from prometheus --measures busy",),
    "collectl.txt": ("convert collectl.txt out.csv --from collectl --measures load",),
    "loop.profile": ("convert loop.profile out.csv --from simgrid --duration 1min",),
    "google.csv": ("convert google.csv out.csv --from google",),
    "jobs.swf": ("convert jobs.swf out.csv --from swf",),
    "table.csv": ("convert table.csv out.csv --from csv --measures load",),
    "hwloc.xml": ("calibrate machine --hwloc hwloc.xml",),
    "simgrid.xml": ("check least.yaml --set platform={file:simgrid.xml}",),
    "topology.conf": (
        "cluster -o x --join speed.json,speed.json,speed.json,link.json --names n[01-03] --topology topology.conf",
    ),
    "sacct.txt": ("convert sacct.txt new.sqlite",),
    "extrap.txt": ("convert extrap.txt new.sqlite",),
    "extrap.json": ("convert extrap.json new.sqlite",),
    "results/manifest.json": ("show results --json",),
    "results/runs.csv": ("show results",),
}
"""File -> commands that read it."""
OPTIONS = (
    *("simulate first-run.yaml --set platform.nodes.0.memory={}", "simulate first-run.yaml --set {}=1GB"),
    *("simulate first-run.yaml --replications {}", "simulate first-run.yaml --replications 2 --seed {}"),
    *("whatif first-run.yaml --only zz --vary platform.link.bandwidth={}", "whatif first-run.yaml --only zz --vary {}"),
    "whatif first-run.yaml --vary application.parameters.n={} --only zz",
    *(
        "advise speeds.json --units {}",
        "advise speeds.json --units 100 --method {}",
    ),
    *(
        "predict runtime.json --at targets.csv --level {}",
        "fit runs.csv --formula {}",
        "fit runs.csv --formula N --response {}",
    ),
    *(
        "convert runs.csv new.sqlite --app {}",
        "convert runs.csv new.sqlite --app a --time {}",
        "show {}",
    ),
    *("lab generate constant --set load={} -o out.csv", "lab generate on-off --set mean_on={} -o out.csv"),
    *("lab generate {} -o out.csv", "lab trace load.csv --window {}"),
    *("lab trace load.csv --window 3 --ideal {}", "lab trace --study load.csv --window 3 --history {}"),
    *("show load.csv --column {}", "convert table.csv out.csv --from csv --measures load --time-unit {}"),
    "convert jobs.swf out.csv --from swf --start {}",
    "convert jobs.swf out.csv --from swf --processors {}",
    "advise counts.json --kinds {} --size 6400",
    "advise counts.json --kinds fast:1:6,slow:8:1 --size {}",
    "advise counts.json --kinds fast:1:6,slow:8:1 --size 6400 --memory fast={}",
    "advise counts.json --kinds fast:1:6,slow:8:1 --size 6400 --footprint {} --memory fast=1GB,slow=1GB",
    "fit cluster.yaml --plan --sizes {} --budget 60s",
    "fit cluster.yaml --plan --sizes 400,800,1200 --budget {}",
    "fit cluster.yaml --plan --sizes 400,800,1200 --budget 60s --work {}",
    "fit cluster.yaml --plan --sizes 400,800,1200 --budget 60s --most {}",
    *(
        "calibrate speed --replay sizes.csv --method {} -o out.json",
        "calibrate speed --replay sizes.csv --band {} -o out.json",
        "calibrate speed --replay sizes.csv --accuracy {} -o out.json",
        "calibrate speed --replay sizes.csv --max-size {} -o out.json",
        "calibrate speed --replay sizes.csv --budget {} -o out.json",
    ),
    *(
        "cluster -o x --join speed.json,link.json --names {}",
        "cluster -o x --join speed.json,link.json --max-age {}",
        "cluster -o x --join speed.json,link.json --kernel {}",
        "calibrate machine --hwloc hwloc.xml --name {}",
        "calibrate machine --hwloc {}",
    ),
    *("convert first-run.yaml x --size {}", "check first-run.yaml --set {}", "check {}", "show {}", "{}"),
    *("advise first-run.yaml --objective {}", "advise first-run.yaml --top {} --replications 2"),
    *("verify first-run.yaml --budget {}", "check --schema {}"),
)
"""Command lines with a place for a hostile word."""
WORDS = (
    *("", " ", "=", "-", "--", "'", '"', "\\", "/", "..", "/dev/zero", "/dev/null", ".", "x" * 5000, "a" * 300),
    "none.csv",
    *("nan", "inf", "-inf", "1e999", "-1", "0", "0.5", "1e308", "1e-320", "9" * 400, "9" * 5000, "0x10", "1_0", "１２"),
    *("١٢", "1e999999", "1e999999Gflop/s", "1e999999min", "٣min", "1_0s", "１GB", "5 parsecs", "-3s", "1e400s"),
    "1000000000000000000000",
    *("x1e1000000", "x0", "x-1", "/0", "x1e999", "a=x9" + "9" * 5000, "a.b.c=1", "a=", "=1", "a==", "0..1e9"),
    *("0..8..0", "1..9999999999", "[" * 5000, "{" * 5000, "n[1-999999999]", "n[1-", "n[2-1]", "a,a,a", ",", ",,,,"),
    "fast:1:6,fast:1:6",
    *("a\udcffb", "a\nb", "a\tb", "\x1b[31m", "\u2028", "\ufeffa", "é", "=cmd|' /C calc'!A0", "@sum", "+1", "%s%n"),
    *("N**N**N**N", "N/0", "(" * 3000 + "N" + ")" * 3000, "1" + "+1" * 5000, "__import__('os')", "N.real", "N**1e9"),
    *("log(-N)", "10**10**10", "9**9**9**9", "1ps", "99999d", "1e15s", "10TB", "4MiB", "null", "true", "{a: 1}"),
    "!!python/object:os.system x",
)
WEIRD: tuple[str, ...] = ("\ud800", "١٢", "１２", "1_0", "=1+1", "\u2028", "a\nb", "x" * 5000, "9" * 5000)
DIGITS = (str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"), str.maketrans("0123456789", "０１２３４５６７８９"))


def cases(good: Path, count: int, seed: int) -> Iterator[Case]:
    """So many cases, a third of them words of a command line; the same for the same seed."""
    for number in range(count):
        draw = random.Random(f"{seed} {number}")  # noqa: S311 - mistakes, no secrets
        yield _of_word(number, draw) if number % 3 == 0 else _of_file(good, number, draw)


def _of_word(number: int, draw: random.Random) -> Case:
    line, word = draw.choice(OPTIONS), draw.choice(WORDS)
    arguments = tuple(word if part == "{}" else part.replace("{}", word) for part in line.split(" "))
    if draw.random() < 0.2:
        arguments = (*arguments, "--json")
    return Case(f"word {number}", arguments, (0, 1, 2))


def _of_file(good: Path, number: int, draw: random.Random) -> Case:
    name = draw.choice(tuple(COMMANDS))
    line, data = draw.choice(COMMANDS[name]), (good / name).read_bytes()
    kinds = [*BYTES]
    if name.endswith((".json", ".yaml")):
        kinds = [*BYTES, *DATA * 2]
    elif not name.endswith(".sqlite"):
        kinds = [*BYTES, *CELLS]
    damage = draw.choice(kinds)
    return Case(
        f"{name} {damage.__name__.strip('_')} {number}", tuple(line.split(" ")), (0, 2), {name: damage(data, draw)}
    )


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _empty(_data: bytes, _draw: random.Random) -> bytes:
    return b""


def _garbage(data: bytes, draw: random.Random) -> bytes:
    at, many = draw.randrange(len(data) + 1), draw.choice((1, 4, 64, 1000))
    return data[:at] + draw.randbytes(many) + data[at + draw.choice((0, many)) :]


def _zeros(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + b"\0" * draw.choice((1, 512)) + data[at:]


def _marked(data: bytes, draw: random.Random) -> bytes:
    return draw.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf\xef\xbb\xbf")) + data


def _line_ends(data: bytes, draw: random.Random) -> bytes:
    return data.replace(b"\n", draw.choice((b"\r\n", b"\r", b"\n\n", b"\x0c", b"\xe2\x80\xa8")))


def _twice(data: bytes, _draw: random.Random) -> bytes:
    return data + data


def _other_text(data: bytes, draw: random.Random) -> bytes:
    return broken(data.decode("utf-8", "replace"), draw).encode("utf-8", "surrogatepass")


def _other_digits(data: bytes, draw: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    at = draw.randrange(len(text) + 1)
    return (text[:at] + text[at:].translate(draw.choice(DIGITS))).encode()


def _wide(data: bytes, draw: random.Random) -> bytes:
    return data.decode("utf-8", "replace").encode(draw.choice(("utf-16", "utf-32", "cp500")), "replace")


BYTES = (_cut, _cut, _empty, _garbage, _garbage, _zeros, _marked, _line_ends, _twice, _other_text, _other_digits, _wide)


def _changed(data: bytes, draw: random.Random) -> bytes:
    return _written(mutated(_read(data), draw))


def _wrong(data: bytes, draw: random.Random) -> bytes:
    """One field of another type, or beyond any number."""
    found = _read(data)
    values: tuple[Any, ...] = (
        *(None, True, -1, 0, 10**400, 1e308, -1e308, 1e-320, "", [], {}, [[]], [None], {"a": {}}, *WEIRD),
    )
    return _written(_put(found, draw.choice(values), draw))


def _null(data: bytes, draw: random.Random) -> bytes:
    return _written(_put(_read(data), None, draw))


def _deep(data: bytes, draw: random.Random) -> bytes:
    depth = draw.choice((60, 500, 20_000))
    text = _written(_put(_read(data), "DEEP", draw)).decode()
    return text.replace(
        '"DEEP"', draw.choice(("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth))
    ).encode()


def _long(data: bytes, draw: random.Random) -> bytes:
    found = _read(data)
    lists = [place for place in places(found) if place and isinstance(_at(found, place), list) and _at(found, place)]
    if not lists:
        return data
    place = draw.choice(lists)
    return _written(_put_at(found, place, _at(found, place) * draw.choice((2, 3000))))


def _duplicate(data: bytes, draw: random.Random) -> bytes:
    """A key twice; its second value another."""
    found = _read(data)
    keys = [place for place in places(found) if place and isinstance(place[-1], str)]
    if not keys:
        return data
    place = draw.choice(keys)
    holder = _at(found, place[:-1])
    holder["DUPLICATE"] = draw.choice((None, 1, "x", [], {}))
    return _written(found).replace(b'"DUPLICATE"', json.dumps(place[-1]).encode())


def _number_text(data: bytes, draw: random.Random) -> bytes:
    """A number as only some programs write it."""
    found = _put(_read(data), "NUMBER", draw)
    texts = (
        *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "01", "+1", ".5", "0x10", "1_0", "9" * 5000, "1e-999"),
        '"\\ud800"',
    )
    return _written(found).replace(b'"NUMBER"', draw.choice(texts).encode())


DATA: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_changed, _changed, _wrong, _wrong, _null, _null, _deep, _long, _duplicate, _number_text),
)


def _cell(data: bytes, draw: random.Random) -> bytes:
    """A cell with something else in it."""
    lines = data.decode("utf-8", "replace").split("\n")
    at = draw.randrange(len(lines))
    mark = next((m for m in (",", "|", ";", "\t", " ") if m in lines[at]), ",")
    cells = lines[at].split(mark)
    texts = (
        *("", "nan", "inf", "1e999", "-1", "1_0", "１２", "١٢", "x", "9" * 5000, '"', "1e308", "1e-320", "=1+1", "0"),
        *("\x00", "\ud800"),
    )
    cells[draw.randrange(len(cells))] = draw.choice(texts)
    lines[at] = mark.join(cells)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _column(data: bytes, draw: random.Random) -> bytes:
    """Every line with a cell more, or one less."""
    lines = data.decode("utf-8", "replace").split("\n")
    if draw.random() < 0.5:
        return "\n".join(line + ",7" for line in lines).encode()
    return "\n".join(line.rpartition(",")[0] for line in lines).encode()


def _rows(data: bytes, draw: random.Random) -> bytes:
    """Lines in another order, doubled or gone."""
    lines = data.decode("utf-8", "replace").split("\n")
    kind = draw.randrange(3)
    if kind == 0:
        draw.shuffle(lines)
    elif kind == 1:
        lines = [line for line in lines for _ in range(2)]
    else:
        lines = lines[: draw.randrange(3)]
    return "\n".join(lines).encode()


CELLS = (_cell, _cell, _cell, _cell, _column, _rows)


def _read(data: bytes) -> Any:
    import yaml

    text = data.decode("utf-8-sig")
    try:
        return json.loads(text)
    except ValueError:
        return yaml.safe_load(text)


def _written(found: Any) -> bytes:
    """As JSON, which YAML is too; a lone surrogate as its escape."""
    return json.dumps(found, indent=1).replace("NaN", ".nan").encode()


def _at(found: Any, place: tuple[str | int, ...]) -> Any:
    for part in place:
        found = found[part]
    return found


def _put_at(found: Any, place: tuple[str | int, ...], value: Any) -> Any:
    _at(found, place[:-1])[place[-1]] = value
    return found


def _put(found: Any, value: Any, draw: random.Random) -> Any:
    listed = [place for place in places(found) if place]
    by_depth = draw.choice(sorted({len(place) for place in listed}))  # else lists of numbers get nearly all
    return _put_at(found, draw.choice([place for place in listed if len(place) == by_depth]), value)

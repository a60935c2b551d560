"""Dataclasses as plain data and back, from documents of older versions too."""

import importlib
import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import simulator.calibration
import simulator.models
from simulator import documents
from simulator.base import arrays


@dataclass(frozen=True)
class Ends:
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Drawn:
    seed: int | None
    sure: bool


@dataclass(frozen=True)
class Short:
    name: str


@dataclass(frozen=True)
class Long:
    name: str
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Result:
    begin: str = field(metadata=documents.named("from", "start"))
    ends: Ends | None
    every: tuple[Ends, ...]
    by_name: Mapping[str, tuple[float, ...]]
    span: tuple[float, float] | None
    drawn: Drawn = field(metadata=documents.FLAT)
    either: tuple[Short | Long, ...]
    anything: Any
    count: int
    note: str = field(metadata=documents.SPARE)


WHOLE = Result(
    "a", Ends(1.0, None), (Ends(0.5, 2.0),), {"x": (1.0, 2.0)}, (0.0, 1.0), Drawn(3, sure=True),
    (Short("s"), Long("l", (1, 2))), {"k": [1]}, 7, "",
)  # fmt: skip


def test_what_is_written_is_read_back():
    plain = documents.to_dict(WHOLE)
    assert documents.read(Result, json.loads(json.dumps(plain))) == WHOLE
    assert (plain["from"], plain["seed"], plain["sure"]) == ("a", 3, True)
    assert "drawn" not in plain
    assert "note" not in plain
    assert plain["every"] == [{"low": 0.5, "high": 2.0}]


def test_arrays_and_what_writes_itself_are_plain_data():
    class Own:
        def to_dict(self):
            return {"own": True}

    assert documents.to_dict({"a": np.arange(2), "b": (Own(), 1.5, None)}) == {
        "a": [0, 1],
        "b": [{"own": True}, 1.5, None],
    }


def records(kind=documents.Record):
    """All classes of records, of every module."""
    for one in kind.__subclasses__():
        yield one
        yield from records(one)


def test_each_annotation_of_each_record_is_understood():
    """Nothing falls through: what a reader has no hook for is an error when its class is set up."""
    for package in (simulator.models, simulator.calibration):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found = {one for one in records() if one.__module__.startswith("simulator.")}
    assert {"SpeedBand", "Design", "Spread", "MemoryModel", "Plan", "LinkModel"} <= {one.__name__ for one in found}
    for kind in found:
        documents._form(kind, frozenset())


def test_an_annotation_that_is_not_understood_is_an_error_at_once():
    @dataclass(frozen=True)
    class Strange:
        values: NDArray[np.float64]

    with pytest.raises(TypeError, match=r"Strange: the annotation .* is not understood"):
        documents.read(Strange, {})


@dataclass(frozen=True)
class Strict:
    sizes: arrays.Vector
    rows: arrays.Matrix
    counts: arrays.Counts
    kind: Literal["a", "b"] = "a"
    ends: tuple[float, float] = (0.0, 1.0)
    shares: Mapping[str, float] = field(default_factory=dict)
    more: tuple["Strict", ...] = ()
    start: str = field(default="", metadata=documents.named("from"))


STRICT = {"sizes": [1, 2.5], "rows": [[1.0], [2.0]], "counts": [3], "from": "x"}


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({"sizes": [1, None, True]}, ["sizes.1: None is not a number", "sizes.2: True is not a number"]),
        ({"sizes": [float("nan")]}, ["sizes.0: nan is not a number"]),
        ({"sizes": [[1.0]]}, ["sizes.0: [1.0] is not a number"]),
        ({"sizes": "12"}, ["sizes: '12' is no list; write one"]),
        ({"rows": [1.0]}, ["rows.0: 1.0 is no list; write one"]),
        ({"rows": [[1.0], [1.0, 2.0]]}, ["rows: its rows are of unequal length"]),
        ({"counts": [1.0]}, ["counts.0: 1.0 is not a whole number"]),
        ({"counts": [10**30]}, ["counts: a number is beyond those of int64"]),
        ({"knd": "a"}, ["knd: unknown key; did you mean kind?"]),
        ({"kind": "c"}, ["kind: 'c' is not known; give a or b"]),
        ({"ends": [1]}, ["ends: there are 1 entries; give 2"]),
        ({"shares": {"a": "1"}}, ["shares.a: '1' is not a number"]),
        ({"shares": []}, ["shares: [] is no object; write keys with values"]),
        ({"more": [{"sizes": [], "rows": []}]}, ["more.0.counts: missing key; add it"]),
        ({"from": 1}, ["from: 1 is not a text"]),
        ({"start": "x"}, [f"start: unknown key; there are {', '.join(Strict.__dataclass_fields__)}"]),
    ],
)
def test_what_a_file_says_is_read_strictly(change, lines):
    with pytest.raises(documents.ScenarioError) as refused:
        documents.read(Strict, STRICT | change)
    said = [line.replace("shares, more, from", "shares, more, start") for line in refused.value.lines]
    assert said == lines


def test_arrays_have_their_type_and_dimensions():
    found = documents.read(Strict, STRICT | {"rows": [], "more": [STRICT]})
    assert (found.sizes.dtype, found.rows.shape, found.counts.dtype) == (np.float64, (0, 0), np.int64)
    assert found.more[0].start == found.start == "x"


def test_a_class_that_holds_itself_is_looked_at_once_however_deep_the_stack(monkeypatch):
    looked = []
    monkeypatch.setattr(documents, "_keys", lambda *given, of=documents._keys: looked.append(given[0]) or of(*given))
    for cached in (documents._form, documents._converter):
        cached.cache_clear()
    documents._BEGUN.discard(Strict)
    assert documents.read(Strict, STRICT | {"rows": [], "more": [STRICT]}).more[0].kind == "a"
    assert looked.count(Strict) <= 3

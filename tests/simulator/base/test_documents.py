"""Dataclasses as plain data and back, from documents of older versions too."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from simulator import documents


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
    assert documents.from_dict(Result, json.loads(json.dumps(plain))) == WHOLE
    assert (plain["from"], plain["seed"], plain["sure"]) == ("a", 3, True)
    assert "drawn" not in plain
    assert "note" not in plain
    assert plain["every"] == [{"low": 0.5, "high": 2.0}]


def test_an_older_document_lacks_fields_and_calls_some_otherwise():
    empty = Result("b", None, (), {}, None, Drawn(None, sure=False), (), None, 0, "")
    assert documents.from_dict(Result, {"start": "b", "unknown": 1}) == empty
    nothing = dict.fromkeys(("ends", "every", "by_name", "span", "either", "count", "note"))
    assert documents.from_dict(Result, {"from": "b"} | nothing) == empty
    assert documents.from_dict(Result, {"from": "b", "ends": {}, "span": [1.0], "count": "many"}) == empty


@pytest.mark.parametrize("wrong", [{"every": 3}, {"ends": [1]}, {"by_name": "x"}, {"every": [1.0]}])
def test_something_else_in_the_place_of_a_list_or_an_object_is_refused(wrong):
    with pytest.raises(TypeError, match="stands where a list or an object is to be"):
        documents.from_dict(Result, wrong)


def test_arrays_and_what_writes_itself_are_plain_data():
    class Own:
        def to_dict(self):
            return {"own": True}

    assert documents.to_dict({"a": np.arange(2), "b": (Own(), 1.5, None)}) == {
        "a": [0, 1],
        "b": [{"own": True}, 1.5, None],
    }

"""Mistakes as people make them, in the data or the text of a scenario file."""

import copy
import random
from collections.abc import Iterator
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3.5, -2.5, 1e308, 1e-320, 10**30, 10**400, float("nan"), float("inf")),
    *("", " ", "x", "equal", "-1", "0", "nan", "1e999Gbit/s", "1Gbit", "5 parsecs", "-3us", "1e400 s", "0B", "1us"),
    "10GiB",
    *("1 Gflop/s", "n[1-2]", "n[2-1]", "n[1-9999999]", "[", "a\nb", "é\u2028ü", "\x7f", "../..", "/dev/zero", "no.csv"),
    *("files/load.csv", "files/speed.json", "files/network.json", "files/star.xml", "least.yaml", "{node}", "seg"),
    "hpl",
    *([], [1], [[]], [None], ["a", "a"], {}, {"a": 1}, {"name": "a"}, {"model": "files/speed.json"}),
    {"latency": "1us"},
    *({"extends": "least.yaml"}, [{"name": "a"}], list(range(50)), "a" * 5000, "2" * 5000),
)
Place = tuple[str | int, ...]


def places(data: Any, here: Place = ()) -> Iterator[Place]:
    """Every field, from the top down."""
    yield here
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield from places(value, (*here, key))


def mutated(data: Any, draw: random.Random) -> Any:
    """Data with one to three mistakes."""
    data = copy.deepcopy(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        listed = [place for place in places(data) if place]
        if not listed:
            break
        *way, last = draw.choice(listed)
        holder = data
        for part in way:
            holder = holder[part]
        draw.choice((_delete, _misspell, _replace, _replace, _scale, _copy, _add))(holder, last, data, draw)
    return data


def broken(text: str, draw: random.Random) -> str:
    """A text with a few letters or lines gone, doubled or changed."""
    for _ in range(draw.randint(1, 3)):
        lines = text.split("\n")
        kind, at = draw.randrange(5), draw.randrange(len(text) + 1)
        if kind == 0:
            text = text[:at] + text[at + draw.randint(1, 4) :]
        elif kind == 1:
            text = text[:at] + draw.choice("{}[]:,&*!|>'\"%@`#-?\t\0\x1b\u2028\ufeff\ud7ff=\\~<") + text[at:]
        elif kind == 2:
            del lines[draw.randrange(len(lines))]
            text = "\n".join(lines)
        elif kind == 3:
            place = draw.randrange(len(lines))
            text = "\n".join([*lines[:place], lines[draw.randrange(len(lines))], *lines[place:]])
        else:
            text = text[:at]
    return text


def _delete(holder: Any, last: Any, _data: Any, _draw: random.Random) -> None:
    del holder[last]


def _misspell(holder: Any, last: Any, _data: Any, draw: random.Random) -> None:
    def wrong(text: str) -> str:
        at = draw.randrange(len(text) + 1)
        return draw.choice((text[:at] + text[at + 1 :], text[:at] + "x" + text[at:], text.upper(), text[::-1]))

    if isinstance(last, str) and draw.random() < 0.6:
        holder[wrong(last)] = holder.pop(last)
    elif isinstance(holder[last], str):
        holder[last] = wrong(holder[last])


def _replace(holder: Any, last: Any, _data: Any, draw: random.Random) -> None:
    holder[last] = copy.deepcopy(draw.choice(VALUES))


def _scale(holder: Any, last: Any, _data: Any, draw: random.Random) -> None:
    value = holder[last]
    if isinstance(value, int | float) and not isinstance(value, bool):
        holder[last] = draw.choice((-value, value * 10**6, 0, value + 0.5, str(value), -(10**20), 2**53 + 1))
    elif isinstance(value, list):
        holder[last] = draw.choice((value * 2, value[::-1], value[:1], value * 20))


def _copy(holder: Any, last: Any, data: Any, draw: random.Random) -> None:
    value = data
    for part in draw.choice(list(places(data))):
        value = value[part]
    holder[last] = copy.deepcopy(value)


def _add(holder: Any, last: Any, data: Any, draw: random.Random) -> None:
    names = sorted({part for place in places(data) for part in place if isinstance(part, str)})
    if isinstance(holder[last], dict):
        holder[last][draw.choice([*names, "extends", "notes", "shared", "count", "model", "swap"])] = copy.deepcopy(
            draw.choice(VALUES)
        )
    elif isinstance(holder[last], list):
        holder[last].append(copy.deepcopy(draw.choice(VALUES)))

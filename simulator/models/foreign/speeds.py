"""Speeds over the parameter of a program, as benchmarks of libraries print them: `n,GFLOPS`."""

import re

import numpy as np

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.base.formula import parse
from simulator.base.tables import Table
from simulator.models.foreign.printed import Printed, lines_of, numbers_of, table_of

SPEEDS = re.compile(r"^#?[ \t]*\w+[,; \t]+([kMGT]?)flop(?:s|/s)\s*$", re.MULTILINE | re.IGNORECASE)
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
RATE, LEAST = "flop_per_s", 1e3


def read_speeds(text: str, place: str) -> Printed:
    """The parameter n and operations per second; rows of one n are repetitions."""
    lines = lines_of(re.sub(r"[,;]", " ", text))
    header = next(number for number, (_, line) in enumerate(lines) if SPEEDS.match(line))
    scale = _SCALES[SPEEDS.sub(r"\1", lines[header][1]).lower()]
    rows = [line for line in lines[header + 1 :] if not line[1].startswith("#")]
    if not rows:
        raise ScenarioError(f"{place}: there is no row below {lines[header][1]!r}; give n and a speed in each")
    found = [numbers_of(line, place, ("n", RATE)) for line in rows]
    sizes = [row[0] for row in found]
    notes = [f"n = {n:g} comes {sizes.count(n)} times: repetitions" for n in dict.fromkeys(sizes) if sizes.count(n) > 1]
    if any(scale * rate < LEAST for _, rate in found):
        raise ScenarioError(f"{place}: a speed is below {LEAST:g} operations per second; check the unit of the header")
    return Printed(table_of(place, ("n", RATE), [(n, scale * rate) for n, rate in found], rows), tuple(notes))


def sized(table: Table, size: str | None, volume: str | None) -> tuple[Floats, Floats, Floats]:
    """Elements, operations and seconds of each row, by formulas over n."""
    if size is None or volume is None:
        raise ScenarioError(f"{table.place} says speeds over n; give --size and --volume, such as 3*n**2 and 2*n**3")
    n, rates = table.numbers("n"), table.numbers(RATE)
    elements, volumes = (
        np.broadcast_to(parse(text, names=("n",), place=f"--{name}").evaluate({"n": n}), n.shape)
        for name, text in (("size", size), ("volume", volume))
    )
    if not (np.all(n > 0) and np.all(rates > 0) and np.all(elements > 0) and np.all(volumes > 0)):
        raise ScenarioError(f"{table.place}: n, speeds, --size and --volume are numbers above 0 at every row")
    return elements, volumes, volumes / rates

"""Every number of shipped scenarios times two: an answer, or one plain sentence that says what is wrong."""

from dataclasses import replace

import pytest

from simulator import run
from simulator.base.errors import ApportionError
from simulator.base.units import amount
from simulator.base.yaml_document import read_value
from simulator.scenario_file.load import Template, resolved_text
from tests.support.command_line import ROOT

SHIPPED = ("three-pes", "two-cores", "cluster", "memory", "networks", "shared-pes", "matmul-broadcast", "channels")
ANSWERED = ("latency", "bandwidth", "cores", "count", "capacity", "speeds", "n", "replications", "seed")
"""Last parts of paths that must be answered in all of these files."""


def numbers(data, path=()):
    """The path of each number, quantity, and list of them."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from numbers(value, (*path, str(key)))
    elif isinstance(data, list) and not all(map(is_number, data)):
        for place, value in enumerate(data):
            yield from numbers(value, (*path, str(place)))
    elif (isinstance(data, list) and data) or is_number(data):
        yield path


def is_number(value):
    if isinstance(value, str):
        return amount(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.parametrize("name", SHIPPED)
def test_twice_each_number_is_answered_or_refused_in_a_sentence(name):
    path = ROOT / "scenarios" / "tutorial" / f"{name}.yaml"
    template = Template.of_data(read_value(resolved_text(path)), path, {})
    found = list(numbers(template.document.data))
    answered = set()
    for parts in found:
        field = ".".join(parts)
        try:
            scenario = template.scenario([f"{field}=x2"], oversized=True)
            run(replace(scenario, replications=1, truths=None))
        except ApportionError as error:
            (line,) = error.lines
            assert "internal" not in line
            assert field in line or parts[-2] in line or parts[0] in line
            assert parts[-1] not in ANSWERED
            continue
        answered.add(field)
    assert len(answered) > 0.6 * len(found)

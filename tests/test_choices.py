"""What is chosen from seeded tables is the same under every core type that this processor can pretend to be."""

import json
import subprocess
import sys

import pytest

from tests import core_types
from tests.support import choices

REFERENCE, OTHERS = "Haswell", ("SkylakeX", "Zen", "Nehalem", "Prescott")
QUICK = ("some_networks", "regression", "process_counts", "allocations", "measured_sizes")
SLOW = ("network", "memory", *QUICK[1:])


def chosen(core: str, kinds: tuple[str, ...]) -> dict[str, list]:
    """What a child process chooses as that core type; skipped by name where this processor cannot run it."""
    if reason := core_types.why_not(core):
        pytest.skip(reason)
    command = [sys.executable, "-m", "tests.support.choices", *kinds]
    child = subprocess.run(
        command, check=True, env=core_types.environment(core), capture_output=True, text=True, timeout=600
    )
    return dict(zip(kinds, json.loads(child.stdout), strict=True))


def compare(core: str, kinds: tuple[str, ...], known: dict[str, list]) -> None:
    found = chosen(core, kinds)
    for kind in kinds:
        differ = [
            place for place, (one, other) in enumerate(zip(found[kind], known[kind], strict=True)) if one != other
        ]
        assert not differ, f"{kind}: {core} and {REFERENCE} choose otherwise from tables {differ}"


@pytest.fixture(scope="module")
def quick():
    return chosen(REFERENCE, QUICK)


@pytest.fixture(scope="module")
def slow():
    return chosen(REFERENCE, SLOW)


@pytest.mark.slow
def test_core_types_choose_alike(quick):
    compare("SkylakeX", QUICK, quick)


@pytest.mark.parametrize("kind", QUICK)
def test_other_last_bits_choose_alike(kind):
    """Inputs with other last bits stand for every processor there is."""
    choose = choices.KINDS[kind]
    known = choose(0)
    differ = [place for place, (one, other) in enumerate(zip(choose(1), known, strict=True)) if one != other]
    assert not differ, f"{kind}: other last bits choose otherwise from tables {differ}"


@pytest.mark.slow
def test_core_types_choose_alike_from_many_tables_and_of_memory_models(slow):
    """The core type that is least like the reference, without any vector loop of NumPy."""
    assert len(slow["network"]) == choices.NETWORKS
    compare("Prescott", SLOW, slow)


def test_core_types_compute_otherwise():
    """Or nothing above would be tried: at least one other core type gives other last bits of a solution."""
    able = [core for core in (REFERENCE, *OTHERS) if not core_types.why_not(core)]
    if len(able) < 2:
        pytest.skip("this processor computes as one core type of OpenBLAS alone, or NumPy does not use OpenBLAS here")
    assert len({core_types.last_bits(core) for core in able}) > 1

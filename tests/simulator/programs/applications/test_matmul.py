import itertools

from simulator.programs.applications import build_program
from simulator.programs.columns import KIND_NAMES
from simulator.programs.configuration import Configuration
from tests.simulator.programs.applications.counts import Counts


def test_counts_made_by_hand():
    """n = 4, rows 3 and 1: B is 16 words; a worker gets 16 + 4 words, returns 4; a row costs 2 x 4 x 4."""
    found = Counts(build_program("matmul", {"n": 4}, Configuration.one_each("c", (3, 1))))
    assert kinds(found) == [["send", "compute", "recv"], ["recv", "compute", "send"]]
    assert found.volumes == [[96], [32]]
    assert found.sizes == [[16 + 2 * 12], [16 + 2 * 4]]
    assert found.messages == {(0, 1): [8 * 20], (1, 0): [8 * 4]}
    assert found.footprints == [8 * 48, 8 * 24]


def kinds(found):
    names = [KIND_NAMES[kind] for kind in found.columns.kind.tolist()]
    edges = found.columns.first.tolist()
    return [names[first:end] for first, end in itertools.pairwise(edges)]


def test_the_master_sends_and_collects_in_order():
    found = Counts(build_program("matmul", {"n": 6}, Configuration.one_each("c", (1, 2, 0, 3))))
    assert kinds(found)[0] == ["send", "send", "compute", "recv", "recv"]
    assert found.columns.partner[:5].tolist() == [1, 3, -1, 1, 3]
    assert found.messages == {(0, 1): [8 * 48], (0, 3): [8 * 54], (1, 0): [8 * 12], (3, 0): [8 * 18]}
    assert found.columns.tag[:5].tolist() == [0, 0, 0, 1, 1]


def test_a_process_without_rows_takes_no_part():
    found = Counts(build_program("matmul", {"n": 4}, Configuration.one_each("c", (4, 0))))
    assert kinds(found) == [["compute"], []]
    assert (found.volumes, found.sizes) == ([[128], []], [[48], []])
    found = Counts(build_program("matmul", {"n": 4}, Configuration.one_each("c", (0, 4))))
    assert kinds(found)[0] == ["send", "recv"]

import pytest

from simulator.applications import build_program
from simulator.configuration import Configuration
from simulator.errors import ScenarioError
from simulator.program import Compute, Recv, Send


def test_counts_made_by_hand():
    """n = 4, rows 3 and 1: B is 16 words; a worker gets 16 + 4 words, returns 4; a row costs 2 x 4 x 4."""
    program = build_program("matmul", {"n": 4}, Configuration.one_each("c", (3, 1)))
    assert program.operations == (
        (Send(1, 8 * 20, 0), Compute(96.0, 16 + 2 * 12), Recv(1, 1)),
        (Recv(0, 0), Compute(32.0, 16 + 2 * 4), Send(0, 8 * 4, 1)),
    )
    assert program.footprints_bytes == (8 * 48, 8 * 24)


def test_a_process_without_rows_takes_no_part():
    program = build_program("matmul", {"n": 4}, Configuration.one_each("c", (4, 0)))
    assert program.operations == ((Compute(128.0, 48),), ())
    program = build_program("matmul", {"n": 4}, Configuration.one_each("c", (0, 4)))
    assert [type(operation) for operation in program.operations[0]] == [Send, Recv]


@pytest.mark.parametrize(
    ("name", "parameters", "rows", "message"),
    [
        ("matmul", {"n": 5}, (3, 1), "4 rows found, n = 5"),
        ("matmul", {"m": 4}, (3, 1), "m found, n allowed"),
        ("matmul", {}, (3, 1), "none found, n allowed"),
        ("lu", {"n": 4}, (3, 1), "one of cholesky, ep, farm"),
    ],
)
def test_what_does_not_fit_is_refused(name, parameters, rows, message):
    with pytest.raises(ScenarioError, match=message):
        build_program(name, parameters, Configuration.one_each("c", rows))

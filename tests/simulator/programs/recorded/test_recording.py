"""A recording is written and read as it is, and what is damaged is refused."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.programs.recorded.recording import COLUMNS, Action, Described, Recording


def two_ranks() -> Recording:
    """Rank 0 computes and sends 8 bytes, rank 1 receives them."""
    action = np.array([Action.COMPUTE, Action.SEND, Action.RECV], dtype=np.int8)
    whole = np.array([-1, -1, -1], dtype=np.int32)
    return Recording(
        first=np.array([0, 2, 3]),
        action=action,
        partner=np.array([-1, 1, 0], dtype=np.int32),
        source=whole,
        tag=np.zeros(3, dtype=np.int32),
        communicator=np.zeros(3, dtype=np.int32),
        mode=np.zeros(3, dtype=np.int8),
        amount=np.array([0.5, 8.0, 8.0]),
        site=whole,
        computed_s=np.array([[0.5]]),
        members_first=np.array([0, 2]),
        members=np.array([0, 1]),
        parts_first=np.array([0]),
        parts=np.zeros(0),
        memory_bytes=np.array([1 << 20, 1 << 20]),
        clock_s=np.array([[0.6, 0.6]]),
        described=Described("mpiexec -n 2 ./program", sites=("main",), unknown={"MPI_Win_create": 2}),
    )


def test_it_is_read_as_it_was_written(tmp_path):
    made = two_ranks()
    made.save(tmp_path / "run")
    found = Recording.load(tmp_path / "run")
    assert found.described == made.described
    for name in COLUMNS:
        assert np.array_equal(getattr(found, name), getattr(made, name)), name


def test_one_that_is_cut_off_is_refused(tmp_path):
    two_ranks().save(tmp_path)
    file = tmp_path / "actions.npz"
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(ScenarioError, match="cut off or damaged"):
        Recording.load(tmp_path)


def test_columns_that_do_not_fit_are_refused(tmp_path):
    made = two_ranks()
    replace(made, partner=np.array([-1, 2, 0], dtype=np.int32)).save(tmp_path)
    with pytest.raises(ScenarioError, match="do not fit each other"):
        Recording.load(tmp_path)

import pytest

from simulator import randomness


def test_the_bits_are_those_of_every_release():
    assert randomness.stream(7, 3, "core0", "load").integers(0, 2**32, 3).tolist() == [
        3988763139,
        309440828,
        3684357046,
    ]


def test_keys_that_differ_give_streams_that_differ():
    keys = [(1, "a"), ("1", "a"), (1, "b"), ("1a",), (1, "a", ""), (11, "a")]
    assert len({randomness.stream(7, *key).random() for key in keys}) == len(keys)
    assert randomness.stream(7, 1).random() != randomness.stream(8, 1).random()


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**63 - 1, 2**70])
def test_many_first_draws_at_once_are_those_of_the_streams_to_the_bit(seed):
    keys = [(number, f"n{number % 13}", use) for number in range(300) for use in ("load", "speed")]
    assert randomness.firsts(seed, keys).tolist() == [randomness.stream(seed, *key).random() for key in keys]

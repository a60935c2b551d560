from simulator import randomness


def test_same_seed_and_key_same_bits():
    assert randomness.stream(7, 3, "core0", "load").random() == randomness.stream(7, 3, "core0", "load").random()


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

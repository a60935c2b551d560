"""Parallel kernels: closed forms of the simulated part, and bad input in one line."""

from pathlib import Path

import numpy as np
import pytest

from advisor.cli.characterise import characterise
from advisor.reproduce import parallel_study
from simulator import ScenarioError, randomness
from simulator.characterisation import PARALLEL_KERNELS, predict_parallel, shares
from simulator.characterisation.parallel.bodies import BODIES
from simulator.characterisation.parallel.table import keep_part, numbers
from simulator.models import CostVector, HardwareModel
from simulator.models.network import LinkModel
from tests.support.command_line import apportion_here

LATENCY_S, BANDWIDTH = 1e-5, 1e9
LINK = LinkModel.from_latency(LATENCY_S, BANDWIDTH)
UNIT_S = 1e-6
RATE = 1e9


def message_s(size_bytes):
    return LATENCY_S + size_bytes / BANDWIDTH


def makespan_s(name, n, count, seconds):
    return parallel_study._makespan_s(PARALLEL_KERNELS[name], n, seconds, count=count, message=LINK)


@pytest.mark.parametrize("count", [1, 2, 8, 128])
def test_integration_divides_and_combines(count):
    """Equal shares, then log2 P rounds of eight bytes."""
    n = 128_000
    found = makespan_s("integration", n, count, {"phase": n * UNIT_S / count})
    assert found == pytest.approx(n * UNIT_S / count + np.log2(count) * message_s(8), rel=1e-6)


def test_sort_exchanges_its_share_in_each_round():
    n, count = 4096, 8
    found = makespan_s("sort", n, count, {"local": 3e-3, "merge": 1e-3})
    assert found == pytest.approx(3e-3 + 3 * (1e-3 + message_s(8 * n / count)), rel=1e-6)


def test_matmul_on_two_sends_each_block_once():
    """The second process's block follows its computation on the first one's."""
    n, step_s = 64, 1e-2
    found = makespan_s("matmul", n, 2, {"step": step_s})
    alone = makespan_s("matmul", n, 1, {"step": 4 * step_s})
    assert alone == pytest.approx(4 * step_s, rel=1e-6)
    assert 2 * step_s + message_s(8 * n * n / 2) <= found <= 2 * (step_s + message_s(8 * n * n / 2)) + 1e-9


def test_steps_are_costed_at_the_share_of_each_process():
    """Six weighted flops and more per midpoint, at a known rate: time falls as the share does."""
    hardware = HardwareModel("known", {"poc": CostVector.principal(RATE)})
    found = predict_parallel(
        PARALLEL_KERNELS["integration"],
        64_000,
        (1, 4),
        hardware,
        methods=("poc",),
        budget_s=0.01,
        generator=randomness.stream(1, "test"),
    )
    flops = 5 + 4  # shift, scale, square, add and sum; a division weighs four
    assert found.seconds["poc"][1]["phase"] == pytest.approx(flops * 64_000 / RATE, rel=1e-3)
    assert found.seconds["poc"][1]["phase"] == pytest.approx(4 * found.seconds["poc"][4]["phase"], rel=1e-3)
    assert found.seconds["ct"][4]["phase"] > 0


@pytest.mark.parametrize(("mine", "others"), [(6, 6), (5, 6), (6, 5), (1, 1)])
def test_both_parts_together_are_all_numbers_in_order(mine, others):
    everything = numbers(mine + others) % 7
    own, theirs = np.sort(everything[:mine]), np.sort(everything[mine:])
    low, high = np.zeros_like(own), np.zeros_like(theirs)
    keep_part(own, theirs, low, False)
    keep_part(theirs, own, high, True)
    assert np.concatenate((low, high)).tolist() == np.sort(everything).tolist()


def test_shares_differ_by_one_at_most():
    assert shares(10, 4) == (3, 3, 2, 2)


@pytest.mark.parametrize("name", PARALLEL_KERNELS)
def test_a_process_alone_is_right_and_a_spoilt_result_is_seen(name):
    body = BODIES[name](65, 0, None)
    assert not body.right()
    if name == "integration":  # 65 midpoints are 2e-5 off
        return
    body.reset()
    body.run()
    assert body.right()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["matmul", "--parallel", "--processes", "0"], "--processes: 0 is no such number; give whole numbers"),
        (["fft", "--parallel"], "--parallel: 'fft' is no kernel with a template; name integration, sort, matmul"),
    ],
)
def test_bad_input_is_one_line(tmp_path, words, told):
    done = apportion_here("characterise", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")
    assert told in done.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"processes": "1,b"}, "--processes is '1,b'; give whole numbers above 0 with commas between"),
        ({"sizes": "100"}, "--processes: 128 is no such number; give whole numbers of 1 to 100 with commas between"),
        ({"sizes": "100,200"}, "--sizes is 100,200; give one size with --parallel"),
        ({"sizes": "0"}, "--sizes is 0; give 1 to 100000000"),
        ({"sizes": "10000000000"}, "--sizes is 10000000000; give 1 to 100000000"),
        ({"link": Path("none.json")}, "none.json: no such file"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_runs(given, told):
    with pytest.raises(ScenarioError) as caught:
        characterise("sort", **({"parallel": True} | given))
    assert len(caught.value.lines) == 1
    assert told in caught.value.lines[0]

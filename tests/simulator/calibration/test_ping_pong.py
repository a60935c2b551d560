"""Messages between real processes: every medium on this machine, and the campaign around them."""

import os
import socket
import threading
from itertools import pairwise

import psutil
import pytest

from simulator import CalibrationError, ScenarioError
from simulator.base.machine import this_machine
from simulator.calibration import LinkPlan, measure_link_times
from simulator.calibration.pingpong import campaign, measured
from simulator.calibration.pingpong.campaign import Plan, measure_sizes, message_sizes, open_store
from simulator.calibration.pingpong.ends import End, StreamChannel
from simulator.calibration.pingpong.pairs import Pair, local_pair, tcp_ends
from tests.support.processes import relatives

CPUS = sorted(os.sched_getaffinity(0))
PAIR = (CPUS[0], CPUS[-1])


def test_sizes_are_powers_of_two_and_the_middle_between_them():
    assert message_sizes(8) == (1, 2, 3, 4, 6, 8)
    sizes = message_sizes(64 * 2**20)
    assert (sizes[0], sizes[-1], len(sizes)) == (1, 64 * 2**20, 52)
    assert all(1 < after / before <= 2 for before, after in pairwise(sizes))
    assert message_sizes(7)[-1] == 6


@pytest.mark.parametrize("most", [0, -1, 2**40])
def test_sizes_out_of_bounds_are_refused(most):
    with pytest.raises(ScenarioError, match=r"largest message is .* bytes; give 1 to 1073741824"):
        message_sizes(most)


@pytest.mark.parametrize("medium", ["unix", "tcp"])
def test_messages_go_over_every_medium(medium):
    """Small ones, and ones larger than every buffer; what comes back is compared."""
    with local_pair(medium, PAIR) as pair:
        pair.sample_s(1, rounds=1, batches=1)  # both have started
        children = sorted([psutil.Process(pid) for pid in relatives()], key=lambda child: child.pid)
        assert [child.cpu_affinity() for child in children] == [[CPUS[0]], [CPUS[-1]]]
        for size in (1, 4096, 3 * 2**20):
            assert 0 < pair.sample_s(size, rounds=2, batches=2) < 60
    assert relatives() == []


class Answers:
    """Two processes that need 8 s and 16 s for a batch."""

    library = ""

    def ask(self, commands, kind, *, limit_s):
        assert limit_s > 0
        self.commands = commands
        return {number: kind(8.0 * (1 + number)) for number in commands}


def test_seconds_one_way_are_half_a_round_trip_as_the_first_saw_it():
    answers = Answers()
    assert Pair(answers).sample_s(10, rounds=4, batches=2) == 1.0
    assert {n: (c["peer"], c["first"]) for n, c in answers.commands.items()} == {0: (1, True), 1: (0, False)}


def test_a_batch_is_timed_over_all_its_rounds():
    """The echo takes 20 ms, so two rounds take 40."""
    near, far = socket.socketpair()

    def echo():
        for _ in range(6):
            data = far.recv(1)
            threading.Event().wait(0.02)
            far.send(data)

    thread = threading.Thread(target=echo)
    thread.start()
    end = End({1: StreamChannel(near.fileno(), near.fileno())})
    wall_s = end.sample(1, 1, rounds=2, batches=3, first=True).wall_s
    thread.join()
    near.close()
    far.close()
    assert 0.04 <= wall_s < 0.5


def test_other_bytes_than_were_sent_are_noticed():
    near, far = socket.socketpair()
    thread = threading.Thread(
        target=lambda: far.send(bytes(byte ^ (place == 99) for place, byte in enumerate(far.recv(100))))
    )
    thread.start()
    with pytest.raises(CalibrationError, match="other bytes came back"):
        End({1: StreamChannel(near.fileno(), near.fileno())}).sample(1, 100, rounds=1, batches=1, first=True)
    thread.join()
    near.close()
    far.close()


def test_a_stranger_on_loopback_is_not_taken_for_ours(monkeypatch):
    strangers, connect = [], socket.create_connection

    def after_a_stranger(address):
        strangers.append(connect(address))
        return connect(address)

    monkeypatch.setattr(socket, "create_connection", after_a_stranger)
    (out, _), (_, into) = tcp_ends()
    os.write(out, b"ours")
    assert os.read(into, 10) == b"ours"
    (stranger,) = strangers
    assert stranger.recv(10) == b""
    stranger.close()
    os.close(out)
    os.close(into)


# The campaign


class Sampled:
    """A sampler that predicts every time, and notes what it was asked."""

    def __init__(self, stop_after=10**9):
        self.asked = []
        self.stop_after = stop_after

    def __call__(self, size_bytes, *, rounds, batches):  # noqa: ARG002 - a sampler's
        if len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append(size_bytes)
        return 1e-3 + 1e-9 * size_bytes


@pytest.fixture
def quick(monkeypatch):
    """Samples of a tenth, no file sync, few passes: tests of what is done, not of how well."""
    monkeypatch.setattr(campaign, "SAMPLE_S", 0.0005)
    monkeypatch.setattr(campaign, "ASKING_S", 0.0)
    monkeypatch.setattr(campaign, "MOST_SAMPLES", 4)


def campaign_of(tmp_path, sampler, *, seed=1, budget_s=100.0, sizes=(1, 2, 1000), firm=True):
    plan = Plan(sizes, budget_s, seed, firm=firm)
    store = open_store(tmp_path / "l.partial", plan, subject={"medium": "none"}, machine=None)
    return measure_sizes(plan, sampler, store, on_progress=lambda _stage, _share: None)


WARM_UP = 4
"""Questions before the first pass: one, and each size."""


@pytest.mark.usefixtures("quick")
def test_every_pass_visits_all_in_random_order(tmp_path):
    sampler = Sampled()
    found = campaign_of(tmp_path, sampler)
    asked = sampler.asked[WARM_UP:]
    passes = [asked[start : start + 3] for start in (0, 3, 6, 9)]
    assert all(set(one) == {1, 2, 1000} for one in passes)
    assert len({tuple(one) for one in passes}) > 1
    assert found == {size: [pytest.approx(1e-3 + 1e-9 * size)] * 4 for size in (1, 2, 1000)}
    again, other = Sampled(), Sampled()
    campaign_of(tmp_path / "again", again)
    campaign_of(tmp_path / "other", other, seed=2)
    assert (again.asked == sampler.asked, other.asked == sampler.asked) == (True, False)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("after", [5, 6, 12])
def test_an_interrupted_campaign_takes_no_sample_twice(tmp_path, after):
    whole = Sampled()
    campaign_of(tmp_path / "whole", whole)
    first, second = Sampled(stop_after=after), Sampled()
    with pytest.raises(KeyboardInterrupt):
        campaign_of(tmp_path, first)
    found = campaign_of(tmp_path, second)
    assert first.asked[WARM_UP:] + second.asked[WARM_UP:] == whole.asked[WARM_UP:]
    assert {len(samples) for samples in found.values()} == {4}


@pytest.mark.usefixtures("quick")
def test_samples_of_something_else_are_refused(tmp_path):
    campaign_of(tmp_path, Sampled())
    path = tmp_path / "l.partial"
    with pytest.raises(ScenarioError, match="medium other"):
        open_store(path, Plan((1, 2, 1000), 1.0, 1), subject={"medium": "other"}, machine=None)
    path.write_text(path.read_text().replace('"message_s": ', '"message_s": -'))
    with pytest.raises(ScenarioError, match=r"l.partial:2: visit: whole numbers and times of 0 or more belong here"):
        campaign_of(tmp_path, Sampled())


def test_a_budget_too_small_says_what_is_needed(tmp_path):
    with pytest.raises(ScenarioError, match=r"10 ms is too short; give \d+ s or more for 3 samples of 3 sizes"):
        campaign_of(tmp_path, Sampled(), budget_s=0.01)
    assert not (tmp_path / "l.partial").exists()


@pytest.mark.usefixtures("quick")
def test_a_budget_that_is_not_firm_suffices_for_the_least(tmp_path):
    found = campaign_of(tmp_path, Sampled(), budget_s=1e-9, firm=False)
    assert {len(samples) for samples in found.values()} == {3}


def test_one_pe_is_too_few(monkeypatch):
    """A machine of one PE, as this one would be under a quota of one core."""
    import dataclasses

    one = dataclasses.replace(this_machine(), quota_cores=1.0)
    monkeypatch.setattr(measured, "this_machine", lambda: one)
    with pytest.raises(ScenarioError, match="1 PE, and messages between PEs need 2; `apportion cluster --hosts`"):
        measure_link_times(LinkPlan(), store=None)


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        ({"between": "pigeons"}, r"--between is 'pigeons'; name one of processes, tcp, mpi"),
        ({"max_bytes": 0}, r"--max-bytes is 0 B; give 64 B to 1 GiB"),
    ],
)
def test_plans_that_cannot_be(plan, found):
    with pytest.raises(ScenarioError, match=found):
        LinkPlan(**plan)


def test_elsewhere_than_on_linux(monkeypatch):
    import platform

    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with pytest.raises(CalibrationError, match="Darwin and measuring needs Linux"):
        measure_link_times(LinkPlan(), store=None)

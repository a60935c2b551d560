"""Hosts behind a stand-in for ssh that speaks the real protocol: honest, hostile and broken ones; lists of hosts."""

import dataclasses
import io
import itertools
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from simulator import CalibrationError, ScenarioError, SpeedBand
from simulator.calibration import Host, HostError, fit_cluster_network, hosts_of_file, listed_hosts, over_ssh
from simulator.calibration.bench.group import EndedError, Group
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.bench.worker import SUBJECTS
from simulator.calibration.hosts import archive
from simulator.calibration.hosts import host as hosts_module
from simulator.calibration.hosts.campaign import (
    MOST_CORES,
    ClusterPlan,
    MeasuredPair,
    _Together,
    measure_cluster,
    reach_hosts,
    rounds_of,
    sampled,
)
from simulator.calibration.hosts.far_ranks import FarRanks
from simulator.calibration.hosts.links import link_rates
from simulator.calibration.hosts.transport import allocated_hosts
from simulator.calibration.kernels.table import panel_kernel
from simulator.calibration.ranks.programs import RealProgram

STAND_IN = [sys.executable, "-S", "-E", str(Path(__file__).with_name("stand_in.py"))]


def here(_host, line):
    return ["sh", "-c", line]


def stand_in(name):
    return Host(name, over_ssh(STAND_IN))


@pytest.mark.parametrize(
    ("text", "names"),
    [("a,b", ["a", "b"]), ("n[08-10],x", ["n08", "n09", "n10", "x"]), ("me@n1", ["me@n1"])],
)
def test_hosts_are_listed_as_users_write_them(text, names):
    assert listed_hosts(text) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,a", "a comes twice"),
        ("a b", "holds a blank"),
        ("", "is no name of a host"),
        ("n[5-2]", "no range that ascends"),
        ("n[1-5000]", "5000 hosts are too many; give 4096 at most"),
    ],
)
def test_lists_that_are_none_are_refused(text, said):
    with pytest.raises(ScenarioError, match=said):
        listed_hosts(text)


def test_host_files_of_launchers_are_read(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# ours\nn1 slots=4\nn2:8\n\nn[3-4] # two\n")
    assert hosts_of_file(path) == ["n1", "n2", "n3", "n4"]
    path.write_text("n1\nn 2\n")
    with pytest.raises(ScenarioError, match="2: 'n 2' holds a blank"):
        hosts_of_file(path)


def test_outside_of_an_allocation_slurm_is_refused():
    with pytest.raises(ScenarioError, match="no allocation of Slurm"):
        allocated_hosts({})


@pytest.mark.parametrize("count", [2, 3, 32])
def test_rounds_hold_every_pair_once_and_no_host_twice(count):
    names = [f"n{number}" for number in range(count)]
    rounds = rounds_of(names, seed=1)
    for pairs in rounds:
        assert len({name for pair in pairs for name in pair}) == 2 * len(pairs)
    assert sorted(tuple(sorted(pair)) for pairs in rounds for pair in pairs) == sorted(
        tuple(sorted(pair)) for pair in itertools.combinations(names, 2)
    )


def test_of_many_hosts_a_sample_of_pairs_is_drawn():
    names = [f"n{number}" for number in range(200)]
    rounds = rounds_of(names, seed=1)
    pairs = [tuple(sorted(pair)) for one in rounds for pair in one]
    assert len(rounds) == 31
    assert len(pairs) == len(set(pairs)) == 31 * 100
    assert rounds == rounds_of(names, seed=1) != rounds_of(names, seed=2)


def test_a_link_for_each_host_is_found_from_pairs():
    random, sizes = np.random.default_rng(3), [1, 4096, 2**17, 2**21, 2**24]
    latency, bandwidth = random.uniform(1e-5, 2e-4, 6), np.array([1e9, 9e8, 3e8, 1e8, 2e8, 5e7])
    pairs = [
        MeasuredPair(
            (f"h{one}", f"h{other}"),
            {
                size: tuple(
                    (latency[one] + latency[other] + size / min(bandwidth[one], bandwidth[other]))
                    * random.normal(1, 0.02, 7)
                )
                for size in sizes
            },
        )
        for one, other in itertools.combinations(range(6), 2)
    ]
    star = fit_cluster_network([f"h{number}" for number in range(6)], pairs).star
    assert star is not None
    slower = slice(1, None)  # that the fastest link is faster than the second shows in no pair
    found = np.array([link.bandwidth_bytes_per_s for link in star.private])
    np.testing.assert_allclose(found[slower], bandwidth[slower], rtol=0.06)
    np.testing.assert_allclose([link.latency_s for link in star.private], latency, rtol=0.2)


def test_one_lucky_pair_does_not_make_a_slow_link_fast():
    ends = np.array(list(itertools.combinations(range(4), 2)))
    slow = (ends == 3).any(axis=1)
    rates = np.where(slow, 1e8, 1e9)
    rates[np.flatnonzero(slow)[0]] = 1.6e8
    assert link_rates(4, ends, rates)[3] == pytest.approx(1e8)


def test_pairs_that_are_alike_have_one_model():
    times = {size: (1e-5 + size / 1e9,) * 5 for size in (1, 4096, 2**17, 2**20, 2**21, 2**22)}
    pairs = [MeasuredPair(pair, times) for pair in itertools.combinations("abc", 2)]
    assert fit_cluster_network("abc", pairs).star is None


def test_workers_run_on_a_host_as_here_and_nothing_stays_behind(tmp_path):
    def in_folder(_host, line):
        return ["env", f"TMPDIR={tmp_path}", "sh", "-c", line]

    with Host("x", in_folder, python=sys.executable) as host:
        about = host.reach()
        assert about.machine.cores
        assert abs(host.offset_s()) < 0.01  # one clock
        assert len(list(tmp_path.iterdir())) == 1
        with Group("kernel", [("any", "dgemm"), ("any", "dgemm")], places=[host, host]) as group:
            group.ask_all({"do": "prepare", "n": 40}, Done)
            answers = group.ask_all({"do": "sample", "inner": 3}, Usage)
    assert all(answer.wall_s > 0 for answer in answers)
    assert list(tmp_path.iterdir()) == []


ALONE = """
import importlib, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {"simulator", "numpy", *sys.stdlib_module_names}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
import simulator
print(simulator.__file__)
"""
FAR = ("kernel", "command", "ping-pong", "rank", "load")


def test_the_archive_is_all_that_workers_need_but_numpy(tmp_path):
    """Optional packages that Python finds at run time (NumPy looks for some) are not there either."""
    with zipfile.ZipFile(io.BytesIO(archive.archive())) as packed:
        packed.extractall(tmp_path)
    modules = [f"simulator.{SUBJECTS[subject]}" for subject in FAR]
    words = [sys.executable, "-E", "-c", ALONE, str(tmp_path), "simulator.calibration.hosts.agent", *modules]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)


def test_a_worker_that_fails_says_why_and_the_host_goes_on():
    with Host("x", here, python=sys.executable) as host:
        host.reach()
        with Group("kernel", [("any",)], places=[host]) as group, pytest.raises(EndedError, match="'no-kernel'"):
            group.ask_all({"do": "prepare", "kernel": "no-kernel", "n": 4}, Done)
        with Group("kernel", [("any", "dgemm")], places=[host]) as group:
            assert group.ask_all({"do": "prepare", "n": 4}, Done) == [Done()]


def test_a_host_without_python_says_so():
    with Host("x", here, python="/nonexistent/python") as host, pytest.raises(HostError, match=r"no Python 3\.11"):
        host.reach()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("garbage", "what it sent is no answer"),
        ("flood", "a line of more than 1 MiB"),
        ("huge", "it sent more than 4 MiB"),
        ("escape", r"^escape: \[2J \]0;owned all your base$"),
        ("dies", "the connection ended"),
    ],
)
def test_what_a_hostile_host_sends_is_bounded_and_named(name, said, monkeypatch):
    monkeypatch.setattr(hosts_module, "MOST_BYTES", 2**22)
    with stand_in(name) as host, pytest.raises(HostError, match=said):
        host.reach()


LIES = [
    ("machine.host", '"\\ud800x"', "what it sent is no answer"),
    ("machine.host", '"a\\u001b[2J"', "machine.host holds characters that do not print"),
    ("machine.host", '"%s"' % ("h" * 2000), "machine.host is too long"),
    ("machine.host", '""', "machine.host is empty"),
    ("machine.host", "7", "machine.host is missing or of another kind"),
    ("machine.memory_bytes", "1" + "0" * 400, "machine.memory_bytes is 1000"),
    ("machine.memory_bytes", "NaN", "what it sent is no answer"),
    ("machine.memory_bytes", "-1", "machine.memory_bytes is -1"),
    ("machine.cores", "[]", "machine.cores is empty"),
    ("machine.cores", '[{"cpu": 0, "siblings": []}, {"cpu": 0, "siblings": []}]', "has a processor twice"),
    ("topology.cores", "[]", "machine and topology differ in their cores"),
    ("topology.quota_cores", "3.0", "machine and topology differ in their cores"),
    ("", "DEEP", "what it sent is no answer"),
    ("addresses", '["$(reboot)"]', "addresses.0 is missing or of another kind"),
    ("protocol", "2", "use the same version of apportion there"),
]
"""A field of what a host says of itself, what stands in its place, what is said of it."""


def liar(*lie, name="liar3"):
    """A host that answers the job of a lie with a token in the place of a field; see the stand-in."""
    return Host(name, over_ssh([*STAND_IN, "lie", *lie]))


@pytest.mark.parametrize(("field", "token", "said"), LIES)
def test_a_host_that_says_what_cannot_be_is_refused_in_one_sentence(field, token, said):
    with liar("describe", field, token) as host, pytest.raises(HostError) as caught:
        host.reach()
    assert said in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300
    assert host.fault


ANSWERS = [
    ("", "DEEP", "what a worker of it said is no answer: [[["),
    ("", "[1, 2]", "what a worker of it said is no answer: [1, 2]"),
    ("", '{"cpu_s": 1, "cpu_s": 2}', "what a worker of it said is no answer"),
    ("wall_s", "-1", "wall_s is -1"),
    ("wall_s", "1e308", "wall_s is 1e+308"),
    ("wall_s", "true", "wall_s is True"),
    ("wall_s", '"\\u001b[2J"', "wall_s is [2J"),
]


@pytest.mark.parametrize(("field", "token", "said"), ANSWERS)
def test_an_answer_of_a_worker_that_is_no_measurement_loses_its_host(field, token, said):
    with liar("sample", field, token) as host:
        host.reach()
        with Group("kernel", [("any", "dgemm")], places=[host]) as group:
            group.ask_all({"do": "prepare", "n": 4}, Done)
            with pytest.raises(EndedError):
                group.ask_all({"do": "sample", "inner": 3}, Usage)
        assert said in host.fault
        assert host.fault.isprintable()


def test_a_host_whose_workers_are_silent_is_lost_at_the_end_of_its_stage():
    with stand_in("mute") as host:
        host.reach()
        with (
            Group("kernel", [("any", "dgemm")], places=[host]) as group,
            host.done_within(0.2),
            pytest.raises(EndedError, match="did not answer in time"),
        ):
            group.ask_all({"do": "sample", "inner": 3}, Usage)


def test_a_worker_that_hangs_loses_its_host_and_the_rest_goes_on(monkeypatch):
    """A real worker is stopped while its agent goes on to say that it is there."""
    monkeypatch.setattr(hosts_module, "HUNG_S", 3.0)
    with Host("x", here, python=sys.executable) as hung, Host("y", here, python=sys.executable) as other:
        hung.reach()
        other.reach()
        with Group("kernel", [("any", "dgemm")] * 2, places=[hung, other]) as group:
            group.ask_all({"do": "prepare", "n": 40}, Done)
            (worker, _), *_ = hung._workers.values()
            os.kill(worker.pid, signal.SIGSTOP)
            begun = time.monotonic()
            with pytest.raises(EndedError, match="a worker of it hangs"):
                group.ask_all({"do": "sample", "inner": 3}, Usage)
        assert time.monotonic() - begun < 30
        assert "a worker of it hangs" in hung.fault
        with Group("kernel", [("any", "dgemm")], places=[other]) as group:
            assert group.ask_all({"do": "prepare", "n": 40}, Done) == [Done()]


def test_a_host_that_is_silent_is_given_up(monkeypatch):
    monkeypatch.setattr(hosts_module, "START_S", 2.0)
    monkeypatch.setattr(hosts_module, "SILENCE_S", 0.5)
    with stand_in("hang") as host, pytest.raises(HostError, match=r"nothing was heard|no answer within"):
        host.reach()


def test_one_machine_under_two_names_is_named_once():
    lost = {}
    hosts = [stand_in("a"), stand_in("other1"), stand_in("b")]
    try:
        found = reach_hosts(hosts, lost, lambda *_: None)
    finally:
        for host in hosts:
            host.close()
    assert list(found) == ["a", "b"]
    assert "the same machine as a" in lost["other1"]


def measured(hosts, plan, folder):
    """What was measured of hosts, and why others are left out."""
    lost = {}
    try:
        about = reach_hosts(hosts, lost, lambda *_: None)
        return measure_cluster(hosts, about, plan, folder=folder, lost=lost, on_progress=lambda *_: None), lost
    finally:
        for host in hosts:
            host.close()


def test_hosts_that_lie_or_hang_are_left_out_by_name_and_all_others_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(hosts_module, "HUNG_S", 3.0)
    hosts = [
        *(stand_in("n1"), stand_in("n2"), stand_in("twice5"), stand_in("cores600"), stand_in("mute4")),
        liar("describe", "machine.host", '"\\ud800x"', name="liar1"),
        liar("sample", "wall_s", "DEEP", name="liar2"),
        liar("sample", "cpu_s", "null", name="liar3"),
        liar("listen", "port", "true", name="liar4"),
        liar("connect", "number", "[1]", name="liar6"),
        *(stand_in("texts"), stand_in("negative"), stand_in("instant")),
    ]
    begun = time.monotonic()
    found, lost = measured(hosts, ClusterPlan(columns=500, budget_s=6.0), tmp_path)
    assert time.monotonic() - begun < 120
    assert [host.name for host in found.hosts] == ["n1", "n2", "cores600"]
    assert {pair.hosts for pair in found.pairs} == {("n1", "n2"), ("cores600", "n1"), ("cores600", "n2")}
    lied = {"liar1", "liar2", "liar3", "liar4", "liar6", "texts", "negative", "instant"}
    assert set(lost) == {"twice5", "mute4", *lied}
    assert "a worker of it hangs" in lost["mute4"]
    assert all(reason.isprintable() and len(reason) < 300 for reason in lost.values())
    assert "it answered what is no number where a port was asked for" in lost["liar4"]
    many = found.hosts[2]
    assert [one.cpu for one in many.available] == list(range(600))
    assert "64 of its 600 PEs were measured" in many.notes[-1]


def test_of_many_cores_every_kind_is_sampled_evenly():
    with stand_in("cores600") as host:
        about = host.reach()
    kinds = [dataclasses.replace(core, kind="P" if core.cpu < 150 else "E") for core in about.topology.cores]
    part = sampled(dataclasses.replace(about, topology=dataclasses.replace(about.topology, cores=tuple(kinds))))
    cpus = [core.cpu for core in part.machine.cores]
    assert cpus == [core.cpu for core in part.topology.cores] == sorted(set(cpus))
    assert len(cpus) == MOST_CORES
    assert sum(cpu < 150 for cpu in cpus) == MOST_CORES // 4
    assert max(np.diff(cpus)) <= 10


def test_panels_on_all_hosts_have_sizes_that_were_measured_and_fit_the_time():
    kernel, asked = panel_kernel("dgemm", 1000), _Together(ClusterPlan(columns=1000), 2, Barrier(1))
    least, most = kernel.size(250), kernel.size(1000)

    def rows(first, last, seconds):
        band = SpeedBand(np.array([first, last]), *(np.full(2, 1e9),) * 3)
        return asked.rows({"model": band.to_dict()}, seconds)

    assert rows(least, most, 1e9) == [250, 500, 1000]
    assert rows(least + 1, most - 1, 1e9) == [500]
    assert rows(least, most, kernel.volume(500) / 1e9) == [250, 500]


def test_that_a_kernel_lacks_numba_there_is_said_before_anything_is_measured(tmp_path):
    with pytest.raises(CalibrationError) as caught:
        measured([stand_in("n1"), stand_in("n2")], ClusterPlan("stencil", columns=500, budget_s=20.0), tmp_path)
    assert [line.partition(",")[0] for line in caught.value.lines] == [
        "n1: Numba is not there",
        "n2: Numba is not there",
    ]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("points")] == []


def test_ranks_whose_answers_fit_no_run_are_one_sentence():
    with stand_in("n1") as one, stand_in("n2") as other:
        about = {host.name: host.reach() for host in (one, other)}
        program = RealProgram("matmul", "dgemm", {"n": 8}, (4, 4), ((0,), (0,)))
        with FarRanks([one, other], [0, 0], about) as ranks:
            ranks.prepare_program(program)
            with pytest.raises(CalibrationError, match=r"rank [01]: its answer does not fit what it was asked"):
                ranks.run_program(program)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Host key verification failed.", "its host key is not known here; log in once by hand and compare the key"),
        ("me@n1: Permission denied (publickey).", "set up a key with which ssh gets in"),
        ("ssh: Could not resolve hostname n1: Name or service not known", "Could not resolve hostname n1"),
    ],
)
def test_what_ssh_says_becomes_what_to_do(said, reason):
    words = ["sh", "-c", f"echo '{said}' >&2; exit 255"]
    with Host("n1", lambda _host, _line: words) as host, pytest.raises(HostError) as caught:
        host.reach()
    assert reason in str(caught.value)


def test_no_host_key_is_accepted_silently_and_no_question_is_asked():
    words = over_ssh()("n1", "true")
    assert "StrictHostKeyChecking=yes" in words
    assert "BatchMode=yes" in words
    assert words[-3:] == ["--", "n1", "true"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give one of --hosts, --hosts-file and --slurm"),
        (("--hosts", "a,a"), "--hosts: a comes twice; name each host once"),
        (("--hosts", "a,::1"), "--hosts: host is '::1'; give letters, digits, dots and hyphens"),
        (("--hosts", "me@a,a"), "--hosts: me@a and a are one machine to launchers; name it once"),
        (("--hosts", "a", "--budget", "1s"), "--budget: 1 s of measuring is too short; give 40s or more"),
        (("--hosts", "a", "--parameter", "n=-1"), "--parameter is 'n=-1'; give NAME=N with a whole number above 0"),
        (("--hosts", "a", "--", "./app"), "has no {units}"),
        (("--hosts", "a", "--", "./app", "{units}"), "a command needs --parameter units=N"),
        (("--slurm",), "--slurm: this is no allocation of Slurm; run it inside salloc or sbatch"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(words, said, apportion, tmp_path):
    code, out, err = apportion("cluster", "-o", tmp_path / "out", *words)
    assert code == 2, err
    assert said in err
    assert len(err.splitlines()) == 1
    assert out == ""

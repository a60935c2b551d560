"""Ping-pong between hosts, over loopback: both ends real, the token, and hosts that do not answer."""

import json
import os
import socket
import threading
from contextlib import contextmanager, suppress

import psutil
import pytest

from simulator import CalibrationError, ScenarioError
from simulator.calibration import Address, is_this_host, listen, parse_address
from simulator.calibration.pingpong import hosts, wire
from simulator.calibration.pingpong.hosts import connected_pairs, listener_over_ssh
from simulator.calibration.pingpong.serve import serve
from simulator.calibration.pingpong.wire import PeerError

CPUS = sorted(os.sched_getaffinity(0))


@contextmanager
def listening(host="127.0.0.1", **options):
    """A session's far end, served by a thread with real processes; yields address, token and what it served."""
    ready, found = threading.Event(), {}

    def tell(address, token):
        found.update(address=address, token=token)
        ready.set()

    def serve():
        try:
            found["served"] = listen(Address(host, 0), cpus=[CPUS[0], CPUS[-1]], on_ready=tell, **options)
        except PeerError as error:
            found["error"] = str(error)
            ready.set()

    thread = threading.Thread(target=serve)
    thread.start()
    ready.wait()
    yield found
    thread.join(20)
    assert not thread.is_alive()


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize(
    ("host", "cpus"), [("127.0.0.1", [CPUS[-1], CPUS[0]]), *([("::1", CPUS[:1])] if has_ipv6() else [])]
)
def test_a_session(host, cpus):
    with listening(host) as found:  # noqa: SIM117 - the session ends within it
        with connected_pairs(found["address"], found["token"], cpus=cpus) as pairs:
            for pattern in ("one_way", "exchange", "pairs"):
                for size in (1, 2**20):
                    assert 0 < pairs.sample_s(pattern, size, rounds=2, batches=2) < 60
    assert found["served"] == {"connections": len(cpus), "refused": 0}
    assert [p for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE] == []


def test_without_the_token_nobody_is_served(monkeypatch):
    monkeypatch.setattr(hosts, "MAX_REFUSED", 2)
    with listening() as found:
        for token in ("", "0" * 32):
            with pytest.raises(PeerError, match=r"--token: it is not the one"):
                hosts._connect(found["address"], token)
    assert "2 connections without the token" in found["error"]


@pytest.mark.parametrize(
    "message",
    [
        {"size_bytes": 2**40, "rounds": 1, "batches": 1},
        {"size_bytes": 1, "rounds": 0, "batches": 1},
        {"size_bytes": 1, "rounds": 1, "batches": 10**9},
        {"size_bytes": True},
        {"do": "anything"},
        [1],
    ],
)
def test_a_listener_does_only_what_is_within_bounds(message):
    """Whoever knows the token still cannot ask for all memory, or for anything but samples."""
    near, far = socket.socketpair()
    with near, far:
        wire.send_line(near.fileno(), message)
        with pytest.raises((CalibrationError, PeerError), match="the other host: "):
            serve(far.fileno())


def test_nobody_comes():
    with listening(wait_s=0.05) as found:
        pass
    assert "nobody came within 0.05 s" in found["error"]


def speaker(data):
    """A server that says `data` to whoever comes and then waits."""
    server = socket.create_server(("127.0.0.1", 0))

    def speak():
        connection, _ = server.accept()
        with connection:
            connection.sendall(data)
            with suppress(ConnectionResetError):  # it left without reading all
                while connection.recv(2**16):
                    pass
        server.close()

    thread = threading.Thread(target=speak)
    thread.start()
    return Address("127.0.0.1", server.getsockname()[1]), thread


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "no answer within 0.2 s"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no JSON line found"),
        (b"[" * 1000 + b"\n", "no JSON line found"),
        (b"x" * 5000, "a line longer than 1024 bytes found"),
        (b"{}\n", "another answer found"),
        (b'{"apportion": 99, "challenge": "a"}\n', "another version found"),
        (b'{"apportion": 1, "challenge": "a"}\n{"proof": "b"}\n', "--token: it is not the one"),
        (b'{"apportion": 1, "challenge": "a"}\n{"proof": 7}\n', "--token: it is not the one"),
    ],
)
def test_hosts_that_are_none_of_ours(monkeypatch, data, found):
    monkeypatch.setattr(hosts, "ANSWER_S", 0.2)
    address, thread = speaker(data)
    with pytest.raises(PeerError, match=found):
        hosts._connect(address, "token")
    thread.join()


def test_a_host_that_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(PeerError, match=rf"--connect: 127.0.0.1:{port} does not answer \(connection refused\)"):
        hosts._connect(Address("127.0.0.1", port), "token")


def test_no_side_answers_its_own_challenge():
    """Sent back to it, a challenge and a proof are worth nothing."""
    near, far = socket.socketpair()

    def mirror():
        while data := far.recv(2**12):
            far.sendall(data)

    thread = threading.Thread(target=mirror)
    thread.start()
    with near, pytest.raises(PeerError, match="--token"):
        wire.prove(near, "secret", timeout_s=5, listens=False)
    thread.join()
    far.close()


@pytest.mark.parametrize("text", ["", "host", "host:", "host:0", "host:70000", ":80", "::1:80", "host:x", "host:１"])
def test_addresses_that_are_none(text):
    with pytest.raises(ScenarioError, match="HOST:PORT such as"):
        parse_address(text, field="--connect")


def test_addresses():
    assert parse_address("[::1]:80", field="--connect") == Address("::1", 80)
    assert parse_address("node-2:4711", field="--connect").text == "node-2:4711"
    assert Address("::1", 80).text == "[::1]:80"
    assert is_this_host("localhost")
    assert not is_this_host("192.0.2.1")


def test_a_listener_started_by_ssh(tmp_path, monkeypatch):
    """There is no ssh server here: a program of that name runs what it is told on this machine."""
    fake = tmp_path / "ssh"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift 2\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    talker = tmp_path / "apportion"
    talker.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/told\necho \'' + json.dumps({"port": 99, "token": "abc"}) + "'\n"
    )
    talker.chmod(0o755)
    with listener_over_ssh("node2", [str(talker)]) as answer:
        assert answer == (99, "abc")
    assert (tmp_path / "told").read_text().split() == [
        "calibrate", "network", "--between", "tcp", "--listen", "0.0.0.0:0", "--json",
    ]  # fmt: skip
    talker.write_text("#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n")
    with (
        pytest.raises(PeerError, match=r"--hosts: node2: Permission denied \(publickey\)"),
        listener_over_ssh("node2", [str(talker)]),
    ):
        pass
    with pytest.raises(PeerError, match="a host name allowed"), listener_over_ssh("-oProxyCommand=x", ["apportion"]):
        pass

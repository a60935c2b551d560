"""Ping-pong between hosts, over loopback: both ends real, the token, and hosts that do not answer."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from simulator import CalibrationError, ScenarioError
from simulator.calibration import Address, is_this_host, listen, parse_address
from simulator.calibration.pingpong import ends, hosts
from simulator.calibration.pingpong.ends import PeerError, serve
from simulator.calibration.pingpong.hosts import connected_pairs, listener_over_ssh
from simulator.calibration.pingpong.pairs import tcp_ends
from tests.support.processes import relatives

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
    assert found["served"] == {"connections": len(cpus), "failed": 0, "refused": 0}
    assert relatives() == []


def test_without_the_token_nobody_is_served():
    with listening(wait_s=2) as found:
        for token in ("", "0" * 32, "\udcff"):
            with pytest.raises(PeerError, match=r"--token: it is not the one"):
                hosts._connect(found["address"], token)
    assert "nobody with the token came within 2 s" in found["error"]


def test_what_is_no_message():
    for line in NO_MESSAGES:
        with pytest.raises(PeerError, match="the other host: no JSON"):
            ends.parse_line(line)
    assert ends.parse_line(b'{"a": 1.5, "b": "\xc3\xa4", "c": true}\n') == {"a": 1.5, "b": "ä", "c": True}


NO_MESSAGES = [
    b"",
    b"\n",
    b"[1]\n",
    b"7\n",
    b"[" * 1000 + b"\n",
    b'{"a":' * 200 + b"\n",
    b'{"a": NaN}\n',
    b'{"a": -Infinity}\n',
    b'{"a": 1e999}\n',
    b'{"a": 1, "a": 1}\n',
    b'{"a": [{"b": 1, "b": 2}]}\n',
    b'{"a": "\\ud800"}\n',
    b'{"\\udfff": 1}\n',
    b'{"a": "\xff"}\n',
    b'{"a": "\xed\xa0\x80"}\n',
    b"\xff\xfe{\x00}\x00\n",
]

CHALLENGE = {"apportion": 1, "challenge": "\ud800"}


def strangers(address):
    """One each of those who do not know the token: what they do, and whether they wait for the listener to close."""
    for data in (b"", b'{"apportion":', json.dumps(CHALLENGE).encode() + b"\n", b"\xff" * 4096, *NO_MESSAGES):
        connection = socket.create_connection(address, timeout=10)
        with suppress(ConnectionError):  # it is refused while it speaks
            connection.sendall(data)
        yield connection
    for _ in range(150):
        socket.create_connection(address, timeout=10).close()


def test_strangers_neither_end_a_session_nor_keep_anybody_out():
    """They are still connected, silent or half way through a line, when ours comes, and are gone when it has ended."""
    with listening() as found:
        address = (found["address"].host, found["address"].port)
        here = list(strangers(address))
        with connected_pairs(found["address"], found["token"], cpus=CPUS[:1]) as pairs:
            assert pairs.sample_s("one_way", 8, rounds=1, batches=1) > 0
    assert found["served"]["connections"] == 1
    assert found["served"]["failed"] == 0
    assert found["served"]["refused"] > 100
    for connection in here:
        with connection, suppress(ConnectionResetError):
            while connection.recv(2**12):
                pass


def test_of_too_many_who_say_nothing_the_oldest_go(monkeypatch):
    monkeypatch.setattr(hosts, "MAX_GUESTS", 3)
    with listening() as found:
        address = (found["address"].host, found["address"].port)
        silent = [socket.create_connection(address, timeout=10) for _ in range(10)]
        hosts._connect(found["address"], found["token"]).close()
        for connection in silent:
            connection.close()
    assert found["served"]["connections"] == 1


def test_who_knows_the_token_and_then_says_anything_is_named_in_a_line(capfd):
    sample = b'{"size_bytes": 8, "rounds": 1, "batches": 1}\n'
    for data in (b"x" * 2000, b'{"size_bytes": "\\ud800"}\n', b'{"size_bytes": 1e3}\n', sample):
        with listening() as found, hosts._connect(found["address"], found["token"]) as connection:
            connection.sendall(data)
            with suppress(ConnectionResetError):  # it did not read all
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(2**12):
                    pass
        assert found["served"] == {"connections": 1, "failed": 1, "refused": 0}
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith(("--listen: the other host: ", "--listen: the other process: "))


def test_a_far_end_is_not_held_for_ever_by_who_knows_the_token():
    """Bytes that come one by one are no silence: the system ends a sample that takes too long."""
    near, far = socket.socketpair()
    program = "import sys; from simulator.calibration.pingpong.ends import serve; serve(int(sys.argv[1]), limit_s=1)"
    words = [sys.executable, "-c", program, str(far.fileno())]
    with near, far, subprocess.Popen(words, pass_fds=[far.fileno()]) as child:
        ends.send_line(near.fileno(), {"size_bytes": 100, "rounds": 1, "batches": 1})
        while child.poll() is None:
            near.send(b"x")
            time.sleep(0.3)
    assert child.returncode == -signal.SIGALRM


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
        ends.send_line(near.fileno(), message)
        with pytest.raises((CalibrationError, PeerError), match="the other host: "):
            serve(far.fileno())


def test_nobody_comes():
    with listening(wait_s=0.05) as found:
        pass
    assert "nobody with the token came within 0.05 s" in found["error"]


GREETING = b'{"apportion": 1, "challenge": "' + b"a" * 32 + b'"}\n'


def speaker(data, pause_s=0.0):
    """A server that says `data`, byte by byte with pauses if there are any, to whoever comes and then waits."""
    server = socket.create_server(("127.0.0.1", 0))

    def speak():
        connection, _ = server.accept()
        with connection, suppress(ConnectionError):  # it left without reading all
            for part in [data[place : place + 1] for place in range(len(data))] if pause_s else [data]:
                connection.sendall(part)
                time.sleep(pause_s)
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
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no JSON line"),
        *((line, "no JSON (line|object)") for line in NO_MESSAGES[1:]),
        (b"x" * 5000, "a line longer than 1024 bytes"),
        (b"{}\n", "another version"),
        (b'{"apportion": 99, "challenge": "a"}\n', "another version"),
        (b'{"apportion": 1, "challenge": "a"}\n', "challenge: no 32 hexadecimal digits"),
        (b'{"apportion": 1, "challenge": "\\ud800"}\n', "no JSON line"),
        (b'{"apportion": 1, "challenge": 1e30}\n', "challenge: no 32 hexadecimal digits"),
        (GREETING + b'{"proof": "b"}\n', "proof: no 64 hexadecimal digits"),
        (GREETING + b'{"proof": 7}\n', "proof: no 64 hexadecimal digits"),
        (GREETING + b'{"proof": "' + b"0" * 64 + b'"}\n', "--token: it is not the one"),
    ],
)
def test_hosts_that_are_none_of_ours(monkeypatch, data, found):
    monkeypatch.setattr(hosts, "ANSWER_S", 0.2)
    address, thread = speaker(data)
    with pytest.raises(PeerError, match=found):
        hosts._connect(address, "token")
    thread.join()


def test_a_host_that_speaks_for_ever(monkeypatch):
    monkeypatch.setattr(hosts, "ANSWER_S", 0.5)
    address, thread = speaker(b" " * 30, pause_s=0.1)
    with pytest.raises(PeerError, match=r"no answer within 0\.5 s"):
        hosts._connect(address, "token")
    thread.join()


def test_a_host_that_proves_itself_and_then_says_anything():
    """A listener of the same token is not trusted with more: what it says is no crash of the one that connects."""

    def speak(server):
        connection, _ = server.accept()
        with connection, suppress(ConnectionError):
            hosts.prove(connection, "secret", timeout_s=5, listens=True)
            connection.recv(2**12)
            connection.sendall(CHALLENGED)
            connection.recv(2**12)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=speak, args=[server])
        thread.start()
        address = Address("127.0.0.1", server.getsockname()[1])
        with (
            connected_pairs(address, "secret", cpus=CPUS[:1]) as pairs,
            pytest.raises(CalibrationError, match="ended early: the other host: no JSON line") as caught,
        ):
            pairs.sample_s("one_way", 8, rounds=1, batches=1)
        thread.join()
    assert len(caught.value.lines) == 1


CHALLENGED = json.dumps(CHALLENGE).encode() + b"\n"


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "\udcff"])
def test_names_that_are_none(host):
    assert not is_this_host(host)
    with pytest.raises(PeerError, match="--connect: "):
        hosts._connect(Address(host, 80), "token")
    with pytest.raises(PeerError, match="--listen: "):
        listen(Address(host, 0), cpus=[0], on_ready=print)


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
        hosts.prove(near, "secret", timeout_s=5, listens=False)
    thread.join()
    far.close()


@pytest.mark.parametrize("text", ["", "host", "host:", "host:0", "host:70000", ":80", "::1:80", "host:x", "host:１"])
def test_addresses_that_are_none(text):
    with pytest.raises(ScenarioError, match="give HOST:PORT, such as"):
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
        f'#!/bin/sh\necho "$@" > {tmp_path}/told\necho \'' + json.dumps({"port": 99, "token": "ab" * 16}) + "'\n"
    )
    talker.chmod(0o755)
    with listener_over_ssh("node2", [str(talker)]) as answer:
        assert answer == (99, "ab" * 16)
    assert (tmp_path / "told").read_text().split() == [
        "calibrate", "network", "--between", "tcp", "--listen", "0.0.0.0:0", "--json",
    ]  # fmt: skip
    monkeypatch.setattr(hosts, "ANSWER_S", 0.1)
    for said in ("printf x; exec sleep 60", "echo '{}'", 'echo \'{"port": 1, "token": "a b"}\'', "sleep 60 &"):
        talker.write_text(f"#!/bin/sh\n{said}\n")
        with (
            pytest.raises(PeerError, match=r"--hosts: node2: nothing from its listener within 0\.6 s"),
            listener_over_ssh("node2", [str(talker)]),
        ):
            pass
    talker.write_text("#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n")
    with (
        pytest.raises(PeerError, match=r"--hosts: node2: Permission denied \(publickey\)"),
        listener_over_ssh("node2", [str(talker)]),
    ):
        pass
    with pytest.raises(PeerError, match="is no name of a host"), listener_over_ssh("-oProxyCommand=x", ["apportion"]):
        pass

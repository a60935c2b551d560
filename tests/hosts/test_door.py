"""The door of a host, over loopback: who proves to know the token, who does not, and strangers by the hundred."""

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from simulator.calibration.hosts import door
from simulator.calibration.hosts.door import PeerError, admitted, prove

TOKEN = "ab" * 16


@contextmanager
def open_door(wait_s=20.0):
    """A door that lets in the first who knows the token; yields its address and a list of those let in."""
    found = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: found.append(admitted(server, TOKEN, limit_s=wait_s)))
        thread.start()
        try:
            yield server.getsockname(), found
        finally:
            thread.join(20)
            for connection in filter(None, found):
                connection.close()
    assert not thread.is_alive()


def enter(address, token=TOKEN, timeout_s=5.0):
    """Connect and prove to know the token."""
    connection = socket.create_connection(address, timeout=10)
    try:
        prove(connection, token, timeout_s=timeout_s)
    except PeerError:
        connection.close()
        raise
    return connection


def test_who_knows_the_token_gets_in_and_nothing_of_what_follows_is_lost():
    with open_door() as (address, found), enter(address) as ours:
        ours.sendall(b"payload")
        deadline = time.monotonic() + 10
        while not found and time.monotonic() < deadline:
            time.sleep(0.01)
        assert found[0].recv(100) == b"payload"


def test_a_notebook_may_enter():
    async def cell():
        test_who_knows_the_token_gets_in_and_nothing_of_what_follows_is_lost()

    with ThreadPoolExecutor(1) as own:  # other tests may leave a loop in this thread
        own.submit(asyncio.run, cell()).result()


def test_without_the_token_nobody_gets_in():
    with open_door(1.0) as (address, found):
        for token in ("", "0" * 32, "\udcff"):
            with pytest.raises(PeerError, match="the other host: it does not know the token"):
                enter(address, token)
    assert found == [None]


def test_what_is_no_message():
    for line in NO_MESSAGES:
        with pytest.raises(PeerError, match="the other host: no JSON"):
            door.parse_line(line)
    assert door.parse_line(b'{"a": 1.5, "b": "\xc3\xa4", "c": true}\n') == {"a": 1.5, "b": "ä", "c": True}


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


def strangers(address):
    """One each of those who do not know the token: what they do, and whether they wait for the door to close."""
    challenge = json.dumps({"apportion": 1, "challenge": "\ud800"}).encode() + b"\n"
    for data in (b"", b'{"apportion":', challenge, b"\xff" * 4096, *NO_MESSAGES):
        connection = socket.create_connection(address, timeout=10)
        with suppress(ConnectionError):  # it is refused while it speaks
            connection.sendall(data)
        yield connection
    for _ in range(150):
        socket.create_connection(address, timeout=10).close()


def test_strangers_keep_nobody_out():
    """They are still connected, silent or half way through a line, when ours comes, and are gone when it has ended."""
    with open_door() as (address, found):
        here = list(strangers(address))
        begun = time.monotonic()
        enter(address).close()
        assert time.monotonic() - begun < 5
    assert None not in found
    for connection in here:
        with connection, suppress(ConnectionResetError):
            while connection.recv(2**12):
                pass


def test_of_too_many_who_say_nothing_the_oldest_go(monkeypatch):
    monkeypatch.setattr(door, "MAX_GUESTS", 3)
    with open_door() as (address, found):
        silent = [socket.create_connection(address, timeout=10) for _ in range(10)]
        enter(address).close()
        for connection in silent:
            connection.close()
    assert None not in found


GREETING = b'{"apportion": 1, "challenge": "' + b"a" * 32 + b'"}\n'


@contextmanager
def speaker(data, pause_s=0.0):
    """A server that sends `data` to each client, byte by byte if there are pauses, and then waits."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak():
            connection, _ = server.accept()
            with connection, suppress(ConnectionError):  # it left without reading all
                for part in [data[place : place + 1] for place in range(len(data))] if pause_s else [data]:
                    connection.sendall(part)
                    time.sleep(pause_s)
                while connection.recv(2**16):
                    pass

        thread = threading.Thread(target=speak)
        thread.start()
        yield server.getsockname()
        thread.join()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "no answer within 0.2 s"),
        (b"x" * 5000, "a line longer than 1024 bytes"),
        (b"{}\n", "another version"),
        (b'{"apportion": 1, "challenge": "a"}\n', "challenge: no 32 hexadecimal digits"),
        (GREETING + b'{"proof": 7}\n', "proof: no 64 hexadecimal digits"),
        (GREETING + b'{"proof": "' + b"0" * 64 + b'"}\n', "it does not know the token"),
    ],
)
def test_hosts_that_are_none_of_ours(data, found):
    with speaker(data) as address, pytest.raises(PeerError, match=found):
        enter(address, timeout_s=0.2)


def test_a_host_that_speaks_for_ever():
    with speaker(b" " * 30, pause_s=0.1) as address, pytest.raises(PeerError, match=r"no answer within 0\.5 s"):
        enter(address, timeout_s=0.5)


def test_no_side_answers_its_own_challenge():
    """Sent back to it, a challenge and a proof are worth nothing."""
    near, far = socket.socketpair()

    def mirror():
        while data := far.recv(2**12):
            far.sendall(data)

    thread = threading.Thread(target=mirror)
    thread.start()
    with near, pytest.raises(PeerError, match="it does not know the token"):
        prove(near, TOKEN, timeout_s=5)
    thread.join()
    far.close()

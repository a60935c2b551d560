"""Files that are no scenarios at all: refused in one line with exit code 2, without hanging or taking memory."""

import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from advisor.cli import _run
from simulator import files
from simulator.base.yaml_document import MAX_BYTES

GOOD = """format: 1
platform:
  nodes: [{name: a, pes: [{speeds: {k: 1 Gflop/s}}]}]
  link: {latency: 1us, bandwidth: 1Gbit/s}
application: {name: matmul, kernel: k, parameters: {n: 10}}
configurations: {equal: {partition: equal}}
"""


def refused(capsys, path):
    """The one line that `apportion check` says, from the file's name on."""
    assert _run(["check", str(path)]) == 2
    told, said = capsys.readouterr()
    assert told == ""
    (line,) = said.splitlines()
    head = f"error: {path}"
    assert line.startswith(head)
    return line.removeprefix(head)


def written(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("empty.yaml", b"", ":1:1: the file is empty; write a scenario"),
        ("null.yaml", b"~\n", ":1:1: top level: None has no fields; give fields with names"),
        ("empty.toml", b"", ": format: it is missing; add it"),
        ("binary.yaml", b"\x7fELF\x02\x01\x00", ":1:1: the character 0x007f cannot stand in YAML; take it out"),
        ("zeros.yaml", b"format: 1\nseed: \x00\x00", ":2:7: the character 0x0000 cannot stand in YAML; take it out"),
        (
            "latin.yaml",
            "format: 1\n# é".encode("latin-1"),
            ":2:3: byte 0xe9 is no text in UTF-8; save the file as that",
        ),
        ("tab.yaml", b"a:\n\t- 2\n", ":2:1: this is no YAML: found character '\\t' that cannot start any token"),
        ("text.yaml", b"Dear all,\n", ":1:1: top level: 'Dear all,' has no fields; give fields with names"),
        ("deep.yaml", b"[" * 60 + b"]" * 60, ":1:52: this lies more than 50 levels deep; write fewer levels"),
        ("deep.toml", b"a = " + b"[" * 60 + b"]" * 60, ": this lies more than 50 levels deep; write fewer levels"),
        ("deeper.toml", b"a = " + b"[" * 100_000, ":1:1: the file has more than 50 levels; write fewer"),
        ("open.json", b'{"format": 1', ":2:1: this is no YAML: did not find expected ',' or '}'"),
    ],
)
def test_a_file_that_is_no_scenario_is_one_line(capsys, tmp_path, name, data, line):
    if name == "empty.toml":
        assert _run(["check", str(written(tmp_path / name, data))]) == 2
        assert capsys.readouterr().err.splitlines()[0] == f"error: {tmp_path / name}{line}"
        return
    assert refused(capsys, written(tmp_path / name, data)) == line


def test_what_the_scanner_itself_finds_too_deep_is_one_line(capsys, tmp_path):
    said = refused(capsys, written(tmp_path / "deeper.yaml", b"[" * 200_000))  # at a level that its version decides
    assert said.endswith(": this lies more than 50 levels deep; write fewer levels")


def test_a_file_that_is_not_there_a_folder_and_a_path_that_is_none(capsys, tmp_path):
    assert refused(capsys, tmp_path / "none.yaml") == ": no such file or directory"
    assert refused(capsys, tmp_path) == ": is a directory"
    assert refused(capsys, tmp_path / ("x" * 300)) == ": file name too long"


def test_devices_and_pipes_are_not_waited_for(capsys, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    watch = threading.Timer(20, os._exit, [1])  # a pipe that is waited for is waited for for ever
    watch.start()
    try:
        for path in (Path("/dev/zero"), Path("/dev/null"), tmp_path / "pipe.yaml"):
            assert refused(capsys, path) == ": this is a device or a pipe; name a file"
    finally:
        watch.cancel()
    good = tmp_path / "trace.yaml"
    good.write_text(GOOD.replace("{speeds:", "{load: {trace: pipe.yaml, rule: fair}, speeds:"))
    line = f"platform.nodes.0.pes.0.load.trace: {tmp_path / 'pipe.yaml'}: this is a device or a pipe; name a file"
    assert refused(capsys, good).endswith(line.split(": ", 1)[1])


def test_a_file_that_may_not_be_read_is_one_line(capsys, tmp_path):
    path = written(tmp_path / "secret.yaml", GOOD.encode())
    assert _run(["check", str(written(tmp_path / "good.yaml", GOOD.encode()))]) == 0  # what it imports may be root's
    capsys.readouterr()
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read everything
        os.seteuid(65534)
    try:
        assert refused(capsys, path) == ": permission denied"
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("name", ["big.yaml", "big.toml"])
def test_a_file_of_100_mb_is_refused_by_its_size_alone(capsys, tmp_path, name):
    """Its bytes are not read: the file has holes, and memory stays what it was."""
    path = tmp_path / name
    path.write_bytes(GOOD.encode())
    os.truncate(path, 100_000_000)
    tracemalloc.start()
    try:
        line = refused(capsys, path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert line == f": the file has 100000000 bytes and at most {MAX_BYTES} are read; name a smaller one"
    assert peak < 10 * 2**20


def test_a_file_that_extends_one_of_100_mb_says_so_where_it_names_it(capsys, tmp_path):
    os.truncate(written(tmp_path / "big.yaml", b""), 100_000_000)
    path = written(tmp_path / "small.yaml", b"format: 1\nextends: big.yaml\n")
    found = f"the file has 100000000 bytes and at most {MAX_BYTES} are read; name a smaller one"
    assert refused(capsys, path) == f":2:1: extends: {tmp_path / 'big.yaml'}: {found}"


def test_a_file_may_grow_while_it_is_read(tmp_path, monkeypatch):
    path = written(tmp_path / "growing", b"x" * 100)
    monkeypatch.setattr(files.os, "fstat", lambda _number: os.stat_result((0o100644, *[0] * 5, 10, 0, 0, 0)))
    with pytest.raises(files.ScenarioError, match="the file has 51 bytes and at most 50 are read; name a smaller one"):
        files.read_bytes(path, limit_bytes=50)


def test_many_faults_are_cut_off(capsys, tmp_path):
    path = written(tmp_path / "keys.yaml", GOOD.encode() + b"".join(b"k%d: 1\n" % number for number in range(3000)))
    assert _run(["check", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 101
    assert lines[-1] == f"error: {path}:1:1: top level: there are more than 100 faults; mend these first"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keys.yaml", "keys.json", "keys.toml", "list.yaml"])
def test_a_million_keys_are_refused_by_their_number(capsys, tmp_path, name):
    count = 1_000_000
    if name == "list.yaml":
        data = "[" + "1," * count + "1]"
    elif name == "keys.json":
        data = "{" + ",".join(f'"k{number}":1' for number in range(count)) + "}"
    else:
        sign = "=" if name.endswith("toml") else ": "
        data = "".join(f"k{number}{sign}1\n" for number in range(count))
    line = refused(capsys, written(tmp_path / name, data.encode()))
    most = "150000 values, the most that are read of TOML" if name == "keys.toml" else "500000 values"
    assert line.endswith(f": the file has more than {most}; write fewer")

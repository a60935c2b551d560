import json
import subprocess
import sys

import pytest

from simulator import files
from simulator.base.errors import ApportionError, ScenarioError


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "result.json"
    files.write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        files.write_json(path, {"a": float("nan")})
    assert files.read_json(path) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


WRITER = """
import sys
from pathlib import Path
from simulator import files
while True:
    for letter in "ab":
        files.write_text(Path(sys.argv[1]), letter * 3_000_000)
        print(".", flush=True)
"""


def test_kill_in_the_middle_of_writing_never_leaves_half_a_file(tmp_path):
    path = tmp_path / "big.txt"
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    for _ in range(3):
        child.stdout.read(2)
    child.kill()
    child.communicate()
    text = path.read_text()
    assert text in ("a" * 3_000_000, "b" * 3_000_000)


def test_writing_makes_the_folder_unless_a_file_stands_there(tmp_path):
    files.write_text(tmp_path / "new" / "x", "1")
    assert (tmp_path / "new" / "x").read_text() == "1"
    with pytest.raises(ApportionError, match="new/x/y: "):
        files.write_text(tmp_path / "new" / "x" / "y", "2")


def test_a_folder_cannot_stand_where_a_file_is(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(ApportionError, match="this is a file; name a folder"):
        files.make_folder(tmp_path / "f")
    with pytest.raises(ApportionError, match="not a directory; name a folder that can be written"):
        files.make_folder(tmp_path / "f" / "below")


def test_earlier_results_are_set_aside_in_numbered_folders(tmp_path):
    assert files.set_aside(tmp_path, ["a"]) is None
    for number in (1, 2):
        (tmp_path / "a").write_text(str(number))
        assert files.set_aside(tmp_path, ["a", "b"]) == tmp_path / f"earlier-{number}"
    assert (tmp_path / "earlier-1" / "a").read_text() == "1"
    assert (tmp_path / "earlier-2" / "a").read_text() == "2"


def test_shipped_data_is_found():
    assert files.shipped("traces", "on-off-1-2.csv").is_file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' comes twice"),
        ('["\\ud800"]', r"\\ud800 is half of a surrogate pair"),
        ("[1e999]", "1e999 is beyond the largest number"),
        ("[" + "9" * 400 + "]", "of 400 digits is beyond the largest number"),
        ("9" * 10**6, "of 1000000 digits is beyond the largest number"),
        ("[NaN]", "NaN is no JSON number"),
        ("[" * 101 + "]" * 101, "P: this lies more than 100 levels deep; write fewer levels"),
        ('{"a": ' * 20_000, "P: this lies more than 100 levels deep; write fewer levels"),
        ("", "P:1:1: "),
        ("{", "P:1:2: "),
        ("[1_0]", "P:1:3: "),
        ("[١]", "P:1:2: "),
    ],
)
def test_json_is_read_strictly(text, message):
    with pytest.raises(ScenarioError, match=message) as refused:
        files.parse_json(text, "P")
    assert len(refused.value.lines) == 1
    assert len(refused.value.lines[0]) < 300


def test_json_that_is_right_is_read_as_python_reads_it():
    text = '{"a": [1, -2.5e-300, true, null, "\\ud83d\\ude00", "\\\\ud800"], "b": {"a": 1}, "": ' + "9" * 300 + "}"
    assert files.parse_json(text, "P") == json.loads(text)


@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_appended_or_cut_through_a_link(tmp_path, there):
    other, link = tmp_path / "other", tmp_path / "runs.jsonl"
    link.symlink_to(other)
    if there:
        other.write_text("whole\ntorn")
    for use in (files.end_with_line, lambda path: files.open_append(path).__enter__()):
        with pytest.raises(ScenarioError, match="this is a link, and nothing is appended through one"):
            use(link)
    assert (other.read_text() if other.exists() else None) == ("whole\ntorn" if there else None)

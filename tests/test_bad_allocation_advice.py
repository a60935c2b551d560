"""Every bad file or option of `apportion allocate` says what it must answer: those lines, and exit code 2."""

import csv
from pathlib import Path

import pytest

from advisor.cli import _run

FOLDER = Path(__file__).parent / "bad_inputs" / "allocation"
CASES = sorted(FOLDER.glob("*.case"))


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model of two kinds, fitted by the paper's equations to times of a formula."""
    folder = tmp_path_factory.mktemp("allocation")
    with (folder / "runs.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("N", "time_s", "fast.pes", "fast.procs", "slow.pes", "slow.procs"))
        for size in (400, 800, 1200, 1600):
            for pes in (1, 2, 4, 8):
                rows.writerow((size, 1e-9 * size**3 / pes + 1e-8 * size**2 * pes, 0, 0, pes, 1))
            for each in (1, 2):
                rows.writerow((size, 3e-10 * size**3 * each, 1, each, 0, 0))
    assert _run(["allocate", "fit", str(folder / "runs.csv"), "--model", "paper", "-o", str(folder / "m.json")]) == 0
    return folder / "m.json"


def test_there_are_cases():
    assert len(CASES) >= 80


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_allocation_gets_its_lines(capsys, tmp_path, model, path):
    """A case: `$` and options, the lines expected, `---`, and the file; FILE, MODEL and FOLDER stand for paths."""
    head, body = path.read_text().split("---\n")
    options, *expected = head.removeprefix("$ ").splitlines()
    given = tmp_path / "given"
    given.write_text(body)
    names = {"FILE": str(given), "MODEL": str(model), "FOLDER": str(tmp_path)}

    def named(text):
        for name, place in names.items():
            text = text.replace(name, place)
        return text

    capsys.readouterr()
    assert _run(["allocate", *map(named, options.split()), "--json"]) == 2
    said = capsys.readouterr()
    assert said.err.splitlines() == list(map(named, expected))
    assert expected
    assert said.out == ""
    assert not (tmp_path / "hosts").exists()


@pytest.mark.parametrize("command", [["fit"], ["advise", "--kinds", "fast:1:1", "--size", "5"]])
def test_a_file_that_is_not_there(capsys, command):
    assert _run(["allocate", *command, "no-such-file"]) == 2
    assert capsys.readouterr().err == "error: no-such-file: no such file or directory\n"

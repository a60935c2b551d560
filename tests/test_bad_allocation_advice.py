"""Every bad file or option of `apportion advise` of runs says what it must answer: those lines, and exit code 2."""

import csv
from pathlib import Path

import pytest

from advisor.cli import _run
from tests.support import corpus

CASES = corpus.cases(Path(__file__).parent / "bad_inputs" / "allocation")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model of two kinds, fitted to times of a formula."""
    folder = tmp_path_factory.mktemp("allocation")
    with (folder / "runs.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("N", "time_s", "fast.pes", "fast.procs", "slow.pes", "slow.procs"))
        for size in (400, 800, 1200, 1600):
            for pes in (1, 2, 4, 8):
                rows.writerow((size, 1e-9 * size**3 / pes + 1e-8 * size**2 * pes, 0, 0, pes, 1))
            for each in (1, 2):
                rows.writerow((size, 3e-10 * size**3 * each, 1, each, 0, 0))
    assert _run(["fit", str(folder / "runs.csv"), "-o", str(folder / "m.json")]) == 0
    return folder / "m.json"


def test_there_are_cases():
    assert len(CASES) >= 80


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_allocation_gets_its_lines(refused, tmp_path, model, path):
    """The body is the file; FILE, MODEL and FOLDER stand for paths in the options too."""
    options, body = corpus.parts(path)
    names = {"FILE": tmp_path / "given", "MODEL": model, "FOLDER": tmp_path}
    names["FILE"].write_text(body)
    for name, place in names.items():
        options = options.replace(name, str(place))
    refused(path, [*options.split(), "--json"], **names)
    assert not (tmp_path / "hosts").exists()

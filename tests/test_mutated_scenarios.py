"""Good scenario files with mistakes in them: taken, or refused with lines that say where; never a traceback."""

import random
import re
import shutil
from pathlib import Path

import pytest

from advisor.cli import _run
from simulator.base.yaml_document import read_document
from tests.support.mistakes import as_text, broken, mutated

FOLDER = Path(__file__).parent / "good_inputs" / "scenarios"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_file())


def checked(capsys, path):
    """What `apportion check` says of a file: one line with a place for each fault, in TOML perhaps the key alone."""
    try:
        code = _run(["check", str(path)])
    except BaseException as error:
        raise AssertionError(f"{path}: {error!r}\n{path.read_text(encoding='utf-8', errors='replace')}") from error
    told, said = capsys.readouterr()
    lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
    shown = f"{said}\n{path.read_text(encoding='utf-8', errors='replace')}"
    assert code in (0, 2), shown
    assert bool(lines) == (code == 2), shown
    folder = re.escape(str(path.parent))
    for line in lines:
        assert re.match(rf"error: {folder}/([^:]*:[0-9]+:[0-9]+: |[^:]*\.toml: )", line), shown
        assert len(line) < 2000, shown
        assert line.isprintable(), shown
    assert told == "" or code == 0
    return code


def run_through(capsys, folder, count, seed):
    """So many files with mistakes, a quarter of them in the text; how many were taken."""
    shutil.copytree(FOLDER, folder)
    draw = random.Random(seed)  # noqa: S311 - mistakes, no secrets
    taken = 0
    for number in range(count):
        case = draw.choice(CASES)
        if number % 4 == 0:
            path = folder / f"broken{case.suffix}"
            text = broken(case.read_text(encoding="utf-8-sig"), draw)
        else:
            path = folder / "mutated.yaml"
            text = as_text(mutated(read_document(case).data, draw))
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        taken += checked(capsys, path) == 0
    return taken


def test_files_with_mistakes_are_taken_or_refused_by_line(capsys, tmp_path):
    taken = run_through(capsys, tmp_path / "here", 60, 11)
    assert 3 < taken < 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_many_files_with_mistakes_are_taken_or_refused_by_line(capsys, tmp_path, seed):
    taken = run_through(capsys, tmp_path / "here", 500, seed)
    assert 30 < taken < 400

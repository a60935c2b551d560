"""The programs of scenarios/tutorial/balance.md run as they stand and print what the page says."""

import subprocess
import sys
from itertools import pairwise

import pytest

from simulator.base.machine import this_machine
from simulator.scheduling.balance import c_files
from tests.support import shown
from tests.support.balance_c import COMPILER
from tests.support.command_line import ROOT

PAGE = ROOT / "scenarios" / "tutorial" / "balance.md"
BLOCKS = shown.blocks(PAGE.read_text(encoding="utf-8"))


def program(words):
    """Source and output of the page's one program that holds some words; the output is the block after it."""
    ((_, source), (language, output)) = one = next(
        pair for pair in pairwise(BLOCKS) if pair[0][0] in ("python", "c") and words in pair[0][1]
    )
    assert language == "text", one
    return source, output


def printed(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_what_is_decided(corpus, tmp_path):
    source, output = program("outlook")
    (tmp_path / "first.py").write_text(source)
    corpus.text(PAGE, output, printed([sys.executable, "first.py"], tmp_path))


@pytest.mark.slow
@pytest.mark.skipif(this_machine().pe_count < 2, reason="two processes compute at once")
def test_a_loop_over_unequal_batches(tmp_path):
    source, output = program("multiprocessing")
    (tmp_path / "batches.py").write_text(source)
    assert printed([sys.executable, "batches.py"], tmp_path) == output


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler (cc)")
def test_a_matrix_product_in_c(tmp_path):
    source, output = program("apportion_begin")
    (tmp_path / "matmul.c").write_text(source)
    header, balance = c_files()
    options = ["-std=c99", "-O2", "-Wall", "-Werror", "-ffp-contract=off", f"-I{header.parent}"]
    printed([COMPILER, *options, "matmul.c", balance, "-lm", "-o", "matmul"], tmp_path)
    assert printed(["./matmul"], tmp_path) == output

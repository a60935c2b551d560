import shutil
import subprocess

import pytest

from advisor.report.printed import render_printed
from simulator import blocks

TABLE = blocks.table(
    "Gain & more", ["name_of", "gain, %"], [["a_1", "-3.5 +/- 1"], ["b|c", "<2"]], best="a_1", note="50 % of runs"
)


def test_latex_is_booktabs_with_all_marks_escaped():
    wanted = r"""
% first 10 %

% Gain & more
% 50 % of runs
\begin{tabular}{lr}
\toprule
name\_of & gain, \% \\
\midrule
\textbf{a\_1} & \textbf{$-$3.5 $\pm$ 1} \\
b|c & \textless{}2 \\
\bottomrule
\end{tabular}
"""
    assert render_printed([blocks.Text("first 10 %"), TABLE], "latex") == wanted.strip()


def test_markdown_is_one_table_whatever_cells_hold():
    text = render_printed([blocks.Pairs((("seed", "3"),)), TABLE], "markdown")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows == [r"| name\_of | gain, % |", "|:--|--:|", r"| **a\_1** | **-3.5 +/- 1** |", r"| b\|c | \<2 |"]
    assert "seed: 3" in text


def test_tables_in_folded_parts_are_found():
    assert "tabular" in render_printed([blocks.Folded("more", (TABLE,))], "latex")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_is_typeset(tmp_path):
    body = render_printed([TABLE], "latex")
    text = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{body}\n\\end{{document}}"
    (tmp_path / "t.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0

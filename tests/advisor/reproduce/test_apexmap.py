"""`apportion lab reproduce apexmap` on its recording."""

from pathlib import Path

import pytest

from advisor.reproduce import apexmap


@pytest.mark.slow
def test_the_shipped_table(tmp_path):
    result = apexmap.reproduce(tmp_path)
    found = result.fit.file
    chosen = next(model for model in found.models if model.name == found.chosen)
    assert chosen.held_out_mean < 0.2
    assert chosen.physical
    said = apexmap.text(result)
    assert said.count(", chosen") == 1
    assert len(result.figures) == sum(model.physical for model in found.models)
    for path in result.figures:
        assert Path(path).read_text().rstrip().endswith("</svg>")
        assert f"figure: {path}" in said

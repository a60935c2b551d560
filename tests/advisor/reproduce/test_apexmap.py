"""`apportion lab reproduce apexmap` on its recording."""

import pytest

from advisor.reproduce import apexmap


@pytest.mark.slow
def test_the_shipped_table(tmp_path):
    result = apexmap.reproduce(tmp_path)
    found = result.file
    chosen = next(model for model in found.models if model.name == found.chosen)
    assert chosen.held_out_mean < 0.2
    assert chosen.physical
    figures = list(tmp_path.glob("*.svg"))
    assert len(figures) == sum(model.physical for model in found.models)
    assert all(path.read_text().rstrip().endswith("</svg>") for path in figures)

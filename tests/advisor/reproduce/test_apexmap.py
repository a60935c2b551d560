"""`apportion lab reproduce apexmap` on its recording."""

from pathlib import Path

import pytest

from advisor.reproduce import apexmap


@pytest.mark.slow
def test_the_shipped_table(tmp_path):
    found = apexmap.reproduce(tmp_path)
    chosen = next(model for model in found["models"] if model["name"] == found["chosen"])
    assert chosen["held_out_mean"] < 0.2
    assert chosen["physical"]
    said = apexmap.text(found)
    assert said.count(", chosen") == 1
    assert len(found["figures"]) == sum(model["physical"] for model in found["models"])
    for path in found["figures"]:
        assert Path(path).read_text().rstrip().endswith("</svg>")
        assert f"figure: {path}" in said

"""Cost and power of PEs in a scenario file."""

import pytest

from simulator import PE, ScenarioError, dump_scenario, load_scenario

TEXT = """
format: 1
platform:
  nodes:
    - name: "n[1-2]"
      pes:
        - {{name: "{{node}}.a", speeds: {{dgemm: 1 Gflop/s}}, cost: {cost}, power: {power}}}
        - {{name: "{{node}}.b", speeds: {{dgemm: 1 Gflop/s}}, cost: 0}}
  link: {{latency: 1us, bandwidth: 1Gbit/s}}
application: {{name: matmul, kernel: dgemm, parameters: {{n: 8}}}}
configurations: {{equal: {{partition: equal}}}}
"""


def written(tmp_path, **rates):
    path = tmp_path / "s.yaml"
    path.write_text(TEXT.format(**({"cost": 0.02, "power": "1.5kW"} | rates)))
    return path


def test_rates_are_read_and_written(tmp_path):
    read = load_scenario(written(tmp_path))
    assert [(pe.cost_per_s, pe.power_w) for pe in read.platform.pes] == [(0.02, 1500.0), (0.0, None)] * 2
    (tmp_path / "again.yaml").write_text(dump_scenario(read))
    assert load_scenario(tmp_path / "again.yaml").platform.pes == read.platform.pes


@pytest.mark.parametrize(("rates", "told"), [({"cost": -1}, "cost"), ({"power": 150}, "power"), ({"power": "-1W"}, "")])
def test_bad_rates_are_refused(tmp_path, rates, told):
    with pytest.raises(ScenarioError, match=f"{told}.*(is too small|is no power)"):
        load_scenario(written(tmp_path, **rates))
    with pytest.raises(ScenarioError, match=r"platform: PE p: power: it is -1; give at least 0"):
        PE("p", "n", power_w=-1.0)

"""Advice with GPUs: against all splits, whatever the order in the file; memory and host cores are kept."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import simulator
from advisor.advise.export import export_files
from simulator import Configuration
from tests.support.advised import advised

NODE = """
format: 1
platform:
  nodes:
    - name: n
      pes:
{pes}
  link: {{latency: 1us, bandwidth: 10GB/s}}
application: {{name: {name}, kernel: k, parameters: {parameters}}}
configurations: {{c: equal}}
"""


def node(folder, pes, name="ep", parameters="{samples: 24, volume: 1e7}"):
    text = NODE.format(pes="".join(f"        - {{{pe}}}\n" for pe in pes), name=name, parameters=parameters)
    path = folder / "node.yaml"
    path.write_text(text.replace("configurations: {c: equal}", "configurations: {c: {partition: equal}}"))
    return simulator.load_scenario(path)


def core(number, speed="1 Gunits/s"):
    return f"name: c{number}, speeds: {{k: {speed}}}"


def gpu(speed, *, host="c0", latency="10us", more=""):
    link = f"{{latency: {latency}, bandwidth: 5GB/s}}"
    return f"name: g0, kind: gpu, host: {host}, link: {link}, speeds: {{k: {speed}}}{more}"


def splits(made):
    """All ways to give units to the GPU or not, with its host core or without."""
    names = [pe.name for pe in made.platform.pes]
    units, cores = made.application.work.units, [names.index(name) for name in sorted(names) if name[0] == "c"]
    taken, host = names.index("g0"), made.platform.gpu_hosts[names.index("g0")]
    for of_gpu in range(units + 1):
        used = [pe for pe in cores if pe != host or not of_gpu]
        for count in range(len(used) + 1) if of_gpu else range(1, len(used) + 1):
            if (not count) != (of_gpu == units):
                continue
            for some in itertools.combinations(used, count):
                parts = simulator.partitions.even_split(units - of_gpu, count) if count else ()
                placed = [*([(taken, of_gpu)] if of_gpu else []), *zip(some, parts, strict=True)]
                yield Configuration("split", tuple(u for _, u in placed), tuple(pe for pe, _ in placed))


@pytest.mark.parametrize("speed", ["100 Gunits/s", "5 Gunits/s", "1 Gunits/s", "0.2 Gunits/s"])
@pytest.mark.parametrize("name", ["ep", "matmul"])
def test_no_split_is_better(tmp_path, name, speed):
    parameters = "{samples: 24, volume: 1e7}" if name == "ep" else "{n: 24}"
    speed = speed if name == "ep" else speed.replace("G", "M")
    pes = [core(number, "1 Gunits/s" if name == "ep" else "1 Munits/s") for number in range(3)]
    made = node(tmp_path, [*pes, gpu(speed)], name, parameters)
    every = [
        replace(one, name=f"split{number}")
        for number, one in enumerate(splits(made))
        if sum(one.partition) == made.application.work.units
    ]
    runs = simulator.run(made.with_configurations(tuple(every)))
    best = float(runs.makespan_s.min())
    assert advised(made).value <= best * 1.01


def test_the_order_in_the_file_does_not_matter(tmp_path):
    pes = [*(core(number) for number in range(4)), gpu("9 Gunits/s", host="c2")]
    values = [advised(node(tmp_path, order)).value for order in (pes, pes[::-1], [*pes[2:], *pes[:2]])]
    assert values == pytest.approx([values[0]] * 3)


def test_a_gpu_that_nobody_must_use_costs_nothing(tmp_path):
    cores = [core(number) for number in range(4)]
    without = advised(node(tmp_path, cores)).value
    assert advised(node(tmp_path, [*cores, gpu("1 units/s")])).value == pytest.approx(without)


def test_its_memory_is_kept(tmp_path):
    pes = [*(core(number, "1 Munits/s") for number in range(3)), gpu("1 Gunits/s", more=", memory: 60kB")]
    made = node(tmp_path, pes, "matmul", "{n: 64}")
    one = advised(made).configuration
    place = [pe.name for pe in made.platform.pes].index("g0")
    rows = sum(units for units, pe in zip(one.partition, one.placement, strict=True) if pe == place)
    assert 0 < rows < 64
    assert 8 * (64**2 + 2 * rows * 64) <= 60_000 < 8 * (64**2 + 2 * (rows + 3) * 64)


def test_ranks_see_their_own_gpu(tmp_path):
    made = node(tmp_path, [core(0), core(1), gpu("9 Gunits/s")])
    texts = export_files(made, Configuration("c", (6, 18), (1, 2)))
    assert "1) gpu=0 ;;" in texts["with-gpus.sh"]
    assert "#SBATCH --gpus-per-node=1" in texts["job.slurm"]
    assert "sh with-gpus.sh PROGRAM" in texts["commands.txt"]
    plain = export_files(made, Configuration("c", (12, 12), (0, 1)))
    assert "with-gpus.sh" not in plain
    assert np.all(["gpu" not in plain[name] for name in ("job.slurm", "commands.txt")])

"""Advice with GPUs: against all splits, whatever the order in the file; memory and host cores are kept."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

import simulator
from advisor.advise import objectives
from advisor.advise.export import export_files
from simulator import Configuration, ScenarioError
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


RARE = "time_s,load\n" + "".join(f"{100 * block},{4 * (block == 7)}\n" for block in range(20))
"""A load that one draw of twenty meets."""


def random_cluster(folder, number):
    """One or two nodes with cores that are seldom loaded and GPUs of any speed, link and memory; 8 units of work."""
    dice = random.Random(number)  # noqa: S311 - not for secrets
    (folder / "rare.csv").write_text(RARE)
    name = dice.choice(["ep", "matmul", "stencil"])
    scale, by = ("G", "GB/s") if name == "ep" else ("k", "kB/s")
    text, nodes = "format: 1\nplatform:\n  nodes:\n", dice.choice([1, 1, 2])
    for node_number in range(nodes):
        cores, at, pes = dice.randint(1, 3), f"n{node_number}", []
        for place in range(cores):
            load = ", load: {trace: rare.csv, rule: fair, recorded: false}" if dice.random() < 0.5 else ""
            pes.append(f"name: {at}c{place}, speeds: {{k: {dice.choice([0.5, 1, 3])} {scale}units/s}}{load}")
        gpus = min(cores, dice.choice([0, 1, 1, 2])) if nodes == 1 else dice.choice([0, 1])
        shares = gpus == 2 and dice.random() < 0.5
        for place in range(gpus):
            latency, rate = ("100us", 1) if shares else (dice.choice(["1us", "1ms", "3ms"]), dice.choice([0.05, 1, 50]))
            more = (", switch: s" if shares else "") + dice.choice(["", "", ", streams: 2"])
            more += dice.choice(["", *(f", memory: {size}B" for size in (700, 1000, 1500))]) if name != "ep" else ""
            link, speed = f"{{latency: {latency}, bandwidth: {rate}{by}}}", dice.choice([0.3, 2, 10, 100])
            gpu_said = f"name: {at}g{place}, kind: gpu, host: {at}c{place}, link: {link}{more}"
            pes.append(f"{gpu_said}, speeds: {{k: {speed} {scale}units/s}}")
        text += f"    - name: {at}\n      pes:\n" + "".join(f"        - {{{pe}}}\n" for pe in pes)
    link = f"{{latency: {dice.choice(['1us', '200us'])}, bandwidth: {dice.choice([0.1, 10])}{by}}}"
    parameters = {"ep": "{samples: 8, volume: 1e7}", "matmul": "{n: 8}", "stencil": "{n: 8, iterations: 20}"}[name]
    moves = ", moves: {into: {unit: 1MB, process: 1MB}}" if name == "ep" and dice.random() < 0.5 else ""
    text += f"  network: {{topology: star, link: {link}, contention: {dice.choice(['none', 'fifo', 'fair'])}}}\n"
    text += f"application: {{name: {name}, kernel: k, parameters: {parameters}{moves}}}\n"
    text += "configurations: {c: {partition: equal, pes: [n0c0]}}\nreplications: 20\nseed: 3\n"
    path = folder / "cluster.yaml"
    path.write_text(text)
    return simulator.load_scenario(path)


def least_of_all(made):
    """The least mean over all sets, orders and splits, one process a PE; what memory does not hold is left out."""
    units, hosts = made.application.work.units, made.platform.gpu_hosts
    every = []
    for count in range(1, len(made.platform.pes) + 1):
        cuts = [(0, *cut, units) for cut in itertools.combinations(range(1, units), count - 1)]
        for some in itertools.permutations(range(len(made.platform.pes)), count):
            ordered = made.application.name == "stencil" or list(some[1:]) == sorted(some[1:])
            if ordered and not any(gpu in some and host in some for gpu, host in hosts.items()):
                every += [Configuration("c", tuple(np.diff(cut).tolist()), some) for cut in cuts]

    def least(few):
        named = tuple(replace(one, name=f"c{place}") for place, one in enumerate(few))
        try:
            return float(simulator.run(made.with_configurations(named)).makespan_s.mean(axis=1).min())
        except ScenarioError:
            half = len(few) // 2
            return min(least(few[:half]), least(few[half:])) if half else np.inf

    return min(least(every[first : first + 1000]) for first in range(0, len(every), 1000))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(60))
def test_no_configuration_of_a_random_cluster_is_better(tmp_path, number):
    made = random_cluster(tmp_path, number)
    if len(made.platform.pes) > 5:
        pytest.skip("too many PEs for all configurations")
    best = advised(made).configuration
    mine = float(simulator.run(made.with_configurations((best,))).makespan_s.mean())
    assert mine <= 1.02 * least_of_all(made)


def test_the_core_that_hosts_a_gpu_counts_in_the_cost(tmp_path):
    pes = [f"{core(0)}, cost: 5", f"{core(1)}, cost: 1", f"{gpu('2 Gunits/s')}, cost: 1"]
    made = node(tmp_path, pes)
    rates = objectives.rates_of(made, [Configuration("g", (24,), (2,)), Configuration("c", (24,), (1,))], "cost")
    assert rates.tolist() == [6, 1]
    best = advised(made, objective="cost").configuration
    assert [pe for pe, units in zip(best.placement, best.partition, strict=True) if units] == [1]

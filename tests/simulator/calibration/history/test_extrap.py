"""What Extra-P reads is read in full: each measurement is a run, whatever the format; nothing is guessed or lost."""

import json
import random

import pytest

from simulator.base.errors import ScenarioError
from simulator.calibration import import_runs
from tests.support.mutated_files import Foreign, accepted_in_silence, any_of, double, insert, misspell

TEXT = """PARAMETER p
PARAMETER n
POINTS (4 100) (8 100) (16 200)
REGION main
METRIC time
DATA 8.31 8.02
DATA 22.74
DATA 65.79 1e-3
REGION io
METRIC time
DATA 1.5
DATA 2.5
DATA 3.5
"""
MADE = {
    "main": {(4, 100): [8.31, 8.02], (8, 100): [22.74], (16, 200): [65.79, 1e-3]},
    "io": {(4, 100): [1.5], (8, 100): [2.5], (16, 200): [3.5]},
}


def newer(made):
    entry = {r: {"time": [{"point": p, "values": v} for p, v in table.items()]} for r, table in made.items()}
    return json.dumps({"parameters": ["p", "n"], "measurements": entry}, indent=1)


def older(made):
    points = list(dict.fromkeys(point for table in made.values() for point in table))
    pairs = [[{"parameter_id": k + 1, "parameter_value": x} for k, x in enumerate(point)] for point in points]
    named = {"parameters": ["p", "n"], "callpaths": list(made), "metrics": ["time"]}
    document = {kind: [{"id": k, "name": x} for k, x in enumerate(names, 1)] for kind, names in named.items()}
    document["coordinates"] = [{"id": k, "parameter_value_pairs": pair} for k, pair in enumerate(pairs, 1)]
    document["measurements"] = [
        {"coordinate_id": points.index(p) + 1, "callpath_id": k, "metric_id": 1, "value": value}
        for k, table in enumerate(made.values(), 1)
        for p, values in table.items()
        for value in values
    ]
    return json.dumps(document, indent=1)


def in_lines(made, key="params"):
    return "".join(
        json.dumps({key: {"p": p, "n": n}, "callpath": region, "metric": "time", "value": value}) + "\n"
        for region, table in made.items()
        for (p, n), values in table.items()
        for value in values
    )


def talpas(made):
    return in_lines(made, "parameters").replace("},", "};")


def text(made):
    points = list(made["main"])
    lines = ["PARAMETER\tp n", "POINTS " + " ".join(f"({p}\t{n})" for p, n in points)]
    for region, table in made.items():
        lines += [f"REGION {region}", "METRIC time"]
        lines += ["DATA\t" + " ".join(map(str, table[point])) for point in points]
    return "\ufeff" + "\r\n".join([*lines, ""])


WRITERS = {"text": text, "newer": newer, "older": older, "lines": in_lines, "talpas": talpas}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("seed", range(4))
def test_every_measurement_counts_once_in_every_format(tmp_path, kind, seed):
    chance = random.Random(seed)  # noqa: S311
    points = [(p, n) for p in (1, 2, 4, 8) for n in (100, 200)][: chance.randint(2, 8)]
    made = {
        name: {point: [round(chance.uniform(0.1, 9), 3) for _ in range(chance.randint(1, 3))] for point in points}
        for name in ("main", "main->solve", "io")
    }
    path = tmp_path / "runs"
    path.write_text(WRITERS[kind](made), newline="")
    records, _ = import_runs(path)
    found = sorted((name, *r.parameters.values(), s) for r in records for name, s in r.times_s.items())
    assert found == sorted((name, *p, s) for name, table in made.items() for p, values in table.items() for s in values)


HEAD = "PARAMETER p\nPOINTS (4) (8)\n"


@pytest.mark.parametrize(
    ("content", "times"),
    [
        ("PARAMETER p\nPOINTS (4) (4) (8)\nREGION main\nMETRIC time\nDATA 1\nDATA 3\nDATA 4\n", [1, 3, 4]),
        (f"{HEAD}REGION a\nMETRIC time\nDATA 1\nDATA 2\nREGION a\nMETRIC time\nDATA 3\nDATA 4\n", [1, 3, 2, 4]),
        (f"{HEAD}METRIC time\nDATA 1\nDATA 2\nMETRIC time\nDATA 3\nDATA 4\n", [1, 3, 2, 4]),
        (f"{HEAD}METRIC maxtime\nDATA 1\nDATA 2\n", [1, 2]),
        (f"{HEAD}METRIC visits\nDATA 7\nDATA 7\nMETRIC Time\nDATA 1\nDATA 2\n", [1, 2]),
        ('{"params":{"p":4},"value":8.31}\n\n{"params":{"p":8},"value":[1,2]}\n', [8.31, 1, 2]),
        ('{"params":{"p":4},"metric":"time","value":8.31}', [8.31]),
    ],
)
def test_repeated_points_regions_and_metrics_are_repetitions(tmp_path, content, times):
    path = tmp_path / "runs"
    path.write_text(content)
    records, notes = import_runs(path)
    assert [record.times_s["total"] for record in records] == times
    assert ("each measurement is a run" in str(notes)) == (len(set(times)) > 2 and times[0] == 1)
    assert ("metrics left out: visits" in str(notes)) == ("visits" in content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"{HEAD}METRIC flops\nDATA 1\nDATA 2\n", "of the metrics flops none is known to be a time; name the one in"),
        (f"{HEAD}METRIC maxtime\nDATA 1\nDATA 2\nMETRIC mintime\nDATA 1\nDATA 2\n", "several may be the time; name"),
        (f"{HEAD}METRIC time\nDATA 1\nDATA 1,024\n", ":5: '1,024' is no number"),
        ("PARAMETER p\nPOINTS (4) (8\nDATA 1\n", ":2: '(8' stands outside of the points"),
        (f"{HEAD}METRIC time\nDATA 1\nDATA\n", ":5: there is no value"),
        (f"{HEAD}METRIC time\nDATA 1\nDATA 2\nMETRIC time\n", ":6: total has 0 DATA lines; give 2"),
        ("PARAMETER p p\nPOINTS (4) (8)\n", ":1: parameter 'p' comes twice"),
        ("PARAMETER p\nPOINTS (2 3)\nDATA 1\n", ":3: a point has 2 values; give 1, one for each parameter (p)"),
        (f"{HEAD}PIONTS (1)\n", ":3: 'PIONTS' is no line of Extra-P; write PARAMETER, POINTS, REGION, METRIC or DATA"),
        ('{"params":{"p":4},"value":8}\n{"params":{"q":4},"value":8}\n', ":2: params: {'q': 4} are other parameters"),
        (
            '{"params":{"p":4},"value":8}\n{"params":{"p":4},"valeu":8}\n',
            ":2: value missing; write Extra-P's text, its",
        ),
        ('{"params":{"p":4},"value":8,"unit":"s"}\n', "'unit' is no field of Extra-P's text"),
        ('{"params":{"p":4},"value":true}\n', "True is no number"),
        ('{"parameters":["p"],"measurements":[]}', "measurements: this is empty"),
    ],
)
def test_what_is_no_measurement_is_refused_in_a_sentence(tmp_path, content, said):
    path = tmp_path / "runs"
    path.write_text(content)
    with pytest.raises(ScenarioError) as caught:
        import_runs(path)
    assert said in str(caught.value)
    assert not any(word in str(caught.value) for word in ("KeyError", "NoneType", "Traceback", "dict", "float"))


def test_the_metric_may_be_named(tmp_path):
    path = tmp_path / "runs"
    path.write_text(f"{HEAD}METRIC maxtime\nDATA 1\nDATA 2\nMETRIC flops\nDATA 5\nDATA 6\n")
    assert [record.times_s["total"] for record in import_runs(path, times=["flops"])[0]] == [5, 6]
    with pytest.raises(ScenarioError, match="--time names flop; name one of the metrics maxtime, flops; did you mean"):
        import_runs(path, times=["flop"])


def within_a_region(content, chance):
    """Cut between lines of DATA: a number that is cut, or a region that is missing, cannot be told from another."""
    lines = content.splitlines()
    after = [at for at, line in enumerate(lines) if line.startswith("DATA")]
    return "\n".join(lines[: chance.choice(after)])


KEYS = r'"(parameters|measurements|point|values|callpath|metric|value|params|callpaths|coordinate_id|id|name)":'
DOUBLED = {
    "newer": any_of(double(r'"parameters": \[[^]]*],'), double(r'\{\s*"point": \[[^]]*],\s*"values": \[[^]]*]\s*},')),
    "older": any_of(double(r'"parameters": \[[^]]*],'), double(r'\{\s*"(id|coordinate_id)"[^{}\[]*},')),
    "lines": double(r"^.*\n"),
    "talpas": double(r"^.*\n"),
}
FORMS = {
    name: Foreign(
        WRITERS[name](MADE),
        misspelt=misspell(KEYS),
        unknown=insert(r'"(point|values|callpath|value|parameters|params|id)":', '"unit": "s", ', '"x": 1, '),
        doubled=doubled,
    )
    for name, doubled in DOUBLED.items()
}
FORMS["text"] = Foreign(
    TEXT,
    misspelt=misspell(r"^(PARAMETER|POINTS|REGION|METRIC|DATA)\b"),
    unknown=insert(r"^(POINTS|REGION|DATA)", "UNIT s\n", "VALUES 3\n", "2.5 2.5\n", "DATA x\n"),
    doubled=double(r"^(PARAMETER|POINTS|DATA|REGION) .*\n"),
    cut=within_a_region,
)


@pytest.mark.parametrize("name", FORMS)
def test_no_damage_is_accepted_in_silence(tmp_path, name):
    assert accepted_in_silence(FORMS[name], lambda path: import_runs(path)[1], tmp_path / "runs") == []

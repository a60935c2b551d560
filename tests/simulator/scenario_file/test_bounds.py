"""Bounds before work: what is far too large is refused in one line that says the limit, before any of it is made."""

import resource
import subprocess
import sys

import pytest

from simulator import load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.scenario_file.scenario import MOST_REPLICATIONS
from tests.support.yardstick import at_most

MOST_LOOPS, MOST_KB = 50, 150_000
"""Of processor time, and by how much the most memory ever used may grow: each case takes a few loops."""

PES = "  - {name: a, pes: [{name: a, speeds: {k: 1 Gflop/s}}]}"
CONFIGURATIONS = "  c: {partition: equal}"


def text(pes=PES, *, configurations=CONFIGURATIONS, name="matmul", parameters="{n: 400}", rest=""):
    return f"""format: 1
platform:
  nodes:
{pes}
  link: {{latency: 50us, bandwidth: 1Gbit/s}}
application: {{name: {name}, kernel: k, parameters: {parameters}}}
configurations:
{configurations}
{rest}
"""


def of_pes(count):
    return f"  - {{name: a, pes: [{{name: p, count: {count}, speeds: {{k: 1 Gflop/s}}}}]}}"


def of_nodes(count, pes=1):
    return f"  - {{name: a, count: {count}, pes: [{{name: '{{node}}p', count: {pes}, speeds: {{k: 1 Gflop/s}}}}]}}"


def of_names(pattern):
    return f"  - {{name: '{pattern}', pes: [{{speeds: {{k: 1 Gflop/s}}}}]}}"


def of_speed(speed):
    return f"  - {{name: a, pes: [{{name: a, speeds: {{k: {speed} Gflop/s}}}}]}}"


def placed(said):
    return f"  c: {{partition: equal, {said}}}"


MILLION, DIGITS = "at most 1000000", "9" * 10**6
LETTERS, VALUES = "at most 1000", "more than 500000 values"
LEVELS, CONFIGURED = "more than 50 levels", "more than 10000 configurations"
CASES = {
    "PEs": (text(of_pes(10**9)), MILLION),
    "nodes": (text(of_nodes(10**9)), MILLION),
    "PEs of nodes": (
        text(of_nodes(10**5, pes=10**5)),
        "4:5: platform.nodes.0: these are 10000000000 PEs up to here; give at most 1000000",
    ),
    "PEs of entries": (text("\n".join(of_nodes(10**6).replace("name: a", f"name: n{k}") for k in range(9))), MILLION),
    "range": (text(of_names("a[1-1000000000000]")), "1 to 1000000 names"),
    "count in hexadecimal": (text(of_pes("0x" + "f" * 10**6)), LETTERS),
    "cores": (text(PES.replace("name: a, speeds", "name: a, cores: 1000000001, speeds")), MILLION),
    "allocation": (text(configurations=placed("allocation: {a: 1000000000}")), MILLION),
    "allocation of a pattern": (
        text(of_names("n[1-9]"), configurations=placed("allocation: {'n[1-9]': 1000000}")),
        "8:38: configurations.c.allocation.n[1-9]: these are 9000000 processes up to here; give at most 1000000",
    ),
    "names of PEs": (
        text(configurations=placed("pes: [" + "'a[1-1000000]', " * 100 + "]")),
        "8:25: configurations.c.pes: these are 100000000 names; write at most 1000000",
    ),
    "configurations": (
        text(configurations="\n".join(f"  c{k}: {{partition: equal}}" for k in range(60000))),
        CONFIGURED,
    ),
    "replications": (text(rest="replications: 1000000000"), f"at most {MOST_REPLICATIONS}"),
    "speed": (
        text(of_speed("1e999999")),
        "4:40: platform.nodes.0.pes.0.speeds.k: '1e999999 Gflop/s' is too large or too long; write at most 1.8e308",
    ),
    "speed of a million digits": (text(of_speed(DIGITS)), LETTERS),
    "speed of spaces": (text(of_speed("1" + " x " * 10**5)), LETTERS),
    "memory": (text(PES.replace("pes:", "memory: 1e300B, pes:")), "at most 4 EiB"),
    "float of a million digits": (text(parameters=f"{{n: 1.{DIGITS}}}"), LETTERS),
    "iterations": (text(name="stencil", parameters="{n: 10, iterations: 1000000000000}"), "at most 10000000"),
    "panels": (
        text(name="hpl", parameters="{n: 100000000, nb: 1}"),
        "6:64: application.parameters.nb: it is 1, which makes 100000000 blocks of n = 100000000; make at most",
    ),
}
TOML = {
    "dotted key": ("format = 1\n" + ".".join(["a"] * 20000) + " = 1\n", LEVELS),
    "many dotted tables": ("".join(f"[{'.'.join([f'a{k}'] * 300)}]\nx = 1\n" for k in range(1000)), LEVELS),
    "values": (f"x = [{'1,' * 2_000_000}]", "more than 150000 values"),
    "configurations": ("".join(f"[configurations.c{k}]\npartition = 'equal'\n" for k in range(60_000)), CONFIGURED),
    "integer": (f"format = {DIGITS}", "more than 1000 letters"),
    "hexadecimal": (f"format = 0x{'f' * 10**6}", "more than 1000 letters"),
}


def refusal(path, **options):
    """The one line of what is refused, within processor time and memory."""
    before_kb = most_memory_kb()
    with at_most(MOST_LOOPS), pytest.raises(ScenarioError) as caught:
        load_scenario(path, **options)
    assert most_memory_kb() - before_kb < MOST_KB
    (line,) = caught.value.lines
    assert len(line) < 1700
    return line


def most_memory_kb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("case", CASES)
def test_a_scenario_beyond_a_limit_is_refused_before_any_work(tmp_path, case):
    written, limit = CASES[case]
    path = tmp_path / "s.yaml"
    path.write_text(written)
    assert limit in refusal(path)


def test_no_name_is_written_out_for_a_platform_that_is_too_large_whatever_else_is_wrong(tmp_path):
    """A form with a fault is looked at section by section: none of the sections makes names either."""
    path = tmp_path / "s.yaml"
    entries = "\n".join(of_nodes(10**6).replace("name: a", f"name: n{k}") for k in range(9))
    path.write_text(text(entries, rest="seed: once"))
    with at_most(MOST_LOOPS), pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert ["seed" in caught.value.lines[0], MILLION in caught.value.lines[1]] == [True, True]


@pytest.mark.parametrize("case", TOML)
def test_toml_beyond_a_limit_is_refused_before_its_reader_sees_it(tmp_path, case):
    written, limit = TOML[case]
    path = tmp_path / "s.toml"
    path.write_text(written)
    assert limit in refusal(path)


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ("platform.link.latency=x1e1000000", "at most 1.8e308"),
        (
            "platform.link.latency=1e999999 s",
            "--set platform.link.latency: '1e999999 s' is too large or too long; write at most 1.8e308 in at most",
        ),
        (
            "application.parameters.n=" + "9" * 10**6,
            "--set application.parameters.n: this number has 1000000 letters; write at most 1000",
        ),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_set_has_the_same_limits(tmp_path, change, limit):
    path = tmp_path / "s.yaml"
    path.write_text(text())
    assert limit in refusal(path, changes=[change])


def test_dots_in_texts_and_remarks_are_no_levels(tmp_path):
    path, dots = tmp_path / "s.toml", "a." * 100
    path.write_text(f'notes = ["{dots}"] # {dots}\nformat = 1\n')
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert all(line.endswith("it is missing; add it") for line in caught.value.lines)


def test_what_reaches_its_limit_is_read(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(text(configurations="\n".join(f"  c{k}: {{partition: equal}}" for k in range(10_000))))
    assert len(load_scenario(path).configurations) == 10_000


@pytest.mark.slow
def test_a_hundred_thousand_pes_load_in_little_time_and_memory(tmp_path):
    """5 s and 400 MB, imports included; half a second and 120 MB here."""
    path = tmp_path / "s.yaml"
    path.write_text(text(of_nodes(1000, pes=100), parameters="{n: 200000}"))
    code = (
        "import resource, sys; from simulator import load_scenario; made = load_scenario(sys.argv[1]);"
        "used = resource.getrusage(resource.RUSAGE_SELF);"  # its ru_maxrss would be that of the process that started it
        "most = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'));"
        "print(len(made.platform.pes), used.ru_utime + used.ru_stime, most)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    pes, spent_s, most_kb = map(float, done.stdout.split())
    assert pes == 100_000
    assert spent_s < 5
    assert most_kb < 400_000


@pytest.mark.slow
def test_ten_thousand_processes_on_them_are_simulated_at_once(tmp_path):
    """SimPy needs a dozen plain loops for each replication."""
    path = tmp_path / "s.yaml"
    path.write_text(
        text(of_nodes(100_000), configurations=placed("pes: ['a[000001-010000]p1']"), parameters="{n: 20000}")
    )
    made = load_scenario(path, changes=["replications=40"])
    run(made, replications=2, engine="compiled")  # it is compiled once
    with at_most(250):
        found = run(made)
    assert (found.engine, found.makespan_ticks.shape) == ("compiled", (1, 40))


def test_a_simulation_beyond_memory_is_refused_with_the_figure(tmp_path):
    path = tmp_path / "s.yaml"
    rest = "replications: 1000000"
    path.write_text(text(of_nodes(20_000), parameters="{n: 200000}", rest=rest))
    made = load_scenario(path)
    needed = r"^1000000 replications of 1 .* needs about 1.* TiB of memory, .* are free"
    with at_most(MOST_LOOPS), pytest.raises(ScenarioError, match=needed):
        run(made)


def test_a_program_beyond_memory_is_refused_before_it_is_made(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(text(of_nodes(10_000), name="stencil", parameters="{n: 100000, iterations: 10000000}"))
    with pytest.raises(ScenarioError, match=r"10000 processes needs about 40.9 TiB of memory, .* are free here: "):
        load_scenario(path)

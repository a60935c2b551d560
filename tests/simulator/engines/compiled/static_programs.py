"""Random programs in which nothing is shared, for agreement between the engines."""

from hypothesis import strategies as st

from simulator.models.network import LinkModel
from simulator.platform.networks import Network
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Barrier, Broadcast, Compute, Delay, Exchange, Program, Recv, Send, WaitUntil
from simulator.scenario_file.scenario import Application, Scenario
from tests.support.platforms import band, flat, trace

EAGER_BYTES = 100
small = st.integers(0, 200)


def compute(draw, made, who):
    made[who].append(Compute(float(draw(st.integers(1, 50))), 1.0))


def message(draw, made, who):
    to, tag = draw(st.integers(0, len(made) - 1)), draw(st.integers(0, 1))
    if draw(st.integers(0, 5)):  # seldom to oneself, which ends only if it is eager
        to = (to + (to == who)) % len(made)
    made[who].append(Send(to, draw(small), tag))
    made[to].append(Recv(who, tag))


def exchange(draw, made, who):
    """With another process, which exchanges too or does both one after the other; or with oneself."""
    to = draw(st.integers(0, len(made) - 1))
    made[who].append(Exchange(to, to, draw(small)))
    if to != who:
        whole = [Exchange(who, who, draw(small))]
        made[to].extend(whole if draw(st.booleans()) else [Recv(who), Send(who, draw(small))])


def ring(draw, made, _who):
    for process, row in enumerate(made):
        row.append(Exchange((process + 1) % len(made), (process - 1) % len(made), draw(small)))


def barrier(draw, made, who):
    group = tuple(sorted({who} | draw(st.sets(st.integers(0, len(made) - 1)))))
    for process in group:
        made[process].append(Barrier(group))


def sleep(draw, made, who):
    seconds = draw(st.integers(0, 40)) * 1e-12
    made[who].append(draw(st.sampled_from([Delay(seconds), WaitUntil(seconds * 5)])))


def broadcast(_draw, made, who):
    for row in made:
        row.append(Broadcast(who, 60, "ring"))


ACTIONS = [compute, message, message, exchange, ring, barrier, sleep, broadcast]


@st.composite
def rows(draw, processes):
    """One row per process: actions that concern one or several processes, then sometimes a fault."""
    made = [[] for _ in range(processes)]
    someone = st.integers(0, processes - 1)
    for _ in range(draw(st.integers(1, 14))):
        draw(st.sampled_from(ACTIONS))(draw, made, draw(someone))
    broken = made[draw(someone)]
    if broken and draw(st.integers(0, 9)) == 0:
        broken.pop(draw(st.integers(0, len(broken) - 1)))
    if draw(st.integers(0, 9)) == 0:
        made[draw(someone)].reverse()
    return tuple(tuple(row) for row in made)


@st.composite
def loads(draw):
    count = draw(st.integers(1, 5))
    lengths = draw(st.lists(st.integers(1, 60), min_size=count, max_size=count))
    times = [sum(lengths[:k]) * 1e-12 for k in range(count)]
    values = draw(st.lists(st.floats(0, 3), min_size=count, max_size=count))
    after_end = draw(st.sampled_from(["cycle", "cycle", "hold", "error"]))
    rule = draw(st.sampled_from(["fair", "idle", "given"]))
    end_s = sum(lengths) * 1e-12
    drawn, start_s = draw(st.booleans()), draw(st.sampled_from([0.0, 0.0, 0.3, 0.8])) * end_s
    return Load(trace(times, values, end_s, after_end), rule, drawn=drawn, start_s=start_s)


@st.composite
def pes(draw, index, alone):
    speed = draw(st.sampled_from([flat(1e12), flat(3e11), band(0.5e12, 1e12, 2e12)]))
    load = draw(st.none() | loads()) if alone else None
    return PE(f"pe{index}", f"node{draw(st.integers(0, 1))}", {"k": speed}, load, cores=1 if alone else 6)


@st.composite
def scenarios(draw):
    """A scenario that the direct path of the compiled engine does, maybe with a fault."""
    processes = draw(st.integers(1, 5))
    alone = draw(st.integers(0, 3)) > 0
    model = draw(st.sampled_from([LinkModel.from_latency(5e-12, 1e12), LinkModel.from_latency(1e-12, 3e11)]))
    network = Network.uniform(model, eager_bytes=draw(st.sampled_from([0, EAGER_BYTES])))
    platform = Platform(tuple(draw(pes(i, alone)) for i in range(processes)), network)
    program = Program(draw(rows(processes)), (0,) * processes, polls=draw(st.booleans()))
    places = st.permutations(range(processes)) if alone else st.just([0] * processes)
    configurations = tuple(
        Configuration(f"c{i}", (1,) * processes, tuple(draw(places))) for i in range(draw(st.integers(1, 2)))
    )
    application = Application.of_program(program, kernel="k")
    return Scenario(platform, application, configurations, draw(st.integers(1, 2)), draw(st.integers(0, 99)))

"""Time per call of the balancer for 128 processes, all of whose levels change: `make bench` prints it.

Targets are printed, not asserted: a busy machine would miss them.
"""

import statistics
import time

import pytest

from simulator.base.randomness import stream
from simulator.scheduling.balance import Balancer, Band, save
from tests.support.balance_c import COMPILER, InC, compiled, doubles

pytestmark = pytest.mark.benchmark
PROCESSES, CALLS, UNITS = 128, 300, 100_000
BANDS = [Band([10, 200, 800, 1800], [1, 0.9, 0.8, 0.7], [1.1, 1.0, 0.9, 0.8])] * PROCESSES


def per_call(update, units_of, taken=list):
    """Median processor seconds of a call; all speeds change every seventh one, so that many calls move units."""
    rng = stream(33, "bench")
    spent, levels = [], rng.uniform(0.5, 2, PROCESSES)
    for call in range(CALLS):
        if call % 7 == 0:
            levels = rng.uniform(0.5, 2, PROCESSES)
        noise = 1 + 0.05 * rng.standard_normal(PROCESSES)
        times = taken([float(a * b * units) for a, b, units in zip(levels, noise, units_of(), strict=True)])
        begin = time.process_time()
        update(times)
        spent.append(time.process_time() - begin)
    return statistics.median(spent)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler (cc)")
@pytest.mark.parametrize("speeds", [None, BANDS], ids=["constant", "bands"])
def test_a_call_for_128_processes(tmp_path, speeds):
    library = compiled(tmp_path)
    python = Balancer(UNITS, PROCESSES, speeds=speeds)
    in_c = InC.restore(library, save(python.state))
    python_s = per_call(python.update, lambda: python.units)
    c_s = per_call(lambda times: library.apportion_update(in_c.handle, times), lambda: in_c.units, doubles)
    assert in_c.units == python.units
    kind = "constant speeds" if speeds is None else "bands of 4 points"
    print(f"balance, {PROCESSES} processes, {kind}: Python {1e3 * python_s:.3g} ms (target 1 ms), ", end="")
    print(f"C {1e6 * c_s:.3g} us (target 20 us), {python_s / c_s:.0f} times faster")

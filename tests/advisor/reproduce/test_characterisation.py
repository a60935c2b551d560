"""Communication of the characterisation paper: equation 5 on shipped recordings, on a table of its own."""

import pytest

from advisor.reproduce.characterisation import fitted, reproduce
from simulator.base.randomness import stream


def table(path, *, header=200.0):
    """Times that obey equation 5 but for 1 % noise; alpha 50 us, alpha2 30, beta 20, tau 50 ns/B, p 4096."""
    noise = stream(1, "equation 5")
    alpha, alpha2, beta, tau, packet = 50e-6, 30e-6, 20e-6, 50e-9, 4096.0
    lines = ["bytes,hops,one_way_s"]
    for hops in range(1, 11):
        for size in (100, 500, 1000, 2000, 3000, 4096, 5000, 7000, 9000, 12000, 16000, 20000):
            short = alpha + hops * (beta + tau * (size + header))
            long = alpha + hops * (beta + tau * packet) + (size / packet - 1) * (alpha2 + beta + tau * packet)
            lines.append(f"{size},{hops},{(short if size <= packet else long) * noise.normal(1, 0.01)!r}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_equation_5_is_found_where_it_holds(tmp_path):
    """And its jump -d*tau*h at l = p: -10 us over one hop, -100 us over ten, within what noise leaves."""
    entry = fitted("made up", table(tmp_path / "t.csv"))
    assert entry.fits.chosen == "packetised"
    assert [row.hops for row in entry.by_hops] == list(range(1, 11))
    assert all(row.equation_5 < 0.02 for row in entry.by_hops)
    jumps = {jump.hops: jump.jump_s for jump in entry.fits.jump}
    assert jumps[1] == pytest.approx(-50e-9 * 200, rel=0.3)
    assert jumps[10] == pytest.approx(-10 * 50e-9 * 200, rel=0.3)


@pytest.mark.slow
def test_the_shipped_recordings(tmp_path):
    """Errors of every form and every distance; no medium is left out."""
    result = reproduce(tmp_path)
    assert set(result.communication) == {"chain", "unix", "pipe", "tcp"}
    for name, entry in result.communication.items():
        held_out = {form.name: form.held_out.mean_relative_error for form in entry.fits.models}
        assert {"hockney", "packetised", "piecewise"} <= held_out.keys()
        physical = [form for form in entry.fits.models if form.physical]
        least = min(form.held_out.mean_relative_error for form in physical)
        assert held_out[entry.fits.chosen] <= 1.1 * least
        assert (tmp_path / f"{name}.svg").read_text().startswith("<svg xmlns=")
    points = result.communication["chain"].fits.points
    assert [(min(points[name]), max(points[name])) for name in ("bytes", "hops")] == [(100, 20000), (1, 10)]

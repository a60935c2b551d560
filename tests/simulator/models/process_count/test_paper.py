"""The paper's process-count model: exact runs give its coefficients back, and plain loops agree."""

import itertools
import json

import numpy as np
import pytest

from simulator.base.randomness import stream
from simulator.models import (
    AllocationRuns,
    Composed,
    MemoryRegimes,
    fit_process_counts,
    process_count_model_from_dict,
)
from tests.simulator.models.process_count.paper_runs import (
    COMM,
    COMP,
    SIZES,
    allocation,
    alone,
    curve,
    fast_rows,
    make,
    one_kind,
    shared,
    slow_rows,
)


def test_exact_runs_give_the_coefficients_back():
    model = fit_process_counts(make(slow_rows(), ("slow",)), method="paper")
    found = model.to_dict()["coefficients"]
    for fit in found["nt"]:
        if fit["pes"] == 1:
            m = fit["procs"]
            assert [fit[f"k{i}"] for i in range(4)] == pytest.approx([6e-10 * m, 1e-8, 2e-5, 0.05 * m], rel=1e-7)
            assert [fit[f"k{i}"] for i in (4, 5, 6)] == pytest.approx([3e-9 * m, 1e-6, 0.01 * m], rel=1e-7)
    assert len(found["pt"]) == 3
    for fit in found["pt"]:
        m = fit["procs"]
        assert fit["reference_pes"] == 2
        expected = (1.0, 0.0, 0.05 / m, 2 * m * (1 - 0.1), 0.0)
        assert [fit[f"k{i}"] for i in range(7, 12)] == pytest.approx(expected, abs=1e-7)


def test_estimates_are_those_of_the_equations_at_any_size_and_number_of_processes():
    model = fit_process_counts(make(slow_rows(), ("slow",)), method="paper")
    cases = [(p, m) for p in (1, 2, 3, 4, 7, 20) for m in (1, 2, 3)]
    for size in (300.0, 1000.0, 9600.0):
        expected = [sum(one_kind(m, p, size)) for p, m in cases]
        found = model.estimate(size, allocation(*cases))
        assert found.mean_s == pytest.approx(expected, rel=1e-7)
        assert (found.low_s <= found.mean_s).all()


def test_without_phases_the_whole_time_has_the_sum_of_both_forms():
    reference = (0.3, 1e-4, 2e-8, 3e-10)

    def total(p, n):  # of curve/P, P*curve and a constant, giving the reference back at P = 2
        t = curve(reference, n)
        return 1.6 * t / p + 0.1 * p * t

    rows = [(n, {"slow": (p, 1, total(p, n), 0.0)}) for p in (2, 3, 4) for n in SIZES]
    rows += [(n, {"slow": (1, 1, *alone(1, n))}) for n in SIZES]
    model = fit_process_counts(make(rows, ("slow",), phases=False), method="paper")
    found = model.estimate(5000.0, allocation((1, 1), (3, 1), (9, 1))).mean_s
    assert found == pytest.approx([sum(alone(1, 5000.0)), total(3, 5000.0), total(9, 5000.0)], rel=1e-7)


def test_a_kind_of_one_pe_takes_another_kinds_p_t_times_fitted_factors():
    model = fit_process_counts(make(slow_rows() + fast_rows()), method="paper")
    (composed,) = model.to_dict()["coefficients"]["composed"]
    assert (composed["kind"], composed["source"], composed["fitted"]) == ("fast", "slow", True)
    assert composed["factors"] == pytest.approx([0.5, 0.5])
    n, p = 5000.0, 3 + 4
    fast, slow = (factor * np.array(shared(m, n, p)) for factor, m in ((0.5, 3), (1.0, 1)))
    found = model.estimate(n, allocation((1, 3, 4, 1), (1, 3, 0, 0))).mean_s
    assert found == pytest.approx([max(fast.sum(), slow.sum()), 0.5 * sum(alone(3, n))], rel=1e-7)


def test_mixed_runs_that_tell_both_kinds_parts_have_the_last_word_on_the_factors():
    mixed = [
        (n, {"fast": (1, 1, *(np.array((0.3, 0.8)) * shared(1, n, 5))), "slow": (4, 1, *shared(1, n, 5))})
        for n in SIZES
    ]
    model = fit_process_counts(make(slow_rows() + fast_rows() + mixed), method="paper")
    assert model.to_dict()["coefficients"]["composed"][0]["factors"] == pytest.approx([0.3, 0.8])


def test_given_factors_are_used_and_serve_a_kind_without_any_run():
    given = {"fast": Composed("slow", 0.27, 0.85)}
    for rows in (slow_rows() + fast_rows(), slow_rows()):
        model = fit_process_counts(make(rows), method="paper", compose=given)
        fast = sum(np.array((0.27, 0.85)) * shared(2, 5000.0, 3))
        slow = sum(shared(1, 5000.0, 3))
        found = model.estimate(5000.0, allocation((1, 2, 1, 1), (1, 2, 0, 0))).mean_s
        assert found[0] == pytest.approx(max(fast, slow), rel=1e-7)
    assert found[1] == pytest.approx(sum(np.array((0.27, 0.85)) * alone(2, 5000.0)), rel=1e-7)


@pytest.mark.parametrize("told", [True, False])
def test_a_line_through_communication_is_fitted_to_mixed_runs_of_one_size(told):
    given = {"fast": Composed("slow", 0.5, 0.5)}
    ms = (1, 2, 3, 4)
    COMP.setdefault(4, COMP[3])
    COMM.setdefault(4, (0.4, 2e-5, 3e-8))
    mixed = []
    for size, line in ((1600.0, (9.0, 9.0)), (2400.0, (1.5, 0.2))):
        for m, pes in itertools.product((3, 4), (2, 4)):
            comp, comm = 0.5 * np.array(shared(m, size, m + pes))
            a, b = line if pes == 4 else (7.0, 7.0)  # only the largest size and all of the others count
            row = {"fast": (1, m, comp, a * comm + b)}
            mixed.append((size, row | {"slow": (pes, 1, 0.0, 0.0)}))
    runs = make(slow_rows(ms) + fast_rows(ms) + mixed)
    if not told:
        runs.comm_s[-len(mixed) :] = np.nan
    model = fit_process_counts(runs, method="paper", compose=given)
    (line,) = model.to_dict()["coefficients"]["adjusted"]
    assert (line["size"], line["runs"]) == (2400.0, 2)
    assert (line["a"], line["b_s"]) == pytest.approx((1.5, 0.2), rel=1e-6)
    n = 5000.0
    for m, (a, b) in ((2, (1.0, 0.0)), (3, (1.5, 0.2)), (4, (1.5, 0.2))):
        comp, comm = 0.5 * np.array(shared(m, n, m + 1))
        expected = max(comp + a * comm + b, sum(shared(1, n, m + 1)))
        assert model.estimate(n, allocation((1, m, 1, 1))).mean_s == pytest.approx([expected], rel=1e-7)
    assert model.estimate(n, allocation((1, 3, 0, 0))).mean_s == pytest.approx([0.5 * sum(alone(3, n))], rel=1e-7)
    plain = fit_process_counts(runs, method="paper", compose=given, adjust=False)
    assert plain.to_dict()["coefficients"]["adjusted"] == []


def test_regimes_have_models_of_their_own():
    sizes = (*SIZES, 4000.0, 5000.0, 6000.0, 7000.0)
    swapping = [(n, {"slow": (1, 1, *(np.array(alone(1, n)) * (5.0 if n > 3000 else 1.0)))}) for n in sizes]
    regimes = MemoryRegimes(((8.0 * 3000.0**2,),))
    model = fit_process_counts(make(swapping, ("slow",)), method="paper", regimes=regimes)
    for n, factor in ((2900.0, 1.0), (3100.0, 5.0)):
        assert model.estimate(n, allocation((1, 1))).mean_s == pytest.approx([factor * sum(alone(1, n))], rel=1e-7)
    assert model.warnings == ("slow: no P-T model and none to compose from: only one PE alone can be estimated",)


def test_regimes_go_by_what_a_pe_holds():
    sizes = tuple(200.0 * i for i in range(1, 26))
    limit = 8 * 1500.0**2

    def row(p, n):
        factor = 5.0 if 8 * n**2 / p > limit else 1.0
        return (n, {"slow": (p, 1, *(factor * np.array(one_kind(1, p, n))))})

    rows = [row(p, n) for p in (1, 2, 3, 4) for n in sizes]
    model = fit_process_counts(make(rows, ("slow",)), method="paper", regimes=MemoryRegimes(((limit,),)))
    cases = [(p, n) for p in (1, 2, 3, 4) for n in (1000.0, 1700.0, 2100.0, 2700.0, 5000.0)]
    for p, n in cases:
        found = model.estimate(n, allocation((p, 1))).mean_s[0]
        assert found == pytest.approx(sum(row(p, n)[1]["slow"][2:]), rel=1e-6), (p, n)


def test_configurations_with_too_few_sizes_teach_nothing_and_are_named():
    stray = [(n, {"slow": (pes, 1, 1e3, 1e3)}) for pes in (3, 5) for n in SIZES[:3]]
    rows = [row for row in slow_rows((1,), (1, 2, 3, 4, 6)) if row[1]["slow"][0] != 3]
    model = fit_process_counts(make(rows + stray, ("slow",)), method="paper")
    assert model.estimate(5000.0, allocation((3, 1))).mean_s == pytest.approx([sum(one_kind(1, 3, 5000.0))], rel=1e-7)
    (line,) = model.warnings
    assert line.endswith("2 configurations with fewer than 4 problem sizes left out, the first: 3 PEs, m = 1, 3 sizes")


def test_a_regime_that_was_not_measured_takes_the_nearest_and_says_so():
    regimes = MemoryRegimes(((8 * 3000.0**2,),))
    model = fit_process_counts(make(slow_rows(), ("slow",)), method="paper", regimes=regimes)
    found = model.estimate(4000.0, allocation((1, 1), (2, 1)))
    assert found.mean_s == pytest.approx([sum(one_kind(1, p, 4000.0)) for p in (1, 2)], rel=1e-7)
    assert any("memory regime" in line for line in found.warnings[0])  # one PE holds it all, two hold half each
    assert not any("memory regime" in line for line in found.warnings[1])


def noisy(runs, seed=3, share=0.03):
    draw = stream(seed, "paper test")
    comp, comm = (part * (1 + share * draw.standard_normal(part.shape)) for part in (runs.comp_s, runs.comm_s))
    return AllocationRuns(runs.kinds, runs.size, runs.allocations, np.nanmax(comp + comm, axis=1), comp, comm)


def plain_loops(runs, size, pes, m):
    """The paper's two steps for one kind, written out."""
    own = {}
    for p in np.unique(runs.allocations[:, 0, 0]):
        rows = (runs.allocations[:, 0] == (p, m)).all(axis=1)
        n = runs.size[rows]
        cubic, _, _, _ = np.linalg.lstsq(np.vander(n, 4), runs.comp_s[rows, 0])
        square, _, _, _ = np.linalg.lstsq(np.vander(n, 3), runs.comm_s[rows, 0])
        own[p] = rows, cubic, square
    if pes == 1:
        return np.polyval(own[1][1], size) + np.polyval(own[1][2], size)
    ta, tc, a, c, total = [], [], [], [], []
    for p, (rows, *_) in own.items():
        if p > 1:
            ta.append(runs.comp_s[rows, 0])
            tc.append(runs.comm_s[rows, 0])
            a.append(2 * m * np.polyval(own[2][1], runs.size[rows]))
            c.append(np.polyval(own[2][2], runs.size[rows]))
            total.append(np.full(rows.sum(), float(p * m)))
    ta, tc, a, c, p = map(np.concatenate, (ta, tc, a, c, total))
    k7, k8 = np.linalg.lstsq(np.stack((a / p, np.ones_like(p)), axis=1), ta)[0]
    k9, k10, k11 = np.linalg.lstsq(np.stack((p * c, c / p, np.ones_like(p)), axis=1), tc)[0]
    at, mine = 2 * m * np.polyval(own[2][1], size), np.polyval(own[2][2], size)
    p = pes * m
    return k7 * at / p + k8 + k9 * p * mine + k10 * mine / p + k11


@pytest.mark.parametrize("uneven", [False, True])
def test_noisy_runs_fit_as_plain_loops_fit_them(uneven):
    runs = noisy(make(slow_rows(sizes=(*SIZES, 3200.0)), ("slow",)))
    if uneven:  # some configurations lack a size, one has a repetition
        keep = np.setdiff1d(np.arange(len(runs.size)), [3, 20, 41])
        keep = np.append(keep, 7)
        runs = AllocationRuns(
            runs.kinds,
            *(x[keep] for x in (runs.size, runs.allocations, runs.time_s)),
            runs.comp_s[keep],
            runs.comm_s[keep],
        )
    model = fit_process_counts(runs, method="paper")
    cases = [(p, m) for p in (1, 2, 3, 4) for m in (1, 2, 3)]
    for size in (1000.0, 6400.0):
        expected = [plain_loops(runs, size, p, m) for p, m in cases]
        assert model.estimate(size, allocation(*cases)).mean_s == pytest.approx(expected, rel=1e-6)


def test_tables_say_what_estimates_say():
    model = fit_process_counts(noisy(make(slow_rows() + fast_rows())), method="paper")
    tables = model.tables(3200.0, (3, 2), 9)
    assert (tables.comm_s == 0).all()
    for fast, pes, slow in itertools.product((1, 2, 3), (1, 2, 3), (1, 2)):
        p = fast + pes * slow
        expected = model.estimate(3200.0, allocation((1, fast, pes, slow))).mean_s[0]
        assert max(tables.pe_s[0, fast - 1, p], tables.pe_s[1, slow - 1, p]) == expected
    assert tables.pe_s[1, 0, 1] == model.estimate(3200.0, allocation((0, 0, 1, 1))).mean_s[0]
    assert np.isinf(tables.pe_s[1, 2]).all()  # more than allowed
    assert np.isinf(tables.pe_s[0, 2, :3]).all()  # fewer in all than on the PE


def test_a_document_gives_the_same_model():
    runs = noisy(make(slow_rows() + fast_rows()))
    regimes = MemoryRegimes(((1e9,), (2e9, 3e9)))
    model = fit_process_counts(runs, method="paper", compose={"fast": Composed("slow", 0.3)}, regimes=regimes)
    again = process_count_model_from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False)))
    where = allocation((1, 2, 3, 1), (0, 0, 1, 3), (1, 1, 0, 0))
    first, second = (x.estimate(2000.0, where) for x in (model, again))
    assert first.mean_s.tolist() == second.mean_s.tolist()
    assert first.low_s.tolist() == second.low_s.tolist()
    assert again.to_dict() == model.to_dict()


def test_members_are_fixed_paired_and_as_wide_as_repeated_experiments():
    runs = make(slow_rows(), ("slow",))
    where = allocation((1, 1), (3, 2), (4, 1))
    model = fit_process_counts(noisy(runs), method="paper")
    members = model.members(3000.0, where)
    assert members.tolist() == fit_process_counts(noisy(runs), method="paper").members(3000.0, where).tolist()
    repeated = [
        fit_process_counts(noisy(runs, seed), method="paper").estimate(3000.0, where).mean_s for seed in range(40)
    ]
    assert members.std(axis=0) == pytest.approx(np.std(repeated, axis=0), rel=0.6)
    one_pe = model.estimate(3000.0, where[:1]).mean_s  # linear in the times, so that mirrored draws cancel out
    assert members[:, 0].mean() == pytest.approx(one_pe[0], rel=1e-9)
    assert model.noise == pytest.approx([0.03, 0.03], rel=0.4)


def test_intervals_hold_about_as_many_runs_as_they_say():
    runs = make(slow_rows(), ("slow",))
    where = allocation(*((p, m) for p in (1, 2, 3, 4) for m in (1, 2, 3)))
    inside = []
    for seed in range(25):
        found = fit_process_counts(noisy(runs, seed), method="paper").estimate(2000.0, where, level=0.9)
        truth = np.array([sum(one_kind(m, p, 2000.0)) for p, m in where[:, 0]])
        one_run = truth * (1 + 0.03 * stream(seed, "one run").standard_normal(len(truth)))
        inside.append((found.low_s <= one_run) & (one_run <= found.high_s))
    assert 0.85 <= np.mean(inside) <= 1.0


def test_no_interval_begins_below_0_unless_the_estimate_does():
    runs = noisy(make(slow_rows(sizes=SIZES[:4]), ("slow",)), share=0.2)
    where = allocation(*((p, m) for p in (1, 2, 3, 4) for m in (1, 2, 3)))
    found = fit_process_counts(runs, method="paper").estimate(20_000.0, where, level=0.99)
    assert (found.mean_s < 0).any()
    assert (found.low_s == 0).any()
    assert ((found.low_s < 0) == (found.mean_s <= 0)).all()
    assert all(
        "of 0 or less" in lines[-1] for lines, mean in zip(found.warnings, found.mean_s, strict=True) if mean <= 0
    )


def test_weak_estimates_say_why():
    model = fit_process_counts(make(slow_rows() + fast_rows()), method="paper")
    found = model.estimate(9600.0, allocation((0, 0, 1, 1), (1, 5, 0, 0), (0, 0, 30, 1)))
    assert all("outside the measured 400 to 2400" in lines[0] for lines in found.warnings)
    assert "no model" in found.warnings[1][1]
    assert found.mean_s[1] == np.inf
    assert "more processes than the 12" in found.warnings[2][1]
    assert model.estimate(1000.0, allocation((0, 0, 1, 1))).warnings == ((),)

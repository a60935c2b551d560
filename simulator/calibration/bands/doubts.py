"""What samples leave unknown of a band, and how runs scatter around it: doubt and noise of a speed model.

A run's time is noise around a truth. Of the truth a calibration leaves open, as independent parts of a variance:

- *sampling*: the error of each point's median. Repetitions scatter by a standard deviation that is each point's own,
  drawn towards that of all points; repetitions that follow each other alike count as fewer. Where points scatter around
  their neighbours by more than their medians are unsure, visits differ, which is part of this error and of the noise.
- *form*: what lies between points: the error that the curve expects there (`Curve.errors`), none at the points.
- *extrapolation*: beyond the points, growing with the logarithm of the distance by what octaves that are held out were
  missed by; at least by what the last slope is unsure of and, where the band holds its speed, by that slope itself.
- *drift*: what the machine changes by until it is used; see `calibration.history.learnt`.
- *learnt*: what verifications showed to be missing in all of these; see `calibration.history.coverage`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.calibration.bands.adaptive import HIDDEN_PER_OCTAVE, Curve
from simulator.calibration.bands.build import BuiltBand
from simulator.calibration.bands.levels import AtOnce, fit_levels, who_share
from simulator.calibration.bench.measurement import Measurement
from simulator.calibration.history.coverage import widened
from simulator.models.doubt import DRIFT, ENDS, FEWEST_SPREADS, SURELY, Doubt, Noise, growth_of, rate_beyond
from simulator.models.speed import LEAST_HALF_WIDTH

NORMAL_90 = 1.6448536269514722
"""Standard deviations that hold 90 % of a normal distribution."""
SPIKE = 3.0
"""Distances from a middle beyond so many standard deviations are spikes."""
MAD_TO_SD = 1.4826
"""Standard deviation of a normal distribution over its median distance from the middle."""
MOST_FACTORS = 256
"""Of noise; of more, so many equally likely ones."""
BETWEEN = 0.05
"""Standard deviation from visit to visit where no point had two: machines have phases of seconds to minutes."""
PRIOR = 4.0
"""Repetitions that the scatter of all points counts as, added to those of one."""
WAITED = 0.1
"""Runs that waited for more than this share of their wall time ran next to a load: their CPU seconds count."""
PRODUCT_MEDIAN = 0.55
"""Median over mean of the product of two neighbours' deviations, where points scatter normally and independently."""
BUMP = 1.88
"""Largest standard deviation of a parabola of error between two points over its mean absolute error."""
MOST_SD = 1.0
"""Of extrapolation: beyond a factor of three nothing is known."""
OCTAVES = 3
"""Beyond the band's ends doubt grows for so many octaves."""
PARTS = ("sampling", "form", "extrapolation", "drift")


@dataclass(frozen=True)
class Scatter:
    """How repetitions scatter around the median of their own point."""

    factors: Floats
    """Of times, ascending; empty where no point was repeated."""
    sampling: Floats
    """Standard deviation of the logarithm of each point's median; (points,)."""
    alike: float
    """Correlation of a repetition with the one before it, 0 where none shows."""
    power: float = 0.0
    """Of the size by which the scatter goes with it; factors are those of the middle size."""


def scatter_of(points: Sequence[Measurement]) -> Scatter:
    """Noise and sampling error of points, in their order."""
    if any(len(point.clean_visits) != sum(point.clean_visits) for point in points):
        return _by_visits(points)
    times = [_times(point) for point in points]
    logs = [np.log(row / np.median(row)) for row in times]
    several = [row for row in logs if row.size > 1]
    alike = _alike(several)
    counts = np.array([max(1.0, row.size * (1 - alike) / (1 + alike)) for row in logs])
    if not several:
        return Scatter(np.zeros(0), np.full(len(points), np.nan), 0.0)
    power = _power(points, logs, counts)
    spreads = np.exp(power * (np.log([point.size for point in points]) - _middle(points)))
    logs = [row / spread for row, spread in zip(logs, spreads, strict=True)]
    several = [row for row in logs if row.size > 1]
    stretch = [_stretch(count) for row, count in zip(logs, counts, strict=True) if row.size > 1]
    pooled = np.sort(_stretched(several, stretch))
    sd = _spread(pooled)
    own = np.array([_spread(row) * _stretch(n) if row.size > 1 else sd for row, n in zip(logs, counts, strict=True)])
    degrees = counts - 1
    each = np.sqrt((PRIOR * sd**2 + degrees * own**2) / (PRIOR + degrees))
    median = np.sqrt(1 + (np.pi / 2 - 1) * np.maximum(0.0, 1 - 2 / counts))  # of a median over that of a mean
    return Scatter(np.exp(pooled), each * spreads * median / np.sqrt(counts), alike, power)


def _power(points: Sequence[Measurement], logs: Sequence[Floats], counts: Floats) -> float:
    """Power of the size by which repetitions scatter; 0 where that may be chance or, by ranks, spikes."""
    rows = [
        (np.log(point.size), np.var(row, ddof=1), count - 1)
        for point, row, count in zip(points, logs, counts, strict=True)
        if count > 1
    ]
    if len(rows) < FEWEST_SPREADS:
        return 0.0
    where, squares, degrees = np.array(rows).T
    alike = abs(float(np.corrcoef(np.argsort(np.argsort(squares)), np.arange(squares.size))[0, 1]))
    return growth_of(where, squares, degrees) if alike * np.sqrt(squares.size - 1) >= SURELY else 0.0


def _middle(points: Sequence[Measurement]) -> float:
    """Logarithm of the middle size."""
    return float(np.median(np.log([point.size for point in points])))


def _by_visits(points: Sequence[Measurement]) -> Scatter:
    """The same where samples were taken several in a row: what differs from visit to visit decides."""
    rows = [_of_visits(point) for point in points]
    middles = [np.array([np.median(row) for row in visits]) for visits in rows]
    within = [(row - np.median(row)) * _stretch(row.size) for visits in rows for row in visits if row.size > 1]
    apart = [(found - np.median(found)) * _stretch(found.size) for found in middles if found.size > 1]
    degrees = sum(found.size - 1 for found in middles)
    seen = _spread(np.concatenate(apart)) if apart else 0.0
    between = float(np.sqrt((PRIOR * BETWEEN**2 + degrees * seen**2) / (PRIOR + degrees)))
    inside = _spread(np.concatenate(within)) if within else 0.0
    wider = np.hypot(inside, between) / inside if inside > 0 else 1.0
    logs = [np.concatenate(visits) - np.median(middle) for visits, middle in zip(rows, middles, strict=True)]
    pooled = _stretched(logs, [_stretch(middle.size) if middle.size > 1 else wider for middle in middles])
    counts = np.array([middle.size for middle in middles])
    median = np.sqrt(1 + (np.pi / 2 - 1) * np.maximum(0.0, 1 - 2 / counts))
    return Scatter(np.exp(np.sort(pooled)), between * median / np.sqrt(counts), 0.0)


def _of_visits(point: Measurement) -> list[Floats]:
    """Logarithms of the times of each visit."""
    logs = np.log(_times(point))
    return np.split(logs, np.cumsum(point.clean_visits or (1,) * logs.size)[:-1])


def _stretch(count: float) -> float:
    """By how much more numbers scatter than their distances from the middle of so many."""
    return float(np.sqrt(1 / (1 - 1 / max(2.0, count))))


def _stretched(rows: Sequence[Floats], factors: Sequence[float]) -> Floats:
    """Distances from the middles of their rows, stretched up to `SPIKE` times their typical size."""
    usual = MAD_TO_SD * float(np.median(np.abs(np.concatenate(rows))))
    found = [
        row + (by - 1) * np.clip(row, -SPIKE * usual, SPIKE * usual) for row, by in zip(rows, factors, strict=True)
    ]
    return np.concatenate(found)


def _times(point: Measurement) -> Floats:
    cpu_s, wall_s = np.array(point.cpu_s), np.array(point.wall_s)
    waits = np.median(wall_s) * (1 - WAITED) > np.median(cpu_s) or wall_s.size != cpu_s.size
    return cpu_s if waits else wall_s


def _spread(logs: Floats) -> float:
    """Standard deviation from the mean distance to the median: tails count, yet not by their squares."""
    return float(np.sqrt(np.pi / 2) * np.mean(np.abs(logs)))


def _alike(rows: Sequence[Floats]) -> float:
    """Correlation of neighbours in time over all points, 0 unless it is clearly above 0."""
    rows = [row for row in rows if row.size > 2]
    if not rows:
        return 0.0
    limit = 3 * _spread(np.concatenate(rows))
    rows = [np.clip(row - row.mean(), -limit, limit) for row in rows]
    count = sum(row.size for row in rows)
    squares = sum(float(row @ row) * (row.size - 1) / row.size for row in rows)
    products = sum(float(row[1:] @ row[:-1]) for row in rows)
    if squares <= 0:
        return 0.0
    found = products / squares + len(rows) / count  # of n numbers around their mean, neighbours differ by 1 / n
    return float(min(found, 0.9)) if found > 2 / np.sqrt(count) else 0.0


def between_visits(curve: Curve, sampling: Floats) -> float:
    """By what standard deviation points scatter around their neighbours beyond the errors of their medians.

    Deviations of neighbours are opposed where points scatter each for itself, and alike where a curve bends.
    """
    deviations = curve.deviations[1:-1]
    if deviations.size < 3:
        return 0.0
    product = -float(np.median(deviations[1:] * deviations[:-1])) / PRODUCT_MEDIAN
    return float(np.sqrt(max(0.0, product - float(np.mean(sampling**2)))))


def apart(built: BuiltBand, *, drift: float = DRIFT, half_width: float | None = None, learnt: float = 1.0) -> BuiltBand:
    """The band with doubt and noise stated, its lower and upper curve where 90 % of runs lie.

    `drift`: standard deviation of what the machine has changed by when the model is used.
    `half_width`: half width of cuts as a share of the speed, where it was stated and not measured: it holds nine tenths
    of what is not known of points that were not repeated.
    `learnt`: factor on the whole, since stated intervals held too seldom; see `widening`.
    """
    latest = {point.size: point for point in built.points}
    points = [point for _, point in sorted(latest.items())]
    curve = Curve.through(points, lambda times_s: times_s)
    scatter = scatter_of(points)
    unknown = np.log1p(half_width or LEAST_HALF_WIDTH) / NORMAL_90
    sampling = np.where(np.isnan(scatter.sampling), unknown, scatter.sampling)
    visits = between_visits(curve, sampling)
    noise = _noise(scatter, points, visits)
    of_noise = 0.0 if noise is None else _of_noise(scatter.factors) * noise.spread([point.size for point in points])
    sampling = np.sqrt(sampling**2 + visits**2 + of_noise**2)
    sizes, parts = _parts(built, curve, sampling, drift)
    slack = 1 + ties.SAME  # sizes come from logarithms
    inside = (sizes * slack >= points[0].size) & (sizes <= points[-1].size * slack)
    variances = {name: float(np.mean(np.square(sd)[inside])) for name, sd in parts.items()}
    whole = sum(variances.values())
    sources = {name: variance / whole for name, variance in variances.items() if variance > 0}
    doubt = widened(Doubt(sizes, np.sqrt(sum(np.square(sd) for sd in parts.values())), sources=sources), learnt)
    return replace(built, band=replace(built.band, doubt=doubt, noise=noise).shown())


def beside_load(built: BuiltBand, *, drift: float = DRIFT, learnt: float = 1.0) -> BuiltBand:
    """The band of real runs under a recorded load, both ends moved out by what else makes runs differ (`apart`).

    By the paper's formulas the ends are runs that meet the least and the greatest load. Where a load comes and goes
    most runs meet one of these: without doubt and noise they lie inside or outside by chance.
    """
    free = apart(built, drift=drift, learnt=learnt).band
    middle = np.where(free.mid > 0, free.mid, 1.0)
    band = replace(
        built.band, low=built.band.low * free.low / middle, high=built.band.high * np.maximum(1.0, free.high / middle)
    )
    own = {cut.size: band.cut(cut.size) for cut in built.cuts if cut.mid > 0}
    return replace(built, band=band, cuts=tuple(own.get(cut.size, cut) for cut in built.cuts))


def with_levels(built: BuiltBand, runs: AtOnce | None) -> BuiltBand:
    """The band with the levels that runs at once show in its noise, and who seems to share a core among its warnings.

    All PEs were measured: the band is that of the middle one, what one of them has for itself is its level, and what is
    doubted they have in common.
    """
    if runs is None:
        return built
    band, levels = built.band, fit_levels(runs)
    if levels is not None and band.doubt is not None:
        noise = replace(band.noise or Noise(np.sort(np.exp(runs.deviations))), levels=levels)
        own = {point.size: point.ideal_s for point in built.points if point.size in levels.sizes}
        middle = {size: one / np.median(runs.times_s[runs.sizes == size]) for size, one in sorted(own.items())}
        band = replace(band, noise=noise, doubt=replace(band.doubt, common=1.0))
        band = band.scaled(list(middle.values()), list(middle)).shown()
    return replace(built, band=band, doubts=(*built.doubts, *who_share(runs)))


def _noise(scatter: Scatter, points: Sequence[Measurement], visits: float) -> Noise | None:
    """Equally likely factors, with what differs from visit to visit; None where nothing was repeated."""
    factors = scatter.factors
    if not factors.size:
        return None
    places, count = (np.arange(factors.size) + 0.5) / factors.size, min(factors.size, MOST_FACTORS)
    logs = np.interp((np.arange(count) + 0.5) / count, places, np.log(factors))
    sd = _spread(logs)
    noise = Noise(np.exp(_stretched([logs], [np.hypot(sd, visits) / sd]) if sd > 0 else logs))
    if not scatter.power:
        return noise
    ends = np.array([points[0].size, points[-1].size])
    return replace(noise, sizes=ends, spreads=np.exp(scatter.power * (np.log(ends) - _middle(points))))


def _of_noise(factors: Floats) -> float:
    """By what standard deviation the mean of the noise is unknown: a spike more or less."""
    return float(np.std(np.log(factors)) / np.sqrt(factors.size)) if factors.size else 0.0


def _parts(built: BuiltBand, curve: Curve, sampling: Floats, drift: float) -> tuple[Floats, dict[str, Floats]]:
    """Sizes, and each cause's standard deviation there."""
    band = built.band
    known = band.sizes[band.mid > 0]
    middles = [curve.x[:-1] + share * np.diff(curve.x) for share in (0.25, 0.5, 0.75)]
    steps = np.log(2) * np.arange(1, OCTAVES + 1)
    ends = np.log((min(known[0], np.exp(curve.x[0])), max(known[-1], np.exp(curve.x[-1]))))
    x = np.unique(np.concatenate([np.log(known), curve.x, *middles, ends[0] - steps, ends[1] + steps]).round(12))
    form = np.zeros(x.size)
    if curve.x.size > 1:
        place = np.clip(np.searchsorted(curve.x, x, side="right") - 1, 0, curve.x.size - 2)
        share = np.clip((x - curve.x[place]) / np.diff(curve.x)[place], 0.0, 1.0)
        form = BUMP * _errors(curve, sampling)[place] * 4 * share * (1 - share)
    return np.exp(x), {
        "sampling": np.interp(x, curve.x, sampling),
        "form": form,
        "extrapolation": np.minimum(MOST_SD, _beyond(built, curve, sampling, x)),
        "drift": np.full(x.size, drift),
    }


def _errors(curve: Curve, sampling: Floats) -> Floats:
    """Mean error between neighbours, without what errors of points explain of their deviations; (points - 1,)."""
    hidden = HIDDEN_PER_OCTAVE * np.diff(curve.x) / np.log(2)
    seen = float(np.mean(curve.deviations[1:-1] ** 2)) if curve.x.size > 2 else 0.0
    explained = 1.5 * float(np.mean(sampling**2))  # a point, and the mean of its two neighbours
    left = np.sqrt(max(0.0, 1 - explained / seen)) if seen > 0 else 1.0
    return np.asarray(hidden + left * (curve.errors()[0] - hidden))


def _beyond(built: BuiltBand, curve: Curve, sampling: Floats, x: Floats) -> Floats:
    """Standard deviation beyond the points, where a trend goes on or the last speed is held."""
    if curve.x.size < 2:
        return np.asarray(np.abs(x - curve.x[0]))
    last, top = curve.x[-1], curve.x[-1] if built.method != "adaptive" else np.log(built.band.sizes[-1])
    first = Curve(-curve.x[::-1], curve.s[::-1], curve.v[::-1], curve.cost_s[::-1], curve.cost_of)
    held = _rate(curve, sampling, held=True) * np.maximum(0.0, x - max(last, top))
    trend = _rate(curve, sampling, held=False) * np.clip(x - last, 0.0, max(last, top) - last)
    # An overhead that does not shrink takes a share of the time that grows as the size falls.
    below = np.log1p(_rate(first, sampling[::-1], held=True) * np.expm1(np.maximum(0.0, curve.x[0] - x)))
    away = np.maximum(0.0, np.maximum(x - last, curve.x[0] - x))
    next_one = _apart(curve) * np.minimum(1.0, away / np.mean(np.diff(curve.x)))
    return np.asarray(np.sqrt(next_one**2 + trend**2 + held**2 + below**2))


def _apart(curve: Curve) -> float:
    """How far points lie off the line through their neighbours, as a standard deviation."""
    return MAD_TO_SD * float(np.median(np.abs(curve.deviations[1:-1]))) if curve.x.size > 2 else 0.0


def _rate(curve: Curve, sampling: Floats, *, held: bool) -> float:
    """Standard deviation for each unit of log size beyond a curve, as its last octaves teach that were held out.

    At least what the trend's power is unsure of, or that power itself where the speed is `held`.
    """
    variance, ends = sampling**2 + _apart(curve) ** 2, []
    for last in np.unique(np.searchsorted(curve.x, curve.x[-1] - np.log(2) * np.array(ENDS), side="right") - 1):
        if last > 0:
            known = replace(curve, x=curve.x[: last + 1], s=curve.s[: last + 1], v=curve.v[: last + 1])
            later = curve.x[last + 1 :]
            missed = curve.s[last + 1 :] - (curve.s[last] if held else known.speed(later))
            ends.append((missed, variance[last] + variance[last + 1 :], later - curve.x[last]))
    return max(rate_beyond(ends), abs(curve.slopes[0]) if held else curve.doubt)

"""GBBP, the geometric bisection building procedure (speed-bands-gbbp, section 2.5; EQUATIONS section 1)."""

import bisect
import itertools

from simulator.calibration.bands.session import Session, tell
from simulator.calibration.bands.shape import apart
from simulator.calibration.bench.campaign import BudgetSpentError
from simulator.models.speed import Cut

EACH_MULTIPLE = 32
"""Step 2 measures each multiple of a up to this one, and twice the size before from there on (our choice)."""


def build_gbbp(session: Session) -> None:
    """Build a band exactly as EQUATIONS section 1 states: steps 1 to 4, cases a to e, each step logged."""
    source = session.source
    try:
        left = session.measure(source.smallest)
        session.say(f"1. a has {tell(left)}")
        if source.largest_is_memory_limit:
            right = session.cuts[source.largest] = Cut(source.largest, 0.0, 0.0, 0.0)
            session.say("1. the cut at b is (0, 0): b is the memory limit")
        else:
            right = session.measure(source.largest)
            session.say(f"1. b is no memory limit, so it is measured: {tell(right)}")
        session.open = [(left, right)]
        session.open = [(_climb(session, left, right), right)]
        _bisect(session)
    except BudgetSpentError:
        session.say("stopped: the next point does not fit the budget")
        session.ended_early()
    if short := len(apart(session.unsettled)):
        session.incomplete.append(
            f"intervals: {short} whose cuts are apart left as they are: step 3 bisects none shorter than "
            f"{shortest(session):.6g} elements, and step 2 none at all"
        )
    session.unsettled += _neighbours(session)


def _climb(session: Session, start: Cut, right: Cut) -> Cut:
    """Step 2: sizes 2a, 3a, ... while the speed rises; the cut that step 3 begins at."""
    cuts, k = [start], 1
    while (following := k + 1 if k < EACH_MULTIPLE else 2 * k) * start.size < right.size:
        here, left, k = session.measure(following * start.size), cuts[-1], following
        each = k <= EACH_MULTIPLE
        why_not = _why_not_rising(left, here, cuts[k // 2 - 1] if each else left)
        session.say(f"2. {k}a has {tell(here)}; {why_not or 'the speed still rises'}")
        cuts.append(here)
        if not each:
            session.unsettled.append((left, here))
        if why_not is not None:
            return here
    session.say(f"2. {following}a is not below b; step 2 ends")
    return cuts[-1]


def _why_not_rising(before: Cut, here: Cut, half: Cut) -> str | None:
    """Why step 2 ends at a cut, in words: by the cut before or by the one at half the size; None where it goes on."""
    if before.contains(here):
        return "it lies inside the cut before: step 2 ends"
    if here.at_most(before):
        return "it is at most the cut before: step 2 ends"
    if here.contains(before):
        return "it strictly contains the cut before (neither rule of the paper; our choice): step 2 ends"
    if half.meets(here):
        return (
            f"since {half.size:.6g} elements it has risen by less than the width of a cut, which is no rise "
            "(our choice): step 2 ends"
        )
    return None


def _bisect(session: Session) -> None:
    """Steps 3 and 4: bisect intervals, the left one first, until none is open."""
    least = shortest(session)
    while session.open:
        left, right = session.open[-1]
        where = f"[{left.size:.6g}, {right.size:.6g}]"
        if right.size - left.size < least:
            session.say(f"3. {where} is shorter than {least:.6g} elements (our choice): not bisected")
            session.unsettled.append(session.open.pop())
            continue
        middle = session.measure((left.size + right.size) / 2)
        if not left.size < middle.size < right.size:
            session.say(f"3. {where} holds no further size that exists: not bisected")
            session.open.pop()
            continue
        case, halves = _judge(session, left, middle, right)
        session.say(f"3. {where}: midpoint {tell(middle)}; case {case}")
        session.open[-1:] = reversed(halves)
    session.say("4. no interval is left")


def _judge(session: Session, left: Cut, middle: Cut, right: Cut) -> tuple[str, list[tuple[Cut, Cut]]]:
    """The case of step 3 in words, and the intervals that stay open, left to right."""
    lower, upper = (left, middle), (middle, right)
    expected = between(left, right, middle.size)
    if left.meets(middle):
        return "a: it meets the left cut, the left half is done", [upper]
    if right.meets(middle):
        return "b: it meets the right cut, the right half is done", [lower]
    if middle.meets(expected):
        return _accident(session, left, middle, upper)
    if middle.at_most(expected):
        return "d: it lies wholly below the band as it was, both halves stay open", [lower, upper]
    return "e: it lies wholly above the band as it was, both halves stay open", [lower, upper]


def _accident(session: Session, left: Cut, middle: Cut, upper: tuple[Cut, Cut]) -> tuple[str, list[tuple[Cut, Cut]]]:
    """Case c: the midpoint of the left half tells whether the midpoint met the band by accident."""
    if middle.size - left.size < shortest(session):
        session.unsettled.append((left, middle))
        return "c: it meets the band as it was; the left half is too short to bisect", [upper]
    quarter = session.measure((left.size + middle.size) / 2)
    text = f"c: it meets the band as it was, perhaps by accident; the left half's midpoint {tell(quarter)}"
    if not left.size < quarter.size < middle.size:
        return f"{text} is no new size: the left half is done", [upper]
    if quarter.meets(between(left, middle, quarter.size)):
        return f"{text} meets the new band: the left half is done", [upper]
    quarters = [(left, quarter), (quarter, middle)]
    return f"{text} does not meet the new band: both quarters stay open", [*quarters, upper]


def _neighbours(session: Session) -> list[tuple[Cut, Cut]]:
    """Pairs of neighbouring cuts in the intervals still open, which are neighbours."""
    cuts = [cut for _, cut in sorted(session.cuts.items())]
    sizes = [cut.size for cut in cuts]
    inside = (
        cuts[bisect.bisect_left(sizes, start.size) : bisect.bisect_right(sizes, end.size)]
        for start, end in session.open
    )
    return [pair for between_ends in inside for pair in itertools.pairwise(between_ends)]


def shortest(session: Session) -> float:
    """The shortest interval that is bisected, in elements (our choice)."""
    a, b = session.source.smallest, session.source.largest
    return max(a, (b - a) / 1024)


def between(left: Cut, right: Cut, size: float) -> Cut:
    """The cut at a size of the straight band between two cuts."""
    share = (size - left.size) / (right.size - left.size)
    low, mid, high = (
        start + share * (end - start)
        for start, end in ((left.low, right.low), (left.mid, right.mid), (left.high, right.high))
    )
    return Cut(size, low, mid, high)

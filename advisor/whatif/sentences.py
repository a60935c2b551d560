"""The answer of a what-if in words: what pays most, how surely, and what is as good."""

from collections.abc import Sequence

from advisor.whatif.advised import NOW
from advisor.whatif.findings import Findings, PointFound
from advisor.wording import counted, listed, loss_text, probability, with_interval
from simulator import ties

ROUNDING = 1e-9
"""Factors nearer to 1 are 1."""
SURE = 0.95
"""Chance from which the fastest point is said to pay most without naming others."""
LIKELY = 0.05
"""Chance from which another point is named with it."""
MOST_NAMED = 3


def sentence(found: Findings) -> str:
    """The answer."""
    points, compared = found.points, [one for one in found.points if one.gain is not None and one.chosen]
    if not any(one.differs for one in compared) and (found.not_ranked or not compared):
        return _not_ranked_sentence(found)
    replications = counted(found.drawn.replications, "replication")
    if all(one.gain is None or one.gain.low is None for one in compared):
        best = max(compared, key=lambda one: 0.0 if one.gain is None else one.gain.mean)
        was = f"{best.named} was {with_interval(best.gain, '')} times as fast, without an interval"
        ask = "ask for more with --replications, such as 200"
        return f"{replications.capitalize()} cannot show which change pays: {was}; {ask}."
    if found.pays_most is None:
        sure = any(one.together is not None and (one.together.low or 0.0) > 1 for one in compared)
        more = "more than 1 % " if sure else ""
        among = "" if found.comparisons == 1 else f", {found.comparisons} changes compared"
        among = among if sure else f", as far as {replications} can tell{among}"
        return f"No change pays: none is {more}faster than the scenario as it is{among}."
    most = points[found.pays_most]
    tied = _tied(found, most)
    pays = "pays most" if not tied and (most.chance or 0.0) >= SURE else "pays"
    said = f"{most.named} {pays}: {_faster(most)}, {_takes(most)} in place of {_from(points[0])}"
    simplest = "" if found.nearly is None else points[found.nearly].named
    said += f"; {_tie(most, tied, simplest) if tied else _how_sure(found, most)}."
    if simplest and simplest not in tied:
        said += f" Within 1 % of it, with fewer changes: {simplest}."
    if found.pays_most_alone is None:
        return f"{said} No change alone pays, of those looked at." if found.single else said
    if found.pays_most_alone in {found.pays_most, found.nearly}:
        return said
    alone = points[found.pays_most_alone]
    return f"{said} Of single changes {alone.named}: {_faster(alone)}."


def _not_ranked_sentence(found: Findings) -> str:
    """The answer where nothing that varies can be bought or chosen: what the makespan is then."""
    answered = [one for one in found.points if one.best is not None and one.differs]
    if not answered or not found.not_ranked or found.points[0].best is None:
        return "No point can be compared with the scenario as it is."
    paths = listed([path.removeprefix("application.parameters.") for path in found.not_ranked], most=MOST_NAMED)
    shown = answered if len(answered) <= MOST_NAMED else [answered[0], answered[-1]]
    said = ", ".join(f"{one.named.removeprefix('application.parameters.')} takes {_takes(one)}" for one in shown)
    verb = "is" if len(found.not_ranked) == 1 else "are"
    return f"{said}, in place of {_from(found.points[0])}; {paths} {verb} part of the question, so nothing is ranked."


def _how_sure(found: Findings, most: PointFound) -> str:
    """How likely it is that no other point is faster, and which others may be."""
    answered, share = sum(one.best is not None and one.chosen for one in found.points), most.chance or 0.0
    if found.drawn.deterministic:
        among = "" if share == 1 else "one of "
        return f"{among}the fastest of {counted(answered, 'point')}, as nothing is drawn"
    said = f"the fastest of {counted(answered, 'point')} with a chance of {probability(most.chance)}"
    if share >= SURE:
        return said
    group = {most.point, most.same_as}
    others = [
        one
        for one in found.points
        if not {one.point, one.same_as} & group - {None} and (one.chance or 0) >= LIKELY
    ]  # fmt: skip
    others = [others[place] for place in ties.in_order([-(one.chance or 0.0) for one in others])]
    others = list({one.named: one for one in others}.values())
    names = [f"{one.named} ({probability(one.chance)})" for one in others[:MOST_NAMED]]
    more = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return f"{said}, so others may be: {', '.join([*names, *more])}" if names else f"{said}, so another may be"


def _tied(found: Findings, most: PointFound) -> list[str]:
    """The points that are as good as the fastest that pays, by name; those alike once."""
    near = [found.points[number] for number in found.ties if number not in {most.point, most.same_as}]
    return list(dict.fromkeys(one.named for one in near if one.same_as is None))


def _tie(most: PointFound, tied: Sequence[str], simplest: str) -> str:
    """Who is as good, the one with the fewest changes first."""
    first = [simplest] if simplest in tied else []
    names = listed([*first, *(name for name in tied if name not in first)], most=MOST_NAMED)
    verb, loss = "is" if len(tied) == 1 else "are", loss_text(most.expected_loss)
    fewer = "" if not first else " with fewer changes" if len(tied) == 1 else f", {simplest} with fewer changes"
    return f"a tie with {names}, which {verb} within 1 % of it{fewer}; expected loss {loss}"


def _faster(one: PointFound) -> str:
    gain = one.gain
    alike = gain is None or gain.low is None or gain.high is None or gain.high - gain.low < ROUNDING
    return f"{with_interval(gain, '')} times as fast{' in every replication' if alike else ''}"


def _takes(one: PointFound) -> str:
    return with_interval(None if one.own is None else one.own.makespan_s)


def _from(base: PointFound) -> str:
    """What the base takes; where work was divided again there too, what it takes now stands beside it."""
    now = [] if base.advice is None else [one for one in base.configurations if one.name in NOW]
    return _takes(base) + "".join(f" divided again and {with_interval(one.makespan_s)} {NOW[one.name]}" for one in now)

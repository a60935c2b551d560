"""Max-min fair rates by progressive filling in integers; nothing of an engine."""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush


def fill(capacities: Mapping[int, int], routes: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The rate of each flow, and a link that it cannot pass faster.

    Parameters
    ----------
    capacities
        Of the links that the flows pass, each at least the number of flows on it.
    routes
        Links of each flow.

    Returns
    -------
    list[tuple[int, int]]
        Rate and link of each flow. Flows with the same link have the same rate.
    """
    free, waiting = dict(capacities), dict.fromkeys(capacities, 0)
    flows_on: dict[int, list[int]] = {link: [] for link in capacities}
    for flow, route in enumerate(routes):
        for link in route:
            waiting[link] += 1
            flows_on[link].append(flow)
    # The share of a link only grows while flows are fixed: entries of the heap may be too small, never too large.
    shares = [(free[link] // waiting[link], link) for link in capacities if waiting[link]]
    heapify(shares)
    found: list[tuple[int, int] | None] = [None] * len(routes)
    while shares:
        least = shares[0][0]
        tight = []
        while shares and shares[0][0] == least:
            link = heappop(shares)[1]
            if not waiting[link]:
                continue
            share = free[link] // waiting[link]
            if share == least:
                tight.append(link)
            else:
                heappush(shares, (share, link))
        for link in tight:
            for flow in flows_on[link]:
                if found[flow] is None:
                    found[flow] = least, link
                    for passed in routes[flow]:
                        free[passed] -= least
                        waiting[passed] -= 1
    return [one for one in found if one is not None]


def deciding(routes: Sequence[tuple[int, ...]], capacities: Sequence[int]) -> list[tuple[int, ...]]:
    """The routes without links that cannot hold anything back: those whose flows all pass one that is no faster, too.

    Of such two the share `free // flows` of the slower is never more, whatever of these routes is in use: it has no
    more free, and no fewer flows.
    """
    slower: dict[int, set[int]] = {}
    for route in routes:
        passed = set(route)
        for link in route:
            if link in slower:
                slower[link] &= passed
            else:
                order = capacities[link], link
                slower[link] = {other for other in passed if (capacities[other], other) < order}
    return [tuple(link for link in route if not slower[link]) for route in routes]

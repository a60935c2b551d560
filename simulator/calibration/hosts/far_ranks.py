"""Ranks of one program on several hosts, joined as those on one machine are: by channels that are TCP between hosts."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from simulator.calibration.bench.group import Group
from simulator.calibration.hosts.campaign import channel_within, connection
from simulator.calibration.hosts.host import About, Host
from simulator.calibration.ranks.ranks import Ranks, joined

NO_POOL = -1
"""In the place of a file whose position ranks share: hosts share none, so no farm runs on several."""


class FarRanks(Ranks):
    """Real processes on several hosts; see `Ranks`.

    `hosts` and `cpus` are those of each rank; `about` says what is known of each host.
    """

    def __init__(self, hosts: Sequence[Host], cpus: Sequence[int], about: Mapping[str, About]) -> None:
        self._hosts, self._about = tuple(hosts), about
        super().__init__(cpus)

    def _open(self) -> None:
        count = len(self._hosts)
        own: list[dict[int, int]] = [{} for _ in range(count)]
        with ExitStack() as stack:
            for one, other in joined(count):
                own[one][other], own[other][one] = self._channel(stack, self._hosts[one], self._hosts[other])
            rows = [(cpu, json.dumps(peers), NO_POOL) for cpu, peers in zip(self.cpus, own, strict=True)]
            inherited = [list(peers.values()) for peers in own]
            self._group = Group("rank", rows, inherited=inherited, places=self._hosts)

    def _channel(self, stack: ExitStack, one: Host, other: Host) -> tuple[int, int]:
        return stack.enter_context(
            channel_within(one) if one is other else connection(one, other, self._about[one.name])
        )

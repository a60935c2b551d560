"""A torus: a grid of nodes whose rows close to rings."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from simulator.base.errors import ScenarioError
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm
from simulator.platform.networks.network import DOWN, UP, WHERE, Ints, NetworkForm


@dataclass(frozen=True)
class Torus:
    """Nodes on a grid whose rows close to rings; routes go dimension by dimension, the shortest way round."""

    shape: tuple[int, ...]
    """Nodes along each of one to three dimensions; the last one counts fastest."""
    link: Link
    """What each link is like; up is towards the next coordinate. A ring of two nodes has one link."""
    _links: tuple[Link, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1:
            found = f"platform: network: shape: {list(self.shape)} is no torus"
            raise ScenarioError(f"{found}; give one to three dimensions of at least 1 node")
        places = [
            f"{self.link.name}-{'xyz'[along]}-{'.'.join(map(str, place))}"
            for along in range(len(self.shape))
            for place in product(*(range(size) for size in self._starts(along)))
        ]
        object.__setattr__(self, "_links", tuple(replace(self.link, name=name) for name in places))

    @property
    def links(self) -> tuple[Link, ...]:
        """Along the first dimension, then along the others; each named by its dimension and where it begins."""
        return self._links

    @property
    def node_count(self) -> int:
        """Product of the shape."""
        return int(np.prod(self.shape))

    def _starts(self, along: int) -> tuple[int, ...]:
        """The grid of nodes at which a link along a dimension begins."""
        size = self.shape[along]
        return (*self.shape[:along], size if size > 2 else size - 1, *self.shape[along + 1 :])

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Dimension by dimension; where both ways round are as long, up (in a ring of two: its one link)."""
        start = np.stack(np.unravel_index(sources, self.shape))
        end = np.stack(np.unravel_index(destinations, self.shape))
        size = np.array(self.shape)[:, np.newaxis]
        up = (end - start) % size
        ascends = np.where(size > 2, 2 * up <= size, start == 0)
        steps = np.where(ascends, up, (size - up) % size)
        before = np.concatenate((np.zeros((1, sources.size), dtype=np.int64), np.cumsum(steps, axis=0)))
        first = np.concatenate(([0], np.cumsum(before[-1])))
        passed = np.empty(first[-1], dtype=np.int64)
        offset = 0
        for along in range(len(self.shape)):
            pair = np.repeat(np.arange(sources.size), steps[along])
            step = np.arange(pair.size) - np.repeat(np.cumsum(steps[along]) - steps[along], steps[along])
            ascending = ascends[along, pair]
            place = np.where((np.arange(len(self.shape)) < along)[:, np.newaxis], end[:, pair], start[:, pair])
            place[along] = (start[along, pair] + np.where(ascending, step, -step - 1)) % self.shape[along]
            starts = self._starts(along)
            link = offset + np.ravel_multi_index(tuple(place), starts) if pair.size else pair
            passed[first[pair] + before[along, pair] + step] = 2 * link + np.where(ascending, UP, DOWN)
            offset += int(np.prod(starts))
        return first, passed

    def to_data(self, names: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 - names none
        """Shape and link."""
        return {"topology": "torus", "shape": list(self.shape), "link": self.link.to_data()}


class TorusForm(NetworkForm):
    """A grid of nodes whose rows close to rings."""

    topology: Literal["torus"]
    """Dimension by dimension, the shortest way round, where both are as long upwards; a ring of two nodes has one
    link."""
    shape: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=3)
    """Nodes in each of one to three dimensions, the last one counts fastest."""
    link: LinkForm
    """Between neighbours."""

    def between_nodes(self, site: Site) -> Torus:
        """The torus."""
        with site.at(*WHERE, "shape"):
            if np.prod(self.shape, dtype=np.float64) != len(site.nodes):
                found = f"{' x '.join(map(str, self.shape))} are not the {len(site.nodes)} nodes that are named"
                raise ScenarioError(f"{found}; give as many of each")
        return Torus(tuple(self.shape), self.link.maker(site, *WHERE, "link")("torus"))

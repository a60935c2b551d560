"""Partitioners: who gets how many units of work; one file, one method."""

from advisor.partitioners.by_times import by_times
from advisor.partitioners.discontinuous import discontinuous
from advisor.partitioners.equal import equal, even_split
from advisor.partitioners.functional import functional
from advisor.partitioners.partition import Partition
from advisor.partitioners.proportional import constant_split, proportional
from advisor.partitioners.refined import refined
from advisor.partitioners.speed_kinds import SpeedKinds

__all__ = [
    "Partition",
    "SpeedKinds",
    "by_times",
    "constant_split",
    "discontinuous",
    "equal",
    "even_split",
    "functional",
    "proportional",
    "refined",
]

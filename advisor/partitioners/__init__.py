"""Partitioners: who gets how many units of work; one file, one method, one signature (`methods.METHODS`)."""

from advisor.partitioners.banded import banded
from advisor.partitioners.by_times import by_times
from advisor.partitioners.discontinuous import discontinuous
from advisor.partitioners.equal import equal, even_split
from advisor.partitioners.functional import functional
from advisor.partitioners.grid2d import grid2d
from advisor.partitioners.iterative import iterative
from advisor.partitioners.methods import METHODS, partition, partition_csv, partition_document, partition_options
from advisor.partitioners.proportional import constant_split, proportional
from advisor.partitioners.refined import refined
from advisor.partitioners.result import Partition
from advisor.partitioners.speed_kinds import SpeedKinds
from advisor.partitioners.speeds_file import Speeds, read_speeds

__all__ = [
    "METHODS",
    "Partition",
    "SpeedKinds",
    "Speeds",
    "banded",
    "by_times",
    "constant_split",
    "discontinuous",
    "equal",
    "even_split",
    "functional",
    "grid2d",
    "iterative",
    "partition",
    "partition_csv",
    "partition_document",
    "partition_options",
    "proportional",
    "read_speeds",
    "refined",
]

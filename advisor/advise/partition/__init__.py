"""Partitioners: who gets how many units of work; one file, one method, one signature (`methods.METHODS`)."""

from advisor.advise.partition.banded import banded
from advisor.advise.partition.discontinuous import discontinuous
from advisor.advise.partition.equal import equal
from advisor.advise.partition.functional import functional
from advisor.advise.partition.grid2d import grid2d
from advisor.advise.partition.methods import METHODS, partition, partition_csv, partition_document, partition_options
from advisor.advise.partition.proportional import proportional
from advisor.advise.partition.result import Partition
from advisor.advise.partition.speed_kinds import SpeedKinds
from advisor.advise.partition.speeds_file import Speeds, read_speeds

__all__ = [
    "METHODS",
    "Partition",
    "SpeedKinds",
    "Speeds",
    "banded",
    "discontinuous",
    "equal",
    "functional",
    "grid2d",
    "partition",
    "partition_csv",
    "partition_document",
    "partition_options",
    "proportional",
    "read_speeds",
]

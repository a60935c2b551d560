"""Allocators: which PEs take part and how many processes each runs; one file, one method, one signature.

Each takes a `Problem` and returns a `Found`; `ranked` also what comes next.
"""

from advisor.advise.allocate.branch_and_bound import branch_and_bound
from advisor.advise.allocate.exhaustive import exhaustive, ranked

__all__ = ["branch_and_bound", "exhaustive", "ranked"]

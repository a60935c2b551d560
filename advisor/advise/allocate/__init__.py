"""Allocators: which PEs take part and how many processes each runs; one file, one method, one signature.

Each takes a `Problem` and returns a `Found`; `ranked` also what comes next.
"""

from advisor.advise.allocate.branch_and_bound import branch_and_bound
from advisor.advise.allocate.exhaustive import exhaustive, ranked
from advisor.advise.allocate.local_search import local_search
from advisor.advise.allocate.structured import structured

__all__ = ["branch_and_bound", "exhaustive", "local_search", "ranked", "structured"]

"""Allocators: which PEs take part and how many processes each runs; one file, one method, one signature.

Each takes a `Problem` and returns a `Found`; `ranked` also what comes next.
"""

from advisor.allocators.branch_and_bound import branch_and_bound
from advisor.allocators.exhaustive import exhaustive
from advisor.allocators.local_search import local_search
from advisor.allocators.ranked import ranked
from advisor.allocators.structured import structured

__all__ = ["branch_and_bound", "exhaustive", "local_search", "ranked", "structured"]

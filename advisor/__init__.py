"""Apportion's advisor: it asks the simulator questions, recommends a configuration, and checks it by a real run."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advisor.advice import advice_document
    from advisor.allocation import ProcessCountAdvice, advise_allocation
    from advisor.explanation import Explanation, explain
    from advisor.export import export_files, save_exports
    from advisor.pareto import pareto_fronts
    from advisor.partitioners import Partition, partition, read_speeds
    from advisor.recommendation import Recommendation, recommend
    from advisor.search import AllocationAdvice, search_allocation
    from advisor.verification.asking import verify
    from advisor.whatif import WhatIf, what_if

_HOMES = {
    "AllocationAdvice": "advisor.search",
    "Explanation": "advisor.explanation",
    "Partition": "advisor.partitioners",
    "ProcessCountAdvice": "advisor.allocation",
    "Recommendation": "advisor.recommendation",
    "WhatIf": "advisor.whatif",
    "advice_document": "advisor.advice",
    "advise_allocation": "advisor.allocation",
    "explain": "advisor.explanation",
    "export_files": "advisor.export",
    "pareto_fronts": "advisor.pareto",
    "partition": "advisor.partitioners",
    "read_speeds": "advisor.partitioners",
    "recommend": "advisor.recommendation",
    "save_exports": "advisor.export",
    "search_allocation": "advisor.search",
    "verify": "advisor.verification.asking",
    "what_if": "advisor.whatif",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "AllocationAdvice",
    "Explanation",
    "Partition",
    "ProcessCountAdvice",
    "Recommendation",
    "WhatIf",
    "advice_document",
    "advise_allocation",
    "explain",
    "export_files",
    "pareto_fronts",
    "partition",
    "read_speeds",
    "recommend",
    "save_exports",
    "search_allocation",
    "verify",
    "what_if",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

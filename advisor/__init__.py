"""Apportion's advisor: it asks the simulator questions, recommends a configuration, and checks it by a real run."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advisor.advise.advice import advice_document
    from advisor.advise.explanation import Explanation, explain
    from advisor.advise.export import export_files, save_exports
    from advisor.advise.pareto import pareto_fronts
    from advisor.advise.partition import Partition, partition, read_speeds
    from advisor.advise.process_counts import ProcessCountAdvice, advise_allocation
    from advisor.advise.recommendation import Recommendation, recommend
    from advisor.verification.asking import verify
    from advisor.whatif import WhatIf, what_if

_HOMES = {
    "Explanation": "advisor.advise.explanation",
    "Partition": "advisor.advise.partition",
    "ProcessCountAdvice": "advisor.advise.process_counts",
    "Recommendation": "advisor.advise.recommendation",
    "WhatIf": "advisor.whatif",
    "advice_document": "advisor.advise.advice",
    "advise_allocation": "advisor.advise.process_counts",
    "explain": "advisor.advise.explanation",
    "export_files": "advisor.advise.export",
    "pareto_fronts": "advisor.advise.pareto",
    "partition": "advisor.advise.partition",
    "read_speeds": "advisor.advise.partition",
    "recommend": "advisor.advise.recommendation",
    "save_exports": "advisor.advise.export",
    "verify": "advisor.verification.asking",
    "what_if": "advisor.whatif",
}
"""Public name -> the module that it comes from."""

__all__ = [
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
    "verify",
    "what_if",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

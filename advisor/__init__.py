"""Apportion's advisor: it asks the simulator questions, recommends a configuration, and checks it by a real run."""

# mypy: implicit-reexport
from typing import TYPE_CHECKING

from simulator import faces

if TYPE_CHECKING:
    from advisor.advise.advice import Advice, advice_of
    from advisor.advise.explanation import Explanation, explain
    from advisor.advise.export import export_files, save_exports
    from advisor.advise.pareto import pareto_fronts
    from advisor.advise.partition.methods import partition
    from advisor.advise.partition.result import Partition
    from advisor.advise.partition.speeds_file import read_speeds
    from advisor.advise.process_counts.advice import advise_allocation
    from advisor.advise.process_counts.answer import ProcessCountAdvice
    from advisor.advise.recommendation import Recommendation, recommend
    from advisor.figures import plot
    from advisor.whatif.asking import WhatIf, what_if
else:
    __all__, __dir__, __getattr__ = faces.face(__name__)

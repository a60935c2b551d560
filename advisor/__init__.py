"""Apportion's advisor: it asks the simulator questions, recommends a configuration, and checks it by a real run."""

from typing import TYPE_CHECKING

from simulator import faces

if TYPE_CHECKING:
    from advisor.advise.advice import Advice as Advice, advice_of as advice_of
    from advisor.advise.explanation import Explanation as Explanation, explain as explain
    from advisor.advise.export import export_files as export_files, save_exports as save_exports
    from advisor.advise.pareto import pareto_fronts as pareto_fronts
    from advisor.advise.partition import Partition as Partition, partition as partition, read_speeds as read_speeds
    from advisor.advise.process_counts import (
        ProcessCountAdvice as ProcessCountAdvice,
        advise_allocation as advise_allocation,
    )
    from advisor.advise.recommendation import Recommendation as Recommendation, recommend as recommend
    from advisor.figures import plot as plot
    from advisor.whatif import WhatIf as WhatIf, what_if as what_if
else:
    __all__, __dir__, __getattr__ = faces.face(__name__)

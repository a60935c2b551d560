"""Real runs of recommended and baseline configurations, here, with the load on that was assumed.

What runs and is timed comes from `simulator.calibration`; what is recommended, from `advise`.
"""

from advisor.verification.applications import CommandRuns, ProgramRuns
from advisor.verification.interleaved import Loads, Verification, run_interleaved
from advisor.verification.places import Places
from advisor.verification.residuals import bias_of, residuals
from advisor.verification.starts import even_starts

__all__ = [
    "CommandRuns",
    "Loads",
    "Places",
    "ProgramRuns",
    "Verification",
    "bias_of",
    "even_starts",
    "residuals",
    "run_interleaved",
]

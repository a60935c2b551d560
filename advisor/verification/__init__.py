"""Real runs of recommended and baseline configurations, here, with the load on that was assumed.

What runs and is timed comes from `simulator.calibration`; what is recommended, from `advise`.
"""

from advisor.verification.applications import CommandRuns, ProgramRuns, RealApplication
from advisor.verification.interleaved import Loads, Verification, run_interleaved
from advisor.verification.places import Places, places_on
from advisor.verification.residuals import Bias, Residual, bias_of, residuals
from advisor.verification.starts import even_starts

__all__ = [
    "Bias",
    "CommandRuns",
    "Loads",
    "Places",
    "ProgramRuns",
    "RealApplication",
    "Residual",
    "Verification",
    "bias_of",
    "even_starts",
    "places_on",
    "residuals",
    "run_interleaved",
]
